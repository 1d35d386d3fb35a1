package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/queue/jetstream/natstest"
)

// site is an engine with pages, and how executors elsewhere reach it once they are enrolled.
type enrolmentSite struct {
	*testServer
	elsewhere  ServerConfig
	engineKeys string
}

// enrolmentSiteFor starts one whose executors' credentials live for so long.
func enrolmentSiteFor(t *testing.T, life time.Duration) *enrolmentSite {
	config := serverConfigFor(t)
	config.NATSListen, config.NATSCredentials = freeAddress(t), "tide:hush"
	return enrolmentSiteOn(t, config, life, "nats://"+config.NATSListen)
}

// enrolmentSiteOn starts one on a NATS that executors find at url.
func enrolmentSiteOn(t *testing.T, config ServerConfig, life time.Duration, url string) *enrolmentSite {
	t.Helper()
	config.Roles, config.CredentialsTTL, config.S3Listen = []string{roleEngine, roleWeb}, life, freeAddress(t)
	config.TaskKeysFile = keyFile(t, newTestCLI(t).must("task-key", "new"))
	main := startServer(t, config)
	keys := main.server.gateway.Credentials()
	elsewhere := serverConfigFor(t)
	elsewhere.Roles, elsewhere.StateFolder, elsewhere.NATSURL = []string{roleExecutor}, "", url
	elsewhere.S3Endpoint, elsewhere.S3AccessKey, elsewhere.S3SecretKey = "http://"+config.S3Listen, keys.AccessKey, keys.SecretKey
	main.push("hello", "echo hello")
	main.apply("kind: Job\nname: greeting\nbinary: hello@stable\ntimeout: 20s\ntier: light\n")
	return &enrolmentSite{main, elsewhere, config.TaskKeysFile}
}

// enrol enrols an executor of a tier, and returns the configuration that it starts with.
func (s *enrolmentSite) enrol(name, tier string) ServerConfig {
	s.t.Helper()
	config := s.elsewhere
	config.Data, config.Enrolment = filepath.Join(s.t.TempDir(), "data"), filepath.Join(s.t.TempDir(), "enrolment")
	token := strings.TrimSpace(s.must("executor", "token", "--tier", tier))
	s.must("executor", "enrol", "--server", s.server.URL(), "--token", token, "--out", config.Enrolment, "--name", name)
	return config
}

func (s *enrolmentSite) greeting() {
	s.t.Helper()
	s.must("run", "greeting", "--wait")
}

// stored is what an executor keeps.
func stored(t *testing.T, folder string) (as enrolledAs) {
	t.Helper()
	path := filepath.Join(folder, enrolmentFile)
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &as)
	}
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("its mode is %v, %v", info.Mode(), err)
	}
	return as
}

func TestEnrolledExecutorRunsIsRenewedFollowsKeysAndIsRevoked(t *testing.T) {
	s := enrolmentSiteFor(t, 8*time.Second)
	config := s.enrol("quay-7", "light")
	node, err := startNode(t, config)
	if err != nil {
		t.Fatal(err)
	}
	first := stored(t, config.Enrolment)
	s.greeting()
	var executors []wire.Executor
	until(t, "an executor is listed", func() bool {
		executors = decode[wire.List[wire.Executor]](t, s.must("get", "executors", "-o", "json")).Items
		return len(executors) > 0
	})
	if len(executors) != 1 || executors[0].Rights != string(engine.RightsOfTier) || !strings.HasPrefix(executors[0].ID, "quay-7-") {
		t.Errorf("the executors are %+v", executors)
	}
	for began := time.Now(); time.Since(began) < 17*time.Second; { // two lives of its credentials
		s.greeting()
	}
	if now := stored(t, config.Enrolment); now.JWT == first.JWT || !now.Expires.After(first.Expires) {
		t.Errorf("they expire at %v, and before at %v", now.Expires, first.Expires)
	}

	// Another key of tasks, which no file here is given.
	cli := newTestCLI(t)
	writeKeys(t, s.engineKeys, cli.must("task-key", "new"))
	if err := s.server.taskKeys.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	text, err := s.server.taskKeys.Keys().PublicText()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.server.service.PublishTaskKeys(t.Context(), text); err != nil { // as each minute
		t.Fatal(err)
	}
	s.greeting()

	if list := s.must("executor", "ls"); !strings.Contains(list, "quay-7") || !strings.Contains(list, node.identity.key.Public()) {
		t.Errorf("listed: %s", list)
	}
	s.must("executor", "revoke", "quay-7")
	ended := make(chan error, 1)
	go func() { ended <- node.Wait(t.Context()) }()
	select {
	case err := <-ended:
		if err == nil || !strings.Contains(err.Error(), "no credentials any more") {
			t.Errorf("it ends with %v", err)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("it goes on")
	}
	if executors := decode[wire.List[wire.Executor]](t, s.must("get", "executors", "-o", "json")).Items; len(executors) == 1 && executors[0].Refused != nil {
		t.Errorf("it has refused tasks: %+v", executors[0].Refused)
	}
	config.Data += "-2"
	if _, err := startNode(t, config); exitStatus(err) != exitRefused || !strings.Contains(err.Error(), "was revoked") {
		t.Errorf("it starts again: %v", err)
	}
}

// An executor without an enrolment works as before, and it is said that its credentials open everything.
// On a NATS of one's own the web node signs credentials with a key of the account.
func TestExecutorEnrolsForANATSInOperatorMode(t *testing.T) {
	nats := natstest.Start(t, 64<<10)
	config := serverConfigFor(t)
	config.NATSURL, config.NATSCredentials = nats.URL, nats.CredentialsFile
	config.NATSAccountKeyFile, config.NATSAccount = nats.SigningKeyFile, nats.Account
	s := enrolmentSiteOn(t, config, 8*time.Second, nats.URL)
	own := s.enrol("quay-7", "light")
	if _, err := startNode(t, own); err != nil {
		t.Fatal(err)
	}
	first := stored(t, own.Enrolment)
	s.greeting()
	until(t, "its credentials are renewed", func() bool { return stored(t, own.Enrolment).JWT != first.JWT })
	s.greeting()
}

func TestExecutorWithoutAnEnrolmentIsSaidToHaveWideRights(t *testing.T) {
	s := enrolmentSiteFor(t, time.Hour)
	config := s.elsewhere
	config.NATSCredentials = "tide:hush"
	config.TaskKeysFile = keyFile(t, newTestCLI(t).must("task-key", "public", s.engineKeys))
	node, err := startNode(t, config)
	if err != nil {
		t.Fatal(err)
	}
	if node.identity != nil {
		t.Error("it has an identity")
	}
	s.greeting()
	for _, c := range []struct {
		words string
		args  []string
	}{
		{"credentials of 1 executor open all of NATS", []string{"doctor", "--url", s.server.URL()}},
		{"wide", []string{"get", "executors"}},
	} {
		if got := s.run(c.args...); !strings.Contains(got.out, c.words) {
			t.Errorf("%v does not say %q: %s", c.args, c.words, got.out)
		}
	}
}

// An embedded NATS ends the connection of an executor that was revoked, even if it asks for nothing.
func TestRevokedExecutorLosesAnEmbeddedNATS(t *testing.T) {
	s := enrolmentSiteFor(t, time.Hour)
	node, err := startNode(t, s.enrol("quay-7", "light"))
	if err != nil {
		t.Fatal(err)
	}
	s.must("executor", "revoke", "quay-7")
	for began := time.Now(); node.queue.Ping(t.Context()) == nil; { // which takes its time
		if time.Since(began) > 30*time.Second {
			t.Fatal("it is still connected")
		}
	}
}

func TestEnrolmentTokensAreRefused(t *testing.T) {
	s := enrolmentSiteFor(t, time.Hour)
	try := func(words, token, name string) {
		t.Helper()
		out := filepath.Join(t.TempDir(), "out")
		s.refused(exitRefused, words, "executor", "enrol", "--server", s.server.URL(), "--token", token, "--out", out, "--name", name)
		if _, err := os.Stat(filepath.Join(out, enrolmentFile)); err == nil {
			t.Errorf("%s: it has left a file", words)
		}
	}
	try("is not known", "twe_forged", "a1")
	try("is not known", s.server.token, "a1") // it opens everything else
	old := strings.TrimSpace(s.must("executor", "token", "--tier", "light", "--ttl", "1s"))
	<-time.After(1100 * time.Millisecond)
	try("has expired", old, "a1")
	once := strings.TrimSpace(s.must("executor", "token", "--tier", "light"))
	try("a name begins with", once, "a/1")
	s.must("executor", "enrol", "--server", s.server.URL(), "--token", once, "--out", t.TempDir(), "--name", "a1")
	try("was used", once, "a2")
	another := strings.TrimSpace(s.must("executor", "token", "--tier", "light"))
	try("of this name is enrolled", another, "a1")
	s.must("executor", "enrol", "--server", s.server.URL(), "--token", another, "--out", t.TempDir(), "--name", "a2") // it was not used up
	s.refused(exitRefused, "light, medium, heavy", "executor", "token", "--tier", "huge")
	s.refused(exitRefused, "168h", "executor", "token", "--tier", "light", "--ttl", "200h")
	s.refused(exitRefused, `no executor "a9"`, "executor", "revoke", "a9")
	s.must("executor", "revoke", "a2")
	log := s.must("audit", "--since", "1h", "-o", "json")
	for _, words := range []string{"for one executor of tier light", "enrolled for tier light by a token of root", `"after": "revoked"`} {
		if !strings.Contains(log, words) {
			t.Errorf("the audit log does not say %q: %s", words, log)
		}
	}
	if strings.Contains(log, another) || strings.Contains(log, "twe_forged") {
		t.Error("the audit log holds tokens")
	}
}

// The tier is the token's. Neither a flag nor a change of the file gives another one.
func TestEnrolledExecutorServesItsTierOnly(t *testing.T) {
	s := enrolmentSiteFor(t, time.Hour)
	config := s.enrol("quay-7", "light")
	config.Tier = "heavy"
	if _, err := startNode(t, config); exitStatus(err) != exitRefused || !strings.Contains(err.Error(), "enrolled for light") {
		t.Errorf("with --tier heavy: %v", err)
	}
	as := stored(t, config.Enrolment)
	as.Tier = "heavy"
	if err := as.write(config.Enrolment); err != nil {
		t.Fatal(err)
	}
	config.Tier = ""
	node, err := startNode(t, config)
	if err != nil {
		t.Fatal(err)
	}
	if node.config.Tier != "light" {
		t.Errorf("it serves %s", node.config.Tier)
	}
	s.greeting()
}

func TestServerWithoutAnAccountSaysHowToEnrol(t *testing.T) {
	s := startServer(t, serverConfigFor(t))
	s.refused(exitRefused, "start it with --nats-listen", "executor", "token", "--tier", "light")
	var executors []wire.Executor
	until(t, "an executor is listed", func() bool {
		executors = decode[wire.List[wire.Executor]](t, s.must("get", "executors", "-o", "json")).Items
		return len(executors) > 0
	})
	if len(executors) != 1 || executors[0].Rights != string(engine.RightsOfNode) {
		t.Errorf("the executors are %+v", executors)
	}
	config := serverConfigFor(t)
	config.Enrolment = t.TempDir()
	if _, err := startNode(t, config); err == nil || !strings.Contains(err.Error(), "for executors elsewhere") {
		t.Errorf("--enrolment beside the store: %v", err)
	}
	config.Roles, config.NATSURL, config.S3Endpoint = []string{roleExecutor}, "nats://127.0.0.1:1", "http://127.0.0.1:1"
	if _, err := startNode(t, config); err == nil || !strings.Contains(err.Error(), "tidewheel executor enrol --out") {
		t.Errorf("an empty folder: %v", err)
	}
}
