package service_test

import (
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/core"
	"github.com/tidewheel/tidewheel/engine/shard"
	"github.com/tidewheel/tidewheel/web/service"
	"github.com/tidewheel/tidewheel/web/webtest"
)

// tide is a world with an engine in it: the cores that run in production, one for each shard, on the world's store and
// clock, and executors that end their tasks when the test asks for it.
type tide struct {
	*webtest.World
	t     *testing.T
	units [engine.Shards]*unit
	queue []*engine.Task
	takes map[string]int // attempts that began, by "run/n"
}

// unit is a shard with its core, and how far its commits are.
type unit struct {
	core     *core.Core
	term     uint64
	position uint64
}

func newTide(t *testing.T) *tide {
	w := &tide{World: webtest.New(t), t: t, takes: map[string]int{}}
	w.PutBinary(t, "report")
	w.restart()
	return w
}

func (w *tide) loader() shard.Loader { return shard.Loader{Store: w.Store} }

// allShards are those of the engine, which owns all.
var allShards = func() (all []int) {
	for i := range engine.Shards {
		all = append(all, i)
	}
	return all
}()

// restart empties the memory of the engine, which fills it from the store.
func (w *tide) restart() {
	for i := range w.units {
		w.units[i] = &unit{core: core.NewCore(core.DefaultConfig(), w.Now, rand.New(rand.NewPCG(1, 1)))}
		w.take(i)
		w.step(i, core.HorizonMoved{Until: w.Now.Add(100 * 24 * time.Hour)})
	}
	active, err := w.loader().Recover(w.t.Context(), allShards)
	w.must(err)
	due, err := w.loader().Due(w.t.Context(), allShards, time.Time{}, w.Now.Add(100*24*time.Hour))
	w.must(err)
	for _, a := range active {
		if !slices.Contains(due, a.UID) {
			due = append(due, a.UID)
		}
	}
	w.load(due)
	w.sweep()
}

func (w *tide) take(shard int) {
	term, err := w.Store.Take(w.t.Context(), shard, "engine")
	w.must(err)
	w.units[shard].term, w.units[shard].position = term.Number, term.Position
}

// sweep lets the engine see what users have changed and asked for, a moment after.
func (w *tide) sweep() {
	w.Now = w.Now.Add(time.Millisecond)
	swept, err := w.loader().Sweep(w.t.Context(), allShards)
	w.must(err)
	w.load(swept.Pending)
	for _, command := range swept.Commands {
		received, err := w.loader().Commands(w.t.Context(), []engine.Command{command})
		w.must(err)
		w.step(command.Shard, received[0])
	}
}

func (w *tide) load(uids []string) {
	if len(uids) == 0 {
		return
	}
	loaded, err := w.loader().Jobs(w.t.Context(), uids)
	w.must(err)
	of := shard.ByShard(&loaded)
	for _, i := range slices.Sorted(maps.Keys(of)) {
		w.step(i, *of[i])
	}
}

func (w *tide) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// step takes an event to the core of a shard, and does what comes of it.
func (w *tide) step(of int, event core.Event) {
	u := w.units[of]
	w.perform(of, u.core.Step(w.Now, event))
	for ready := u.core.Ready(); ready != nil; ready = u.core.Ready() {
		err := w.commit(of, ready.Batch)
		if errors.Is(err, engine.ErrFenced) { // a test has written something manually
			w.take(of)
			err = w.commit(of, ready.Batch)
		}
		w.must(err)
		u.position++
		u.core.Committed(ready)
		w.perform(of, ready.After)
	}
}

func (w *tide) commit(shard int, decision *engine.Batch) error {
	u := w.units[shard]
	commit := engine.ShardCommit{Shard: shard, Term: u.term, Position: u.position + 1, Batch: decision}
	return w.Store.Commit(w.t.Context(), []engine.ShardCommit{commit})[0]
}

func (w *tide) perform(of int, effects []core.Effect) {
	for _, effect := range effects {
		switch e := effect.(type) {
		case core.Publish:
			if !slices.ContainsFunc(w.queue, func(t *engine.Task) bool { return t.Run == e.Task.Run && t.Attempt == e.Task.Attempt }) {
				w.queue = append(w.queue, e.Task)
			}
		case core.Revoke:
			before := len(w.queue)
			w.queue = slices.DeleteFunc(w.queue, func(t *engine.Task) bool { return t.Run == e.Run && t.Attempt == e.Attempt })
			w.step(of, core.AttemptRevoked{Run: e.Run, Attempt: e.Attempt, Revoked: len(w.queue) < before || w.takes[e.Run] == 0})
		case core.LookUpRuns:
			found, err := w.loader().LookUp(w.t.Context(), e)
			w.must(err)
			w.step(of, found)
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
			w.step(task.Shard, core.ResultsReceived{Results: []engine.Result{result}})
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
		next, ok := w.next()
		if !ok || next.After(until) {
			break
		}
		if next.After(w.Now) {
			w.Now = next
		}
		w.tick()
	}
	w.Now = until
	w.tick()
}

// next is when a core has something to do.
func (w *tide) next() (next time.Time, ok bool) {
	for _, u := range w.units {
		if at, has := u.core.Next(); has && (!ok || at.Before(next)) {
			next, ok = at, true
		}
	}
	return next, ok
}

// tick passes the time to the cores that have something to do.
func (w *tide) tick() {
	for i, u := range w.units {
		if at, has := u.core.Next(); has && !at.After(w.Now) {
			w.step(i, core.Tick{})
		}
	}
}

// differences checks the ledger, and returns what is missing: "job 12:00:00", or wrong: "job 12:00:00 both".
func (w *tide) differences() []string {
	w.t.Helper()
	w.must(w.CheckLedger(w.t.Context()))
	state := w.LedgerState()
	differences := []string{}
	for _, d := range state.Differences {
		word := d.Owner + " " + d.Slot.Format("15:04:05")
		if d.Kind != service.DifferenceMissing {
			word += " " + string(d.Kind)
		}
		differences = append(differences, word)
	}
	if len(differences) != state.Found {
		w.t.Errorf("%d are counted, %d listed", state.Found, len(differences))
	}
	slices.Sort(differences)
	return differences
}
