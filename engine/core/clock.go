package core

import (
	"maps"
	"slices"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

// clockWentBack keeps what waits for a time to pass from waiting longer by what the wall clock went back. Slots and
// NotBefore are instants of the wall clock and keep their timers.
func (c *Core) clockWentBack(by time.Duration) {
	for _, id := range slices.Sorted(maps.Keys(c.runs)) {
		r := c.runs[id]
		if r.resend != nil {
			c.setTimer(&r.resend, c.now.Add(c.config.Resend), timer{kind: timerResend, of: r})
		}
		if r.timer == nil {
			continue
		}
		switch r.Status {
		case engine.StatusRetrying:
			r.RetryAt = r.RetryAt.Add(-by)
			c.touch(r)
			c.setTimer(&r.timer, r.RetryAt, timer{kind: timerRetry, of: r})
		case engine.StatusQueued:
			r.requeueChecks = 0
			c.checkLater(r)
		case engine.StatusRunning:
			c.setTimer(&r.timer, c.now.Add(c.config.LockTTL+c.config.Margin), timer{kind: timerInspect, of: r})
		default:
		}
	}
	c.incidents.ClockWentBack(by)
	for _, uid := range slices.Sorted(maps.Keys(c.jobs)) {
		j := c.jobs[uid]
		if j.timer != nil && j.delays() && j.hasRunAt() {
			c.checkAfter(j)
		}
	}
}
