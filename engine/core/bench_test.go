package core_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/core"
	"github.com/tidewheel/tidewheel/engine/shard"
	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/store/memory"
)

// benchStart is when the job is made.
var benchStart = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// bench holds a core, the store that it writes to, and one job.
type bench struct {
	t        *testing.T
	config   core.Config
	now      time.Time
	core     *core.Core
	store    *memory.Store
	job      engine.Job
	keys     map[string]string // run id → key
	out      []string
	hold     bool          // what is to be written waits
	quiet    bool          // what users write is not loaded
	notifies []core.Notify // that have not been answered

	term     engine.Term
	position uint64 // of the last commit
}

func newBench(t *testing.T) *bench {
	b := &bench{t: t, config: core.DefaultConfig(), now: benchStart, store: memory.New(), keys: map[string]string{}}
	b.config.MaxCatchUp, b.config.MaxWaiting, b.config.MaxLosses = 5, 3, 2
	b.core = core.NewCore(b.config, b.now, b.random())
	binary := engine.Binary{Namespace: "default", Name: "tool", Revision: 1, Versions: []engine.BinaryVersion{{N: 1, SHA256: "d1",
		Size: 1, Kind: "elf"}}}
	if err := b.store.CreateBinary(t.Context(), binary); err != nil {
		t.Fatal(err)
	}
	var err error
	if b.term, err = b.store.Take(t.Context(), benchShard, "bench"); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *bench) random() *rand.Rand { return rand.New(rand.NewPCG(1, 1)) }

// seconds reads "4.75s" as an instant.
func (b *bench) seconds(word string) time.Time {
	d, err := time.ParseDuration(word)
	if err != nil {
		b.t.Fatalf("%q is no instant: %v", word, err)
	}
	return benchStart.Add(d)
}

func offset(at time.Time) string {
	if at.Equal(engine.Parked) {
		return "never"
	}
	return strconv.FormatFloat(at.Sub(benchStart).Seconds(), 'f', -1, 64) + "s"
}

func (b *bench) runID(word string) string {
	if _, err := time.ParseDuration(word); err == nil {
		return engine.SlotRunID(benchUID, b.seconds(word))
	}
	id := engine.ManualRunID(benchUID, word)
	b.keys[id] = word
	return id
}

func (b *bench) runName(id string) string {
	if key, ok := b.keys[id]; ok {
		return key
	}
	millis, err := strconv.ParseInt(strings.TrimPrefix(id, benchUID+"-s"), 10, 64)
	if err != nil {
		return id
	}
	return offset(time.UnixMilli(millis))
}

// attempt reads "5s/1".
func (b *bench) attempt(word string) (string, int) {
	run, number, _ := strings.Cut(word, "/")
	n, err := strconv.Atoi(number)
	if err != nil {
		b.t.Fatalf("%q is no attempt", word)
	}
	return b.runID(run), n
}

// define makes the job, or edits it.
func (b *bench) define(words []string) {
	job := spec.Job{Name: "job", Binary: "tool"}
	for _, word := range words {
		key, value, _ := strings.Cut(word, "=")
		duration := func() spec.Duration {
			d, err := time.ParseDuration(value)
			if err != nil {
				b.t.Fatal(err)
			}
			return spec.Duration(d)
		}
		switch key {
		case "every":
			job.Every = duration()
		case "schedule":
			job.Schedule = []string{strings.ReplaceAll(value, "_", " ")}
		case "after":
			job.After = duration()
		case "at":
			at := b.seconds(value)
			job.At = &at
		case "overlap":
			job.Overlap = spec.Overlap(value)
		case "catchup":
			job.CatchUp.Policy = spec.CatchUpPolicy(value)
		case "window":
			job.CatchUp.Window = duration()
		case "tries":
			job.Retry.MaxAttempts, _ = strconv.Atoi(value)
			job.Retry.Delay, job.Retry.MaxDelay = spec.Duration(time.Second), spec.Duration(time.Second)
		case "delivery":
			job.Delivery = spec.Delivery(value)
		case "binary":
			job.Binary = value
		case "exclude":
			from, to, _ := strings.Cut(value, "-")
			job.Exclude = append(job.Exclude, spec.Exclusion{From: b.seconds(from), To: b.seconds(to)})
		default:
			b.t.Fatalf("unknown: %s", word)
		}
	}
	job.ApplyDefaults()
	if b.job.UID == "" {
		b.job = engine.Job{
			UID: benchUID, Namespace: "default", Name: "job", Shard: benchShard, Spec: job, Generation: 1, Revision: 1, Pending: true,
			CreatedAt: b.now, UpdatedAt: b.now,
		}
		if err := b.store.Jobs().Create(b.t.Context(), b.job); err != nil {
			b.t.Fatal(err)
		}
		if !b.quiet {
			b.load()
		}
		return
	}
	b.change(func(stored *engine.Job) {
		stored.Spec, stored.UpdatedAt = job, b.now
		stored.Generation++
	})
}

func (b *bench) change(alter func(*engine.Job)) {
	alter(&b.job)
	b.job.Revision++
	b.job.Pending = true
	if err := b.store.Jobs().Replace(b.t.Context(), b.job); err != nil {
		b.t.Fatal(err)
	}
	if !b.quiet {
		b.load()
	}
}

func (b *bench) loader() shard.Loader { return shard.Loader{Store: b.store} }

func (b *bench) load() {
	b.t.Helper()
	loaded, err := b.loader().Jobs(context.Background(), []string{benchUID})
	if err != nil {
		b.t.Fatal(err)
	}
	b.core.Step(b.now, core.HorizonMoved{Until: b.now.Add(24 * time.Hour)})
	b.step(loaded)
}

func (b *bench) result(kind string, words []string) {
	run, n := b.attempt(words[0])
	result := engine.Result{Kind: engine.ResultKind(kind), Run: run, Attempt: n, Shard: benchShard, Executor: "x", Token: 9, At: b.now}
	switch kind {
	case "revokedresult":
		result.Kind = engine.ResultRevoked
	case "waits":
		result.Kind, result.Waits = engine.ResultProgress, strings.Join(words[1:], " ")
	case "handback":
		result.Kind, result.Finish = engine.ResultFinished, &engine.Finish{Status: engine.StatusFailed, HandedBack: true, FinishedAt: b.now}
		switch {
		case len(words) == 1:
		case words[1] == "unfetched":
			result.Finish.Unfetched, result.Finish.Error = true, "its program could not be fetched"
		case words[1] == "unstored":
			result.Finish.Unfetched, result.Finish.Error, result.Finish.StartedAt = true, "its artifacts could not be stored", b.now
		default:
			result.Finish.StartedAt = b.now
		}
	case "finished":
		result.Finish = &engine.Finish{Status: engine.StatusFailed, StartedAt: b.now, FinishedAt: b.now}
		switch words[1] {
		case "timeout":
			result.Finish.Status = engine.StatusTimedOut
		case "cancelled":
			result.Finish.Status = engine.StatusCancelled
		default:
			code, err := strconv.Atoi(words[1])
			if err != nil {
				b.t.Fatal(err)
			}
			result.Finish.ExitCode = &code
			if code == 0 {
				result.Finish.Status = engine.StatusSucceeded
			}
		}
	}
	b.step(core.ResultsReceived{Results: []engine.Result{result}})
}

// start gives the command that makes a run.
func (b *bench) start(words []string) {
	run := engine.Run{
		ID: b.runID(words[0]), Namespace: "default", JobUID: benchUID, Job: "job", Shard: benchShard, Trigger: engine.TriggerManual,
		By: "ann", Status: engine.StatusScheduled, CreatedAt: b.now,
	}
	if len(words) > 1 {
		run.NotBefore = b.seconds(strings.TrimPrefix(words[1], "at="))
	}
	b.give(engine.Command{Kind: engine.CommandStart, JobUID: benchUID, RunID: run.ID, By: "ann", Run: &run})
}

func (b *bench) command(kind engine.CommandKind, run string) {
	stored, err := b.store.RunsByID(b.t.Context(), []string{run})
	if err != nil {
		b.t.Fatal(err)
	}
	command := engine.Command{Kind: kind, JobUID: benchUID, RunID: run, By: "ann"}
	if len(stored) == 1 {
		command.Revision = stored[0].Revision
	}
	b.give(command)
}

func (b *bench) give(command engine.Command) {
	command.ID, command.Shard = string(command.Kind), benchShard
	received, err := b.loader().Commands(b.t.Context(), []engine.Command{command})
	if err != nil {
		b.t.Fatal(err)
	}
	b.step(received[0])
}

func (b *bench) step(event core.Event) {
	b.effects("now", b.core.Step(b.now, event))
	if !b.hold {
		b.settle()
	}
}

// settle writes what is to be written until nothing more comes of it.
func (b *bench) settle() {
	for ready := b.core.Ready(); ready != nil; ready = b.core.Ready() {
		b.write(ready.Batch)
		b.writes(ready.Batch)
		b.effects("then", ready.After)
		b.core.Committed(ready)
	}
}

// write commits a decision.
func (b *bench) write(d *engine.Batch) {
	b.t.Helper()
	b.position++
	commit := engine.ShardCommit{Shard: benchShard, Term: b.term.Number, Position: b.position, Batch: d}
	if err := b.store.Commit(b.t.Context(), []engine.ShardCommit{commit})[0]; err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) say(line string) { b.out = append(b.out, line) }

func (b *bench) effects(when string, effects []core.Effect) {
	for _, effect := range effects {
		say := func(what, run string, attempt int) {
			b.say(fmt.Sprintf("%s %s %s/%d", when, what, b.runName(run), attempt))
		}
		switch e := effect.(type) {
		case core.Publish:
			say("publish", e.Task.Run, e.Task.Attempt)
		case core.Revoke:
			say("revoke", e.Run, e.Attempt)
		case core.Inspect:
			say("inspect", e.Run, e.Attempt)
		case core.DeclareLost:
			b.say(fmt.Sprintf("%s declare lost %s/%d after %d", when, b.runName(e.Run), e.Attempt, e.After))
		case core.Ask:
			say(string(e.Kind), e.Run, e.Attempt)
		case core.Notify:
			b.notifies = append(b.notifies, e)
		case core.LookUpRuns:
			found, err := b.loader().LookUp(b.t.Context(), e)
			if err != nil {
				b.t.Fatal(err)
			}
			b.say(fmt.Sprintf("%s look up %d runs, %d exist", when, len(e.IDs), existing(found.Exists)))
			b.effects("now", b.core.Step(b.now, found))
		}
	}
}

// writes reports what a decision holds.
func (b *bench) writes(d *engine.Batch) {
	for i := range d.Runs {
		run := &d.Runs[i]
		line := fmt.Sprintf("run %s %s", b.runName(run.ID), run.Status)
		if run.Attempt > 0 {
			line += " #" + strconv.Itoa(run.Attempt)
		}
		if run.Waiting {
			line += " waiting"
		}
		if run.PendingSkip != "" {
			line += " skip " + string(run.PendingSkip)
		}
		if run.Trigger == engine.TriggerCatchUp || run.Trigger == engine.TriggerBackfill {
			line += " " + string(run.Trigger)
		}
		if (run.Status.Terminal() || run.Status == engine.StatusRunning) && run.Reason != "" {
			line += ": " + run.Reason
		}
		b.say(line)
	}
	for _, slots := range d.Slots {
		b.say(fmt.Sprintf("ledger %s-%s ×%d %s %s", offset(slots.From), offset(slots.To), slots.Count, slots.Outcome, slots.Reason))
	}
	for _, letter := range d.DeadLetters {
		b.say("letter " + b.runName(letter.RunID))
	}
	for _, id := range d.DropLetters {
		b.say("no letter " + b.runName(id))
	}
	for _, id := range d.DropRuns {
		b.say("drop " + b.runName(id))
	}
	for i := range d.Tasks {
		switch task := &d.Tasks[i]; {
		case task.RunAt.Equal(task.Slot):
			b.say("next slot " + offset(task.Slot))
		default:
			b.say("next slot " + offset(task.Slot) + ", looked at " + offset(task.RunAt))
		}
	}
	for range d.DropTasks {
		b.say("no next slot")
	}
	for _, handled := range d.Handled {
		b.say("handled " + strconv.FormatInt(handled.Revision, 10))
	}
	for _, done := range d.Done {
		b.say("command done " + done.ID)
	}
}

func existing(runs map[string]bool) (n int) {
	for _, exists := range runs {
		if exists {
			n++
		}
	}
	return n
}
