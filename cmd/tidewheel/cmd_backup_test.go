package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/engine"
)

// busyServer starts a server with two places for runs and gives one something of everything: two runs that would take
// ten minutes, and one that waits behind them. Their second attempts end at once.
func busyServer(t *testing.T) (s *testServer, runs map[string]string) {
	t.Helper()
	config := serverConfigFor(t)
	config.Slots = 2
	s = startServer(t, config)
	s.push("hello", `echo "hello $NAME"; i=0; while [ $i -lt 2000 ]; do echo "line $i"; i=$((i+1)); done`)
	s.push("slow", `if [ "$TIDEWHEEL_ATTEMPT" = 1 ]; then echo begun; exec sleep 600; fi; echo again`)
	s.apply("kind: Job\nname: greeting\n# why\nbinary: hello@stable\nlimits: {output: 1MiB}\n")
	s.apply("kind: Job\nname: greeting\n# why not\ndescription: edited\nbinary: hello@stable\nlimits: {output: 1MiB}\n")
	s.apply("kind: Job\nname: slow\nbinary: slow@stable\noverlap: allow\ntimeout: 20m\ntier: light\n---\n" +
		"kind: Job\nname: once\nbinary: slow@stable\ndelivery: at_most_once\ntimeout: 20m\ntier: light\n")
	s.apply("kind: DAG\nname: etl\ndefaults: {binary: hello}\ntasks: {zeta: {schedule: \"0 0 1 1 *\"}, alpha: {needs: [zeta]}}\n")
	s.must("run", "greeting", "--wait", "--key", "greeting")
	s.must("run", "etl", "--wait", "--key", "etl")
	runs = map[string]string{}
	for _, one := range [][2]string{{"slow", "first"}, {"once", "once"}, {"slow", "second"}} {
		run := decode[wire.Run](t, s.must("run", one[0], "--key", one[1], "-o", "json"))
		runs[one[1]] = run.ID
		if one[1] != "second" {
			s.awaitStatus(run.ID, engine.StatusRunning)
		}
	}
	s.awaitStatus(runs["second"], engine.StatusQueued)
	return s, runs
}

// awaitStatus returns when a run has a status.
func (s *testServer) awaitStatus(id string, status engine.Status) {
	s.t.Helper()
	for run := s.show(id); run.Status != status; run = s.show(id) {
		if run.Status.Terminal() || s.t.Context().Err() != nil {
			s.t.Fatalf("run %s is %s, not %s", id, run.Status, status)
		}
	}
}

func TestABackupOfARunningServerIsRestored(t *testing.T) {
	s, runs := busyServer(t)
	file := filepath.Join(t.TempDir(), "all.backup")
	made := decode[backupResult](t, s.must("backup", file, "-o", "json"))
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 || made.Documents == 0 || made.Objects == 0 || len(made.Warnings) > 0 {
		t.Fatalf("got %+v with %v, %v", made, info, err)
	}
	token, logs := s.must("get", "runs", "-o", "json"), s.must("logs", decode[wire.Run](t, s.must("run", "greeting", "--key", "greeting", "-o", "json")).ID)
	if !strings.Contains(token, runs["second"]) || !strings.Contains(logs, "line 1999") {
		t.Fatal("there is no history to lose")
	}
	before := s.must("describe", "job", "greeting", "-o", "json")
	secret := s.server.token
	s.stop()

	config := s.config
	config.Data = filepath.Join(filepath.Dir(config.Data), "restored")
	s.must("restore", file, "--data", config.Data)
	s.refused(exitRefused, "holds jobs or history already", "restore", file, "--data", config.Data)
	again := startServer(t, config)
	if again.server.token != secret {
		t.Error("the token is another")
	}
	if now := again.must("describe", "job", "greeting", "-o", "json"); now != before {
		t.Errorf("the job was\n%s\nand is\n%s", before, now)
	}
	if now := again.must("logs", decode[wire.Run](t, again.must("run", "greeting", "--key", "greeting", "-o", "json")).ID); now != logs {
		t.Error("an output has changed")
	}
	if out := again.must("export"); !strings.Contains(out, "# why not") {
		t.Errorf("the source is lost: %s", out)
	}
	// What ran is lost and retried; what was queued may have begun meanwhile, so its first attempt counts, too.
	for key, job := range map[string]string{"first": "slow", "second": "slow"} {
		if done := again.run("run", job, "--key", key, "--wait"); done.status != exitDone || !strings.Contains(done.out, "again") {
			t.Errorf("%s: exit %d, %s%s", key, done.status, done.out, done.err)
		}
		run := again.show(runs[key])
		if run.Attempt != 2 || run.Attempts[0].Status != engine.StatusLost || run.Attempts[1].Status != engine.StatusSucceeded {
			t.Errorf("%s has the attempts %+v", key, run.Attempts)
		}
	}
	if done := again.run("run", "once", "--key", "once", "--wait"); done.status != exitFailed {
		t.Errorf("once: exit %d, %s%s", done.status, done.out, done.err)
	}
	if run := again.show(runs["once"]); run.Status != engine.StatusLost || run.Attempt != 1 {
		t.Errorf("what may run once only is %s in attempt %d", run.Status, run.Attempt)
	}
	again.must("run", "greeting", "--wait")
}

func TestABackupOfAStoppedServerIsRestored(t *testing.T) {
	config := serverConfigFor(t)
	s := startServer(t, config)
	s.push("hello", `echo hello`)
	s.apply("kind: Job\nname: greeting\nbinary: hello@stable\n")
	s.must("run", "greeting", "--wait")
	file := filepath.Join(t.TempDir(), "all.backup")
	s.refused(exitRefused, "another tidewheel server uses", "backup", file, "--data", config.Data)
	if _, err := os.Stat(file); err == nil {
		t.Error("a refused backup left a file")
	}
	s.stop()
	s.must("backup", file, "--data", config.Data, "--no-logs", "--no-keys")

	broken := filepath.Join(t.TempDir(), "broken.backup")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	target := filepath.Join(filepath.Dir(config.Data), "restored")
	for words, content := range map[string][]byte{
		"it is no backup of Tidewheel: it is empty": nil, "it is no backup of Tidewheel": []byte("kind: Job\n"), "the backup is cut off": text[:len(text)*3/4],
	} {
		if err := os.WriteFile(broken, content, 0o600); err != nil {
			t.Fatal(err)
		}
		s.refused(exitRefused, words, "restore", broken, "--data", target)
	}
	s.refused(exitRefused, "cannot be read: no such file", "restore", filepath.Join(t.TempDir(), "none"), "--data", target)
	s.refused(exitRefused, "belong together", "restore", file, "--mongodb-uri", "mongodb://127.0.0.1:1")
	s.refused(exitUnreachable, "--mongodb-uri", "restore", file, "--data", target, "--mongodb-uri", "mongodb://127.0.0.1:1/?serverSelectionTimeoutMS=100")
	s.refused(exitRefused, "--mongodb-uri", "restore", file, "--data", target, "--mongodb-uri", "http://127.0.0.1:1")
	s.refused(exitUnreachable, "--s3-endpoint", "restore", file, "--data", target, "--s3-endpoint", "http://127.0.0.1:1", "--s3-access-key", "a", "--s3-secret-key", "b")
	s.refused(exitRefused, "belong together", "restore", file, "--data", target, "--s3-endpoint", "http://127.0.0.1:1", "--s3-access-key", "a")
	if entries, err := os.ReadDir(target); err == nil && len(entries) > 0 {
		t.Errorf("what was refused has left %v", entries)
	}
	s.refused(exitRefused, "is no data folder", "restore", file, "--data", filepath.Dir(config.Data))
	s.refused(exitRefused, "is no data folder", "backup", broken, "--data", target+"-none")

	s.must("restore", file, "--data", target)
	// A place that something was not moved to the end of is nothing to start on, and the same call continues with it.
	mark := filepath.Join(target, storeFolder, markName)
	write := func(kind, other string) {
		if err := os.WriteFile(mark, []byte(`{"kind":"`+kind+`","other":"`+other+`"}`), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(markRestore, "backup of another")
	restored := config
	restored.Data = target
	server, err := NewServer(restored, testLog(t), &safeBuffer{})
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "not restored to its end") || exitStatus(err) != exitRefused {
		t.Errorf("a server starts on a half of something: %v", err)
	}
	s.refused(exitRefused, "not restored to its end", "backup", broken, "--data", target)
	s.refused(exitRefused, "was not moved to its end", "restore", file, "--data", target)
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	_, manifest, err := newCLI(nil, &safeBuffer{}, &safeBuffer{}).verifyBackup(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	write(markRestore, identity(manifest))
	s.must("restore", file, "--data", target)
	again := startServer(t, restored)
	again.must("run", "greeting", "--wait")
	if out := again.must("get", "runs"); strings.Count(out, "greeting") != 2 {
		t.Errorf("the history is %s", out)
	}
}
