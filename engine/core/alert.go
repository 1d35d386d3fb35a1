package core

import (
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/incident"
	"github.com/tidewheel/tidewheel/spec"
)

// Users are notified of what happens to jobs and DAGs with alerts. What is a sign of something wrong is decided in engine/incident;
// this file says whom it is about, and has the incidents written.

// subjects are what users asked to be notified of: the job itself, or the task and its DAG.
func (j *job) subjects() (s incident.Subjects) {
	if j.dag != nil && j.dag.alerts != nil {
		s.DAG = j.dag.subject()
	}
	if j.alerts != nil {
		s.Own = j.subject()
	}
	return s
}

func (j *job) subject() *incident.Subject {
	if j.dag != nil {
		s := j.dag.subject()
		s.Task, s.Alerts = j.taskName, j.alerts
		return s
	}
	s := &incident.Subject{UID: j.uid, Namespace: j.namespace, Job: j.name, Alerts: j.alerts}
	if j.def != nil {
		s.Paused, s.PausedAt = j.def.Paused, j.def.PausedAt
	}
	return s
}

func (d *dagState) subject() *incident.Subject {
	s := &incident.Subject{UID: d.uid, Namespace: d.namespace, DAG: d.name, Alerts: d.alerts}
	if d.def != nil {
		s.Paused, s.PausedAt = d.def.Paused, d.def.PausedAt
	}
	return s
}

// watched returns the subjects of a run, and what is known of it; false where no user asked to be notified.
func (r *run) watched() (incident.Subjects, *incident.Watch, bool) {
	s := r.job.subjects()
	if s.None() {
		return s, nil, false
	}
	if r.watch == nil {
		r.watch = &runWatch{}
	}
	return s, &r.watch.Watch, true
}

// watchAdopted begins to watch a run that was taken over.
func (c *Core) watchAdopted(r *run) {
	if !r.job.subjects().None() {
		r.watch = &runWatch{Watch: incident.NewWatch(&r.Run, c.now.Add(hearWithin))}
	}
}

// watch looks whether a run is late or slow, and at the instant at which it will be.
func (c *Core) watch(r *run) {
	if r.watch != nil {
		c.stopTimer(&r.watch.timer)
	}
	s, known, is := r.watched()
	if !is || c.runs[r.ID] != r {
		return
	}
	if next := c.incidents.Look(s, &r.Run, known); !next.IsZero() {
		c.setTimer(&r.watch.timer, next, timer{kind: timerWatch, of: r})
	}
}

// watchWave is watch for the open wave.
func (c *Core) watchWave(w *waveState) {
	c.stopTimer(&w.watch)
	if w.dag.alerts == nil || w.dag.open != w {
		return
	}
	if next := c.incidents.LookAtWave(w.dag.subject(), &w.Wave.Wave); !next.IsZero() {
		c.setTimer(&w.watch, next, timer{kind: timerWave, of: w})
	}
}

// alertOfStart looks at a run whose attempt was claimed.
func (c *Core) alertOfStart(r *run) {
	if s, known, is := r.watched(); is {
		c.incidents.RunStarted(s, &r.Run, known)
		c.watch(r)
	}
}

// alertOfAttempt looks at a run whose attempt was queued.
func (c *Core) alertOfAttempt(r *run) {
	if s, _, is := r.watched(); is {
		c.incidents.RunQueued(s, &r.Run)
		c.watch(r)
	}
}

// alertOfEnd looks at a run that has ended.
func (c *Core) alertOfEnd(r *run) {
	if s, known, is := r.watched(); is {
		c.incidents.RunEnded(s, &r.Run, known)
	}
}

// alertOfNote looks at a slot that did not fire.
func (c *Core) alertOfNote(j *job, slot time.Time, outcome engine.Outcome, reason engine.SlotReason) {
	if s := j.subjects(); !s.None() {
		c.incidents.SlotNoted(s, slot, outcome, reason)
	}
}

// alertOfWave looks at a wave that has ended.
func (c *Core) alertOfWave(w *waveState) {
	c.stopTimer(&w.watch)
	if w.dag.alerts != nil {
		c.incidents.WaveEnded(w.dag.subject(), &w.Wave.Wave)
	}
}

// asked returns the alerts that apply: those of a definition, or else of its namespace. It is nil where there are none.
func (c *Core) asked(own, namespace *spec.Alerts) *spec.Alerts {
	if !c.config.Incidents {
		return nil
	}
	return incident.Asked(own, namespace)
}

// alertsOfJob has a job follow what its definition and its namespace ask for.
func (c *Core) alertsOfJob(j *job) {
	j.alerts = nil
	if j.def != nil {
		j.alerts = c.asked(j.def.Spec.Alerts, c.namespaceAlerts[j.namespace])
	}
	if j.alerts == nil && !c.incidents.Has(j.uid) {
		return
	}
	c.incidents.Follow(j.subject())
	for _, r := range j.live {
		c.watch(r)
	}
}

// alertsOfDAG has a DAG and its tasks follow what its definition and its namespace ask for.
func (c *Core) alertsOfDAG(d *dagState) {
	d.alerts = nil
	asked := map[string]*spec.Alerts{} // by task; where it is nil, what is left of the task goes
	for _, task := range c.incidents.Tasks(d.uid) {
		asked[task] = nil
	}
	if d.def != nil {
		d.alerts = c.asked(d.def.Spec.Alerts, c.namespaceAlerts[d.namespace])
		for i := range d.def.Spec.Tasks {
			if own := c.asked(d.def.Spec.Tasks[i].Alerts, nil); own != nil {
				asked[d.def.Spec.Tasks[i].Name] = own
			}
		}
	}
	if d.alerts == nil && len(asked) == 0 && !c.incidents.Has(d.uid) {
		return
	}
	c.incidents.Follow(d.subject())
	for _, name := range slices.Sorted(maps.Keys(asked)) {
		s := d.subject()
		s.Task, s.Alerts = name, asked[name]
		c.incidents.Follow(s)
	}
	if d.open != nil {
		c.watchWave(d.open)
	}
	for _, j := range d.jobs() {
		for _, r := range j.live {
			c.watch(r)
		}
	}
}

// alertRules takes what namespaces ask for, and has the jobs and DAGs in memory follow what has changed.
func (c *Core) alertRules(e AlertRules) {
	changed := map[string]bool{}
	rules := map[string]*spec.Alerts{}
	for namespace, given := range e.Namespaces {
		merged := (*spec.Alerts)(nil).Over(&given)
		rules[namespace] = &merged
		changed[namespace] = !reflect.DeepEqual(c.namespaceAlerts[namespace], &merged)
	}
	for namespace := range c.namespaceAlerts {
		changed[namespace] = changed[namespace] || rules[namespace] == nil
	}
	c.namespaceAlerts = rules
	for _, uid := range slices.Sorted(maps.Keys(c.jobs)) {
		if j := c.jobs[uid]; changed[j.namespace] {
			c.alertsOfJob(j)
		}
	}
	for _, uid := range slices.Sorted(maps.Keys(c.dags)) {
		if d := c.dags[uid]; changed[d.namespace] {
			c.alertsOfDAG(d)
		}
	}
}
