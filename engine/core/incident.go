package core

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/plan"
	"github.com/tidewheel/tidewheel/spec"
)

// An incident begins with its first sign and is over with the first good one. It is written with what it is about. Once that
// is durable, the core notifies of its beginning, and of its end where that is asked for. The incident stays until the
// notifier has both; one that begins before that waits in its Next. Only this file changes incidents; alert.go says what is
// a sign.

func (t notice) effect(i *incident) Notify {
	told := i.Clone()
	told.Next = nil
	if t == notifyBeginning {
		told.Over, told.OverRun, told.Ended = time.Time{}, "", ""
	}
	return Notify{told}
}

// The wait before the next try to notify doubles from the first to the second.
const (
	notifySoon = time.Second
	notifyLate = 30 * time.Second
)

// subject is what an incident is of: a job, a DAG, or a task of one with alerts of its own.
type subject struct {
	uid, namespace, job, dag, task string
	alerts                         *spec.Alerts
	paused                         bool
	pausedAt                       time.Time // when it was paused or resumed last
}

// sign is what begins or ends an incident: a run, a wave or a slot.
type sign struct {
	run, wave string
	slot      time.Time
	reason    string // why it began, or why it is over
}

// find returns the incident of a subject, nil if there is none and never was.
func (c *Core) find(s *subject, alert spec.Alert) *incident {
	for _, i := range c.incidents[s.uid] {
		if i.Alert == alert && i.Task == s.task {
			return i
		}
	}
	return nil
}

// holder is find, and makes one that is not current.
func (c *Core) holder(s *subject, alert spec.Alert) *incident {
	i := c.find(s, alert)
	if i == nil {
		i = &incident{Incident: engine.Incident{ID: engine.IncidentID(s.uid, s.task, alert), UID: s.uid, Task: s.task, Alert: alert}}
		c.incidents[s.uid] = append(c.incidents[s.uid], i)
	}
	return i
}

// newIncident is an incident that is to take the place of another, which says what both have.
func (c *Core) newIncident(s *subject, i *incident) engine.Incident {
	return engine.Incident{
		ID: i.ID, Revision: i.Revision, Shard: engine.ShardOf(s.uid), Namespace: s.namespace, UID: s.uid, Job: s.job, DAG: s.dag, Task: s.task,
		Alert: i.Alert, To: slices.Clone(s.alerts.To), Recovered: s.alerts.Asks(spec.AlertRecovered),
	}
}

// instant is now as incidents keep it.
func (c *Core) instant() time.Time { return c.now.Truncate(time.Millisecond) }

// sign takes a sign of something wrong.
func (c *Core) sign(s *subject, alert spec.Alert, of *sign) {
	if !s.alerts.Asks(alert) {
		return
	}
	i := c.holder(s, alert)
	into := &i.Incident
	switch {
	case !i.current:
		i.Incident, i.current = c.newIncident(s, i), true
		i.Since = c.instant()
	case !i.Over.IsZero() && i.Next == nil:
		next := c.newIncident(s, i)
		i.Next, into = &next, &next
		next.Since = plan.Later(c.instant(), i.Since.Add(time.Millisecond)) // its Key is another
	case !i.Over.IsZero():
		into = i.Next
		into.Over, into.OverRun, into.Ended = time.Time{}, "", "" // nobody knows of its end
	}
	into.Count++
	into.Latest, into.Run, into.Wave, into.Slot, into.Reason = c.instant(), of.run, of.wave, of.slot, of.reason
	into.To, into.Recovered = slices.Clone(s.alerts.To), s.alerts.Asks(spec.AlertRecovered)
	c.touchIncident(i)
	c.notify(i)
}

// over takes a good sign: what goes on is over, unless it is of the same wave and of another run of it.
func (c *Core) over(s *subject, alert spec.Alert, by *sign) {
	if i := c.find(s, alert); i != nil {
		c.overFor(i, by)
	}
}

func (c *Core) overFor(i *incident, by *sign) {
	into := i.goingOn()
	if into == nil || into.Task != "" && into.Wave == by.wave && into.Run != by.run {
		return
	}
	into.Over, into.OverRun, into.Ended = c.instant(), cmp.Or(by.run, by.wave), by.reason
	c.touchIncident(i)
	c.notify(i)
}

// goingOn returns what has begun and is not over, nil if there is none.
func (i *incident) goingOn() *engine.Incident {
	into := &i.Incident
	if i.current && !i.Over.IsZero() && i.Next != nil {
		into = i.Next
	}
	if !i.current || into.Count == 0 || !into.Over.IsZero() {
		return nil
	}
	return into
}

// goesOnFor reports whether an incident of the alert goes on whose latest sign is this run, or this wave.
func (c *Core) goesOnFor(s *subject, alert spec.Alert, run, wave string) bool {
	i := c.find(s, alert)
	if i == nil {
		return false
	}
	now := i.goingOn()
	return now != nil && (run != "" && now.Run == run || run == "" && now.Wave == wave)
}

// putOff puts the next silence off: something has succeeded, or users asked to be notified of the next one only now. Until
// then it counts from Latest.
func (c *Core) putOff(s *subject, from time.Time, by *sign) {
	if !s.alerts.Asks(spec.AlertSilent) {
		return
	}
	i := c.holder(s, spec.AlertSilent)
	c.overFor(i, by)
	if s.paused {
		return
	}
	ahead := c.newIncident(s, i)
	ahead.Latest = from.Truncate(time.Millisecond)
	ahead.Since = ahead.Latest.Add(time.Duration(s.alerts.SilentFor)).Truncate(time.Millisecond)
	if i.current && i.Count > 0 {
		i.Next = &ahead
	} else {
		i.Incident, i.current = ahead, true
		c.setTimer(&i.timer, i.Since, timer{kind: timerSilent, of: i})
	}
	c.touchIncident(i)
}

// fallSilent begins an incident that lay ahead.
func (c *Core) fallSilent(i *incident) {
	if !i.current || i.Count > 0 {
		return
	}
	if i.Since.After(c.now) { // the wall clock went back
		c.setTimer(&i.timer, i.Since, timer{kind: timerSilent, of: i})
		return
	}
	i.Reason = "nothing has succeeded since " + i.Latest.Format(time.RFC3339) + ", which is " + i.Since.Sub(i.Latest).String()
	i.Count, i.Latest = 1, c.instant()
	c.touchIncident(i)
	c.notify(i)
}

// dropIncident removes an incident that needs no more notifications.
func (c *Core) dropIncident(i *incident) {
	c.stopTimer(&i.timer)
	i.current, i.notifying, i.failures = false, notifyNothing, 0
	i.Incident = engine.Incident{ID: i.ID, Revision: i.Revision, UID: i.UID, Task: i.Task, Alert: i.Alert}
	c.touchIncident(i)
	u := c.unwritten(i.UID)
	u.after = slices.DeleteFunc(u.after, func(e Effect) bool { // what is not durable never will be
		notify, is := e.(Notify)
		return is && notify.ID == i.ID
	})
}

func (c *Core) touchIncident(i *incident) {
	if !i.dirty {
		i.dirty = true
		u := c.unwritten(i.UID)
		u.incidents = append(u.incidents, i)
	}
}

// notify sends the next notification of an incident, once all decisions so far are durable.
func (c *Core) notify(i *incident) {
	if c.toNotify(i) {
		u := c.unwritten(i.UID)
		u.after = append(u.after, i.notifying.effect(i))
	}
}

// toNotify reports whether a notification is due. It ends an incident that needs no more notifications.
func (c *Core) toNotify(i *incident) bool {
	switch {
	case !i.current || i.Count == 0 || i.notifying != notifyNothing:
		return false
	case !i.Notified:
		i.notifying = notifyBeginning
	case i.Over.IsZero():
		return false
	case i.Recovered:
		i.notifying = notifyEnd
	default:
		c.done(i)
		return false
	}
	return true
}

// done ends an incident whose notifications were all sent: one that has begun since takes its place.
func (c *Core) done(i *incident) {
	if i.Next == nil {
		c.dropIncident(i)
		return
	}
	revision := i.Revision
	i.Incident = *i.Next
	i.Revision = revision
	c.touchIncident(i)
	if i.Count == 0 {
		c.setTimer(&i.timer, i.Since, timer{kind: timerSilent, of: i})
	}
	c.notify(i)
}

// incidentNotified takes the notifier's answer.
func (c *Core) incidentNotified(e IncidentNotified) {
	at := slices.IndexFunc(c.incidents[engine.RunJob(e.ID)], func(i *incident) bool { return i.ID == e.ID })
	if at < 0 {
		return
	}
	i := c.incidents[engine.RunJob(e.ID)][at]
	if !i.current || !i.Since.Equal(e.Since) || i.notifying == notifyNothing || (i.notifying == notifyEnd) != e.Over {
		return // about what is no more
	}
	if e.Failed {
		wait := min(notifySoon<<min(i.failures, 10), notifyLate)
		i.failures++
		c.setTimer(&i.timer, c.now.Add(wait), timer{kind: timerNotify, of: i})
		return
	}
	i.notifying, i.failures = notifyNothing, 0
	if e.Over {
		c.done(i)
		return
	}
	i.Notified = true
	c.touchIncident(i)
	c.notify(i)
}

// loadIncidents takes the incidents of a shard that was taken over. It repeats notifications that may not have been sent. A
// result that keeps a job from counting as silent may be on the way.
func (c *Core) loadIncidents(e IncidentsLoaded) {
	for n := range e.Incidents {
		i := &incident{Incident: e.Incidents[n].Clone(), current: true, stored: true}
		c.incidents[i.UID] = append(c.incidents[i.UID], i)
		if i.Count == 0 {
			c.setTimer(&i.timer, plan.Later(i.Since, c.now.Add(hearWithin)), timer{kind: timerSilent, of: i})
		}
		if c.toNotify(i) {
			c.perform(i.notifying.effect(i))
		}
	}
}

// incidentsWentBack keeps silences and repeated notifications from waiting longer when the wall clock goes back.
func (c *Core) incidentsWentBack(by time.Duration) {
	for _, uid := range slices.Sorted(maps.Keys(c.incidents)) {
		for _, i := range c.incidents[uid] {
			for _, ahead := range []*engine.Incident{&i.Incident, i.Next} {
				if i.current && ahead != nil && ahead.Count == 0 {
					ahead.Since, ahead.Latest = ahead.Since.Add(-by), ahead.Latest.Add(-by)
					c.touchIncident(i)
				}
			}
			switch {
			case i.timer == nil:
			case i.notifying != notifyNothing:
				c.setTimer(&i.timer, c.now.Add(notifySoon), timer{kind: timerNotify, of: i})
			default:
				c.setTimer(&i.timer, i.Since, timer{kind: timerSilent, of: i})
			}
		}
	}
}

// forgetIncidents forgets what was dropped, once that is durable.
func (c *Core) forgetIncidents(dropped []string) {
	for _, id := range dropped {
		uid := engine.RunJob(id)
		left := slices.DeleteFunc(c.incidents[uid], func(i *incident) bool { return !i.current && !i.dirty && !i.stored })
		if c.incidents[uid] = left; len(left) == 0 {
			delete(c.incidents, uid)
		}
	}
}

// asked returns the alerts that apply: those of a definition, or else of its namespace. It is nil where there are none.
func (c *Core) asked(own, namespace *spec.Alerts) *spec.Alerts {
	if !c.config.Incidents || own == nil && namespace == nil {
		return nil
	}
	all := namespace
	if own != nil {
		merged := own.Over(namespace)
		all = &merged
	}
	if len(all.To) == 0 || !slices.ContainsFunc(alerts[:], all.Asks) {
		return nil
	}
	return all
}

var alerts = [...]spec.Alert{
	spec.AlertFailed, spec.AlertDead, spec.AlertMissed, spec.AlertSkipped, spec.AlertLate, spec.AlertSlow, spec.AlertSilent,
}

// followAlerts drops the incidents of a subject that nobody asks for any more, and begins to count to the next silence.
func (c *Core) followAlerts(s *subject) {
	for _, i := range slices.Clone(c.incidents[s.uid]) {
		if i.current && i.Task == s.task && !s.alerts.Asks(i.Alert) {
			c.dropIncident(i)
		}
	}
	if !s.alerts.Asks(spec.AlertSilent) {
		return
	}
	switch i := c.holder(s, spec.AlertSilent); {
	case s.paused && i.current && i.Count == 0:
		c.dropIncident(i)
	case s.paused && i.current && !i.Over.IsZero() && i.Next != nil && i.Next.Count == 0:
		i.Next = nil
		c.touchIncident(i)
	case s.paused:
	case !i.current || i.Count == 0 && s.pausedAt.After(i.Latest):
		c.putOff(s, plan.Later(c.now, s.pausedAt), &sign{})
	case i.Count == 0 && (i.Since.Sub(i.Latest) != time.Duration(s.alerts.SilentFor) || !slices.Equal(i.To, s.alerts.To)):
		c.putOff(s, i.Latest, &sign{})
	}
}
