package incident

import (
	"cmp"
	"fmt"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// WaveEnded looks at a wave that has ended, or never opened.
func (b *Book) WaveEnded(s *Subject, w *engine.Wave) {
	by := sign{wave: w.ID, slot: w.Slot, reason: cmp.Or(w.Reason, "not all of its tasks succeeded")}
	switch w.Status {
	case engine.StatusFailed:
		b.begin(s, spec.AlertFailed, by)
	case engine.StatusSucceeded:
		by.reason = "wave " + w.ID + " succeeded"
		b.succeeded(s, by)
	default:
	}
	if w.Status != engine.StatusCancelled && !w.StartedAt.IsZero() {
		by.reason = "wave " + w.ID
		b.judgeDuration(s, w.Took(b.now), b.known(s, spec.AlertSlow, "", w.ID), by)
	}
}

// LookAtWave looks whether the open wave is slow, and returns the instant at which it may be; zero for never.
func (b *Book) LookAtWave(s *Subject, w *engine.Wave) (next time.Time) {
	if !s.Alerts.Asks(spec.AlertSlow) || b.known(s, spec.AlertSlow, "", w.ID) {
		return time.Time{}
	}
	most := time.Duration(s.Alerts.Duration)
	if left := most - w.Took(b.now); left > 0 {
		return b.now.Add(left)
	}
	b.begin(s, spec.AlertSlow, sign{wave: w.ID, slot: w.Slot, reason: fmt.Sprintf("it has run for longer than %s", most)})
	return time.Time{}
}
