package service_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/shard"
	"github.com/tidewheel/tidewheel/web/service"
	"github.com/tidewheel/tidewheel/web/webtest"
)

// tide is a world with an engine in it: the core that runs in production, on the world's store and clock, and executors
// that end what they are given when they are told to.
type tide struct {
	*webtest.World
	t     *testing.T
	core  *engine.Core
	queue []*engine.Task
	takes map[string]int // attempts that began, by "run/n"
}

func newTide(t *testing.T) *tide {
	w := &tide{World: webtest.New(t), t: t, takes: map[string]int{}}
	w.PutBinary(t, "report")
	w.restart()
	return w
}

func (w *tide) loader() shard.Loader {
	var all []int
	for i := range engine.Shards {
		all = append(all, i)
	}
	return shard.Loader{Store: w.Store, Shards: all}
}

// restart gives the engine an empty memory, which it fills from the store.
func (w *tide) restart() {
	w.core = engine.NewCore(engine.DefaultConfig(), w.Now, rand.New(rand.NewPCG(1, 1)))
	w.step(engine.HorizonMoved{Until: w.Now.Add(100 * 24 * time.Hour)})
	loaded, err := w.loader().Recover(w.t.Context(), w.Now.Add(time.Second))
	w.must(err)
	w.step(loaded)
	due, err := w.loader().Due(w.t.Context(), time.Time{}, w.Now.Add(100*24*time.Hour))
	w.must(err)
	w.load(due)
	w.sweep()
}

// sweep lets the engine see what users have changed, a moment after.
func (w *tide) sweep() {
	w.Now = w.Now.Add(time.Millisecond)
	var uids []string
	jobs, err := w.Store.PendingJobs(w.t.Context(), w.loader().Shards, 100)
	w.must(err)
	for i := range jobs {
		uids = append(uids, jobs[i].UID)
	}
	dags, err := w.Store.PendingDAGs(w.t.Context(), w.loader().Shards, 100)
	w.must(err)
	for i := range dags {
		uids = append(uids, dags[i].UID)
	}
	w.load(uids)
}

func (w *tide) load(uids []string) {
	if len(uids) == 0 {
		return
	}
	loaded, err := w.loader().Jobs(w.t.Context(), uids, w.Now.Add(time.Second))
	w.must(err)
	w.step(loaded)
}

func (w *tide) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *tide) step(event engine.Event) {
	w.perform(w.core.Step(w.Now, event))
	for ready := w.core.Ready(); ready != nil; ready = w.core.Ready() {
		var conflicts []engine.Conflict
		for _, part := range ready.Batch.Parts() {
			refused, err := w.Store.Commit(w.t.Context(), part)
			w.must(err)
			conflicts = append(conflicts, refused...)
		}
		w.core.Committed(ready)
		w.perform(ready.After)
		for _, conflict := range conflicts {
			stored, err := w.Store.Run(w.t.Context(), conflict.ID)
			w.must(err)
			w.step(engine.InsertRefused{Stored: stored})
		}
	}
}

func (w *tide) perform(effects []engine.Effect) {
	for _, effect := range effects {
		switch e := effect.(type) {
		case engine.Publish:
			if !slices.ContainsFunc(w.queue, func(t *engine.Task) bool { return t.Run == e.Task.Run && t.Attempt == e.Task.Attempt }) {
				w.queue = append(w.queue, e.Task)
			}
		case engine.Revoke:
			before := len(w.queue)
			w.queue = slices.DeleteFunc(w.queue, func(t *engine.Task) bool { return t.Run == e.Run && t.Attempt == e.Attempt })
			w.step(engine.AttemptRevoked{Run: e.Run, Attempt: e.Attempt, Revoked: len(w.queue) < before || w.takes[e.Run] == 0})
		case engine.LookUpRuns:
			found, err := w.loader().LookUp(w.t.Context(), e)
			w.must(err)
			w.step(found)
		}
	}
}

// work ends the first n attempts that wait.
func (w *tide) work(n int) {
	for ; n > 0 && len(w.queue) > 0; n-- {
		task := w.queue[0]
		w.queue = w.queue[1:]
		w.takes[task.Run]++
		zero := 0
		for _, kind := range []engine.ResultKind{engine.ResultStarted, engine.ResultFinished} {
			result := engine.Result{Kind: kind, Run: task.Run, Attempt: task.Attempt, Shard: task.Shard, Executor: "x", Token: 1, At: w.Now}
			if kind == engine.ResultFinished {
				result.Finish = &engine.Finish{Status: engine.StatusSucceeded, ExitCode: &zero, StartedAt: w.Now, FinishedAt: w.Now}
			}
			w.step(engine.ResultsReceived{Results: []engine.Result{result}})
		}
	}
}

// pass lets time pass, with the engine at work; busy says that nothing ends meanwhile.
func (w *tide) pass(d time.Duration, busy bool) {
	until := w.Now.Add(d)
	for {
		if !busy {
			w.work(1 << 30)
		}
		next, ok := w.core.Next()
		if !ok || next.After(until) {
			break
		}
		if next.After(w.Now) {
			w.Now = next
		}
		w.step(engine.Tick{})
	}
	w.Now = until
	w.step(engine.Tick{})
}

// differences checks the ledger, and tells what is missing: "job 12:00:00", or wrong: "job 12:00:00 both".
func (w *tide) differences() []string {
	w.t.Helper()
	w.must(w.CheckLedger(w.t.Context()))
	state := w.LedgerState()
	told := []string{}
	for _, d := range state.Differences {
		word := d.Owner + " " + d.Slot.Format("15:04:05")
		if d.Kind != service.DifferenceMissing {
			word += " " + string(d.Kind)
		}
		told = append(told, word)
	}
	if len(told) != state.Found {
		w.t.Errorf("%d are counted, %d told", state.Found, len(told))
	}
	slices.Sort(told)
	return told
}
