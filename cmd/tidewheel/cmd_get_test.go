package main

import (
	"strings"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/client/wire"
)

func TestListsOfRunsSayThatTheJobIsNotThere(t *testing.T) {
	s := startServer(t, serverConfigFor(t))
	s.push("hello", "exit 0")
	s.apply("kind: Job\nname: greeting\nbinary: hello\n")
	s.apply("kind: Job\nname: fleeting\nbinary: hello\n")
	s.must("run", "fleeting", "--wait")
	s.must("delete", "job", "fleeting")
	for _, call := range [][]string{
		{"get", "runs", "--job", "nothing"}, {"get", "runs", "--dag", "nothing"}, {"get", "runs", "--job", "nothing", "--status", "failed", "-o", "json"},
		{"get", "dead-letters", "--job", "nothing"},
	} {
		s.refused(exitFailed, `"nothing", and there are no runs of an earlier one`, call...)
	}
	for _, call := range [][]string{
		{"get", "runs", "--job", "greeting"}, {"get", "runs", "--job", "greeting", "--status", "failed"},
		{"get", "runs", "--job", "fleeting", "--status", "failed"}, // deleted, and its history stays
		{"get", "dead-letters", "--job", "greeting"}, {"get", "dead-letters", "--job", "fleeting"},
	} {
		s.must(call...)
	}
	if out := s.must("get", "runs", "--job", "fleeting"); !strings.Contains(out, "fleeting") {
		t.Errorf("the runs of a deleted job: %s", out)
	}
}

func TestListsOfJobsAndDAGsAreNarrowedByStatus(t *testing.T) {
	s := startServer(t, serverConfigFor(t))
	s.push("exit", `exit "$1"`)
	for _, definition := range []string{
		"kind: Job\nname: good\nbinary: exit\nargs: [\"0\"]\n", "kind: Job\nname: bad\nbinary: exit\nargs: [\"65\"]\ntier: heavy\n",
		"kind: Job\nname: still\nbinary: exit\n", harbourDAG, strings.Replace(harbourDAG, "harbour", "quay", 1),
	} {
		s.apply(strings.Replace(definition, "binary: step", "binary: exit", 1))
	}
	s.must("run", "good", "--wait")
	s.run("run", "bad", "--wait")
	s.run("run", "harbour", "--wait")
	s.must("pause", "job", "still")
	s.must("pause", "dag", "quay")
	for status, want := range map[string]string{"failed": "bad", "failing": "bad", "paused": "still", "late": ""} {
		var names []string
		for _, job := range decode[wire.List[wire.Job]](t, s.must("get", "jobs", "--status", status, "-o", "json")).Items {
			names = append(names, job.Name)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("get jobs --status %s lists %q, not %q", status, got, want)
		}
	}
	if jobs := decode[wire.List[wire.Job]](t, s.must("get", "jobs", "--tier", "heavy", "-o", "json")).Items; len(jobs) != 1 || jobs[0].Name != "bad" {
		t.Errorf("get jobs --tier heavy lists %v", jobs)
	}
	s.must("label", "job", "good", "team=quay")
	s.must("label", "dag", "quay", "team=quay")
	for _, call := range [][]string{{"good", "jobs", "--label", "team=quay"}, {"good", "jobs", "--label", "team"}, {"", "jobs", "--label", "team=none"},
		{"bad", "jobs", "--order", "failures"}, {"quay", "dags", "--label", "team"}} {
		var names []string
		for _, one := range decode[wire.List[wire.Job]](t, s.must(append([]string{"get", "-o", "json"}, call[1:]...)...)).Items {
			names = append(names, one.Name)
		}
		if got := strings.Join(names, " "); got != call[0] {
			t.Errorf("get %v lists %q, not %q", call[1:], got, call[0])
		}
	}
	s.refused(exitRefused, "write key or key=value", "get", "jobs", "--label", "=quay")
	for _, call := range [][]string{{"get", "runs", "--until", "1h"}, {"get", "waves", "--until", "1h"}, {"get", "runs", "--dag", "harbour", "--task", "none"}} {
		if all := decode[wire.List[wire.Run]](t, s.must(append(call, "-o", "json")...)).Items; len(all) > 0 {
			t.Errorf("%v lists %v", call, all)
		}
	}
	for status, want := range map[string]string{"paused": "quay", "failed": "harbour", "failing": "harbour", "running": ""} {
		var names []string
		for _, dag := range decode[wire.List[wire.DAG]](t, s.must("get", "dags", "--status", status, "-o", "json")).Items {
			names = append(names, dag.Name)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("get dags --status %s lists %q, not %q", status, got, want)
		}
	}
}

func TestTasksOfAManualWaveShareOnePlannedTime(t *testing.T) {
	s := startServer(t, serverConfigFor(t))
	s.push("slot", `echo "$TIDEWHEEL_SLOT"`)
	s.apply("kind: DAG\nname: chain\ndefaults: {binary: slot}\ntasks:\n  first: {}\n  second: {needs: [first]}\n  third: {needs: [second]}\n")
	s.must("run", "chain", "--wait")
	waves := decode[wire.List[wire.Wave]](t, s.must("get", "waves", "--dag", "chain", "-o", "json")).Items
	runs := decode[wire.List[wire.Run]](t, s.must("get", "runs", "--dag", "chain", "-o", "json")).Items
	if len(waves) != 1 || len(runs) != 3 {
		t.Fatalf("%d waves and %d runs", len(waves), len(runs))
	}
	want := waves[0].CreatedAt.UTC().Format(time.RFC3339Nano) + "\n"
	for i := range runs {
		if got := s.must("logs", runs[i].ID); got != want {
			t.Errorf("task %s ran for %q, the wave was asked for at %q", runs[i].Task, got, want)
		}
	}
}

func TestBytesOfAnEarlierVersionBecomeTheLatest(t *testing.T) {
	s := startServer(t, serverConfigFor(t))
	for i, push := range []struct {
		script   string
		versions int
	}{{"echo a", 1}, {"echo a", 1}, {"echo b", 2}, {"echo a", 3}} {
		s.push("hello", push.script)
		if binary := decode[wire.Binary](t, s.must("get", "binary", "hello", "-o", "json")); len(binary.Versions) != push.versions {
			t.Errorf("after upload %d there are %d versions, not %d", i+1, len(binary.Versions), push.versions)
		}
	}
	s.apply("kind: Job\nname: greeting\nbinary: hello\n")
	if got := s.run("run", "greeting", "--wait"); got.out != "a\n" {
		t.Errorf("without a version what was uploaded last runs, not %q", got.out)
	}
}
