package incident

import (
	"cmp"
	"slices"
	"time"

	"github.com/tidewheel/tidewheel/spec"
)

// instant is now as incidents keep it.
func (b *Book) instant() time.Time { return b.now.Truncate(time.Millisecond) }

// begin takes a sign of something wrong.
func (b *Book) begin(s *Subject, alert spec.Alert, by sign) {
	if !s.Alerts.Asks(alert) {
		return
	}
	e := b.entry(s, alert)
	into := &e.Incident
	switch {
	case !e.current:
		e.Incident, e.current = successor(s, e), true
		e.Since = b.instant()
	case !e.Over.IsZero() && e.Next == nil:
		next := successor(s, e)
		e.Next, into = &next, &next
		next.Since = latest(b.instant(), e.Since.Add(time.Millisecond)) // its Key is another
	case !e.Over.IsZero():
		into = e.Next
		into.Over, into.OverRun, into.Ended = time.Time{}, "", "" // no user knows of its end
	}
	into.Count++
	into.Latest, into.Run, into.Wave, into.Slot, into.Reason = b.instant(), by.run, by.wave, by.slot, by.reason
	into.To, into.Recovered = slices.Clone(s.Alerts.To), s.Alerts.Asks(spec.AlertRecovered)
	b.touch(e)
}

// end takes a good sign: what happens is over, unless it is of the same wave and of another run of it.
func (b *Book) end(e *Entry, by sign) {
	into := e.goingOn()
	if into == nil || into.Task != "" && into.Wave == by.wave && into.Run != by.run {
		return
	}
	into.Over, into.OverRun, into.Ended = b.instant(), cmp.Or(by.run, by.wave), by.reason
	b.touch(e)
}

// endOf is end for the incident of a subject, if there is one.
func (b *Book) endOf(s *Subject, alert spec.Alert, by sign) {
	if e := b.find(s, alert); e != nil {
		b.end(e, by)
	}
}

// known reports whether an active incident of the alert exists whose latest sign is this run, or, where run is "", this wave.
func (b *Book) known(s *Subject, alert spec.Alert, run, wave string) bool {
	e := b.find(s, alert)
	if e == nil {
		return false
	}
	now := e.goingOn()
	return now != nil && (run != "" && now.Run == run || run == "" && now.Wave == wave)
}

// putOff puts the next silence off: something has succeeded, or users asked to be notified of the next one only now. Until
// then it counts from Latest.
func (b *Book) putOff(s *Subject, from time.Time, by sign) {
	if !s.Alerts.Asks(spec.AlertSilent) {
		return
	}
	e := b.entry(s, spec.AlertSilent)
	b.end(e, by)
	if s.Paused {
		return
	}
	ahead := successor(s, e)
	ahead.Latest = from.Truncate(time.Millisecond)
	ahead.Since = ahead.Latest.Add(time.Duration(s.Alerts.SilentFor)).Truncate(time.Millisecond)
	if e.current && e.Count > 0 {
		e.Next = &ahead
	} else {
		e.Incident, e.current = ahead, true
		b.wakeAt(e, e.Since)
	}
	b.touch(e)
}

// fallSilent begins an incident that lay ahead.
func (b *Book) fallSilent(e *Entry) {
	if !e.current || e.Count > 0 {
		return
	}
	if e.Since.After(b.now) { // the wall clock went back
		b.wakeAt(e, e.Since)
		return
	}
	e.Reason = "nothing has succeeded since " + e.Latest.Format(time.RFC3339) + ", which is " + e.Since.Sub(e.Latest).String()
	e.Count, e.Latest = 1, b.instant()
	b.touch(e)
}

// Follow drops the incidents of a subject that no user asks for any more, and begins to count to the next silence.
func (b *Book) Follow(s *Subject) {
	for _, e := range slices.Clone(b.entries[s.UID]) {
		if e.current && e.Task == s.Task && !s.Alerts.Asks(e.Alert) {
			b.drop(e)
		}
	}
	if !s.Alerts.Asks(spec.AlertSilent) {
		return
	}
	switch e := b.entry(s, spec.AlertSilent); {
	case s.Paused && e.current && e.Count == 0:
		b.drop(e)
	case s.Paused && e.current && !e.Over.IsZero() && e.Next != nil && e.Next.Count == 0:
		e.Next = nil
		b.touch(e)
	case s.Paused:
	case !e.current || e.Count == 0 && s.PausedAt.After(e.Latest):
		b.putOff(s, latest(b.now, s.PausedAt), sign{})
	case e.Count == 0 && (e.Since.Sub(e.Latest) != time.Duration(s.Alerts.SilentFor) || !slices.Equal(e.To, s.Alerts.To)):
		b.putOff(s, e.Latest, sign{})
	}
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
