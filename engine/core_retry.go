package engine

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/tidewheel/tidewheel/spec"
)

// Exit codes of the contract with the program, after sysexits.h and timeout(1).
const (
	ExitUsage         = 64
	ExitDataError     = 65
	ExitTempFail      = 75
	ExitNoPerm        = 77
	ExitConfig        = 78
	ExitTimeout       = 124
	exitNone      int = -1
)

// RetriableExit reports whether a program that ended with this code is tried again. A job's own lists go first.
func RetriableExit(code int, retry spec.Retry) bool {
	if slices.Contains(retry.NotOn, code) {
		return false
	}
	if slices.Contains(retry.On, code) {
		return true
	}
	switch code {
	case 0, ExitUsage, ExitDataError, ExitNoPerm, ExitConfig:
		return false
	}
	return true
}

// Backoff is the wait before the try that follows the given number of failures (from 1): exponential with full
// jitter, that is uniform in [0, min(MaxDelay, Delay × 2^(failures-1))].
// Source: M. Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog, 2015.
func Backoff(retry spec.Retry, failures int, random *rand.Rand) time.Duration {
	limit := time.Duration(retry.Delay)
	most := time.Duration(retry.MaxDelay)
	for i := 1; i < failures && limit > 0 && (most <= 0 || limit < most) && limit < time.Hour*24*365; i++ {
		limit *= 2
	}
	if most > 0 && limit > most {
		limit = most
	}
	if limit <= 0 {
		return 0
	}
	return time.Duration(random.Int64N(int64(limit) + 1))
}

// failed decides what follows an attempt that ended by itself, but not well.
func (c *Core) failed(r *run, f *Finish) {
	code := exitNone
	if f.ExitCode != nil {
		code = *f.ExitCode
	}
	status := f.Status
	if code == ExitTimeout {
		status = StatusTimedOut
	}
	if status != StatusTimedOut {
		status = StatusFailed
	}
	r.Current().Status = status
	why := describe(f, status)
	if r.CancelBy != "" {
		c.end(r, StatusCancelled, cancelReason(&r.Run))
		return
	}
	r.Failures++
	if r.job.def == nil || r.spec == nil || f.NoRetry || (code >= 0 && !RetriableExit(code, r.spec.Retry)) {
		c.end(r, status, why)
		return
	}
	most := max(r.spec.Retry.MaxAttempts, 1)
	switch {
	case r.Failures < most:
		c.retryAt(r, c.now.Add(Backoff(r.spec.Retry, r.Failures, c.rand)), fmt.Sprintf("%s; attempt %d failed, %d of %d tries are used", why, r.Attempt, r.Failures, most))
	case most > 1:
		c.die(r, fmt.Sprintf("%s; all %d tries are used", why, most))
	default:
		c.end(r, status, why)
	}
}

func describe(f *Finish, status Status) string {
	switch {
	case f.Error != "":
		return f.Error
	case status == StatusTimedOut:
		return "it ran longer than its timeout"
	case f.Signal != "":
		return "ended by signal " + f.Signal
	case f.ExitCode != nil:
		return fmt.Sprintf("exit %d", *f.ExitCode)
	}
	return "failed"
}

// retryAt waits for the next attempt.
func (c *Core) retryAt(r *run, at time.Time, reason string) {
	r.Status, r.Reason = StatusRetrying, reason
	r.RetryAt = at.Truncate(time.Microsecond)
	c.touch(r)
	c.setTimer(&r.timer, r.RetryAt, timer{kind: timerRetry, run: r})
}

// die ends a run whose tries are used up, and leaves a dead letter.
func (c *Core) die(r *run, reason string) {
	c.putLetter(&r.Run, reason)
	c.end(r, StatusDead, reason)
}

func (c *Core) putLetter(r *Run, reason string) {
	p := c.unwritten(r.JobUID)
	p.unletter = slices.DeleteFunc(p.unletter, func(id string) bool { return id == r.ID })
	p.letters = append(p.letters, DeadLetter{
		RunID: r.ID, Namespace: r.Namespace, JobUID: r.JobUID, Job: r.Label(),
		Error: reason, Attempts: r.Attempt, At: c.now.Truncate(time.Millisecond),
	})
}

// dropLetter removes the dead letter of a run that is not dead any more.
func (c *Core) dropLetter(r *Run) {
	u := c.unwritten(r.JobUID)
	u.letters = slices.DeleteFunc(u.letters, func(letter DeadLetter) bool { return letter.RunID == r.ID })
	if !slices.Contains(u.unletter, r.ID) {
		u.unletter = append(u.unletter, r.ID)
	}
}

// lost decides what follows an attempt whose executor vanished. A loss is not a failure and has a bound of its own.
func (c *Core) lost(r *run) {
	const why = "the executor that ran it vanished"
	r.Losses++
	switch {
	case r.CancelBy != "":
		c.end(r, StatusCancelled, cancelReason(&r.Run))
	case r.job.def == nil || r.spec == nil || r.once():
		c.end(r, StatusLost, why)
	case r.Losses > c.config.MaxLosses:
		c.die(r, fmt.Sprintf("%s; %d attempts have been lost like this", why, r.Losses))
	default:
		c.retryAt(r, c.now, why+": it is tried again")
	}
}

// handedBack decides what follows an attempt that its executor gave up: to shut down, or because it could not fetch the
// program.
func (c *Core) handedBack(r *run, f *Finish) {
	if f.Unfetched {
		c.unfetched(r, f)
		return
	}
	switch {
	case r.CancelBy != "":
		r.Current().Status = StatusCancelled
		c.end(r, StatusCancelled, cancelReason(&r.Run))
	case r.job.def == nil || r.spec == nil:
		c.end(r, StatusLost, "its executor was shut down")
	case !f.StartedAt.IsZero() && r.once():
		c.end(r, StatusLost, "its executor was shut down while it ran")
	default:
		c.retryAt(r, c.now, "its executor was shut down: it is tried again elsewhere")
	}
}

// unfetched decides what follows an attempt whose program the store did not give, or whose artifacts it did not take.
// That is not the program's fault, so it may be tried again however often it may fail; and where it has not begun,
// however it is delivered. The bound is that of losses: a store that stays away makes dead letters, which can be
// replayed when it is back.
func (c *Core) unfetched(r *run, f *Finish) {
	r.Losses++
	switch {
	case r.CancelBy != "":
		r.Current().Status = StatusCancelled
		c.end(r, StatusCancelled, cancelReason(&r.Run))
	case r.job.def == nil || r.spec == nil || (!f.StartedAt.IsZero() && r.once()):
		c.end(r, StatusLost, f.Error)
	case r.Losses > c.config.MaxLosses:
		c.die(r, fmt.Sprintf("%s; %d attempts were lost like this or otherwise", f.Error, r.Losses))
	default:
		c.retryAt(r, c.now.Add(c.config.Unfetched), f.Error+": it is tried again")
	}
}
