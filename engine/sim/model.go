package sim

import (
	"fmt"
	"slices"
	"time"

	"github.com/tidewheel/tidewheel/cron"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// jobModel is what users did to one job.
type jobModel struct {
	uid       string
	job       engine.Job // as last written
	forms     []form
	revisions []revision
	behaviour behaviour
	looked    map[int64][]int64    // by the microsecond at which an engine read it: which revisions; only looked up
	parked    time.Time            // when its clock was stopped last; zero while it goes
	task      engine.ScheduledTask // as last written
	planner   int64                // the generation by which the slot before that was planned
	// Of a root of a DAG.
	of    *dagModel
	fired map[int64]string // slot in milliseconds → the wave that has had it; only looked up
}

// form is one generation.
type form struct {
	generation int64
	spec       spec.Job
	schedule   *cron.Schedule
	since      time.Time     // the stamp of its write
	debt       debt          // what it found
	pausedAt   int           // the revision by which the engine found it paused, having planned nothing before; 0 if it did not
	had        time.Time     // the slot that it has accounted for last, if it was replaced
	handled    time.Duration // when the engine had acted on it, 0 if it never has
	replaced   time.Duration // when the next version was written, 0 for the current one
}

// revision is one write.
type revision struct {
	number      int64
	generation  int64
	paused      bool
	deleted     bool
	stamp       time.Time
	elapsed     time.Duration
	handledWall time.Time     // by the engine's clock; zero if it has not acted on it by itself
	decided     time.Time     // slots up to here may have been decided until then: a clock had come so far, and looks ahead
	handled     time.Duration // when that was
	known       time.Time     // when the engine that did first knew it, by that engine's clock
}

// pauseEnds returns the revision that ends the pause which revision n is in: n where it is no pause, and the number of revisions where
// the pause lasts.
// What was resumed and paused again before an engine saw it was never resumed.
func (m *jobModel) pauseEnds(n int) int {
	for ; n < len(m.revisions); n++ {
		if !m.revisions[n].paused && !m.pausedAgain(n) {
			break
		}
	}
	return n
}

// inPause reports whether the pause that a revision is still active.
func (m *jobModel) inPause(n int) bool { return m.pauseEnds(n) == len(m.revisions) }

// pausedAgain reports whether the first revision from the n-th on that an engine saw is a pause.
func (m *jobModel) pausedAgain(n int) bool {
	at := slices.IndexFunc(m.revisions[n:], func(r revision) bool { return !r.handledWall.IsZero() })
	return at >= 0 && m.revisions[n+at].paused
}

// stands notes when the engine has stopped a job's clock.
func (m *jobModel) stands(w *world, task *engine.ScheduledTask) {
	switch {
	case !task.RunAt.Equal(engine.Parked) || task.Slot.Equal(engine.Parked):
		m.parked = time.Time{}
	case m.parked.IsZero():
		m.parked = w.truth.now
	}
	f := m.formOf(task.Generation)
	if f == nil || task.Slot.Equal(engine.Parked) {
		return
	}
	// Whatever the clock of the executor says that ran what it follows.
	shifted := f.spec.Active != nil || len(f.spec.Exclude) > 0
	if most := w.peak.Add(time.Duration(f.spec.After) + apart); f.schedule.Kind() == cron.KindAfter && !shifted && task.Slot.After(most) {
		w.fail("a fixed delay follows the end of the run before", "%s is next at %s", m.uid, task.Slot)
	}
}

func describeSpec(j *spec.Job) string {
	at := ""
	if j.At != nil {
		at = j.At.Format("15:04:05.000")
	}
	window := ""
	if j.Active != nil {
		window = "active " + j.Active.From.Format("15:04:05") + "-" + j.Active.Until.Format("15:04:05")
	}
	return fmt.Sprintf("%v every %v after %v at %s %s %s catch-up %s/%v %s tries %d exclude %v %s", j.Schedule, j.Every, j.After, at, j.Timezone,
		j.Overlap, j.CatchUp.Policy, j.CatchUp.Window, j.Delivery, j.Retry.MaxAttempts, j.Exclude, window)
}

// wrote remembers a write.
func (m *jobModel) wrote(w *world, job *engine.Job, schedule *cron.Schedule, stamp time.Time) {
	if m.of == nil {
		w.notifier.wrote(job.UID, writtenAlerts{revision: job.Revision, deleted: job.Deleted, paused: job.Paused, own: job.Spec.Alerts})
	}
	if n := len(m.forms); n == 0 || m.forms[n-1].generation != job.Generation {
		if n > 0 {
			m.forms[n-1].replaced = w.elapsed
		}
		m.forms = append(m.forms, form{generation: job.Generation, spec: job.Spec, schedule: schedule, since: stamp})
	}
	if m.fired == nil {
		m.fired = map[int64]string{}
	}
	m.revisions = append(m.revisions, revision{
		number: job.Revision, generation: job.Generation, paused: job.Paused, deleted: job.Deleted, stamp: stamp, elapsed: w.elapsed,
	})
}

// handled notes that the engine has acted on a revision.
func (u *users) handled(handled engine.JobHandled) {
	u.byUID[handled.UID].acted(u.w, handled)
	u.w.note("handled", handled.UID, "", handled.Revision)
}

// acted notes that the engine has acted on a revision.
func (m *jobModel) acted(w *world, handled engine.JobHandled) {
	for i := range m.revisions {
		r := &m.revisions[i]
		if r.number != handled.Revision || !r.handledWall.IsZero() {
			continue
		}
		r.handledWall, r.handled, r.known = w.truth.now, w.elapsed, w.truth.taken.revised[version{handled.UID, r.number}]
		r.decided = w.peak.Add(w.config.Core.Lead)
		for n := range m.forms {
			if f := &m.forms[n]; f.generation == r.generation && f.handled == 0 {
				f.replaces(w, m, i)
			}
		}
	}
}

// overlaps checks that two processes of a job at once are what its definitions allow.
func (u *users) overlaps(running, starting *engine.Task) {
	m := u.byUID[starting.JobUID]
	if m == nil {
		return // tasks of one DAG are held to their wave
	}
	if before, now := u.w.truth.stored[running.Run], u.w.truth.stored[starting.Run]; before != nil && now != nil && m.together(before, now) {
		return
	}
	u.w.fail("one live process a job", "%s started while %s ran", attemptKey(starting.Run, starting.Attempt), attemptKey(running.Run, running.Attempt))
}
