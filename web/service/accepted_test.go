package service_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/web/service"
	"github.com/tidewheel/tidewheel/web/webtest"
)

const waits = "accepted, waiting for the engine"

func TestRunIsACommandUntilTheEngineActs(t *testing.T) {
	w := webtest.New(t)
	w.PutBinary(t, "report")
	job := w.PutJob(t, `{"name":"a","binary":"report"}`)
	at := w.Now.Add(time.Hour)
	ask := service.Start{By: "ann", Key: "k", Payload: json.RawMessage(`{"a": 1}`), Args: map[string]string{"DAY": "7"}, At: at}
	run, existed, err := w.StartRun(t.Context(), "default", "a", ask)
	if err != nil || existed || run.ID != engine.ManualRunID(job.UID, "k") || run.Status != engine.StatusScheduled || run.Reason != waits {
		t.Fatalf("%+v %t %v", run, existed, err)
	}
	if _, err := w.Store.Run(t.Context(), run.ID); !errors.Is(err, engine.ErrNotFound) {
		t.Fatalf("the API has written the run: %v", err)
	}
	left := commands(t, w, job.Shard)
	if len(left) != 1 || left[0].ID != engine.StartCommand(run.ID) || left[0].Kind != engine.CommandStart ||
		left[0].RunID != run.ID || left[0].JobUID != job.UID {
		t.Fatalf("left %+v", left)
	}
	if made := left[0].Run; made == nil || made.ID != run.ID || made.Args["DAY"] != "7" ||
		!made.NotBefore.Equal(at) || made.By != "ann" || made.Reason != "" {
		t.Errorf("the engine is to make %+v", left[0].Run)
	}

	// While it is a command, and once the engine has made it, the run answers to its id, and the key is taken.
	for _, reason := range []string{waits, ""} {
		read, err := w.Run(t.Context(), engine.DefaultNamespace, run.ID)
		if err != nil || read.Status != engine.StatusScheduled || read.Reason != reason ||
			string(read.Payload) != `{"a": 1}` || !read.NotBefore.Equal(at) {
			t.Errorf("read %+v, %v", read, err)
		}
		again, existed, err := w.StartRun(t.Context(), "default", "a", ask)
		if err != nil || !existed || again.ID != run.ID || again.Reason != reason {
			t.Errorf("asked again: %+v %t %v", again, existed, err)
		}
		_, _, err = w.StartRun(t.Context(), "default", "a", service.Start{Key: "k", At: at})
		refused(t, err, service.KindInvalid, "key_reused")
		_, err = w.RetryRun(t.Context(), engine.DefaultNamespace, run.ID, "ann")
		refused(t, err, service.KindConflict, "run_not_ended")
		log, err := w.OpenLog(t.Context(), engine.DefaultNamespace, run.ID, 0)
		if err != nil || log.Complete || log.Size != 0 {
			t.Errorf("its output is %+v, %v", log, err)
		}
		if effects, _, err := w.RunEffects(t.Context(), engine.DefaultNamespace, run.ID, "", 10); err != nil || len(effects) != 0 {
			t.Errorf("its effects are %+v, %v", effects, err)
		}
		if found, err := w.Search(t.Context(), "default", run.ID, 10); err != nil || len(found.Runs) != 1 {
			t.Errorf("a search finds %+v, %v", found.Runs, err)
		}
		w.Act(t)
	}
	if left := commands(t, w, job.Shard); len(left) != 0 {
		t.Errorf("asked again, left %+v", left)
	}
	if _, err := w.Run(t.Context(), engine.DefaultNamespace, "nobody"); err == nil {
		t.Error("a run without a request is there")
	}
}

func TestWaveIsACommandUntilTheEngineActs(t *testing.T) {
	w := webtest.New(t)
	w.PutBinary(t, "report")
	d := w.PutDAG(t, diamond)
	ask := service.Start{By: "ann", Key: "k", Payload: json.RawMessage(`1`)}
	wave, _, err := w.StartWave(t.Context(), "default", "etl", ask)
	if err != nil || wave.Reason != waits {
		t.Fatalf("%+v, %v", wave, err)
	}
	if _, err := w.Store.Wave(t.Context(), wave.ID); !errors.Is(err, engine.ErrNotFound) {
		t.Fatalf("the API has written the wave: %v", err)
	}
	left := commands(t, w, d.Shard)
	if len(left) != 1 || left[0].ID != engine.StartCommand(wave.ID) || left[0].Wave == nil ||
		left[0].Wave.ID != wave.ID || left[0].Wave.Reason != "" {
		t.Fatalf("left %+v", left)
	}
	for _, reason := range []string{waits, ""} {
		detail, err := w.WaveDetail(t.Context(), engine.DefaultNamespace, wave.ID)
		if err != nil || detail.Wave.Status != engine.StatusScheduled || detail.Wave.Reason != reason || len(detail.Tasks) != 4 {
			t.Errorf("read %+v, %v", detail, err)
		}
		again, existed, err := w.StartWave(t.Context(), "default", "etl", ask)
		if err != nil || !existed || again.ID != wave.ID || again.Reason != reason {
			t.Errorf("asked again: %+v %t %v", again, existed, err)
		}
		_, _, err = w.StartWave(t.Context(), "default", "etl", service.Start{Key: "k", Payload: json.RawMessage(`2`)})
		refused(t, err, service.KindInvalid, "key_reused")
		_, err = w.ResumeWave(t.Context(), engine.DefaultNamespace, wave.ID, "ann")
		refused(t, err, service.KindConflict, "wave_open")
		_, err = w.MarkTask(t.Context(), engine.DefaultNamespace, wave.ID, "join", engine.StatusSkipped, "ann")
		refused(t, err, service.KindConflict, "wave_not_begun")
		w.Act(t)
	}
	if left := commands(t, w, d.Shard); len(left) != 0 {
		t.Errorf("asked again, left %+v", left)
	}
}

// The engine acts on the commands of a job in the order of their instants: a server whose clock is behind must not have a
// run cancelled before it is made.
func TestCancelOfWhatIsAcceptedComesAfterItsStart(t *testing.T) {
	w := webtest.New(t)
	w.PutBinary(t, "report")
	job, d := w.PutJob(t, `{"name":"a","binary":"report"}`), w.PutDAG(t, diamond)
	run, _, err := w.StartRun(t.Context(), "default", "a", service.Start{})
	if err != nil {
		t.Fatal(err)
	}
	wave, _, err := w.StartWave(t.Context(), "default", "etl", service.Start{})
	if err != nil {
		t.Fatal(err)
	}
	w.Now = w.Now.Add(-time.Minute)
	if run, err = w.CancelRun(t.Context(), engine.DefaultNamespace, run.ID, "bob"); err != nil || run.Status != engine.StatusScheduled {
		t.Errorf("%+v, %v", run, err)
	}
	if wave, err = w.CancelWave(t.Context(), engine.DefaultNamespace, wave.ID, "bob"); err != nil || wave.Status != engine.StatusScheduled {
		t.Errorf("%+v, %v", wave, err)
	}
	for shard, id := range map[int]string{job.Shard: run.ID, d.Shard: wave.ID} {
		var kinds []engine.CommandKind
		var last engine.Command
		for _, command := range commands(t, w, shard) {
			if command.RunID == id {
				kinds, last = append(kinds, command.Kind), command
			}
		}
		if len(kinds) != 2 || kinds[0] == engine.CommandCancel || kinds[0] == engine.CommandCancelWave ||
			last.By != "bob" || !last.At.After(webtest.Start) {
			t.Errorf("of %s the engine reads %v, the last at %v", id, kinds, last.At)
		}
	}
}

// acting is a store in which something happens at one moment of a request.
type acting struct {
	*webtest.Store
	beforeCommand, beforePut func()
}

func (s *acting) Command(ctx context.Context, id string) (engine.Command, error) {
	once(&s.beforeCommand)
	return s.Store.Command(ctx, id)
}

func (s *acting) PutCommand(ctx context.Context, command engine.Command) error {
	once(&s.beforePut)
	return s.Store.PutCommand(ctx, command)
}

func once(do *func()) {
	if happens := *do; happens != nil {
		*do = nil
		happens()
	}
}

// newActing returns a world and another server of it, on the store in which things happen.
func newActing(t *testing.T) (*webtest.World, *service.Service, *acting) {
	w := webtest.New(t)
	w.PutBinary(t, "report")
	w.PutJob(t, `{"name":"a","binary":"report"}`)
	w.PutDAG(t, diamond)
	store := &acting{Store: w.Store}
	return w, service.New(store, w.Blobs, w.Queue, w.Log, service.Config{Now: func() time.Time { return w.Now }}), store
}

func TestWhatTheEngineMakesWhileItIsReadIsFound(t *testing.T) {
	w, other, store := newActing(t)
	run, _, err := w.StartRun(t.Context(), "default", "a", service.Start{Key: "k"})
	if err != nil {
		t.Fatal(err)
	}
	store.beforeCommand = func() { w.Act(t) }
	if read, err := other.Run(t.Context(), engine.DefaultNamespace, run.ID); err != nil || read.ID != run.ID || read.Reason != "" {
		t.Errorf("read %+v, %v", read, err)
	}
	wave, _, err := w.StartWave(t.Context(), "default", "etl", service.Start{Key: "k"})
	if err != nil {
		t.Fatal(err)
	}
	store.beforeCommand = func() { w.Act(t) }
	if read, err := other.Wave(t.Context(), engine.DefaultNamespace, wave.ID); err != nil || read.ID != wave.ID || read.Reason != "" {
		t.Errorf("read %+v, %v", read, err)
	}
}

// Of two requests with a key at once the store keeps one command, and both are answered with what that makes.
func TestRequestsWithAKeyAtOnceAreOneRequest(t *testing.T) {
	for name, acts := range map[string]bool{"while it is a command": false, "once the engine has acted": true} {
		t.Run(name, func(t *testing.T) {
			w, other, store := newActing(t)
			first := service.Start{By: "ann", Key: "same", Payload: json.RawMessage(`1`)}
			start := func(by service.Start) {
				store.beforePut = func() {
					if _, _, err := w.StartRun(t.Context(), "default", "a", by); err != nil {
						t.Fatal(err)
					}
					if _, _, err := w.StartWave(t.Context(), "default", "etl", by); err != nil {
						t.Fatal(err)
					}
					if acts {
						w.Act(t)
					}
				}
			}
			start(first)
			run, _, err := other.StartRun(t.Context(), "default", "a", service.Start{By: "bob", Key: "same", Payload: first.Payload})
			if err != nil || run.By != "ann" {
				t.Errorf("%+v, %v", run, err)
			}
			first.Key = "another"
			start(first)
			_, _, err = other.StartRun(t.Context(), "default", "a", service.Start{Key: "another", Payload: json.RawMessage(`2`)})
			refused(t, err, service.KindInvalid, "key_reused")
			// Whatever command the refused one has left, the key is the first one's.
			if run, existed, err := w.StartRun(t.Context(), "default", "a", first); err != nil || !existed || string(run.Payload) != `1` {
				t.Errorf("asked again: %+v, %t, %v", run, existed, err)
			}
			first.Key = "wave"
			start(first)
			_, _, err = other.StartWave(t.Context(), "default", "etl", service.Start{Key: "wave", Payload: json.RawMessage(`2`)})
			refused(t, err, service.KindInvalid, "key_reused")
		})
	}
}

// A command that went before anything was made of it, because its job was deleted, was accepted all the same.
func TestRequestIsAnsweredWhoseCommandHasGone(t *testing.T) {
	w, other, store := newActing(t)
	job, err := w.Jobs.Get(t.Context(), "default", "a")
	if err != nil {
		t.Fatal(err)
	}
	id := engine.ManualRunID(job.UID, "k")
	store.beforePut = func() {
		store.beforeCommand = func() {
			w.Write(t, engine.Batch{Done: []engine.CommandDone{{ID: engine.StartCommand(id), At: w.Now}}})
		}
	}
	run, existed, err := other.StartRun(t.Context(), "default", "a", service.Start{Key: "k"})
	if err != nil || existed || run.ID != id {
		t.Errorf("%+v, %t, %v", run, existed, err)
	}
}

// What readers see may be a moment behind: a program may begin before they see more of its run than the command.
func TestProgramOfAnAcceptedRunOpensEffects(t *testing.T) {
	w := webtest.New(t)
	w.PutBinary(t, "report")
	w.PutJob(t, `{"name":"a","binary":"report"}`)
	run, _, err := w.StartRun(t.Context(), "default", "a", service.Start{})
	if err != nil {
		t.Fatal(err)
	}
	program := service.Program{Namespace: "default", Run: run.ID, Attempt: 1, Token: 7}
	if _, first, err := w.OpenEffect(t.Context(), program, "charge"); err != nil || !first {
		t.Errorf("the first attempt: %t, %v", first, err)
	}
	program.Attempt = 2
	_, _, err = w.OpenEffect(t.Context(), program, "charge")
	refused(t, err, service.KindFenced, "fenced")
}

// storeWithCommands is a store that returns these commands, up to the limit.
type storeWithCommands struct {
	*webtest.Store
	commands func(limit int) []engine.Command
}

func (s storeWithCommands) Commands(_ context.Context, _ []int, limit int) ([]engine.Command, error) {
	return s.commands(limit), nil
}

func TestBackfillReadsTheCommandsOfItsShard(t *testing.T) {
	w := webtest.New(t)
	w.PutBinary(t, "report")
	w.PutDAG(t, diamond)
	from := w.Now.Add(-time.Hour)
	plan := func(commands func(limit int) []engine.Command) (service.DAGBackfill, error) {
		s := service.New(storeWithCommands{w.Store, commands}, w.Blobs, w.Queue, w.Log, service.Config{Now: func() time.Time { return w.Now }})
		return s.BackfillDAG(t.Context(), "default", "etl", from, w.Now, "ann", true)
	}
	found, err := plan(func(int) []engine.Command {
		// Another DAG of the shard has roots of the same names.
		return []engine.Command{{Wave: &engine.Wave{ID: "other-w1", DAGUID: "other", Slots: map[string]time.Time{"orders": from, "rates": from}}}}
	})
	if err != nil || found.New != 1 {
		t.Errorf("%+v, %v", found, err)
	}
	_, err = plan(func(limit int) []engine.Command { return make([]engine.Command, limit) })
	refused(t, err, service.KindConflict, "engine_behind")
}
