package main

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/queue/jetstream/natstest"
)

// Executors of pods enrol themselves with the token of their tier, at a NATS that was set up by the command for it.
func TestExecutorsJoinWithTheTokenOfTheirTier(t *testing.T) {
	const light, heavy = "twj_light_0123456789abcdef", "twj_heavy_0123456789abcdef"
	made := filepath.Join(t.TempDir(), "nats")
	cli := newTestCLI(t)
	cli.must("executor", "nats-operator", "--out", made)
	cli.refused(exitRefused, "nothing was written", "executor", "nats-operator", "--out", made)

	tokens := keyFile(t, "# of tiers\nheavy "+heavy+"\nlight "+light+"\n")
	config := serverConfigFor(t)
	config.NATSURL = natstest.Configured(t, filepath.Join(made, "operator.conf"))
	config.NATSCredentials, config.NATSAccountKeyFile = filepath.Join(made, "engine.creds"), filepath.Join(made, "account.nk")
	config.JoinTokensFile = tokens
	s := enrolmentSiteOn(t, config, time.Hour, config.NATSURL)

	// The server does not answer at once, as when all pods start together.
	server, err := url.Parse(s.server.URL())
	if err != nil {
		t.Fatal(err)
	}
	var asked atomic.Int32
	proxy := httputil.NewSingleHostReverseProxy(server)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) <= 2 {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	pod := func(token string) ServerConfig {
		config := s.elsewhere
		dir := t.TempDir()
		config.Data, config.Enrolment, config.JoinTokenFile, config.APIURL = filepath.Join(dir, "data"), filepath.Join(dir, "enrolment"), keyFile(t, token), front.URL
		return config
	}
	one, other := pod(light), pod(light)
	first, err := startNode(t, one)
	if err != nil {
		t.Fatal(err)
	}
	if asked.Load() < 3 {
		t.Errorf("it asked %d times", asked.Load())
	}
	second, err := startNode(t, other)
	if err != nil {
		t.Fatal(err)
	}
	if first.config.Tier != "light" || first.identity.as.Name == second.identity.as.Name {
		t.Errorf("%s of tier %s, and %s", first.identity.as.Name, first.config.Tier, second.identity.as.Name)
	}
	until(t, "both are listed with rights of their tier", func() bool {
		return strings.Count(s.must("get", "executors", "-o", "json"), `"rights": "tier"`) == 2
	})
	s.greeting()
	if log := s.must("audit", "--since", "1h", "-o", "json"); !strings.Contains(log, "by a token of the join token of tier light") || strings.Contains(log, light) {
		t.Errorf("the audit log: %s", log)
	}

	// It stays who it is when it starts again, and joins again after it was revoked: its token stands.
	closeNode(t, first)
	again, err := startNode(t, one)
	if err != nil || again.identity.as.Name != first.identity.as.Name {
		t.Fatalf("started again: %v, %v", again, err)
	}
	closeNode(t, again)
	s.must("executor", "revoke", first.identity.as.Name, "--yes")
	replacement, err := startNode(t, one)
	if err != nil {
		t.Fatal(err)
	}
	if replacement.identity.as.Name == first.identity.as.Name || stored(t, one.Enrolment).Name != replacement.identity.as.Name {
		t.Errorf("it is %s again", replacement.identity.as.Name)
	}
	if known := decode[wire.List[wire.EnrolledExecutor]](t, s.must("executor", "ls", "-o", "json")).Items; len(known) != 2 {
		t.Errorf("enrolled: %+v", known)
	}

	// A token that is removed from the file admits no executor any more; a token of one tier does not admit to another.
	if err := os.WriteFile(tokens, []byte("heavy "+heavy+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := startNode(t, pod(light)); exitStatus(err) != exitRefused || !strings.Contains(err.Error(), "is not known") {
		t.Errorf("with a token that was taken out: %v", err)
	}
	wrong := pod(heavy)
	wrong.Tier = "light"
	if _, err := startNode(t, wrong); exitStatus(err) != exitRefused || !strings.Contains(err.Error(), "enrolled for heavy") {
		t.Errorf("with the token of another tier: %v", err)
	}
}

func TestJoinTokensThatCannotBeUsedAreRefused(t *testing.T) {
	for words, text := range map[string]string{
		"line 2":             "light twj_0123456789abcdef01234567\ntwj_0123456789abcdef01234567\n",
		`"huge" is no tier`:  "huge twj_0123456789abcdef01234567\n",
		"shorter than":       "light secret\n",
		"write a tier and a": "light twj_0123456789abcdef01234567 all\n",
	} {
		config := serverConfigFor(t)
		config.NATSListen, config.JoinTokensFile = freeAddress(t), keyFile(t, text)
		_, err := startNode(t, config)
		if exitStatus(err) != exitRefused || !strings.Contains(err.Error(), words) || strings.Contains(err.Error(), "twj_0") {
			t.Errorf("%s: %v", words, err)
		}
	}
	config := serverConfigFor(t)
	config.Roles, config.NATSURL, config.S3Endpoint = []string{roleExecutor}, "nats://127.0.0.1:1", "http://127.0.0.1:1"
	config.JoinTokenFile = keyFile(t, "twj_0123456789abcdef01234567")
	if _, err := startNode(t, config); exitStatus(err) != exitRefused || !strings.Contains(err.Error(), "--enrolment") {
		t.Errorf("without a folder: %v", err)
	}
	config.Enrolment = t.TempDir()
	if _, err := startNode(t, config); exitStatus(err) != exitRefused || !strings.Contains(err.Error(), "--api-url") {
		t.Errorf("without a server: %v", err)
	}
}

// closeNode ends a node before its test does.
func closeNode(t *testing.T, node *Server) {
	t.Helper()
	if err := node.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}
