package plan

import (
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// Overlap is what happens to a run whose time has come while another of its job is under way. The policy of the definition is
// for slots: what is triggered manually or brought back waits, and so does a slot that meets a backfill.
func Overlap(r, underWay *engine.Run, s *spec.Job) spec.Overlap {
	switch {
	case s == nil:
		return spec.OverlapQueue
	case s.Overlap == spec.OverlapAllow:
		return spec.OverlapAllow
	case r.Status != engine.StatusScheduled, r.Trigger == engine.TriggerBackfill, r.Trigger == engine.TriggerCatchUp:
		return spec.OverlapQueue
	case s.Overlap == spec.OverlapSkip && (r.Trigger == engine.TriggerManual || r.Trigger == engine.TriggerEvent || underWay.Trigger == engine.TriggerBackfill):
		return spec.OverlapQueue
	}
	return s.Overlap
}
