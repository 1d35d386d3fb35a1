package chaos

import (
	"fmt"
	"maps"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/engine"
)

// complaints is a reporter that keeps what it hears.
type complaints []string

func (c *complaints) Helper() {}
func (c *complaints) Errorf(format string, args ...any) {
	*c = append(*c, fmt.Sprintf(format, args...))
}

// peace is a small end without a fault: two runs of one job, the second at its second attempt, and a wave of two tasks.
func peace() (*workload, []*trace, *result, map[string]time.Time) {
	slot := time.Date(2026, 12, 1, 0, 0, 10, 0, time.UTC)
	const period = 10 * time.Second
	work := &workload{
		jobs: []job{{name: "tick", period: period, overlap: "skip", catchUp: "last", uid: "u", created: slot.Add(-time.Second)}},
		dags: []dagJob{{name: "dag", roots: map[string]time.Duration{"a": period}, created: slot.Add(-time.Second)}},
	}
	run := func(id string, attempt int, from, to time.Time) wire.Run {
		return wire.Run{ID: id, Job: "tick", JobUID: "u", Status: engine.StatusSucceeded, Attempt: attempt, CreatedAt: from, FinishedAt: to}
	}
	task := func(name string) wire.Run {
		return wire.Run{ID: "d-w1-" + name, DAG: "dag", JobUID: "d", Wave: "d-w1", Task: name, Status: engine.StatusSucceeded, Attempt: 1}
	}
	traces := []*trace{
		{run: "u-1", attempt: 1, token: 1, start: 100, last: 200, starts: 1, ends: 1, ended: true},
		{run: "u-2", attempt: 1, token: 2, start: 300, last: 350, starts: 1},
		{run: "u-2", attempt: 2, token: 4, start: 400, last: 500, starts: 1, ends: 1, ended: true},
		{run: "d-w1-a", attempt: 1, token: 5, start: 600, last: 700, starts: 1, ends: 1, ended: true},
		{run: "d-w1-b", attempt: 1, token: 6, start: 800, last: 900, starts: 1, ends: 1, ended: true},
	}
	return work, traces, &result{
		runs: map[string]wire.Run{"u-1": run("u-1", 1, slot, slot.Add(period+time.Second)), "u-2": run("u-2", 2, slot.Add(2*period), slot.Add(3*period)), "d-w1-a": task("a"), "d-w1-b": task("b")},
		waves: map[string]wire.WaveDetail{"d-w1": {
			Wave:  wire.Wave{ID: "d-w1", DAG: "dag", Epoch: 1, Status: engine.StatusSucceeded, StartedAt: slot, FinishedAt: slot.Add(11 * time.Second)},
			Tasks: []wire.WaveTask{{Name: "a"}, {Name: "b", Needs: []string{"a"}}},
		}},
		ledger: map[string][]wire.LedgerEntry{"tick": {
			{From: slot, To: slot, Count: 1, Outcome: "fired", Reason: "schedule", Run: "u-1"},
			{From: slot.Add(10 * time.Second), To: slot.Add(10 * time.Second), Count: 1, Outcome: "skipped", Reason: "overlap"},
			{From: slot.Add(20 * time.Second), To: slot.Add(20 * time.Second), Count: 1, Outcome: "fired", Reason: "schedule", Run: "u-2"},
		}, "dag/a": {
			{From: slot, To: slot, Count: 1, Outcome: "fired", Reason: "schedule", Run: "d-w1-a"},
			{From: slot.Add(10 * time.Second), To: slot.Add(10 * time.Second), Count: 1, Outcome: "skipped", Reason: "overlap"},
		}},
	}, map[string]time.Time{"tick": slot.Add(21 * time.Second), "dag": slot.Add(15 * time.Second)}
}

// Each thing that chaos could bring about is found, and nothing else.
func TestVerdictFindsWhatIsWrong(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		spoil func(w *workload, traces []*trace, r *result)
		want  string
	}{
		"nothing": {spoil: func(*workload, []*trace, *result) {}},
		"a slot that nobody knows": {func(_ *workload, _ []*trace, r *result) {
			r.ledger["tick"] = append(r.ledger["tick"][:1], r.ledger["tick"][2])
		}, "stands in the ledger 0 times"},
		"a slot that stands there twice": {func(_ *workload, _ []*trace, r *result) {
			r.ledger["tick"] = append(r.ledger["tick"], r.ledger["tick"][0])
		}, "stands in the ledger 2 times"},
		"the last slot": {func(_ *workload, _ []*trace, r *result) {
			r.ledger["tick"] = r.ledger["tick"][:1]
		}, "its last slot in the ledger"},
		"a slot that was skipped for no reason": {func(_ *workload, _ []*trace, r *result) {
			r.ledger["tick"][1].Reason = ""
		}, "no slot of it can end so"},
		"a slot that was skipped for another policy's reason": {func(w *workload, _ []*trace, _ *result) {
			w.jobs[0].overlap = "queue"
		}, "its policy is queue"},
		"a slot that was skipped for a run that had ended": {func(_ *workload, _ []*trace, r *result) {
			run := r.runs["u-1"]
			run.FinishedAt = run.CreatedAt.Add(9 * time.Second)
			r.runs["u-1"] = run
		}, "the run before it had ended"},
		"a root's slot that was skipped although no wave was open": {func(_ *workload, _ []*trace, r *result) {
			wave := r.waves["d-w1"]
			wave.FinishedAt = wave.StartedAt.Add(time.Second)
			r.waves = map[string]wire.WaveDetail{"d-w1": wave}
		}, "dag/a: the slot"},
		"a root's slot that nobody knows": {func(_ *workload, _ []*trace, r *result) {
			r.ledger["dag/a"] = nil
		}, "dag/a has no slots"},
		"a slot that was missed while nothing was broken": {func(_ *workload, _ []*trace, r *result) {
			r.ledger["tick"][1].Outcome, r.ledger["tick"][1].Reason = "missed", "outage"
		}, "was broken then"},
		"a slot that was missed though all are caught up": {func(w *workload, _ []*trace, r *result) {
			w.jobs[0].catchUp = "all"
			r.ledger["tick"][1].Outcome, r.ledger["tick"][1].Reason = "missed", "outage"
		}, "catches up all"},
		"a slot that was caught up though none is": {func(w *workload, _ []*trace, r *result) {
			w.jobs[0].catchUp = "none"
			r.ledger["tick"][2].Reason = "catch_up"
		}, "catches up nothing"},
		"a slot of a pause that there was not": {func(_ *workload, _ []*trace, r *result) {
			r.ledger["tick"][1].Reason = "paused"
		}, "it was not paused then"},
		"a retry that was not done": {func(w *workload, _ []*trace, _ *result) {
			w.retried = map[string]bool{"u-1": true}
		}, "the retry of u-1"},
		"a backfill that was not done": {func(w *workload, _ []*trace, _ *result) {
			w.filled = map[string]bool{"u-s0": true}
		}, "the backfill of u-s0"},
		"a run that nobody cancelled": {func(_ *workload, _ []*trace, r *result) {
			run := r.runs["u-2"]
			run.Status, run.Reason = engine.StatusCancelled, "cancelled"
			r.runs["u-2"] = run
		}, "ended as cancelled"},
		"a run of a job that had been deleted": {func(w *workload, _ []*trace, r *result) {
			run := r.runs["u-2"]
			run.Slot = run.CreatedAt
			r.runs["u-2"] = run
			w.deleted = map[string]time.Time{"u": run.CreatedAt.Add(-10 * time.Second)}
		}, "its deletion was acknowledged"},
		"an attempt that was started twice": {func(_ *workload, traces []*trace, _ *result) {
			traces[0].starts = 2
		}, "began 2 times"},
		"a run that is not known": {func(_ *workload, traces []*trace, _ *result) {
			traces[3].run = "other"
		}, "the API does not know"},
		"an end that nobody saw": {func(_ *workload, traces []*trace, _ *result) {
			traces[2].ended = false
		}, "its program never ended so"},
		"a loss of what is tried again": {func(_ *workload, _ []*trace, r *result) {
			run := r.runs["u-2"]
			run.Status, run.Reason = engine.StatusLost, "gone"
			r.runs["u-2"] = run
		}, "ended as lost"},
		"a second try of what is tried once": {func(w *workload, _ []*trace, _ *result) {
			w.jobs[0].once = true
		}, "at most once"},
		"two holders at a time": {func(_ *workload, traces []*trace, _ *result) {
			traces[1].last = 401
		}, "lived at"},
		"tokens that do not grow": {func(_ *workload, traces []*trace, _ *result) {
			traces[1].token, traces[2].token = 4, 2
		}, "began at"},
		"a token that was given twice": {func(_ *workload, traces []*trace, _ *result) {
			traces[1].token = 4
		}, "have the token 4"},
		"a task before what it needs": {func(_ *workload, traces []*trace, _ *result) {
			traces[3].last = 801
		}, "which it needs"},
		"a wave that is missing": {func(_ *workload, _ []*trace, r *result) {
			wave := r.waves["d-w1"]
			wave.Epoch = 2
			r.waves = map[string]wire.WaveDetail{"d-w1": wave}
		}, "has the epoch 2"},
		"a run by hand that was not done": {func(w *workload, _ []*trace, _ *result) {
			w.asked = []string{"u-k1"}
		}, "was acknowledged"},
	} {
		t.Run(name, func(t *testing.T) {
			work, traces, result, until := peace()
			result.runs = maps.Clone(result.runs)
			test.spoil(work, traces, result)
			var heard complaints
			judge(&heard, work, traces, result, until)
			switch all := strings.Join(heard, "\n"); {
			case test.want == "" && all != "":
				t.Errorf("it complains: %s", all)
			case !strings.Contains(all, test.want):
				t.Errorf("it says %q, and nothing of %q", all, test.want)
			}
		})
	}
}

// A slot that is missed while the engine is broken is nothing to complain of.
func TestVerdictKnowsFaults(t *testing.T) {
	t.Parallel()
	work, traces, result, until := peace()
	missed := &result.ledger["tick"][1]
	missed.Outcome, missed.Reason = "missed", "outage"
	result.troubles = []trouble{{kindEngine, missed.From.Add(time.Second), missed.From.Add(20 * time.Second)}}
	var heard complaints
	judge(&heard, work, traces, result, until)
	if len(heard) > 0 {
		t.Errorf("it complains: %s", heard)
	}
}

// A history that cannot be decided is tried once more, for longer, and is a failure then.
func TestHistoryThatCannotBeDecidedIsAFailure(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		results []porcupine.CheckResult
		want    string
	}{
		"never":           {[]porcupine.CheckResult{porcupine.Unknown, porcupine.Unknown}, "too many to decide"},
		"the second time": {[]porcupine.CheckResult{porcupine.Unknown, porcupine.Ok}, ""},
		"not a lock":      {[]porcupine.CheckResult{porcupine.Unknown, porcupine.Illegal}, "not linearizable"},
	} {
		t.Run(name, func(t *testing.T) {
			var limits []time.Duration
			decide := func(model porcupine.Model, history []porcupine.Operation, limit time.Duration) (porcupine.CheckResult, porcupine.LinearizationInfo) {
				limits = append(limits, limit)
				_, info := porcupine.CheckOperationsVerbose(model, history, time.Minute)
				return test.results[len(limits)-1], info
			}
			var heard complaints
			linearizable(&heard, decide, nil, time.Second, t.TempDir())
			if all := strings.Join(heard, "\n"); (test.want == "") != (all == "") || !strings.Contains(all, test.want) {
				t.Errorf("it says %q, want %q", all, test.want)
			}
			if len(limits) != 2 || limits[1] <= limits[0] {
				t.Errorf("it was tried with the limits %v", limits)
			}
		})
	}
}

// The model of a lock lets pass what locks do, and nothing else.
func TestLockModelKnowsALock(t *testing.T) {
	t.Parallel()
	const ttl = 100
	type step struct {
		call, end int64 // 0 is never
		do        string
		holder    string
		of        uint64
		done      string
		gives     uint64
	}
	for name, test := range map[string]struct {
		steps []step
		want  porcupine.CheckResult
	}{
		"one after the other": {[]step{
			{1, 2, doLock, "a", 0, doneOK, 1}, {3, 4, doRefresh, "a", 1, doneOK, 2}, {5, 6, doLock, "b", 0, doneHeld, 0},
			{7, 8, doUnlock, "a", 2, doneOK, 0}, {9, 10, doLock, "b", 0, doneOK, 4},
		}, porcupine.Ok},
		"two at a time":             {[]step{{1, 2, doLock, "a", 0, doneOK, 1}, {3, 4, doLock, "b", 0, doneOK, 2}}, porcupine.Illegal},
		"after its life":            {[]step{{1, 2, doLock, "a", 0, doneOK, 1}, {3, 101, doLock, "b", 0, doneOK, 2}}, porcupine.Ok},
		"after its life, refreshed": {[]step{{1, 2, doLock, "a", 0, doneOK, 1}, {50, 51, doRefresh, "a", 1, doneOK, 2}, {100, 110, doLock, "b", 0, doneOK, 3}}, porcupine.Illegal},
		"a token that is not new": {[]step{
			{1, 2, doLock, "a", 0, doneOK, 5}, {3, 4, doUnlock, "a", 5, doneOK, 0}, {5, 6, doLock, "b", 0, doneOK, 5},
		}, porcupine.Illegal},
		"a refusal for nothing":       {[]step{{1, 2, doLock, "a", 0, doneHeld, 0}}, porcupine.Ok},
		"fenced for nothing":          {[]step{{1, 2, doLock, "a", 0, doneOK, 1}, {3, 4, doRefresh, "a", 1, doneFenced, 0}}, porcupine.Illegal},
		"fenced by time":              {[]step{{1, 2, doLock, "a", 0, doneOK, 1}, {3, 102, doRefresh, "a", 1, doneFenced, 0}}, porcupine.Ok},
		"refreshed after it passed":   {[]step{{1, 2, doLock, "a", 0, doneOK, 1}, {3, 120, doLock, "b", 0, doneOK, 2}, {130, 131, doRefresh, "a", 1, doneOK, 3}}, porcupine.Illegal},
		"a lock without an answer":    {[]step{{1, 0, doLock, "a", 0, doneError, 0}, {3, 4, doLock, "b", 0, doneHeld, 0}, {5, 120, doLock, "b", 0, doneOK, 2}}, porcupine.Ok},
		"or that was never done":      {[]step{{1, 0, doLock, "a", 0, doneError, 0}, {3, 4, doLock, "b", 0, doneOK, 1}}, porcupine.Ok},
		"a refresh without an answer": {[]step{{1, 2, doLock, "a", 0, doneOK, 1}, {3, 0, doRefresh, "a", 1, doneError, 0}, {5, 6, doRefresh, "a", 1, doneOK, 2}}, porcupine.Ok},
		"an unlock of something else": {[]step{{1, 2, doLock, "a", 0, doneOK, 1}, {3, 4, doUnlock, "a", 9, doneOK, 0}, {5, 6, doLock, "b", 0, doneOK, 2}}, porcupine.Illegal},
	} {
		t.Run(name, func(t *testing.T) {
			var history []porcupine.Operation
			for i, s := range test.steps {
				if s.end == 0 {
					s.end = math.MaxInt64
				}
				history = append(history, porcupine.Operation{
					ClientId: i, Call: s.call, Return: s.end,
					Input:  question{lockEvent{At: s.call, Key: "k", Do: s.do, Holder: s.holder, Revision: s.of}, s.end},
					Output: answer{s.gives, s.done},
				})
			}
			if got := porcupine.CheckOperationsTimeout(lockModel(ttl), history, time.Minute); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}
