package incident

import (
	"cmp"
	"fmt"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// Watch is what is known of a run, as far as incidents go.
type Watch struct {
	hearUntil  time.Time // the run was taken over, and until then news of it may be on the way
	judged     bool      // whether it began late is known
	late, slow bool      // an incident says so
}

// NewWatch returns the Watch of a run that was taken over. Until heardUntil news of it may be on the way.
func NewWatch(r *engine.Run, heardUntil time.Time) Watch {
	return Watch{hearUntil: heardUntil, judged: !begun(r).IsZero()}
}

// RunQueued looks at a run whose attempt was queued: a slot that fires ends what was said of slots before it.
func (b *Book) RunQueued(s Subjects, r *engine.Run) {
	if r.Attempt != 1 || r.Slot.IsZero() || r.Trigger != engine.TriggerSchedule && r.Trigger != engine.TriggerCatchUp {
		return
	}
	for _, s := range s.all() {
		b.endBefore(s, spec.AlertMissed, r, "run "+r.ID+" was fired")
		b.endBefore(s, spec.AlertSkipped, r, "run "+r.ID+" was fired")
	}
}

// RunStarted looks at a run whose attempt was claimed: whether it began late, or no run is late any more.
func (b *Book) RunStarted(s Subjects, r *engine.Run, w *Watch) {
	began := begun(r)
	if w.judged || began.IsZero() || r.Trigger != engine.TriggerSchedule || r.Slot.IsZero() {
		return
	}
	w.judged = true
	for _, s := range s.all() {
		late := began.Sub(r.Slot)
		switch {
		case !s.Alerts.Asks(spec.AlertLate):
		case late <= time.Duration(s.Alerts.Lag):
			b.endBefore(s, spec.AlertLate, r, "run "+r.ID+" started in time")
		case !w.late && !b.known(s, spec.AlertLate, r.ID, ""):
			b.begin(s, spec.AlertLate, signOf(r, fmt.Sprintf("it started %s after its slot", late.Round(time.Millisecond))))
		}
	}
}

// RunEnded looks at a run that has ended.
func (b *Book) RunEnded(s Subjects, r *engine.Run, w *Watch) {
	b.RunStarted(s, r, w)
	if own := s.Own; own != nil {
		switch r.Status {
		case engine.StatusFailed, engine.StatusTimedOut, engine.StatusLost, engine.StatusDead:
			b.begin(own, spec.AlertFailed, signOf(r, whyFailed(r)))
		case engine.StatusSucceeded:
			b.succeeded(own, signOf(r, "run "+r.ID+" succeeded"))
		default:
		}
		if began := begun(r); !began.IsZero() && r.Status != engine.StatusCancelled && r.Status != engine.StatusSkipped {
			known := w.slow || b.known(own, spec.AlertSlow, r.ID, "")
			b.judgeDuration(own, r.FinishedAt.Sub(began), known, signOf(r, "run "+r.ID))
		}
	}
	if r.Status == engine.StatusDead {
		for _, s := range s.all() {
			b.begin(s, spec.AlertDead, signOf(r, whyFailed(r)))
		}
	}
}

// Look looks whether a run that has not ended is late or slow, and returns the instant at which it may be; zero for never.
func (b *Book) Look(s Subjects, r *engine.Run, w *Watch) (next time.Time) {
	began := begun(r)
	comes := func(at time.Time) bool {
		if at = latest(at, w.hearUntil); !at.After(b.now) {
			return true
		}
		if next.IsZero() || at.Before(next) {
			next = at
		}
		return false
	}
	late, slow := false, false
	for _, subject := range s.all() {
		asked := subject.Alerts
		waits := began.IsZero() && r.Trigger == engine.TriggerSchedule && !r.Slot.IsZero() && !w.late
		if waits && asked.Asks(spec.AlertLate) && comes(r.Slot.Add(time.Duration(asked.Lag))) {
			late = true
			if !b.known(subject, spec.AlertLate, r.ID, "") {
				b.begin(subject, spec.AlertLate, signOf(r, fmt.Sprintf("it has not started %s after its slot", time.Duration(asked.Lag))))
			}
		}
		own := subject == s.Own // a DAG is slow by its wave
		if own && !began.IsZero() && !w.slow && asked.Asks(spec.AlertSlow) && comes(began.Add(time.Duration(asked.Duration))) {
			slow = true
			if !b.known(subject, spec.AlertSlow, r.ID, "") {
				b.begin(subject, spec.AlertSlow, signOf(r, fmt.Sprintf("it has run for longer than %s", time.Duration(asked.Duration))))
			}
		}
	}
	w.late = w.late || late && next.IsZero() // a task and its DAG may have different limits
	w.slow = w.slow || slow
	return next
}

// SlotNoted looks at a slot that did not fire.
func (b *Book) SlotNoted(s Subjects, slot time.Time, outcome engine.Outcome, reason engine.SlotReason) {
	alert := spec.AlertMissed
	switch {
	case outcome == engine.OutcomeMissed:
	case reason == engine.ReasonOverlap, reason == engine.ReasonQueueFull, reason == engine.ReasonReplaced:
		alert = spec.AlertSkipped
	default:
		return
	}
	for _, s := range s.all() {
		b.begin(s, alert, sign{slot: slot, reason: fmt.Sprintf("the slot of %s was %s (%s)", slot.Format(time.RFC3339), outcome, slotWords(reason))})
	}
}

// LetterGone looks at a dead letter that is removed because its run is retried.
func (b *Book) LetterGone(r *engine.Run) {
	for _, e := range b.entries[r.JobUID] {
		if now := e.goingOn(); e.Alert == spec.AlertDead && now != nil && now.Run == r.ID {
			b.end(e, signOf(r, "run "+r.ID+" is tried again"))
		}
	}
}

// succeeded takes a success.
func (b *Book) succeeded(s *Subject, by sign) {
	b.endOf(s, spec.AlertFailed, by)
	b.endOf(s, spec.AlertDead, by)
	b.putOff(s, b.now, by)
}

// judgeDuration records that what has ended was slow, or that nothing is slow any more. known says that an incident says so already; by
// names what has ended.
func (b *Book) judgeDuration(s *Subject, took time.Duration, known bool, by sign) {
	if known || !s.Alerts.Asks(spec.AlertSlow) {
		return
	}
	most, took := time.Duration(s.Alerts.Duration), took.Round(time.Millisecond)
	if took <= most {
		by.reason = fmt.Sprintf("%s took %s", by.reason, took)
		b.endOf(s, spec.AlertSlow, by)
		return
	}
	by.reason = fmt.Sprintf("it took %s, and %s is the limit", took, most)
	b.begin(s, spec.AlertSlow, by)
}

// endBefore takes the run of a slot as a good sign for what is about an earlier one.
func (b *Book) endBefore(s *Subject, alert spec.Alert, r *engine.Run, reason string) {
	e := b.find(s, alert)
	if e == nil {
		return
	}
	if now := e.goingOn(); now != nil && r.Slot.After(now.Slot) {
		b.end(e, signOf(r, reason))
	}
}

// begun is when the first attempt of a run was claimed, of those since it was last retried manually as far as that is known;
// zero if none was.
func begun(r *engine.Run) time.Time {
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
