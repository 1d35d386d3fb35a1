package sim

import (
	"maps"
	"slices"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// What is wrong is written in the commit that says so, with what people asked for, and is notified by the end. What a definition asks
// for while the engine may act by one revision or by another is not judged.

// concern is a job, a DAG, or a task of one.
type concern struct{ uid, task string }

// happened is what a commit says of a subject.
type happened struct {
	failed, succeeded, dead []string // runs, or waves
	again                   []string // what has failed, and had before: it may have gone on meanwhile
	missed, skipped         bool
}

// happenings are those of a commit, and what may have been asked for meanwhile.
type happenings struct {
	of     map[concern]*happened
	order  []concern
	asked  map[concern][]*spec.Alerts // what each may have asked for; nil for nothing
	silent map[string]engine.Incident // of what is put: the silences of before
	rules  []*spec.Alerts
	still  map[concern]bool // it may be paused
}

// staleness is more than the time between a decision and its commit.
const staleness = time.Minute

func (n *notifier) wrote(uid string, written writtenAlerts) {
	n.written[uid] = append(n.written[uid], written)
}

// asks returns what a subject may have asked for as far as the engine knew.
func (n *notifier) asks(s concern, rules []*spec.Alerts) (asked []*spec.Alerts, paused bool) {
	list := n.written[s.uid]
	first := 0
	for i := range list {
		if list[i].revision <= n.acted[s.uid] {
			first = i
		}
	}
	for _, w := range list[first:] {
		paused = paused || w.paused
		for _, namespace := range rules {
			own := w.own
			if s.task != "" {
				if own, namespace = w.tasks[s.task], nil; own == nil {
					asked = append(asked, nil)
					continue
				}
			}
			all := own.Over(namespace)
			if w.deleted || len(all.To) == 0 {
				asked = append(asked, nil)
				continue
			}
			asked = append(asked, &all)
		}
	}
	return asked, paused
}

// every reports whether an alert was asked for, whatever the engine knew.
func every(asked []*spec.Alerts, alert spec.Alert) bool {
	return len(asked) > 0 && !slices.ContainsFunc(asked, func(a *spec.Alerts) bool { return !a.Asks(alert) })
}

// signs looks at a commit before it is done.
func (n *notifier) signs(batch *engine.Batch, e *driver) *happenings {
	if !n.on {
		return nil
	}
	h := &happenings{of: map[concern]*happened{}, asked: map[concern][]*spec.Alerts{}, silent: map[string]engine.Incident{}, still: map[concern]bool{}}
	for i, given := range e.rules {
		if i == len(e.rules)-1 || e.rules[i+1].at >= n.w.elapsed-staleness {
			h.rules = append(h.rules, given.rules)
		}
	}
	of := func(uid, task string) *happened {
		s := concern{uid, task}
		if h.of[s] == nil {
			h.of[s] = &happened{}
			h.order = append(h.order, s)
		}
		return h.of[s]
	}
	for i := range batch.Runs {
		r := &batch.Runs[i]
		known := n.w.truth.stored[r.ID]
		if !r.Status.Terminal() {
			continue
		}
		own := of(r.JobUID, r.Task)
		if known != nil && known.status == r.Status && known.attempt == r.Attempt {
			own.again = append(own.again, r.ID)
			continue
		}
		switch r.Status {
		case engine.StatusFailed, engine.StatusTimedOut, engine.StatusLost, engine.StatusDead:
			own.failed = append(own.failed, r.ID)
		case engine.StatusSucceeded:
			own.succeeded = append(own.succeeded, r.ID)
		default:
		}
		if r.Status == engine.StatusDead {
			own.dead = append(own.dead, r.ID)
			if r.Task != "" {
				whole := of(r.JobUID, "")
				whole.dead = append(whole.dead, r.ID)
			}
		}
	}
	for i := range batch.Waves {
		wave := &batch.Waves[i]
		if known := n.w.truth.waves[wave.ID]; known != nil && known.Status == wave.Status && known.Resumed == wave.Resumed {
			of(wave.DAGUID, "").again = append(of(wave.DAGUID, "").again, wave.ID)
			continue
		}
		switch whole := of(wave.DAGUID, ""); wave.Status {
		case engine.StatusFailed:
			whole.failed = append(whole.failed, wave.ID)
		case engine.StatusSucceeded:
			whole.succeeded = append(whole.succeeded, wave.ID)
		default:
		}
	}
	for i := range batch.Slots {
		slots := &batch.Slots[i]
		uid, task := slots.JobUID, ""
		if dag := engine.RunJob(slots.JobUID); dag != "" {
			uid, task = dag, engine.RootOf(slots.JobUID)
		}
		for _, task := range []string{"", task} {
			whole := of(uid, task)
			whole.missed = whole.missed || slots.Outcome == engine.OutcomeMissed
			switch slots.Reason {
			case engine.ReasonOverlap, engine.ReasonQueueFull, engine.ReasonReplaced:
				whole.skipped = true
			default:
			}
		}
	}
	return h
}

func (h *happenings) asks(n *notifier, s concern) []*spec.Alerts {
	if h.asked[s] == nil {
		h.asked[s], h.still[s] = n.asks(s, h.rules)
	}
	return h.asked[s]
}

// latest returns what has begun last of an incident's document.
func latest(i *engine.Incident) *engine.Incident {
	if i.Next != nil {
		return i.Next
	}
	return i
}

// committed looks at a commit that is done.
func (n *notifier) committed(batch *engine.Batch, h *happenings) {
	if !n.on {
		return
	}
	put, dropped := map[string]*engine.Incident{}, map[string]bool{}
	for i := range batch.Incidents {
		incident := &batch.Incidents[i]
		if put[incident.ID] != nil {
			n.w.fail("a batch writes a thing once", "incident %s is in it twice", incident.ID)
		}
		put[incident.ID] = incident
		if before, there := n.docs[incident.ID]; there && before.Alert == spec.AlertSilent {
			h.silent[incident.ID] = before
		}
		n.puts(incident, h)
	}
	for _, id := range batch.DropIncidents {
		dropped[id] = true
		if put[id] != nil {
			n.w.fail("a batch writes a thing once", "incident %s is put and dropped", id)
		}
		n.w.counts.add("incident", "dropped")
		n.goes(id, nil, h)
		delete(n.docs, id)
	}
	for _, s := range h.order {
		n.held(s, h.of[s], put, dropped, h)
	}
	for _, list := range [][]engine.JobHandled{batch.Handled, batch.HandledDAGs} {
		for _, handled := range list {
			n.acted[handled.UID] = max(n.acted[handled.UID], handled.Revision)
		}
	}
}

// puts looks at an incident that is written.
func (n *notifier) puts(i *engine.Incident, h *happenings) {
	n.w.note("incident", i.Key(), i.Reason+" "+i.Ended, i.Count)
	before, there := n.docs[i.ID]
	n.goes(i.ID, i, h)
	n.docs[i.ID] = i.Clone()
	s := concern{i.UID, i.Task}
	if i.Count == 0 || i.Next != nil && i.Next.Count == 0 {
		n.w.counts.add("incident", "lies ahead")
	}
	if i.Next != nil {
		n.w.counts.add("incident", "waits for the end of the one before")
		if i.Over.IsZero() || i.Next.Key() == i.Key() {
			n.w.fail("one incident of a kind is active", "%s is active beside %s", i.Key(), i.Next.Key())
		}
	}
	for _, one := range []*engine.Incident{i, i.Next} {
		if one == nil || one.Count == 0 {
			continue
		}
		if asked := h.asks(n, s); !slices.ContainsFunc(asked, func(a *spec.Alerts) bool { return a.Asks(one.Alert) }) && !(there && before.Key() == one.Key()) &&
			!(there && before.Next != nil && before.Next.Key() == one.Key()) {
			n.w.fail("nothing is notified that no rule asks for", "%s begins", one.Key())
		}
		if begins := "beginning of " + one.Key(); !n.durable[begins] {
			n.begins(one)
			n.durable[begins] = true
		}
		if ends := "end of " + one.Key(); !one.Over.IsZero() && !n.durable[ends] && one == i {
			n.w.counts.add("incident ends", string(one.Alert))
			n.durable[ends] = true
		}
	}
}

// begins looks at the beginning of an incident.
func (n *notifier) begins(i *engine.Incident) {
	n.w.counts.add("incident begins", string(i.Alert))
	if i.Task != "" {
		n.w.counts.add("incident", "of a task")
	}
	if i.Wave != "" && i.Run == "" {
		n.w.counts.add("incident", "of a wave")
	}
	if i.Alert == spec.AlertSilent && i.Since.After(n.w.peak) {
		n.w.fail("nothing falls silent before its time", "%s begins at %s", i.Key(), n.w.peak)
	}
	known := n.w.truth.stored[i.Run]
	if known == nil || i.Count != 1 || i.Alert != spec.AlertFailed && i.Alert != spec.AlertDead {
		return
	}
	of := i.ID + " " + i.Run
	if attempt, begun := n.began[of]; begun && attempt == known.attempt && known.past.base < known.attempt {
		n.w.fail("one failure begins one incident", "attempt %d of run %s begins %s, and has begun another", attempt, i.Run, i.Key())
	}
	n.began[of] = known.attempt
}

// goes looks at an incident whose place is taken by another, or by none: the notifier got it, or users do not ask for it any more.
func (n *notifier) goes(id string, by *engine.Incident, h *happenings) {
	i, there := n.docs[id]
	if !there || i.Count == 0 || by != nil && by.Key() == i.Key() {
		return
	}
	asked := h.asks(n, concern{i.UID, i.Task})
	if !every(asked, i.Alert) {
		return
	}
	if !n.notified["beginning of "+i.Key()] {
		n.w.fail("every incident is notified", "%s is gone, and was not notified", i.Key())
	}
	if i.Recovered && every(asked, spec.AlertRecovered) && !n.notified["end of "+i.Key()] {
		n.w.fail("every end is notified", "%s is gone, and its end was not notified", i.Key())
	}
}

// held looks whether what a commit says of a subject is in its incidents.
func (n *notifier) held(s concern, is *happened, put map[string]*engine.Incident, dropped map[string]bool, h *happenings) {
	asked := h.asks(n, s)
	wants := func(alert spec.Alert, signs []string, good bool) {
		if !every(asked, alert) {
			return
		}
		id := engine.IncidentID(s.uid, s.task, alert)
		signs = append(slices.Clone(signs), is.again...)
		i := put[id]
		if i == nil && good && dropped[id] {
			return // it began and ended
		}
		if i == nil || latest(i).Count == 0 || !slices.Contains(signs, latest(i).Run) && !slices.Contains(signs, latest(i).Wave) {
			n.w.fail("what is wrong is written with its incident", "%s of %v %v, and the commit says %+v", alert, s, signs, i)
		}
	}
	if len(is.failed) > 0 {
		wants(spec.AlertFailed, is.failed, len(is.succeeded) > 0)
	}
	if len(is.dead) > 0 {
		wants(spec.AlertDead, is.dead, len(is.succeeded) > 0)
	}
	for alert, happens := range map[spec.Alert]bool{spec.AlertMissed: is.missed, spec.AlertSkipped: is.skipped} {
		if id := engine.IncidentID(s.uid, s.task, alert); happens && every(asked, alert) && put[id] == nil && !dropped[id] {
			n.w.fail("what is wrong is written with its incident", "%s of %v, and the commit says nothing", alert, s)
		}
	}
	if len(is.succeeded) == 0 {
		return
	}
	if i, there := n.docs[engine.IncidentID(s.uid, s.task, spec.AlertFailed)]; there && len(is.failed)+len(is.again) == 0 && every(asked, spec.AlertFailed) {
		now := latest(&i)
		sameWave := s.task != "" && now.Wave != "" && slices.ContainsFunc(is.succeeded, func(id string) bool { return n.w.truth.stored[id].wave == now.Wave })
		if now.Over.IsZero() && !sameWave {
			n.w.fail("a success ends a failure", "%s is active after %v", now.Key(), is.succeeded)
		}
	}
	if every(asked, spec.AlertSilent) && !h.still[s] {
		i := put[engine.IncidentID(s.uid, s.task, spec.AlertSilent)]
		before, there := h.silent[engine.IncidentID(s.uid, s.task, spec.AlertSilent)]
		if i == nil || there && latest(i).Count > 0 && latest(i).Key() == latest(&before).Key() { // else it has fallen silent since
			n.w.fail("a success puts the silence off", "%v: the commit says %+v", s, i)
		}
	}
}

// leftovers checks, at the end, that the notifier got everything.
func (n *notifier) leftovers() {
	untold := func() (id string) {
		for _, id := range slices.Sorted(maps.Keys(n.docs)) {
			if i := n.docs[id]; i.Count > 0 && (!i.Notified || !i.Over.IsZero()) {
				return id
			}
		}
		return ""
	}
	for range 30 {
		if n.w.failure != nil || untold() == "" {
			break
		}
		n.w.run(n.w.elapsed + 5*time.Second)
	}
	if id := untold(); id != "" {
		i := n.docs[id]
		n.w.fail("every incident is notified", "%s is left, notified %v, over %s", i.Key(), i.Notified, i.Over)
	}
	for _, id := range slices.Sorted(maps.Keys(n.docs)) {
		i := n.docs[id]
		written := n.written[i.UID]
		last := written[len(written)-1]
		if last.deleted || i.Count == 0 && last.paused {
			n.w.fail("what is gone or paused has no incident ahead", "%s is left", i.Key())
		}
		if i.Count > 0 && !n.notified["beginning of "+i.Key()] {
			n.w.fail("every incident is notified", "%s is said to be, and is not", i.Key())
		}
	}
}
