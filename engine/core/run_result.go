package core

import (
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/attempt"
	"github.com/tidewheel/tidewheel/engine/plan"
)

// result takes one message of an attempt's own subject.
func (c *Core) result(m *engine.Result) {
	r := c.runs[m.Run]
	if r == nil {
		return // ended before: a message that came again
	}
	if m.Attempt == r.Attempt+1 && r.Status == engine.StatusScheduled { // prepared, and published before a crash
		if m.Kind == engine.ResultRevoked && r.PendingSkip != "" {
			c.tookBack(r)
			return
		}
		c.stopTimer(&r.timer)
		r.Waiting, r.PendingSkip = false, ""
		c.beginAttempt(r, plan.Earlier(plan.Later(m.At, r.due()), c.now))
	}
	if m.Attempt != r.Attempt {
		return // the attempt fence: a stale executor changes nothing
	}
	a := r.Current()
	if a == nil || a.Status.Terminal() {
		return
	}
	r.unheard = false
	if attempt.Once(r.spec) && attempt.ClaimedByAnother(a, m) {
		c.claimedTwice(r, m)
		return
	}
	switch m.Kind {
	case engine.ResultStarted:
		if attempt.Started(&r.Run, m, c.now) {
			c.touch(r)
			c.alertOfStart(r)
			c.setTimer(&r.timer, c.now.Add(c.config.LockTTL+c.config.Margin), timer{kind: timerInspect, of: r})
			if m.Asks {
				c.letBegin(r, m)
			}
			c.askToCancel(r)
		}
	case engine.ResultProgress:
		if m.Asks {
			c.letBegin(r, m)
			return
		}
		attempt.Progressed(&r.Run, m)
		c.touch(r)
	case engine.ResultFinished:
		if m.Finish != nil {
			c.follow(r, attempt.Finished(&r.Run, m, c.rules(r), c.now))
		}
	case engine.ResultRevoked:
		c.follow(r, attempt.Revoked(&r.Run, m.At, c.now))
	case engine.ResultLost:
		c.follow(r, attempt.Lost(&r.Run, m.At, c.rules(r), c.now))
	}
}

// letBegin lets the executor begin the program, once its claim is durable.
func (c *Core) letBegin(r *run, m *engine.Result) {
	c.afterCommit(r, Ask{engine.Control{Kind: engine.ControlBegin, Run: r.ID, Attempt: r.Attempt, Executor: m.Executor, Token: m.Token}})
}

// claimedTwice takes a message of an executor that has claimed an attempt after another one: the queue has lost the first
// claim, and given the task again. The second is not let begin, and gives up in the end. Then the first, which may have begun,
// holds no lock any more.
func (c *Core) claimedTwice(r *run, m *engine.Result) {
	if m.Kind == engine.ResultFinished {
		c.follow(r, attempt.Lost(&r.Run, m.At, c.rules(r), c.now))
	}
}

// published takes the queue's answer to a Publish.
func (c *Core) published(e TaskPublished) {
	if c.Queued(e.Run, e.Attempt) && e.Failed {
		r := c.runs[e.Run]
		c.setTimer(&r.timer, c.now.Add(time.Second), timer{kind: timerInspect, of: r})
	}
}

// dropped gives a run whose task the queue has let go another attempt. Published once more under the same number its task
// would have to be let go again, behind a backlog that is as long: it would look like a copy of a claimed one. Of the
// next attempt there is no other copy, so that it may wait for as long as it takes.
func (c *Core) dropped(e TaskDropped) {
	if c.Queued(e.Run, e.Attempt) {
		c.revokeAttempt(c.runs[e.Run], e.Attempt)
	}
}

// revoked takes the answer to a Revoke. What follows from success comes as a result, too; whichever is first acts.
func (c *Core) revoked(e AttemptRevoked) {
	r := c.runs[e.Run]
	if r == nil || !r.revoke {
		return
	}
	r.revoke = false
	switch {
	case e.Failed:
		c.setTimer(&r.resend, c.now.Add(c.config.Resend), timer{kind: timerResend, of: r})
	case e.Attempt < r.Attempt: // the attempt has ended meanwhile
		c.askToCancel(r)
	case !e.Revoked:
		// An executor was faster: its claim is on the way, or was acknowledged before. Of a queued run the queue knows.
		if r.PendingSkip != "" {
			r.PendingSkip = ""
			r.Waiting = false
			c.beginAttempt(r, c.now)
		} else if r.Status == engine.StatusQueued {
			c.setTimer(&r.timer, c.now.Add(time.Second), timer{kind: timerInspect, of: r})
		}
	case r.PendingSkip != "":
		c.tookBack(r)
	case e.Attempt == r.Attempt && r.Status == engine.StatusQueued:
		c.follow(r, attempt.Revoked(&r.Run, c.now, c.now))
	}
}
