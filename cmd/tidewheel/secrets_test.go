package main

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/secret"
	"github.com/tidewheel/tidewheel/store/memory"
)

const secretJob = "kind: Job\nname: report\nbinary: show@stable\nsecrets: {PASSWORD: db}\n"

// shown is the length of the value that the next run is given.
func (s *testServer) shown() string {
	s.t.Helper()
	run := decode[wire.Run](s.t, s.must("run", "report", "--wait", "-o", "json"))
	return strings.TrimSpace(s.must("logs", run.ID))
}

func TestSecretIsSetRotatedAndDeletedByCommandLine(t *testing.T) {
	config := serverConfigFor(t)
	s := startServer(t, config)
	s.push("show", `echo ${#PASSWORD}`)
	if out := s.mustWith("twelve-bytes\n", "secret", "set", "db"); !strings.Contains(out, "Secret db is set.") {
		t.Errorf("said %q", out)
	}
	s.apply(secretJob)
	if got := s.shown(); got != "12" {
		t.Errorf("a program was given %s bytes", got)
	}
	if out := s.mustWith("abc", "secret", "set", "db"); !strings.Contains(out, "for the 2nd time") || !strings.Contains(out, "not masked") {
		t.Errorf("said %q", out)
	}
	path := filepath.Join(config.Data, secretsKeyFile)
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if out := s.must("secret", "rotate-key"); !strings.Contains(out, "1 secrets are resealed") {
		t.Errorf("said %q", out)
	}
	after, err := os.ReadFile(path)
	info, statErr := os.Stat(path)
	if err != nil || statErr != nil || info.Mode().Perm() != 0o600 || bytes.Equal(before, after) || !bytes.Contains(after, bytes.Split(before, []byte("\n"))[2]) {
		t.Errorf("the key is %v, mode %v, %v", bytes.Equal(before, after), info, errors.Join(err, statErr))
	}
	if got := s.shown(); got != "3" {
		t.Errorf("after the rotation a program was given %s bytes", got)
	}
	s.stop()
	s.start()
	if got := s.shown(); got != "3" {
		t.Errorf("after a start a program was given %s bytes", got)
	}
	s.refused(exitRefused, "is used by report", "secret", "rm", "db")
	s.must("secret", "rm", "db", "--force")
	failed := s.run("run", "report", "--wait")
	if failed.status != exitFailed || !strings.Contains(failed.err, `there is no secret "db"`) {
		t.Errorf("a run without its secret: exit %d, %s", failed.status, failed.err)
	}
	s.refusedWith("x", exitRefused, "name has a '@'", "secret", "set", "nothing@")
}

func TestWrongKeyIsSaidAtStartAndChangesNothing(t *testing.T) {
	config := serverConfigFor(t)
	s := startServer(t, config)
	s.push("show", `echo ${#PASSWORD}`)
	s.mustWith("twelve-bytes", "secret", "set", "db")
	s.apply(secretJob)
	s.stop()
	other := newTestCLI(t).must("secret", "new-key")
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte(other), 0o600); err != nil {
		t.Fatal(err)
	}
	config.SecretsKeyFile = file
	if said := s.startAnew(config); !strings.Contains(said, wrongKey) {
		t.Errorf("nothing was said of the key: %s", said)
	}
	s.refusedWith("other", exitRefused, "another key of secrets", "secret", "set", "db")
	if failed := s.run("run", "report", "--wait"); failed.status != exitFailed || !strings.Contains(failed.err, "another key of secrets") {
		t.Errorf("a run with a wrong key: exit %d, %s", failed.status, failed.err)
	}
	s.stop()
	s.start() // with its own key again
	if got := s.shown(); got != "12" {
		t.Errorf("with its own key a program was given %s bytes", got)
	}
}

// startAnew starts the server with other settings, and returns what it says at its start.
func (s *testServer) startAnew(config ServerConfig) string {
	s.t.Helper()
	var said safeBuffer
	server, err := NewServer(config, slog.New(slog.NewTextHandler(&said, nil)), &safeBuffer{})
	if err == nil {
		err = server.Start(s.t.Context())
	}
	if err != nil {
		s.t.Fatal(err)
	}
	s.server = server
	s.env["TIDEWHEEL_URL"] = server.URL()
	return said.String()
}

func TestLostKeyIsSaidAtStartAndNoOtherTakesItsPlace(t *testing.T) {
	config := serverConfigFor(t)
	s := startServer(t, config)
	s.push("show", `echo ${#PASSWORD}`)
	s.mustWith("twelve-bytes", "secret", "set", "db")
	s.apply(secretJob)
	s.stop()
	own, elsewhere := filepath.Join(config.Data, secretsKeyFile), filepath.Join(t.TempDir(), "key")
	if err := os.Rename(own, elsewhere); err != nil {
		t.Fatal(err)
	}
	if said := s.startAnew(config); !strings.Contains(said, secret.ErrLost.Error()) {
		t.Errorf("nothing was said of the key: %s", said)
	}
	for _, name := range []string{"db", "new"} {
		s.refusedWith("other", exitRefused, "is not here", "secret", "set", name)
	}
	if failed := s.run("run", "report", "--wait"); failed.status != exitFailed {
		t.Errorf("a run without the key: exit %d, %s", failed.status, failed.err)
	}
	s.stop()
	if _, err := os.Stat(own); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("another key was made in its place: %v", err)
	}
	if err := os.Rename(elsewhere, own); err != nil {
		t.Fatal(err)
	}
	s.start()
	if got := s.shown(); got != "12" {
		t.Errorf("with its key again a program was given %s bytes", got)
	}
}

func TestKeyOfSecretsComesFromOnePlace(t *testing.T) {
	key := newTestCLI(t).must("secret", "new-key")
	_, rest, _ := strings.Cut(key, "AGE-SECRET")
	line := strings.TrimSpace("AGE-SECRET" + rest)
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte(key), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, config := range map[string]ServerConfig{
		"environment": {SecretsKey: line + " " + line}, "file": {SecretsKeyFile: file}, "command": {SecretsKeyCommand: "cat '" + file + "'"},
	} {
		source, _ := config.secretsSource()
		ring, err := secret.NewRing(t.Context(), source)
		if err != nil || !strings.Contains(key, ring.Key().Recipient()) {
			t.Errorf("%s: %v", name, err)
		}
	}
	failing := ServerConfig{SecretsKeyCommand: "echo " + line + "; echo vault is sealed >&2; exit 3"}
	source, _ := failing.secretsSource()
	if _, err := secret.NewRing(t.Context(), source); err == nil || !strings.Contains(err.Error(), "vault is sealed") || strings.Contains(err.Error(), "AGE-SECRET") {
		t.Errorf("a command that fails: %v", err)
	}
	both := ServerConfig{SecretsKey: line, SecretsKeyFile: file}
	if err := both.validateSecretsKey(); err == nil || strings.Contains(err.Error(), "AGE-SECRET") {
		t.Errorf("two keys: %v", err)
	}
}

// records is engine.Records under a name that does not hide its method.
type records engine.Records

// awayStore is a store that fails while it is unavailable.
type awayStore struct {
	records
	mu   sync.Mutex
	away error
}

func (s *awayStore) Record(ctx context.Context, kind, key string) (engine.Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.away != nil {
		return engine.Record{}, s.away
	}
	return s.records.Record(ctx, kind, key)
}

func TestTaskIsPublishedWithItsSecretsOrNotAtAll(t *testing.T) {
	key, err := secret.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	ring, err := secret.NewRing(t.Context(), func(context.Context) ([]byte, error) { return key.Text(), nil })
	if err != nil {
		t.Fatal(err)
	}
	store := &awayStore{records: memory.New()}
	vault := secret.NewVault(store, ring, time.Now)
	if _, err := vault.Establish(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"db": "hunter2", "big": strings.Repeat("x", secret.MaxValue)} {
		if _, _, err := vault.Set(t.Context(), "ns", name, []byte(value), "ada"); err != nil {
			t.Fatal(err)
		}
	}
	giver := newSecretGiver(vault)
	// give returns what was published, or why nothing was.
	give := func(secrets map[string]string) (published *engine.Task, failed error) {
		done := make(chan struct{})
		task := &engine.Task{Run: "r", Namespace: "ns", Secrets: secrets}
		giver.give(task, func(task *engine.Task, said func(error)) { published = task; said(nil) }, func(err error) { failed = err; close(done) })
		<-done
		return published, failed
	}
	task, err := give(map[string]string{"A": "db", "B": "db"})
	if err != nil || task.Refused != "" || len(task.Sealed) != 2 || bytes.Contains(task.Sealed["A"], []byte("hunter2")) {
		t.Fatalf("published %+v, %v", task, err)
	}
	if value, err := ring.Open(t.Context(), "ns", "db", task.Sealed["B"]); string(value) != "hunter2" || err != nil {
		t.Errorf("opened %q, %v", value, err)
	}
	many := map[string]string{}
	for _, variable := range []string{"A", "B", "C", "D", "E"} {
		many[variable] = "big"
	}
	for words, secrets := range map[string]map[string]string{`there is no secret "gone"`: {"A": "db", "B": "gone"}, "more than 262144 bytes": many} {
		if task, err := give(secrets); err != nil || !strings.Contains(task.Refused, words) || task.Sealed != nil {
			t.Errorf("published %+v, %v; want %s", task, err, words)
		}
	}
	store.away = errors.New("away")
	if task, err := give(map[string]string{"A": "db"}); err == nil || task != nil {
		t.Errorf("published %+v while the store was away, %v", task, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := giver.run(ctx); err != nil {
		t.Error(err)
	}
	if _, err := give(map[string]string{"A": "db"}); err == nil {
		t.Error("a task was given after the end")
	}
}
