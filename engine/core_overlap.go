package engine

import (
	"time"

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
	case j.dag != nil && r.Status == StatusScheduled:
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
	if r.spec != nil && r.Status == StatusScheduled && r.Trigger != TriggerBackfill && r.Trigger != TriggerCatchUp {
		overlap = r.spec.Overlap
	}
	if overlap == spec.OverlapSkip && (r.Trigger == TriggerManual || blocker.Trigger == TriggerBackfill) {
		overlap = spec.OverlapQueue
	}
	switch overlap {
	case spec.OverlapSkip:
		if blocker.back != "" || blocker.inDoubt(c.now) || blocker.unheard && c.now.Before(r.due().Add(hearWithin)) {
			c.setTimer(&r.timer, c.now.Add(hearEvery), timer{kind: timerFire, run: r})
			return
		}
		c.giveUp(r, ReasonOverlap)
	case spec.OverlapReplace:
		var waiting, underWay []*run // as they are now: what ends at once lets others go
		for _, other := range j.live {
			switch {
			case other == r:
			case other.Waiting && other.Status == StatusScheduled && other.Trigger == TriggerSchedule:
				waiting = append(waiting, other)
			case !other.Waiting && other.Status != StatusScheduled:
				underWay = append(underWay, other)
			case other.back != "" || other.inDoubt(c.now) && other.due().Before(r.due()): // should it be under way, it is cancelled
				other.CancelBy = replacedBy + r.ID
				c.touch(other)
				c.takeBack(other, ReasonReplaced)
			}
		}
		for _, other := range waiting {
			c.giveUp(other, ReasonReplaced)
		}
		for _, other := range underWay {
			c.cancel(other, replacedBy+r.ID)
		}
		if c.runs[r.ID] != r || r.Status != StatusScheduled {
			return // what ended let it go already
		}
		if blocker = c.blocker(j, r); blocker == nil {
			c.enqueue(r)
			return
		}
		c.wait(r, blocker)
	default:
		if r.Trigger == TriggerSchedule && r.Status == StatusScheduled && !r.Waiting && j.countWaiting() >= c.config.MaxWaiting {
			c.giveUp(r, ReasonQueueFull)
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
	return r.Status == StatusQueued || r.Status == StatusRunning || r.Status == StatusRetrying && !r.Waiting
}

// inDoubt reports whether an engine that crashed may have published the run, and this one has not looked at it yet.
func (r *run) inDoubt(now time.Time) bool {
	return r.doubt && r.Status == StatusScheduled && !r.Waiting && !r.due().After(now)
}

// nextWaiting gives the run that goes next: what a schedule asked for before what was backfilled, then the oldest.
func (j *job) nextWaiting() *run {
	var next *run
	for _, r := range j.live {
		if r.Waiting && r.back == "" && (next == nil || (next.Trigger == TriggerBackfill && r.Trigger != TriggerBackfill)) {
			next = r
		}
	}
	return next
}
