package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/engine"
)

// A job and a DAG's task die, are looked at, are replayed once their cause is mended, and purged.
func TestDeadLettersAreReplayedAndPurged(t *testing.T) {
	s := startServer(t, serverConfigFor(t))
	mended := filepath.Join(t.TempDir(), "mended")
	s.push("gauge", `[ -e `+mended+` ] || { echo "no gauge" >&2; exit 3; }; echo "gauge $TIDEWHEEL_ATTEMPT"`)
	s.apply("kind: Job\nname: gauge\nbinary: gauge@stable\nretry: {max_attempts: 2, delay: 1ms, max_delay: 1ms}\n---\n" +
		"kind: Job\nname: other\nbinary: gauge@stable\nretry: {max_attempts: 2, delay: 1ms, max_delay: 1ms}\n---\n" +
		"kind: DAG\nname: etl\ndefaults: {binary: gauge@stable, retry: {max_attempts: 2, delay: 1ms, max_delay: 1ms}}\ntasks: {load: {}, report: {needs: [load]}}\n")
	if out := s.must("dlq", "ls"); out != "There are no dead letters.\n" {
		t.Errorf("before anything died: %q", out)
	}
	for _, name := range []string{"gauge", "other", "etl"} {
		if died := s.run("run", name, "--wait"); died.status != exitFailed {
			t.Fatalf("%s: exit %d, %s %s", name, died.status, died.out, died.err)
		}
	}
	listed := func(args ...string) map[string]wire.DeadLetter {
		t.Helper()
		letters := map[string]wire.DeadLetter{}
		for _, letter := range decode[wire.List[wire.DeadLetter]](t, s.must(append(args, "-o", "json")...)).Items {
			letters[letter.Job] = letter
		}
		return letters
	}
	all := listed("dlq", "ls")
	if len(all) != 3 || all["gauge"].Attempts != 2 || !strings.Contains(all["etl/load"].Error, "exit 3; failed 2 of 2 attempts") || all["other"].At.IsZero() {
		t.Fatalf("dead letters %+v", all)
	}
	if of := listed("get", "dead-letters", "--job", "etl"); len(of) != 1 || of["etl/load"].ID == "" {
		t.Errorf("of the DAG: %+v", of)
	}
	for _, words := range []string{"gauge", "ATTEMPTS", "WHEN", "ERROR", "exit 3; failed 2 of 2 attempts"} {
		if out := s.must("dlq", "ls", "--job", "gauge"); !strings.Contains(out, words) || strings.Contains(out, "etl") {
			t.Errorf("the list does not say %q: %s", words, out)
		}
	}
	if out := s.must("dlq", "show", all["etl/load"].ID); !strings.Contains(out, "exit 3") || !strings.Contains(out, "etl/load") {
		t.Errorf("show says %s", out)
	}
	s.refused(exitRefused, "there is no dead letter", "dlq", "show", "nothing")
	s.refused(exitRefused, "--job goes with --all", "dlq", "purge", all["gauge"].ID, "--job", "gauge")

	if err := os.WriteFile(mended, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s.must("delete", "job", "other")
	replayed := s.run("dlq", "replay", "--all")
	if replayed.status != exitFailed || !strings.Contains(replayed.out, "2 runs are tried again.") || !strings.Contains(replayed.out, `the job "other"`) {
		t.Errorf("replay: exit %d, %q %s", replayed.status, replayed.out, replayed.err)
	}
	for name, letter := range all {
		if name == "other" {
			continue
		}
		run := s.show(letter.ID)
		for !run.Status.Terminal() || run.Status == engine.StatusDead { // the engine acts a moment later
			run = s.show(letter.ID)
		}
		if run.Status != engine.StatusSucceeded || run.Attempt != 3 {
			t.Errorf("%s: %s at attempt %d", name, run.Status, run.Attempt)
		}
	}
	if out := s.must("dlq", "replay", "--all", "--job", "etl"); out != "There are no dead letters of etl.\n" {
		t.Errorf("replayed once more: %q", out)
	}
	if out := s.must("dlq", "purge", "--all"); !strings.Contains(out, all["other"].ID+" is purged") {
		t.Errorf("purge says %q", out)
	}
	if left := listed("dlq", "ls"); len(left) != 0 {
		t.Errorf("left are %+v", left)
	}
	if run := s.show(all["other"].ID); run.Status != engine.StatusDead {
		t.Errorf("the run that was purged is %s", run.Status)
	}
}
