package sim

import (
	"context"
	"fmt"
	"time"

	"github.com/tidewheel/tidewheel/cron"
	"github.com/tidewheel/tidewheel/engine"
)

// users write into the store what people do, in the way of web/service, and remember what they wrote: that is the
// model by which the slots are accounted for at the end.
type users struct {
	w     *world
	time  clock // of the node that they write through
	jobs  []*jobModel
	byUID map[string]*jobModel // only looked up
	quiet bool
	most  int // jobs
	ended []string

	dags     []*dagModel
	dagByUID map[string]*dagModel // only looked up
	mostDAGs int
}

func newUsers(w *world) *users {
	u := &users{w: w, time: clock{w: w}, byUID: map[string]*jobModel{}, dagByUID: map[string]*dagModel{}}
	switch w.random.IntN(3) { // worlds of jobs, of DAGs, and of both
	case 0:
		u.most = 1 + w.random.IntN(6)
	case 1:
		u.mostDAGs = 1 + w.random.IntN(2)
	default:
		u.most, u.mostDAGs = 1+w.random.IntN(3), 1
	}
	return u
}

const namespace = "default"

// begin uploads the program, makes the first jobs and lets people act now and then.
func (u *users) begin() {
	w := u.w
	binary := engine.Binary{Namespace: namespace, Name: "tool", Revision: 1, Aliases: map[string]int{"stable": 1}, UpdatedAt: u.time.stamp()}
	for n := 1; n <= 3; n++ {
		binary.Versions = append(binary.Versions, engine.BinaryVersion{N: n, SHA256: fmt.Sprintf("%064x", n), Size: 10, Kind: "elf"})
	}
	_ = w.truth.store.CreateBinary(context.Background(), binary)
	for range u.most {
		u.create()
	}
	for range u.mostDAGs {
		u.createDAG()
	}
	if u.mostDAGs > 0 {
		u.mostDAGs++ // one more may come
	}
	pace := pick(w, 500*time.Millisecond, 2*time.Second, 6*time.Second)
	var next func()
	next = func() {
		if !u.quiet {
			u.act()
			w.after(w.between(0, 2*pace), next)
		}
	}
	w.after(w.between(0, 2*pace), next)
}

// deed is something that people do, as often as its weight says.
type deed struct {
	name   string
	weight int
	needs  need
	do     func(*users) bool
}

// need is what has to be there for a deed.
type need uint8

const (
	nothing need = iota
	jobs
	dags
)

var deeds = []deed{
	{"create", 1, jobs, (*users).create}, {"edit", 4, jobs, (*users).edit}, {"edit twice", 1, jobs, (*users).editTwice},
	{"pause", 3, jobs, (*users).pause}, {"resume", 4, jobs, (*users).resume}, {"delete", 1, jobs, (*users).remove},
	{"run", 5, jobs, (*users).start}, {"retry", 4, jobs, (*users).retry}, {"backfill", 2, jobs, (*users).backfill},
	{"create DAG", 1, dags, (*users).createDAG}, {"edit DAG", 3, dags, (*users).editDAG}, {"pause or resume DAG", 4, dags, (*users).pauseDAG},
	{"delete DAG", 1, dags, (*users).removeDAG}, {"start wave", 5, dags, (*users).startWave}, {"cancel wave", 3, dags, (*users).cancelWave},
	{"resume wave", 5, dags, (*users).resumeWave}, {"mark task", 3, dags, (*users).markTask}, {"clear task", 3, dags, (*users).clearTask}, {"backfill DAG", 3, dags, (*users).backfillDAG},
	{"cancel", 4, nothing, (*users).cancel}, {"move alias", 2, nothing, (*users).moveAlias},
}

// act performs one random action of a user.
func (u *users) act() {
	can := func(d *deed) bool {
		return d.needs == nothing || d.needs == jobs && u.most > 0 || d.needs == dags && u.mostDAGs > 0
	}
	total := 0
	for i := range deeds {
		if can(&deeds[i]) {
			total += deeds[i].weight
		}
	}
	n := u.w.random.IntN(total)
	for i := range deeds {
		if !can(&deeds[i]) {
			continue
		}
		if n -= deeds[i].weight; n < 0 {
			if !u.w.leaves(deeds[i].name) && deeds[i].do(u) {
				u.w.counts.add("user", deeds[i].name)
			}
			return
		}
	}
}

// later does a write after the time that it takes to arrive, unless the store refuses it.
func (u *users) later(write func()) {
	u.w.after(u.w.between(100*time.Microsecond, 20*time.Millisecond), func() {
		if u.w.truth.away() || u.w.chance(storeRefused) {
			return
		}
		write()
	})
}

func (u *users) wake(wake engine.Wake) {
	w := u.w
	for _, e := range w.engines {
		if !w.chance(wakeLost) {
			w.after(w.between(100*time.Microsecond, 5*time.Millisecond), func() { e.wake(wake) })
		}
	}
}

// living draws a job that is not deleted, nil if there is none.
func (u *users) living(choose func(*jobModel) bool) *jobModel {
	var living []*jobModel
	for _, m := range u.jobs {
		if !m.job.Deleted && choose(m) {
			living = append(living, m)
		}
	}
	if len(living) == 0 {
		return nil
	}
	return living[u.w.random.IntN(len(living))]
}

func anyJob(*jobModel) bool { return true }

func (u *users) create() bool {
	if u.most == 0 || len(u.jobs) >= u.most+3 {
		return false
	}
	w := u.w
	name := fmt.Sprintf("job-%d", len(u.jobs)+1)
	uid := fmt.Sprintf("u%dx%04x", len(u.jobs)+1, w.random.IntN(1<<16))
	now := u.time.stamp()
	definition := u.shape(name)
	definition.Alerts = w.notifier.drawAlerts()
	job := engine.Job{
		UID: uid, Namespace: namespace, Name: name, Shard: engine.ShardOf(uid), Spec: *definition, Generation: 1, Revision: 1, Pending: true,
		CreatedAt: now, UpdatedAt: now,
	}
	schedule, err := cron.Compile(definition.Definition(job.Key(), now))
	if err != nil {
		return false // refused, as the API would
	}
	u.jobs = append(u.jobs, &jobModel{uid: uid, job: engine.Job{Deleted: true}, looked: map[int64][]int64{}})
	m := u.jobs[len(u.jobs)-1]
	m.behaviour = u.drawBehaviour(definition)
	u.byUID[uid] = m
	u.later(func() {
		if err := w.truth.store.Jobs().Create(context.Background(), job); err != nil {
			return
		}
		m.job = job
		m.wrote(w, &job, schedule, now)
		w.note("user creates", uid, describeSpec(definition), job.Revision)
		u.wake(engine.Wake{Shard: job.Shard, Kind: engine.WakeJob, Key: uid})
	})
	return true
}

// change writes a new revision of a job.
func (u *users) change(m *jobModel, what string, alter func(job *engine.Job, now time.Time)) {
	w := u.w
	job, now := m.job, u.time.stamp()
	alter(&job, now)
	job.Revision++
	job.Pending = true
	schedule, err := cron.Compile(job.Spec.Definition(job.Key(), job.CreatedAt))
	if err != nil {
		return
	}
	u.later(func() {
		if err := w.truth.store.Jobs().Replace(context.Background(), job); err != nil {
			return // another user was faster
		}
		m.job = job
		m.wrote(w, &job, schedule, now)
		detail := ""
		if what == "edits" {
			detail = describeSpec(&job.Spec)
		}
		w.note("user "+what, job.UID, detail+" "+now.Format("05.000"), job.Revision)
		u.wake(engine.Wake{Shard: job.Shard, Kind: engine.WakeJob, Key: job.UID})
	})
}

// editTwice edits, and edits again before the engine may have seen the first.
func (u *users) editTwice() bool {
	first := u.edit()
	return first && u.edit()
}

func (u *users) edit() bool {
	m := u.living(anyJob)
	if m == nil {
		return false
	}
	definition := u.shape(m.job.Name)
	definition.Alerts = u.w.notifier.drawAlerts()
	if u.w.odds(0.4) { // the schedule stays, the rest changes
		kept := m.job.Spec
		definition.Schedule, definition.Every, definition.After, definition.At = kept.Schedule, kept.Every, kept.After, kept.At
		definition.Timezone, definition.Active, definition.Exclude = kept.Timezone, kept.Active, kept.Exclude
	}
	u.change(m, "edits", func(job *engine.Job, now time.Time) {
		job.Spec = *definition
		job.Generation++
		job.UpdatedAt = now
	})
	return true
}

func (u *users) pause() bool {
	m := u.living(func(m *jobModel) bool { return !m.job.Paused })
	if m == nil {
		return false
	}
	u.setPaused(m, true)
	return true
}

func (u *users) setPaused(m *jobModel, paused bool) {
	what := "resumes"
	if paused {
		what = "pauses"
	}
	u.change(m, what, func(job *engine.Job, now time.Time) { job.Paused, job.PausedAt = paused, now })
}

func (u *users) resume() bool {
	m := u.living(func(m *jobModel) bool { return m.job.Paused })
	if m == nil {
		return false
	}
	u.setPaused(m, false)
	return true
}

func (u *users) remove() bool {
	m := u.living(anyJob)
	if m == nil {
		return false
	}
	u.change(m, "deletes", func(job *engine.Job, _ time.Time) { job.Deleted = true })
	return true
}

func (u *users) moveAlias() bool {
	w := u.w
	u.later(func() {
		binary, err := w.truth.store.Binary(context.Background(), namespace, "tool")
		if err != nil {
			return
		}
		binary.Aliases["stable"] = 1 + w.random.IntN(3)
		binary.Revision++
		binary.UpdatedAt = u.time.stamp()
		if err := w.truth.store.ReplaceBinary(context.Background(), binary); err != nil {
			return
		}
		u.wake(engine.Wake{Kind: engine.WakeBinary, Key: binary.Key()})
	})
	return true
}

// start triggers a run, and now and then takes that back at once.
func (u *users) start() bool {
	m := u.living(anyJob)
	if m == nil {
		return false
	}
	w, job := u.w, m.job
	run := engine.Run{
		ID: engine.ManualRunID(job.UID, fmt.Sprint("key-", w.random.IntN(40))), Revision: 1, Namespace: namespace, JobUID: job.UID, Job: job.Name,
		Shard: job.Shard, Trigger: engine.TriggerManual, By: "user", Status: engine.StatusScheduled,
		Tier: job.Spec.Tier, Class: job.Spec.Class, Binary: job.Spec.Binary, CreatedAt: u.time.stamp(),
	}
	if w.odds(0.25) {
		run.NotBefore = u.time.stamp().Add(w.between(0, 30*time.Second)).Truncate(time.Millisecond)
	}
	if known, err := w.truth.store.RunsByID(context.Background(), []string{run.ID}); err != nil || len(known) > 0 {
		return true // the same once more
	}
	u.command(engine.Command{ID: engine.StartCommand(run.ID), Kind: engine.CommandStart, RunID: run.ID, JobUID: run.JobUID, By: run.By, Run: &run})
	if w.odds(0.1) {
		w.after(w.between(20*time.Millisecond, 200*time.Millisecond), func() {
			u.command(engine.Command{ID: run.ID + "-cancel", Kind: engine.CommandCancel, RunID: run.ID, JobUID: run.JobUID, By: "user"})
		})
	}
	return true
}

// command leaves an intent for the engine and wakes it. One that the store refuses is asked again.
func (u *users) command(command engine.Command) {
	w := u.w
	command.Shard = engine.ShardOf(command.JobUID)
	command.At = u.time.stamp()
	switch command.Kind {
	case engine.CommandRetry, engine.CommandResumeWave, engine.CommandMarkTask, engine.CommandClearTask:
		w.truth.asked[command.ID] = &request{Command: command}
	default:
	}
	w.after(w.between(100*time.Microsecond, 10*time.Millisecond), func() {
		if w.truth.away() || w.chance(storeRefused) {
			w.after(w.between(100*time.Millisecond, 3*time.Second), func() { u.command(command) })
			return
		}
		_ = w.truth.store.PutCommand(context.Background(), command)
		w.note("command", command.ID, "", 0)
		u.wake(engine.Wake{Shard: command.Shard, Kind: engine.WakeCommand})
	})
}

func (u *users) cancel() bool {
	active, err := u.w.truth.store.ActiveRuns(context.Background(), allShards, "", 1000)
	if err != nil || len(active) == 0 {
		return false
	}
	run := active[u.w.random.IntN(len(active))]
	u.w.counts.add("cancel", run.Status.String())
	u.command(engine.Command{ID: run.ID + "-cancel", Kind: engine.CommandCancel, RunID: run.ID, JobUID: run.JobUID, By: "user"})
	return true
}

func (u *users) retry() bool {
	if len(u.ended) == 0 {
		return false
	}
	id := u.ended[u.w.random.IntN(len(u.ended))]
	run, err := u.w.truth.store.Run(context.Background(), id)
	if err != nil || (run.Status != engine.StatusRetrying && !run.Status.CanRetry()) {
		return false
	}
	u.w.counts.add("retry", run.Status.String())
	u.command(engine.Command{
		ID: fmt.Sprintf("%s-retry-%d", id, run.Revision), Kind: engine.CommandRetry, RunID: id, JobUID: run.JobUID, By: "user", Revision: run.Revision,
	})
	return true
}

func (u *users) backfill() bool {
	m := u.living(func(m *jobModel) bool { return len(m.job.Spec.Schedule) > 0 || m.job.Spec.Every > 0 })
	if m == nil {
		return false
	}
	w := u.w
	from := u.time.stamp().Add(-w.between(0, time.Minute)).Truncate(time.Millisecond)
	to := from.Add(w.between(time.Second, 20*time.Second)).Truncate(time.Millisecond)
	u.command(engine.Command{
		ID:   fmt.Sprintf("%s-backfill-%d-%d", m.uid, from.UnixMilli(), to.UnixMilli()),
		Kind: engine.CommandBackfill, JobUID: m.uid, By: "user", From: from, To: to,
	})
	return true
}
