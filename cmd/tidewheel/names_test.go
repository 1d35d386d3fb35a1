package main

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tidewheel/tidewheel/client/wire"
)

const pipeline = `kind: DAG
name: etl
defaults: {binary: say}
tasks:
  fetch: {args: [fetched]}
  join: {args: [joined], needs: [fetch]}
`

// nameServer has a job hello, a DAG etl, and jobs and a DAG whose names begin alike.
func nameServer(t *testing.T) *testServer {
	s := startServer(t, serverConfigFor(t))
	s.push("say", `echo "$1"`)
	s.apply("kind: Job\nname: hello\nbinary: say\nargs: [hi]\n")
	s.apply("kind: Job\nname: bell\nbinary: say\n")
	s.apply(pipeline)
	s.apply(strings.Replace(pipeline, "etl", "belt", 1))
	return s
}

func TestNameAloneIsEnoughWhereItIsClear(t *testing.T) {
	s := nameServer(t)
	for _, call := range []struct {
		words string
		args  []string
	}{
		{"Job hello is paused.", []string{"pause", "hello"}},
		{"Job hello is active again.\nDAG etl is active again.", []string{"resume", "hello", "etl"}},
		{"Job bell is paused.", []string{"pause", "job/bell"}},
		{"DAG belt is paused.", []string{"pause", "dag", "belt"}},
		{"Tasks:", []string{"describe", "etl"}},
		{"Binary:", []string{"describe", "say"}},
		{"DAG etl is deleted.", []string{"delete", "etl"}},
	} {
		if out := s.must(call.args...); !strings.Contains(out, call.words) && call.args[1] != "say" {
			t.Errorf("tidewheel %s: %q does not say %q", strings.Join(call.args, " "), out, call.words)
		}
	}
	s.refused(exitRefused, `there is no job and no DAG "nothing"`, "pause", "hello", "nothing")
	s.refused(exitRefused, `there is no job and no DAG "helo": did you mean hello?`, "pause", "helo")
	if out := s.must("get", "job", "hello"); strings.Contains(out, "paused") {
		t.Errorf("the first of two names was paused though the second is wrong: %s", out)
	}
	s.refused(exitRefused, `there is no job, DAG, run, wave or binary "nothing"`, "describe", "nothing")
}

func TestLogsOfANameAreThoseOfItsLatestRun(t *testing.T) {
	s := nameServer(t)
	s.refused(exitRefused, "has not run yet", "logs", "hello")
	s.refused(exitRefused, "no wave of DAG \"etl\" has begun yet", "logs", "etl")
	s.must("run", "hello", "--wait")
	s.must("run", "etl", "--wait")
	wave := decode[wire.List[wire.Wave]](t, s.must("get", "waves", "-o", "json")).Items[0].ID
	for word, want := range map[string]string{"hello": "hi\n", "job/hello": "hi\n", "etl/join": "joined\n", "dag/etl/fetch": "fetched\n"} {
		if out := s.must("logs", word); out != want {
			t.Errorf("logs %s: %q, not %q", word, out, want)
		}
	}
	tasks := regexp.MustCompile(`^==> etl/fetch, run \S+, succeeded <==\nfetched\n\n==> etl/join, run \S+, succeeded <==\njoined\n$`)
	for _, word := range []string{"etl", "dag/etl", wave} {
		if out := s.must("logs", word); !tasks.MatchString(out) {
			t.Errorf("logs %s: %q", word, out)
		}
	}
	s.refused(exitRefused, "has the output of several tasks", "logs", "etl", "-f")
	s.refused(exitRefused, `no run, wave, job or DAG "nothing"`, "logs", "nothing")
}

func TestIDPrefixIdentifiesARun(t *testing.T) {
	s := nameServer(t)
	first := strings.TrimSpace(s.must("run", "hello", "--key", "first"))
	s.must("run", "hello", "--key", "first", "--wait")
	s.must("run", "etl", "--wait")
	wave := decode[wire.List[wire.Wave]](t, s.must("get", "waves", "-o", "json")).Items[0].ID
	short := first[:len(first)-2]
	for _, call := range [][]string{{"logs", short}, {"describe", "run", short}, {"describe", short}, {"get", "run", short}, {"artifacts", short}} {
		s.must(call...)
	}
	if out := s.must("logs", first[:6]); out != "hi\n" {
		t.Errorf("logs by six letters of the id: %q", out)
	}
	if out := s.must("describe", wave[:len(wave)-1]); !strings.Contains(out, wave) {
		t.Errorf("describe by the beginning of a wave's id: %q", out)
	}
	second := strings.TrimSpace(s.must("run", "hello", "--key", "second"))
	s.must("run", "hello", "--key", "second", "--wait")
	got := s.run("logs", first[:16])
	if got.status != exitRefused || !strings.Contains(got.err, first) || !strings.Contains(got.err, second) {
		t.Errorf("the beginning of two ids: exit %d, %s", got.status, got.err)
	}
	s.refused(exitRefused, `there is no run and no wave "`+first[:3]+`"`, "cancel", first[:3])
}

func TestFilterThatNamesNothingSaysSo(t *testing.T) {
	s := nameServer(t)
	s.must("run", "hello", "--wait")
	for words, call := range map[string][]string{
		`there is no DAG "nothing"`:                    {"get", "waves", "--dag", "nothing"},
		`there is no user "nobody"`:                    {"get", "runs", "--by", "nobody"},
		`there is no user "nobody", and one has`:       {"audit", "--by", "nobody", "--since", "1h"},
		`there is no user "nobody/token", and one has`: {"audit", "--by", "nobody/token"},
		`there is no user "nobody": `:                  {"session", "ls", "--user", "nobody"},
		`there is no notification target "nothing"`:    {"notify", "ls", "--target", "nothing"},
		`there is no job and no DAG "nothing"`:         {"dlq", "replay", "--all", "--job", "nothing"},
		`there is no job and no DAG "nothing", and th`: {"dlq", "purge", "--all", "--job", "nothing"},
	} {
		s.refused(exitFailed, words, call...)
	}
	for _, call := range [][]string{
		{"get", "waves", "--dag", "etl"}, {"get", "runs", "--by", "root"}, {"dlq", "replay", "--all", "--job", "hello"}, {"dlq", "purge", "--all"},
	} {
		s.must(call...)
	}
	for words, call := range map[string][]string{"No jobs found": {"get", "jobs", "-q", "nothing"}, "No DAGs found": {"get", "dags", "-q", "nothing"}} {
		if out := s.must(call...); !strings.Contains(out, words) {
			t.Errorf("%v: %q, want %q", call, out, words)
		}
	}
}

func TestShellsCompleteNames(t *testing.T) {
	s := nameServer(t)
	run := strings.TrimSpace(s.must("run", "hello"))
	s.must("run", "etl", "--wait")
	wave := decode[wire.List[wire.Wave]](t, s.must("get", "waves", "-o", "json")).Items[0].ID
	for _, call := range []struct {
		want []string
		line []string
	}{
		{[]string{"hello"}, []string{"pause", "he"}},
		{[]string{"hello"}, []string{"pause", "job", "h"}},
		{[]string{"etl"}, []string{"resume", "dag", "e"}},
		{[]string{"bell", "belt"}, []string{"run", "be"}},
		{[]string{run}, []string{"logs", run[:8]}},
		{[]string{run}, []string{"describe", "run", run[:8]}},
		{[]string{wave}, []string{"mark", wave[:20]}},
		{[]string{"hello"}, []string{"get", "runs", "--job", "hel"}},
		{[]string{"etl"}, []string{"get", "waves", "--dag", ""}},
		{[]string{"say"}, []string{"get", "binaries", "s"}},
		{nil, []string{"run", "hello", ""}},
	} {
		out := s.must(append([]string{"__completeNoDesc"}, call.line...)...)
		var got []string
		for line := range strings.Lines(out) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, ":") {
				got = append(got, line)
			}
		}
		if len(call.want) == 1 && call.line[len(call.line)-1] == "" {
			if !slices.Contains(got, call.want[0]) {
				t.Errorf("%v: %v offers no %v", call.line, got, call.want)
			}
		} else if !slices.Equal(got, call.want) {
			t.Errorf("%v: offers %v, not %v", call.line, got, call.want)
		}
	}
	s.stop()
	if got := newTestCLI(t).run("__completeNoDesc", "--url", "http://127.0.0.1:1", "pause", "h"); got.status != exitDone || strings.Contains(got.out, "h\n") {
		t.Errorf("without a server: exit %d, %q %q", got.status, got.out, got.err)
	}
}
