package oidctest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// product is the built program, as a server of all roles.
type product struct {
	t        *testing.T
	path     string
	dir, url string
}

func startProduct(t *testing.T, address string, args ...string) *product {
	t.Helper()
	p := &product{t: t, dir: t.TempDir(), url: "http://" + address}
	p.path = filepath.Join(p.dir, "tidewheel")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-C", "../..", "-o", p.path, "./cmd/tidewheel").CombinedOutput(); err != nil {
		t.Fatalf("build tidewheel: %v: %s", err, out)
	}
	server := exec.Command(p.path, append([]string{"server", "--data", filepath.Join(p.dir, "data"), "--http", address}, args...)...)
	server.Env = []string{"HOME=" + p.dir, "TIDEWHEEL_OIDC_CLIENT_ID=" + clientID}
	output, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	server.Stderr = &log
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	read := make(chan struct{})
	ready := make(chan struct{})
	go func() {
		defer close(read)
		for lines := bufio.NewScanner(output); lines.Scan(); {
			if strings.Contains(lines.Text(), "is ready after") {
				close(ready)
			}
		}
	}()
	t.Cleanup(func() {
		_ = server.Process.Signal(syscall.SIGTERM)
		<-read
		_ = server.Wait()
		if t.Failed() {
			t.Log(log.String())
		}
	})
	select {
	case <-ready:
	case <-read:
		t.Fatalf("the server did not start: %s", log.String())
	}
	return p
}

// root calls the command line with the root token.
func (p *product) root(args ...string) string {
	p.t.Helper()
	command := exec.CommandContext(p.t.Context(), p.path, append(args, "--url", p.url)...)
	command.Env = []string{"HOME=" + p.dir}
	command.Stdin = strings.NewReader("a password for here\n")
	out, err := command.CombinedOutput()
	if err != nil {
		p.t.Fatalf("%v: %v: %s", args, err, out)
	}
	return string(out)
}

// freeAddress returns a free address: the provider has to know it before the product starts.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

func TestUserSignsInAtProviderAndGroupsDecide(t *testing.T) {
	address := freeAddress(t)
	id := newProvider(t, false, "http://"+address+"/login/oidc/callback")
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte(clientSecret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := startProduct(t, address, "--oidc-issuer", id.issuer, "--oidc-client-secret-file", secret,
		"--oidc-role", "tw-admins=admin", "--oidc-role", "cn=shop, ou=teams=editor@default", "--oidc-role", "readers=viewer@default")

	id.user("1", "olga", []string{"staff", "tw-admins"})
	olga := newBrowser(t)
	at := olga.signIn(id, p.url+"/jobs/new", "olga")
	at.says(t, 200, "olga", "New job")
	if at.url.Path != "/jobs/new" {
		t.Errorf("it ends at %s", at.url)
	}
	olga.open(p.url+"/audit").says(t, 200, "login at "+strings.TrimPrefix(id.issuer, "http://"))

	// A role that the groups give no more is gone at the next login; another admin lets the first one go.
	p.root("user", "add", "ada", "--role", "admin")
	id.user("1", "olga", []string{"cn=shop, ou=teams", "readers"})
	newBrowser(t).signIn(id, p.url+"/jobs/new", "olga").says(t, 200, "New job")
	olga.open(p.url+"/users").says(t, 403)
	olga.open(p.url+"/jobs").says(t, 200)
	if got := p.root("user", "ls", "-o", "json"); !regexp.MustCompile(`"default":\s*"editor"`).MatchString(got) || !strings.Contains(got, id.issuer) {
		t.Errorf("users %s", got)
	}

	// Groups that map to nothing: no session, and the one that is open may nothing any more.
	id.user("1", "olga", []string{"staff", "visitors"})
	stranger := newBrowser(t)
	stranger.signIn(id, p.url+"/jobs", "olga").says(t, 403, "none of your groups gives you a role here", "staff, visitors", "--oidc-role GROUP=ROLE")
	if stranger.open(p.url+"/jobs").url.Path != "/login" {
		t.Error("one without a role has a session")
	}
	if at := olga.open(p.url + "/jobs"); at.status == 200 {
		t.Errorf("a session outlives its roles: %s", at.content)
	}
	var entries struct {
		Items []struct{ Outcome string }
	}
	if err := json.Unmarshal([]byte(p.root("audit", "-o", "json")), &entries); err != nil || len(entries.Items) == 0 || entries.Items[0].Outcome != "refused" {
		t.Errorf("the newest entry of the audit log: %+v, %v", entries.Items, err)
	}

	// A user with a password stays that user, whatever the provider says.
	id.user("2", "ada", []string{"tw-admins"})
	newBrowser(t).signIn(id, p.url+"/jobs", "ada").says(t, 403, "signed you in as ada, and another user of this name is here")
}
