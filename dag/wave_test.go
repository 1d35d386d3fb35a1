package dag_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tidewheel/tidewheel/dag"
)

var words = map[string]dag.State{
	"ok": dag.Succeeded, "failed": dag.Failed, "cancelled": dag.Cancelled, "skipped": dag.Skipped, "upstream": dag.UpstreamFailed,
}

// The table in the comment of Trigger: what happens to a task with three needs that end one after the other.
func TestTriggerRules(t *testing.T) {
	for _, test := range []struct {
		rule dag.Trigger
		ends string // of the needs, in order
		want string // the task's state after each
	}{
		{dag.AllSuccess, "ok ok ok", "waiting waiting ready"},
		{dag.AllSuccess, "ok failed ok", "waiting upstream_failed upstream_failed"},
		{dag.AllSuccess, "ok skipped ok", "waiting waiting skipped"},
		{dag.AllSuccess, "skipped skipped skipped", "waiting waiting skipped"},
		{dag.AllSuccess, "skipped ok failed", "waiting waiting upstream_failed"},
		{dag.AllSuccess, "cancelled ok ok", "upstream_failed upstream_failed upstream_failed"},

		{dag.NoneFailed, "ok ok ok", "waiting waiting ready"},
		{dag.NoneFailed, "ok skipped ok", "waiting waiting ready"},
		{dag.NoneFailed, "skipped skipped skipped", "waiting waiting ready"},
		{dag.NoneFailed, "skipped failed ok", "waiting upstream_failed upstream_failed"},

		{dag.OneSuccess, "failed ok failed", "waiting ready ready"},
		{dag.OneSuccess, "ok ok ok", "ready ready ready"},
		{dag.OneSuccess, "failed failed failed", "waiting waiting upstream_failed"},
		{dag.OneSuccess, "skipped failed skipped", "waiting waiting upstream_failed"},
		{dag.OneSuccess, "skipped skipped skipped", "waiting waiting skipped"},

		{dag.OneFailed, "ok failed ok", "waiting ready ready"},
		{dag.OneFailed, "cancelled ok ok", "ready ready ready"},
		{dag.OneFailed, "ok ok ok", "waiting waiting skipped"},
		{dag.OneFailed, "skipped ok skipped", "waiting waiting skipped"},

		{dag.AllDone, "ok failed skipped", "waiting waiting ready"},
		{dag.AllDone, "skipped skipped skipped", "waiting waiting ready"},
		{dag.Always, "ok failed skipped", "waiting waiting ready"},
		{dag.Always, "cancelled cancelled cancelled", "waiting waiting ready"},
	} {
		t.Run(fmt.Sprint(test.rule, " ", test.ends), func(t *testing.T) {
			graph := graphOf(t, "a; b; c; d: a b c "+string(test.rule))
			wave := graph.NewWave()
			wave.ReleaseAll()
			var got []string
			for need, word := range strings.Fields(test.ends) {
				if _, changed := wave.End(need, words[word]); !changed {
					t.Fatalf("the end of need %d changed nothing", need)
				}
				got = append(got, wave.State(3).String())
			}
			if diff := cmp.Diff(strings.Fields(test.want), got); diff != "" {
				t.Errorf("states differ (-want +got):\n%s", diff)
			}
		})
	}
}

// What failed far above still counts as a failure below tasks that did not run.
func TestFailuresSpread(t *testing.T) {
	graph := graphOf(t, "a; b: a; c: b none_failed; d: b one_failed; e: c all_done; f: d")
	wave := graph.NewWave()
	wave.ReleaseAll()
	closed, _ := wave.End(0, dag.Failed)
	if diff := cmp.Diff([]int{1, 2}, closed); diff != "" {
		t.Errorf("closed tasks differ (-want +got):\n%s", diff)
	}
	want := "failed upstream_failed upstream_failed ready ready waiting"
	if diff := cmp.Diff(want, stateWords(wave)); diff != "" {
		t.Errorf("states differ (-want +got):\n%s", diff)
	}
}

func stateWords(wave *dag.Wave) string {
	var list []string
	for _, state := range wave.States() {
		list = append(list, state.String())
	}
	return strings.Join(list, " ")
}

// take takes all that is ready.
func take(wave *dag.Wave) string {
	var names []string
	for {
		task, ok := wave.Take()
		if !ok {
			return strings.Join(names, " ")
		}
		names = append(names, wave.Graph().Name(task))
	}
}

func TestTasksAreTakenInTheOrderInWhichTheyBecameReady(t *testing.T) {
	graph := graphOf(t, "a@; b@; c: a; d: b; e: c d")
	wave := graph.NewWave()
	if got := take(wave); got != "" {
		t.Errorf("%s can be taken before any slot has come", got)
	}
	if !wave.Release(1) || wave.Release(1) || wave.Release(2) {
		t.Error("a root must be released once, and nothing else")
	}
	wave.Release(0)
	if got := take(wave); got != "b a" {
		t.Errorf("took %s, want b a", got)
	}
	wave.End(0, dag.Succeeded)
	wave.End(1, dag.Succeeded)
	if got := take(wave); got != "c d" {
		t.Errorf("took %s, want c d", got)
	}
	wave.End(3, dag.Succeeded)
	if wave.Done() || wave.Result() != dag.Unfinished {
		t.Error("the wave is done before its last task")
	}
	wave.End(2, dag.Succeeded)
	if got := take(wave); got != "e" {
		t.Errorf("took %s, want e", got)
	}
	wave.End(4, dag.Succeeded)
	if !wave.Done() || wave.Result() != dag.WaveSucceeded || wave.Count(dag.Succeeded) != 5 {
		t.Errorf("done %v, result %v, succeeded %d", wave.Done(), wave.Result(), wave.Count(dag.Succeeded))
	}
}

func TestAnEndThatComesTwiceOrTooEarlyChangesNothing(t *testing.T) {
	wave := graphOf(t, "a; b: a; c: b").NewWave()
	wave.ReleaseAll()
	for _, step := range []struct {
		task    int
		state   dag.State
		changed bool
	}{
		{1, dag.Succeeded, false},      // it waits
		{0, dag.Running, false},        // no end
		{0, dag.UpstreamFailed, false}, // the rules' own word
		{0, dag.Succeeded, true},
		{0, dag.Failed, false},
		{0, dag.Succeeded, false},
	} {
		before := stateWords(wave)
		if _, changed := wave.End(step.task, step.state); changed != step.changed || !changed && stateWords(wave) != before {
			t.Errorf("end of task %d as %s: changed is %v, from %s to %s", step.task, step.state, changed, before, stateWords(wave))
		}
	}
	if _, changed := wave.Mark(2, dag.Succeeded); !changed {
		t.Error("a waiting task cannot be marked")
	}
	if got := stateWords(wave); got != "succeeded ready succeeded" {
		t.Errorf("states are %s", got)
	}
}

func TestAFailureFailsTheWaveWhateverFollows(t *testing.T) {
	wave := graphOf(t, "a; tidy: a all_done; b: a").NewWave()
	wave.ReleaseAll()
	wave.End(0, dag.Failed)
	wave.End(1, dag.Succeeded)
	if !wave.Done() || wave.Result() != dag.WaveFailed {
		t.Errorf("done %v, result %v; states %s", wave.Done(), wave.Result(), stateWords(wave))
	}
}

func TestCancelStopsAllButWhatRunsAndWhatAlwaysRuns(t *testing.T) {
	wave := graphOf(t, "a; b; c: a; d: b; tidy: c d always; report: tidy; done: b all_done").NewWave()
	wave.ReleaseAll()
	wave.Take() // a
	closed := wave.Cancel()
	if diff := cmp.Diff([]int{1, 2, 3, 5, 6}, closed); diff != "" {
		t.Errorf("closed tasks differ (-want +got):\n%s", diff)
	}
	if got := take(wave); got != "tidy" {
		t.Errorf("took %q after the cancellation, want tidy", got)
	}
	wave.End(0, dag.Cancelled)
	wave.End(4, dag.Succeeded)
	if !wave.Done() || wave.Result() != dag.WaveCancelled {
		t.Errorf("done %v, result %v; states %s", wave.Done(), wave.Result(), stateWords(wave))
	}
	wave.Resume()
	// What needs nothing but tidy, which succeeded, need not wait.
	if got := take(wave); got != "report a b" {
		t.Errorf("took %q after Resume, want report a b; states %s", got, stateWords(wave))
	}
}

func TestResumeRunsWhatFailedAndWhatCameOfIt(t *testing.T) {
	wave := graphOf(t, "a; b; c: a; d: c; e: b; tidy: c all_done; told: c one_failed; quiet: b one_failed; late: quiet").NewWave()
	wave.ReleaseAll()
	wave.End(0, dag.Succeeded)
	wave.End(1, dag.Succeeded)
	for _, end := range []struct {
		task  int
		state dag.State
	}{{2, dag.Failed}, {4, dag.Succeeded}, {5, dag.Succeeded}, {6, dag.Succeeded}} {
		if _, changed := wave.End(end.task, end.state); !changed {
			t.Fatalf("task %d could not end: %s", end.task, stateWords(wave))
		}
	}
	if wave.Result() != dag.WaveFailed {
		t.Fatalf("result %v: %s", wave.Result(), stateWords(wave))
	}
	reset := wave.Resume()
	if diff := cmp.Diff([]int{2, 3}, reset); diff != "" {
		t.Errorf("reset tasks differ (-want +got):\n%s", diff)
	}
	if got := take(wave); got != "c" {
		t.Errorf("took %q after Resume, want c", got)
	}
	wave.End(2, dag.Succeeded)
	if got := take(wave); got != "d" {
		t.Errorf("took %q then, want d", got)
	}
	wave.End(3, dag.Succeeded)
	if wave.Result() != dag.WaveSucceeded {
		t.Errorf("result %v: %s", wave.Result(), stateWords(wave))
	}
}

func TestRestoreRefusesWhatIsNoState(t *testing.T) {
	graph := graphOf(t, "a; b: a")
	for _, states := range [][]dag.State{nil, {dag.Waiting}, {dag.Waiting, 0}, {dag.Waiting, 200}} {
		if wave, _, err := graph.Restore(states); err == nil || wave != nil {
			t.Errorf("%v was restored", states)
		}
	}
}

func TestTransitionFunction(t *testing.T) {
	for from := dag.State(0); from < 20; from++ {
		for to := dag.State(0); to < 20; to++ {
			switch {
			case from.Next(to) && (from.Ended() || !from.Valid() || !to.Valid() || to == dag.Waiting || to == from):
				t.Errorf("%s may become %s", from, to)
			case from.Valid() && !from.Ended() && to.Ended() && !from.Next(to):
				t.Errorf("%s may not become %s", from, to)
			}
		}
	}
}

// One transition in the middle of a chain: small and large DAGs cost the same.
func BenchmarkTransition(b *testing.B) {
	for _, size := range []int{10, 10_000} {
		b.Run(fmt.Sprintf("chain of %d", size), func(b *testing.B) {
			graph, err := dag.New(chain(size))
			if err != nil {
				b.Fatal(err)
			}
			var wave *dag.Wave
			task := size
			b.ReportAllocs()
			for b.Loop() {
				if task == size {
					wave, task = graph.NewWave(), 0
					wave.ReleaseAll()
				}
				taken, _ := wave.Take()
				if _, changed := wave.End(taken, dag.Succeeded); !changed {
					b.Fatal("no transition")
				}
				task++
			}
		})
	}
}

func BenchmarkRestore(b *testing.B) {
	graph, err := dag.New(layered(10_000, 10))
	if err != nil {
		b.Fatal(err)
	}
	states := graph.NewWave().States()
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := graph.Restore(states); err != nil {
			b.Fatal(err)
		}
	}
}
