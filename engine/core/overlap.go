package core

import (
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/attempt"
	"github.com/tidewheel/tidewheel/spec"
)

// An engine that has just taken over, or was started, knows of a run what the store says: it may have ended meanwhile, and
// the news of that be on the way. A slot is skipped because of it only once something was heard of it, or hearWithin after the
// slot: within the grace, so that it is not late where the run has ended.
const (
	hearEvery  = 100 * time.Millisecond
	hearWithin = 5 * time.Second
)

// admit applies the overlap policy to a run whose time has come.
func (c *Core) admit(r *run) {
	j := r.job
	switch {
	case j.dag != nil && r.Status == engine.StatusScheduled:
		c.admitRoot(r)
		return
	case j.dag != nil:
		c.enqueue(r)
		return
	}
	blocker := c.blocker(j, r)
	if blocker == nil || (r.spec != nil && r.spec.Overlap == spec.OverlapAllow) {
		c.enqueue(r)
		return
	}
	overlap := spec.OverlapQueue
	if r.spec != nil && r.Status == engine.StatusScheduled && r.Trigger != engine.TriggerBackfill && r.Trigger != engine.TriggerCatchUp {
		overlap = r.spec.Overlap
	}
	if overlap == spec.OverlapSkip && (r.Trigger == engine.TriggerManual || blocker.Trigger == engine.TriggerBackfill) {
		overlap = spec.OverlapQueue
	}
	switch overlap {
	case spec.OverlapSkip:
		if blocker.back != "" || blocker.inDoubt(c.now) || blocker.unheard && c.now.Before(r.due().Add(hearWithin)) {
			c.setTimer(&r.timer, c.now.Add(hearEvery), timer{kind: timerFire, run: r})
			return
		}
		c.giveUp(r, engine.ReasonOverlap)
	case spec.OverlapReplace:
		var waiting, underWay []*run
		for _, other := range j.live {
			switch {
			case other == r:
			case other.Waiting && other.Status == engine.StatusScheduled && other.Trigger == engine.TriggerSchedule:
				waiting = append(waiting, other)
			case !other.Waiting && other.Status != engine.StatusScheduled:
				underWay = append(underWay, other)
			case other.back != "" || other.inDoubt(c.now) && other.due().Before(r.due()): // should it be under way, it is cancelled
				other.CancelBy = attempt.ReplacedBy(r.ID)
				c.touch(other)
				c.takeBack(other, engine.ReasonReplaced)
			}
		}
		for _, other := range waiting {
			c.giveUp(other, engine.ReasonReplaced)
		}
		for _, other := range underWay {
			c.cancel(other, attempt.ReplacedBy(r.ID))
		}
		if blocker = c.blocker(j, r); blocker == nil {
			blocker = j.nextWaiting() // it came first, and goes now
		}
		if blocker == nil {
			c.enqueue(r)
			return
		}
		c.wait(r, blocker)
	default:
		if r.Trigger == engine.TriggerSchedule && r.Status == engine.StatusScheduled && !r.Waiting && j.countWaiting() >= c.config.MaxWaiting {
			c.giveUp(r, engine.ReasonQueueFull)
			return
		}
		c.wait(r, blocker)
	}
}

func (j *job) countWaiting() int {
	n := 0
	for _, r := range j.live {
		if r.Waiting {
			n++
		}
	}
	return n
}

func (c *Core) wait(r, blocker *run) {
	r.Waiting = true
	r.Reason = "waits for run " + blocker.ID
	c.touch(r)
}

// blocker gives a live run of the job that must end before another may be queued, nil if there is none.
func (c *Core) blocker(j *job, except *run) *run {
	for _, r := range j.live {
		if r == except {
			continue
		}
		if r.underWay() || r.back != "" || except != nil && r.inDoubt(c.now) && r.due().Before(except.due()) {
			return r
		}
	}
	return nil
}

// underWay reports whether an attempt of the run is queued or running, or the next one is awaited.
func (r *run) underWay() bool {
	return r.Status == engine.StatusQueued || r.Status == engine.StatusRunning || r.Status == engine.StatusRetrying && !r.Waiting
}

// inDoubt reports whether an engine that crashed may have published the run, and this one has not looked at it yet.
func (r *run) inDoubt(now time.Time) bool {
	return r.doubt && r.Status == engine.StatusScheduled && !r.Waiting && !r.due().After(now)
}

// nextWaiting gives the run that goes next: what a schedule asked for before what was backfilled, then the oldest.
func (j *job) nextWaiting() *run {
	var next *run
	for _, r := range j.live {
		if r.Waiting && r.back == "" && (next == nil || (next.Trigger == engine.TriggerBackfill && r.Trigger != engine.TriggerBackfill)) {
			next = r
		}
	}
	return next
}
