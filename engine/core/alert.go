package core

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/plan"
	"github.com/tidewheel/tidewheel/spec"
)

// What happens to runs, waves and slots is a sign of something wrong, or of its end. Each function here is called where that
// happens, and returns at once where no user asked to be notified.

func (j *job) subject() *subject {
	s := &subject{uid: j.uid, namespace: j.namespace, job: j.name, alerts: j.alerts}
	if d := j.dag; d != nil {
		s = d.subject()
		s.task, s.alerts = j.taskName, j.alerts
	} else if j.def != nil {
		s.paused, s.pausedAt = j.def.Paused, j.def.PausedAt
	}
	return s
}

func (d *dagState) subject() *subject {
	s := &subject{uid: d.uid, namespace: d.namespace, dag: d.name, alerts: d.alerts}
	if d.def != nil {
		s.paused, s.pausedAt = d.def.Paused, d.def.PausedAt
	}
	return s
}

// subjects are the job itself, or the task and its DAG, as far as users asked to be notified of them.
func (j *job) subjects() (all []*subject) {
	if j.alerts != nil {
		all = append(all, j.subject())
	}
	if j.dag != nil && j.dag.alerts != nil {
		all = append(all, j.dag.subject())
	}
	return all
}

// watched reports whether users asked to be notified of the job, or of the task or its DAG.
func (j *job) watched() bool { return j.alerts != nil || j.dag != nil && j.dag.alerts != nil }

// known returns what is known of a run, to change it.
func (r *run) known() *runAlerts {
	if r.alerts == nil {
		r.alerts = &runAlerts{}
	}
	return r.alerts
}

// alertsOfJob has a job follow what its definition and its namespace ask for.
func (c *Core) alertsOfJob(j *job) {
	j.alerts = nil
	if j.def != nil {
		j.alerts = c.asked(j.def.Spec.Alerts, c.namespaceAlerts[j.namespace])
	}
	if j.alerts == nil && c.incidents[j.uid] == nil {
		return
	}
	c.followAlerts(j.subject())
	for _, r := range j.live {
		c.watch(r)
	}
}

// alertsOfDAG has a DAG and its tasks follow what its definition and its namespace ask for.
func (c *Core) alertsOfDAG(d *dagState) {
	d.alerts = nil
	asked := map[string]*spec.Alerts{} // by task
	if d.def != nil {
		d.alerts = c.asked(d.def.Spec.Alerts, c.namespaceAlerts[d.namespace])
	}
	if d.def != nil && d.current().Graph != nil {
		for i := range d.def.Spec.Tasks {
			if own := c.asked(d.def.Spec.Tasks[i].Alerts, nil); own != nil {
				asked[d.def.Spec.Tasks[i].Name] = own
			}
		}
	}
	if d.alerts == nil && len(asked) == 0 && c.incidents[d.uid] == nil {
		return
	}
	for _, i := range c.incidents[d.uid] {
		if i.Task != "" && asked[i.Task] == nil {
			asked[i.Task] = nil // what is left of it goes
		}
	}
	c.followAlerts(d.subject())
	for _, name := range slices.Sorted(maps.Keys(asked)) {
		s := d.subject()
		s.task, s.alerts = name, asked[name]
		c.followAlerts(s)
	}
	if d.open != nil {
		c.watchWave(d.open)
	}
	for _, name := range d.taskNames() {
		for _, r := range d.tasks[name].live {
			c.watch(r)
		}
	}
}

func signOf(r *engine.Run, reason string) *sign {
	return &sign{run: r.ID, wave: r.Wave, slot: r.Slot, reason: reason}
}

// alertOfEnd looks at a run that has ended.
func (c *Core) alertOfEnd(r *run) {
	j := r.job
	if !j.watched() {
		return
	}
	c.judgeStart(r)
	if j.alerts != nil {
		s := j.subject()
		switch r.Status {
		case engine.StatusFailed, engine.StatusTimedOut, engine.StatusLost, engine.StatusDead:
			c.sign(s, spec.AlertFailed, signOf(&r.Run, whyFailed(&r.Run)))
		case engine.StatusSucceeded:
			good := signOf(&r.Run, "run "+r.ID+" succeeded")
			c.over(s, spec.AlertFailed, good)
			c.over(s, spec.AlertDead, good)
			c.putOff(s, c.now, good)
		default:
		}
		c.judgeDuration(s, r)
	}
	if r.Status == engine.StatusDead {
		for _, s := range j.subjects() {
			c.sign(s, spec.AlertDead, signOf(&r.Run, whyFailed(&r.Run)))
		}
	}
}

// judgeDuration says that a run which has ended was slow, or that no run is any more.
func (c *Core) judgeDuration(s *subject, r *run) {
	began := r.begun()
	if !s.alerts.Asks(spec.AlertSlow) || began.IsZero() || r.Status == engine.StatusCancelled || r.Status == engine.StatusSkipped {
		return
	}
	most, took := time.Duration(s.alerts.Duration), r.FinishedAt.Sub(began)
	switch told := r.known().slow || c.goesOnFor(s, spec.AlertSlow, r.ID, ""); {
	case told:
	case took <= most:
		c.over(s, spec.AlertSlow, signOf(&r.Run, fmt.Sprintf("run %s took %s", r.ID, took.Round(time.Millisecond))))
	default:
		c.sign(s, spec.AlertSlow, signOf(&r.Run, fmt.Sprintf("it took %s, and %s is the limit", took.Round(time.Millisecond), most)))
	}
}

// alertOfStart looks at a run whose attempt was claimed.
func (c *Core) alertOfStart(r *run) {
	if !r.job.watched() {
		return
	}
	c.judgeStart(r)
	c.watch(r)
}

// judgeStart says that a run began late, or that no run is late any more.
func (c *Core) judgeStart(r *run) {
	began := r.begun()
	if r.known().judged || began.IsZero() || r.Trigger != engine.TriggerSchedule || r.Slot.IsZero() {
		return
	}
	r.known().judged = true
	for _, s := range r.job.subjects() {
		if !s.alerts.Asks(spec.AlertLate) {
			continue
		}
		if late := began.Sub(r.Slot); late > time.Duration(s.alerts.Lag) {
			if !r.known().late && !c.goesOnFor(s, spec.AlertLate, r.ID, "") {
				c.sign(s, spec.AlertLate, signOf(&r.Run, fmt.Sprintf("it started %s after its slot", late.Round(time.Millisecond))))
			}
			continue
		}
		c.overAfter(s, spec.AlertLate, r, "run "+r.ID+" started in time")
	}
}

// overAfter takes the run of a slot as a good sign for what is about an earlier one.
func (c *Core) overAfter(s *subject, alert spec.Alert, r *run, reason string) {
	i := c.find(s, alert)
	if i == nil {
		return
	}
	if now := i.goingOn(); now != nil && r.Slot.After(now.Slot) {
		c.overFor(i, signOf(&r.Run, reason))
	}
}

// alertOfSlot looks at a run that goes for the first time.
func (c *Core) alertOfSlot(r *run) {
	if !r.job.watched() {
		return
	}
	if r.Attempt == 1 && !r.Slot.IsZero() && (r.Trigger == engine.TriggerSchedule || r.Trigger == engine.TriggerCatchUp) {
		for _, s := range r.job.subjects() {
			c.overAfter(s, spec.AlertMissed, r, "run "+r.ID+" was fired")
			c.overAfter(s, spec.AlertSkipped, r, "run "+r.ID+" was fired")
		}
	}
	c.watch(r)
}

// alertOfNote looks at a slot that did not fire.
func (c *Core) alertOfNote(j *job, slot time.Time, outcome engine.Outcome, reason engine.SlotReason) {
	if !j.watched() {
		return
	}
	for _, s := range j.subjects() {
		of := &sign{slot: slot, reason: fmt.Sprintf("the slot of %s was %s (%s)", slot.Format(time.RFC3339), outcome, slotWords(reason))}
		switch {
		case outcome == engine.OutcomeMissed:
			c.sign(s, spec.AlertMissed, of)
		case reason == engine.ReasonOverlap, reason == engine.ReasonQueueFull, reason == engine.ReasonReplaced:
			c.sign(s, spec.AlertSkipped, of)
		}
	}
}

func slotWords(reason engine.SlotReason) string {
	switch reason {
	case engine.ReasonOverlap:
		return "the run before it had not ended"
	case engine.ReasonQueueFull:
		return "too many runs were waiting"
	case engine.ReasonReplaced:
		return "a later slot took its place"
	case engine.ReasonOutage:
		return "no engine was running"
	case engine.ReasonCatchUp:
		return "the catch-up policy leaves it out"
	default:
		return string(reason)
	}
}

// alertOfLetterGone looks at a dead letter that is removed because its run is tried again.
func (c *Core) alertOfLetterGone(r *engine.Run) {
	for _, i := range c.incidents[r.JobUID] {
		if now := i.goingOn(); i.Alert == spec.AlertDead && now != nil && now.Run == r.ID {
			c.overFor(i, signOf(r, "run "+r.ID+" is tried again"))
		}
	}
}

// alertOfWave looks at a wave that has ended.
func (c *Core) alertOfWave(w *waveState) {
	c.stopTimer(&w.watch)
	if w.dag.alerts == nil {
		return
	}
	s := w.dag.subject()
	of := &sign{wave: w.ID, slot: w.Slot, reason: cmp.Or(w.Reason, "not all of its tasks succeeded")}
	switch w.Status {
	case engine.StatusFailed:
		c.sign(s, spec.AlertFailed, of)
	case engine.StatusSucceeded:
		of.reason = "wave " + w.ID + " succeeded"
		c.over(s, spec.AlertFailed, of)
		c.over(s, spec.AlertDead, of)
		c.putOff(s, c.now, of)
	default:
	}
	if !s.alerts.Asks(spec.AlertSlow) || w.Status == engine.StatusCancelled || w.StartedAt.IsZero() {
		return
	}
	most, took := time.Duration(s.alerts.Duration), w.Took(c.now)
	switch {
	case c.goesOnFor(s, spec.AlertSlow, "", w.ID):
	case took <= most:
		c.over(s, spec.AlertSlow, &sign{wave: w.ID, reason: fmt.Sprintf("wave %s took %s", w.ID, took.Round(time.Millisecond))})
	default:
		of.reason = fmt.Sprintf("it took %s, and %s is the limit", took.Round(time.Millisecond), most)
		c.sign(s, spec.AlertSlow, of)
	}
}

// watch looks whether a run is late or slow, and at the instant at which it will be.
func (c *Core) watch(r *run) {
	j := r.job
	if r.alerts == nil && !j.watched() {
		return
	}
	known := r.known()
	c.stopTimer(&known.watch)
	if c.runs[r.ID] != r {
		return
	}
	began, next := r.begun(), time.Time{}
	comes := func(at time.Time) bool {
		if at = plan.Later(at, known.hearUntil); !at.After(c.now) {
			return true
		}
		if next.IsZero() || at.Before(next) {
			next = at
		}
		return false
	}
	late, slow := false, false
	for _, s := range j.subjects() {
		waits := began.IsZero() && r.Trigger == engine.TriggerSchedule && !r.Slot.IsZero() && !known.late
		if waits && s.alerts.Asks(spec.AlertLate) && comes(r.Slot.Add(time.Duration(s.alerts.Lag))) {
			late = true
			if !c.goesOnFor(s, spec.AlertLate, r.ID, "") {
				c.sign(s, spec.AlertLate, signOf(&r.Run, fmt.Sprintf("it has not started %s after its slot", time.Duration(s.alerts.Lag))))
			}
		}
		own := j.dag == nil || s.task != "" // a DAG is slow by its wave
		if own && !began.IsZero() && !known.slow && s.alerts.Asks(spec.AlertSlow) && comes(began.Add(time.Duration(s.alerts.Duration))) {
			slow = true
			if !c.goesOnFor(s, spec.AlertSlow, r.ID, "") {
				c.sign(s, spec.AlertSlow, signOf(&r.Run, fmt.Sprintf("it has run for longer than %s", time.Duration(s.alerts.Duration))))
			}
		}
	}
	known.late = known.late || late && next.IsZero() // a task and its DAG may have different limits
	known.slow = known.slow || slow
	if !next.IsZero() {
		c.setTimer(&known.watch, next, timer{kind: timerWatch, of: r})
	}
}

// watchWave is watch for the open wave.
func (c *Core) watchWave(w *waveState) {
	c.stopTimer(&w.watch)
	d := w.dag
	if d.alerts == nil || d.open != w || !d.alerts.Asks(spec.AlertSlow) || c.goesOnFor(d.subject(), spec.AlertSlow, "", w.ID) {
		return
	}
	most := time.Duration(d.alerts.Duration)
	if left := most - w.Took(c.now); left > 0 {
		c.setTimer(&w.watch, c.now.Add(left), timer{kind: timerWave, of: w})
		return
	}
	c.sign(d.subject(), spec.AlertSlow, &sign{wave: w.ID, slot: w.Slot, reason: fmt.Sprintf("it has run for longer than %s", most)})
}

// begun is when the first attempt of a run was claimed, of those since it was last tried again by hand as far as that is known;
// zero if none was.
func (r *run) begun() time.Time {
	n := r.Failures + r.Losses // attempts that have ended
	switch r.Status {
	case engine.StatusScheduled, engine.StatusRetrying:
	case engine.StatusFailed, engine.StatusTimedOut, engine.StatusLost, engine.StatusDead:
		n = max(n, 1)
	default:
		n++
	}
	for i := max(len(r.Attempts)-n, 0); i < len(r.Attempts); i++ {
		if at := r.Attempts[i].ClaimedAt; !at.IsZero() {
			return at
		}
	}
	return time.Time{}
}

// whyFailed returns why a run failed. What it printed stands in the run itself, where the notifier reads it.
func whyFailed(r *engine.Run) string { return cmp.Or(r.Reason, "the run "+r.Status.String()) }
