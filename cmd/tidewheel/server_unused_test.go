package main

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A node names what it was given for other roles: by a flag, the environment or a file, which nodes may share.
func TestSettingsOfOtherRolesAreNamed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "shared.yaml")
	if err := os.WriteFile(file, []byte("slots: 3\nretention: 7d\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TIDEWHEEL_MAX_BINARY", "1GiB")
	t.Setenv("TIDEWHEEL_API_URL", "http://main:8080")
	for roles, want := range map[string]string{
		"engine,executor,web": "",
		"executor":            "http,max-binary,metrics-auth,retention,token-file",
		"engine":              "http,max-binary,metrics-auth,slots,tier,token-file",
		"web":                 "api-url,slots,tier",
		"engine,web":          "slots,tier",
	} {
		command := (&cli{getenv: os.Getenv}).serverCommand()
		if err := command.ParseFlags([]string{"--roles", roles, "--config", file, "--http", "127.0.0.1:0", "--tier", "heavy", "--token-file", "t", "--metrics-auth", "on", "--nats-url", "nats://main"}); err != nil {
			t.Fatal(err)
		}
		config, err := (&cli{getenv: os.Getenv}).serverConfig(command)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(config.unusedSettings(), ","); got != want {
			t.Errorf("with the roles %s these do nothing: %s; want %s", roles, got, want)
		}
	}
}

// Every setting is used by all nodes, or its roles are known: a new one has to be put into one of the lists.
func TestEverySettingHasItsRoles(t *testing.T) {
	all := []string{
		"data", "roles", "demo", "metrics-listen", "metrics-auth", "metrics-token-file", "nats-url", "nats-credentials", "nats-listen", "nats-replicas",
		"s3-endpoint", "s3-bucket", "s3-region", "s3-access-key", "s3-secret-key", "s3-listen", "nats-credentials-file", "s3-access-key-file",
		"s3-secret-key-file", "secrets-key", "secrets-key-file", "secrets-key-command", "lock-ttl", "results-limit", "log-level", "log-format",
		"nats-tls-ca", "nats-tls-cert", "nats-tls-key", "s3-ca-file",
	}
	known := slices.Clone(all)
	for _, of := range settingsOf {
		known = append(known, of.settings...)
	}
	slices.Sort(known)
	command := (&cli{getenv: os.Getenv}).serverCommand()
	if got := settingNames(command.Flags()); !slices.Equal(got, known) {
		t.Errorf("the settings are %v; known are the roles of %v", got, known)
	}
}

// The log of a node says which of its settings do nothing.
func TestNodeLogsSettingsOfOtherRoles(t *testing.T) {
	config := serverConfigFor(t)
	config.Roles, config.Given = []string{roleEngine, roleWeb}, []string{"slots", "http"}
	var log safeBuffer
	server, err := NewServer(config, slog.New(slog.NewTextHandler(&log, nil)), &safeBuffer{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // it says so before anything else
	if err := server.Start(ctx); err == nil {
		t.Error("it started although it was stopped")
		_ = server.Close(t.Context())
	}
	if text := log.String(); !strings.Contains(text, "settings do nothing") || !strings.Contains(text, "settings=[slots]") {
		t.Errorf("the log says %s", text)
	}
}
