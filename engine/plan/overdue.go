package plan

import (
	"slices"
	"time"

	"github.com/tidewheel/tidewheel/cron"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// Chunk bounds the slots that one step handles of one job; the rest follows later, so that a job with a slot each
// second does not hold up all others after a long outage.
const Chunk = 50_000

// Overdue asks what happens to the slots of a task up to an instant that have passed without being prepared.
type Overdue struct {
	Schedule *cron.Schedule
	Task     *engine.ScheduledTask
	CatchUp  spec.CatchUp
	Until    time.Time
	Now      time.Time
	Grace    time.Duration // how late a slot may be and still count as on time
	Most     int           // slots that one catch-up brings back at most
}

// Note is a slot that does not fire.
type Note struct {
	Slot    time.Time
	Outcome engine.Outcome
	Reason  engine.SlotReason
}

// Passed is what happens to slots that have passed, each list in their order.
type Passed struct {
	Notes   []Note
	CatchUp []time.Time // they fire late, as the catch-up policy says
	OnTime  []time.Time // they fire as if nothing had happened
	// Next is the slot to continue with; More is false where there is none.
	Next time.Time
	More bool
}

// Passed returns what happens to the slots: those within the grace fire, older ones and those of a pause as the catch-up policy
// says, and what is not brought back is noted. The slots after a pause, and of more than Chunk the rest, are left for the next time.
func (o *Overdue) Passed() Passed {
	reason, outcome, until := engine.ReasonOutage, engine.OutcomeMissed, o.Until
	if pause := o.Task.PausedUntil; !o.Task.Slot.After(pause) {
		reason, outcome, until = engine.ReasonPaused, engine.OutcomeSkipped, Earlier(until, pause)
	}
	passed, recent, p := o.split(until, reason)
	unfinished := p.More && !p.Next.After(until)
	keep := o.keep(recent, unfinished)
	oldest := time.Time{}
	if o.CatchUp.Window > 0 {
		oldest = o.Now.Add(-time.Duration(o.CatchUp.Window))
	}
	var back []int // what is brought back, the latest first
	for i := len(passed) - 1; i >= 0 && len(back) < keep && !passed[i].Before(oldest); i-- {
		if !o.Schedule.Excluded(passed[i]) {
			back = append(back, i)
		}
	}
	slices.Reverse(back)
	if unfinished && len(back) > 0 && back[0] > 0 { // later slots may take their place: stop before them, and continue in the next step
		p.Next, passed, back = passed[back[0]], passed[:back[0]], nil
	}
	for i, slot := range passed {
		switch {
		case len(back) > 0 && back[0] == i:
			p.CatchUp, back = append(p.CatchUp, slot), back[1:]
		case o.Schedule.Excluded(slot):
			p.Notes = append(p.Notes, Note{slot, engine.OutcomeSkipped, engine.ReasonBlackout})
		default:
			p.Notes = append(p.Notes, Note{slot, outcome, reason})
		}
	}
	for _, slot := range recent {
		if o.Schedule.Excluded(slot) {
			p.Notes = append(p.Notes, Note{slot, engine.OutcomeSkipped, engine.ReasonBlackout})
		} else {
			p.OnTime = append(p.OnTime, slot)
		}
	}
	return p
}

// split returns the slots that are older than the grace, those within it, and what comes after them.
func (o *Overdue) split(until time.Time, reason engine.SlotReason) (passed, recent []time.Time, p Passed) {
	late := o.Now.Add(-o.Grace)
	if reason == engine.ReasonPaused {
		late = until.Add(1) // what passed in a pause was not late
	}
	p.Next, p.More = o.Task.Slot, true
	for p.More && !p.Next.After(until) && len(passed) < Chunk {
		switch {
		case o.Task.Takes(p.Next):
		case p.Next.Before(late):
			passed = append(passed, p.Next)
		default:
			recent = append(recent, p.Next)
		}
		p.Next, p.More = o.Schedule.Next(p.Next)
	}
	return passed, recent, p
}

// keep is how many slots older than the grace are brought back: none of a paused schedule that is replaced.
func (o *Overdue) keep(recent []time.Time, unfinished bool) int {
	switch {
	case o.Task.Paused() || o.CatchUp.Policy == spec.CatchUpNone:
		return 0
	case o.CatchUp.Policy == spec.CatchUpAll:
		return o.Most
	case !unfinished && slices.ContainsFunc(recent, func(slot time.Time) bool { return !o.Schedule.Excluded(slot) }):
		return 0 // a slot that fires now is the last one; older ones are superseded
	}
	return 1
}

// Superseded reports whether a run that was prepared for a slot, which passed in an outage, is not to be brought back.
// later says that another run is of a later slot that has passed, too.
func Superseded(policy spec.CatchUp, slot, now time.Time, grace time.Duration, later bool) bool {
	switch {
	case !slot.Before(now.Add(-grace)):
		return false
	case policy.Window > 0 && slot.Before(now.Add(-time.Duration(policy.Window))):
		return true
	case policy.Policy == spec.CatchUpNone:
		return true
	}
	return policy.Policy != spec.CatchUpAll && later
}
