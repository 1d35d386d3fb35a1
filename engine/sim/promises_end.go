package sim

import (
	"context"
	"time"

	"github.com/tidewheel/tidewheel/cron"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// kept checks, at the end, what a job's definitions promise of all its runs together.
func (w *world) kept(m *jobModel, runs []engine.Run) {
	if m.of != nil || len(m.revisions) == 0 {
		return // the slots of a root are its wave's
	}
	if last := &m.revisions[len(m.revisions)-1]; last.handledWall.IsZero() {
		w.fail("every change is acted upon", "revision %d of job %s never was", last.number, m.uid)
	}
	w.caughtUp(m, runs)
	w.excluded(m, runs)
	w.obsolete(m, runs)
}

// caughtUp checks that one look at passed slots brings back no more than the catch-up policy allows: the policy of the runs' generation, up
// to the pause or the resumption that the engine read at that instant, and from then on.
func (w *world) caughtUp(m *jobModel, runs []engine.Run) {
	type look struct {
		at, generation int64
		stretch        int
	}
	back := map[look]int{}
	for i := range runs {
		run := &runs[i]
		f := m.formOf(run.Generation)
		if run.Trigger != engine.TriggerCatchUp || f == nil {
			continue
		}
		most := 1
		if f.spec.CatchUp.Policy == spec.CatchUpAll {
			most = w.config.Core.MaxCatchUp
		}
		l := look{at: microsecond(run.CreatedAt), generation: run.Generation}
		for _, number := range m.looked[l.at] {
			if at := m.toggled(number); !at.IsZero() && run.Slot.After(at) {
				l.stretch++
			}
		}
		if back[l]++; back[l] > most {
			w.fail("catch-up is bounded", "job %s: %d slots of generation %d were brought back at %s, and the policy is %s",
				m.uid, back[l], run.Generation, run.CreatedAt, f.spec.CatchUp.Policy)
		}
	}
}

// toggled is when a job was paused or resumed last, as a revision of it says; zero if it never was.
func (m *jobModel) toggled(number int64) time.Time {
	var at time.Time
	paused := false
	for i := range m.revisions {
		r := &m.revisions[i]
		if r.number > number {
			break
		}
		if r.paused != paused {
			paused, at = r.paused, r.stamp
		}
	}
	return at
}

// excluded checks that no slot of a blackout fired, and that nothing fired late where nothing is to be caught up.
func (w *world) excluded(m *jobModel, runs []engine.Run) {
	for i := range runs {
		run := &runs[i]
		f := m.formOf(run.Generation)
		if run.Trigger == engine.TriggerSchedule && f != nil && f.spec.CatchUp.Policy == spec.CatchUpNone && f.schedule.Kind() != cron.KindAfter &&
			len(run.Attempts) > 0 && !w.truth.stored[run.ID].past.waited && !w.truth.stored[run.ID].past.followed {
			// An engine that comes back finds that an executor was faster: then it learns late of an attempt that was not.
			a, queued := &run.Attempts[0], run.Attempts[0].QueuedAt
			if published := w.truth.stored[run.ID].past.published; !published.IsZero() && published.Before(queued) {
				queued = published
			}
			if late := queued.Sub(run.Slot); late > w.config.Core.Grace+time.Second && a.ClaimedAt.After(a.QueuedAt) {
				w.fail("what is late is not caught up where the policy is none", "run %s was queued %s late", run.ID, late)
			}
		}
		if f != nil && !run.Slot.IsZero() && f.schedule.Excluded(run.Slot) {
			w.fail("a blackout keeps its slots from firing", "run %s (%s) is for slot %s", run.ID, run.Trigger, run.Slot)
		}
	}
}

// cancellationsEnded checks, after a long calm, that every run that a user cancelled has ended.
func (w *world) cancellationsEnded() {
	active, err := w.truth.store.ActiveRuns(context.Background(), allShards, "", 1<<20)
	if err != nil {
		return
	}
	for i := range active {
		if run := &active[i]; run.CancelBy != "" && run.Status == engine.StatusRunning && w.elapsed-w.truth.stored[run.ID].past.cancelled > calm/2 {
			w.fail("a cancellation is carried out", "run %s was to be cancelled (%s) %s ago", run.ID, run.CancelBy, w.elapsed-w.truth.stored[run.ID].past.cancelled)
		}
	}
}

// letters checks that the runs that are dead, and no others, have left dead letters.
func (w *world) letters() {
	letters, _, err := w.truth.store.DeadLetters(context.Background(), namespace, "", 1<<20)
	if err != nil {
		return
	}
	left := map[string]bool{}
	for i := range letters {
		left[letters[i].RunID] = true
		if known := w.truth.stored[letters[i].RunID]; known == nil || known.status != engine.StatusDead {
			w.fail("the dead leave letters", "there is one of run %s, which is not dead", letters[i].RunID)
		}
	}
	var uids []string
	for _, m := range w.users.jobs {
		uids = append(uids, m.uid)
	}
	for _, m := range w.users.dags {
		uids = append(uids, m.uid)
	}
	for _, uid := range uids {
		runs, _, err := w.truth.store.Runs(context.Background(), engine.RunFilter{JobUID: uid, Limit: 1 << 20})
		if err != nil {
			return
		}
		for i := range runs {
			if runs[i].Status == engine.StatusDead && !left[runs[i].ID] {
				w.fail("the dead leave letters", "run %s is dead, and there is none of it", runs[i].ID)
			}
		}
	}
}

// obsolete checks that nothing fired at a slot that came when the engine had acted upon a pause, or an edit, already:
// also not what was prepared before.
func (w *world) obsolete(m *jobModel, runs []engine.Run) {
	for i := range runs {
		run := &runs[i]
		if f := m.formOf(run.Generation); run.Trigger != engine.TriggerSchedule || f == nil || f.schedule.Kind() == cron.KindAfter {
			continue
		}
		past := &w.truth.stored[run.ID].past
		if past.byFormer { // as Several engines in docs/guarantees.md allows
			continue
		}
		for n := range m.revisions {
			r := &m.revisions[n]
			if r.handledWall.IsZero() || !run.Slot.After(r.handledWall) || past.came <= r.handled {
				continue
			}
			if r.generation > run.Generation && run.Slot.After(r.stamp) && run.Slot.After(m.formOf(r.generation).since) {
				w.fail("an edit takes back what is prepared", "run %s is of generation %d, and the engine knew of %d before its slot", run.ID, run.Generation, r.generation)
			}
			if r.paused && m.pausedFor(n, run.Slot, run.Generation) {
				w.fail("a pause takes back what is prepared", "run %s fired, and the engine knew of the pause before its slot", run.ID)
			}
		}
	}
}
