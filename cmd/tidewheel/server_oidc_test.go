package main

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/tidewheel/tidewheel/access"
	oidc "github.com/tidewheel/tidewheel/web/issuer"
)

// oidcConfig reads and checks the settings of a server.
func oidcConfig(t *testing.T, args ...string) (ServerConfig, error) {
	t.Helper()
	c := &cli{getenv: os.Getenv}
	command := c.serverCommand()
	if err := command.ParseFlags(append([]string{"--http", "127.0.0.1:0", "--data", t.TempDir()}, args...)); err != nil {
		t.Fatal(err)
	}
	config, err := c.serverConfig(command)
	if err == nil {
		err = config.validate()
	}
	return config, err
}

func TestProviderIsReadFromFlagsEnvironmentAndFile(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("hidden\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "server.yaml")
	text := "oidc-issuer: https://id.example.com\noidc-client-id: tidewheel\noidc-client-secret-file: " + secret +
		"\noidc-role: [admins=admin, \"cn=shop, ou=teams=editor@shop\"]\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	want := oidc.Config{
		Issuer: "https://id.example.com", ClientID: "tidewheel", ClientSecret: "hidden", GroupsClaim: "groups",
		Roles: []oidc.GroupRole{
			{Group: "admins", Role: access.Admin, Namespace: access.Everywhere}, {Group: "cn=shop, ou=teams", Role: access.Editor, Namespace: "shop"},
		},
	}
	flags := []string{
		"--oidc-issuer", "https://id.example.com", "--oidc-client-id", "tidewheel", "--oidc-client-secret-file", secret,
		"--oidc-role", "admins=admin", "--oidc-role", "cn=shop, ou=teams=editor@shop",
	}
	check := func(how string, args ...string) {
		t.Helper()
		config, err := oidcConfig(t, args...)
		if err != nil || !reflect.DeepEqual(config.OIDC, want) {
			t.Errorf("by %s: %+v, %v", how, config.OIDC, err)
		}
		if how != "environment" && strings.Join(config.closedToJobs(), " ") == strings.ReplaceAll(strings.Join(config.closedToJobs(), " "), secret, "") {
			t.Errorf("by %s: jobs may read the secret: %v", how, config.closedToJobs())
		}
	}
	check("flags", flags...)
	check("file", "--config", file)
	t.Setenv("TIDEWHEEL_OIDC_ISSUER", "https://id.example.com")
	t.Setenv("TIDEWHEEL_OIDC_CLIENT_ID", "tidewheel")
	t.Setenv("TIDEWHEEL_OIDC_CLIENT_SECRET", "hidden")
	t.Setenv("TIDEWHEEL_OIDC_ROLE", "admins=admin; cn=shop, ou=teams=editor@shop")
	check("environment")
	if _, err := oidcConfig(t, flags...); err == nil || !strings.Contains(err.Error(), "say the same thing") {
		t.Errorf("two secrets: %v", err)
	}
}

func TestProviderThatCannotWorkIsRefused(t *testing.T) {
	base := map[string]string{"--oidc-issuer": "https://id.example.com", "--oidc-client-id": "tidewheel", "--oidc-role": "admins=admin"}
	for _, c := range []struct{ flag, value, want string }{
		{"--oidc-issuer", "", "which --oidc-issuer names"},
		{"--oidc-issuer", "id.example.com", "is not a URL"},
		{"--oidc-issuer", "http://id.example.com", "use https"},
		{"--oidc-issuer", "https://id.example.com/?a=b", "has a ? or a #"},
		{"--oidc-issuer", "https://id.example.com/#main", "has a ? or a #"},
		{"--oidc-client-id", "", "--oidc-client-id: --oidc-issuer needs it"},
		{"--oidc-role", "", "users who sign in"},
		{"--oidc-role", "admins", "it is not GROUP=ROLE"},
		{"--oidc-role", "=admin", "it is not GROUP=ROLE"},
		{"--oidc-role", "admins=owner", `"owner" is no role`},
		{"--oidc-role", "admins=admin@", "is no namespace"},
		{"--oidc-groups-claim", "", "name the claim"},
		{"--oidc-redirect-url", "https://tidewheel.example.com/", "https://tidewheel.example.com/login/oidc/callback"},
		{"--oidc-redirect-url", "/login/oidc/callback", "is not the address"},
		{"--oidc-redirect-url", "https:/login/oidc/callback", "is not the address"},
		{"--oidc-redirect-url", "ftp://tidewheel.example.com/login/oidc/callback", "is not the address"},
		{"--oidc-redirect-url", "https://tidewheel.example.com/login/oidc/callback?a=b", "is not the address"},
		{"--auth", "off", "with --auth off no user signs in"},
	} {
		args := []string{c.flag + "=" + c.value}
		for flag, value := range base {
			if flag != c.flag {
				args = append(args, flag+"="+value)
			}
		}
		if _, err := oidcConfig(t, args...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %q: %v, want %q", c.flag, c.value, err, c.want)
		}
	}
	secret := keyFile(t, "hidden\n")
	for flag, value := range map[string]string{
		"--oidc-client-id": "tidewheel", "--oidc-client-secret-file": secret, "--oidc-redirect-url": "https://a.example/login/oidc/callback", "--oidc-role": "admins=admin",
	} {
		if _, err := oidcConfig(t, flag, value); err == nil || !strings.Contains(err.Error(), "which --oidc-issuer names") {
			t.Errorf("%s without a provider: %v", flag, err)
		}
	}
	for _, address := range []string{"https://id.example.com/realms/main", "http://127.0.0.1:9998", "http://localhost:8080/dex"} {
		if _, err := oidcConfig(t, "--oidc-issuer", address, "--oidc-client-id", "x", "--oidc-role", "a=viewer@shop", "--oidc-redirect-url", "https://a.example/login/oidc/callback"); err != nil {
			t.Errorf("%s: %v", address, err)
		}
	}
}
