package incident

import (
	"maps"
	"slices"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

// The wait before the next try to notify doubles from the first to the second.
const (
	notifySoon = time.Second
	notifyLate = 30 * time.Second
)

// Load takes the incidents of a shard that was taken over. It repeats notifications that may not have been sent. Nothing falls silent
// before heardUntil: a success may be on the way.
func (b *Book) Load(incidents []engine.Incident, heardUntil time.Time) {
	for n := range incidents {
		e := &Entry{Incident: incidents[n].Clone(), current: true, stored: true}
		b.entries[e.UID] = append(b.entries[e.UID], e)
		if e.Count == 0 {
			b.wakeAt(e, latest(e.Since, heardUntil))
		}
		b.endIfNotified(e)
		if e.due() {
			b.outlet.Notify(e.notice())
		}
	}
}

// Answered takes the notifier's answer: it has the beginning of an incident for good, or, where over is set, its end. Where it failed
// the outcome is unknown, and the Book notifies again.
func (b *Book) Answered(id string, since time.Time, over, failed bool) {
	entries := b.entries[engine.RunJob(id)]
	at := slices.IndexFunc(entries, func(e *Entry) bool { return e.ID == id })
	if at < 0 {
		return
	}
	e := entries[at]
	if !e.current || !e.Since.Equal(since) || e.notifying == notifyNothing || (e.notifying == notifyEnd) != over {
		return // about what is no more
	}
	if failed {
		wait := min(notifySoon<<min(e.failures, 10), notifyLate)
		e.failures++
		b.wakeAt(e, b.now.Add(wait))
		return
	}
	e.notifying, e.failures = notifyNothing, 0
	if over {
		b.done(e)
		return
	}
	e.Notified = true
	b.touch(e)
}

// Advance does what is due: it notifies again, and lets fall silent what nothing has succeeded of.
func (b *Book) Advance() {
	b.wheel.Advance(b.now, func(_ time.Time, e *Entry) {
		e.timer = nil
		if e.notifying != notifyNothing {
			b.outlet.Notify(e.notice())
		} else {
			b.fallSilent(e)
		}
	})
}

// ClockWentBack keeps silences and repeated notifications from waiting longer when the wall clock goes back.
func (b *Book) ClockWentBack(by time.Duration) {
	for _, uid := range slices.Sorted(maps.Keys(b.entries)) {
		for _, e := range b.entries[uid] {
			for _, ahead := range []*engine.Incident{&e.Incident, e.Next} {
				if e.current && ahead != nil && ahead.Count == 0 {
					ahead.Since, ahead.Latest = ahead.Since.Add(-by), ahead.Latest.Add(-by)
					b.touch(e)
				}
			}
			switch {
			case e.timer == nil:
			case e.notifying != notifyNothing:
				b.wakeAt(e, b.now.Add(notifySoon))
			default:
				b.wakeAt(e, e.Since)
			}
		}
	}
}
