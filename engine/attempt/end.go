package attempt

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// Rules is what decides, beside the run, what follows the end of an attempt.
type Rules struct {
	// Spec is the definition of the run; nil where its job is deleted or the definition is not known: nothing is retried.
	Spec *spec.Job
	// MaxLosses bounds the lost attempts of a run, and those whose program could not be fetched.
	MaxLosses int
	// Unfetched is the wait before the attempt that follows one whose program could not be fetched.
	Unfetched time.Duration
	Random    *rand.Rand // draws the jitter of retries
}

// Next is what follows an attempt that has ended: with StatusRetrying another one at At, otherwise the end of the run. A run
// that ends as dead leaves a dead letter.
type Next struct {
	Status engine.Status
	Reason string
	At     time.Time
}

func end(status engine.Status, reason string) Next { return Next{Status: status, Reason: reason} }

func again(at time.Time, reason string) Next {
	return Next{Status: engine.StatusRetrying, Reason: reason, At: at}
}

func cancelled(r *engine.Run) Next { return end(engine.StatusCancelled, CancelReason(r)) }

// Finished takes the end of the current attempt as its executor reports it.
func Finished(r *engine.Run, m *engine.Result, rules Rules, now time.Time) Next {
	f, a := m.Finish, r.Current()
	if a.ClaimedAt.IsZero() {
		a.Executor, a.Token = m.Executor, m.Token
	}
	date(a, f, now)
	a.Status = f.Status
	a.ExitCode, a.Signal, a.Error, a.Usage, a.Output = f.ExitCode, f.Signal, f.Error, f.Usage, f.Output
	if r.StartedAt.IsZero() {
		r.StartedAt = a.StartedAt
	}
	switch {
	case f.HandedBack:
		a.Status = engine.StatusLost
		return handedBack(r, f, rules, now)
	case f.Status == engine.StatusSucceeded:
		r.Outputs, r.Artifacts = f.Outputs, f.Artifacts
		return end(engine.StatusSucceeded, "")
	case f.Status == engine.StatusCancelled:
		return cancelled(r)
	}
	return failed(r, f, rules, now)
}

// failed decides what follows an attempt that ended by itself, but not well.
func failed(r *engine.Run, f *engine.Finish, rules Rules, now time.Time) Next {
	status := engine.StatusFailed
	if f.Status == engine.StatusTimedOut || f.ExitCode != nil && *f.ExitCode == engine.ExitTimeout {
		status = engine.StatusTimedOut
	}
	r.Current().Status = status
	if r.CancelBy != "" {
		return cancelled(r)
	}
	r.Failures++
	why := describe(f, status)
	if rules.Spec == nil || f.NoRetry || f.ExitCode != nil && *f.ExitCode >= 0 && !RetriableExit(*f.ExitCode, rules.Spec.Retry) {
		return end(status, why)
	}
	most := max(rules.Spec.Retry.MaxAttempts, 1)
	switch {
	case r.Failures < most:
		at := now.Add(Backoff(rules.Spec.Retry, r.Failures, rules.Random))
		return again(at, fmt.Sprintf("%s; failed %d of %d attempts", why, r.Failures, most))
	case most > 1:
		return end(engine.StatusDead, fmt.Sprintf("%s; failed %d of %[2]d attempts", why, most))
	}
	return end(status, why)
}

func describe(f *engine.Finish, status engine.Status) string {
	switch {
	case f.Error != "":
		return f.Error
	case status == engine.StatusTimedOut:
		return "it ran longer than its timeout"
	case f.Signal != "":
		return "ended by signal " + f.Signal
	case f.ExitCode != nil:
		return fmt.Sprintf("exit %d", *f.ExitCode)
	}
	return "failed"
}

// Lost ends the current attempt, whose executor vanished. A loss is not a failure and has a bound of its own.
func Lost(r *engine.Run, at time.Time, rules Rules, now time.Time) Next {
	a := r.Current()
	a.Status, a.FinishedAt = engine.StatusLost, at
	a.Error = "its executor vanished: the lock expired without being refreshed"
	r.Losses++
	return afterLoss(r, rules, Once(rules.Spec), "the executor that ran it vanished", now)
}

// handedBack decides what follows an attempt that its executor gave up: to shut down, or because the store did not give its program,
// or did not take its artifacts. That is not the program's fault, so it may be retried however often it may fail; and where it
// has not begun, however it is delivered. What the store refuses counts as a loss: a store that stays away makes dead letters,
// which can be replayed when it is back.
func handedBack(r *engine.Run, f *engine.Finish, rules Rules, now time.Time) Next {
	if r.CancelBy != "" {
		r.Current().Status = engine.StatusCancelled
	}
	once := !f.StartedAt.IsZero() && Once(rules.Spec)
	if f.Unfetched {
		r.Losses++
		return afterLoss(r, rules, once, f.Error, now.Add(rules.Unfetched))
	}
	return afterLoss(r, rules, once, "its executor was shut down", now)
}

// afterLoss decides what follows an attempt that did not end by itself. once says that the program may have begun and may not
// begin again.
func afterLoss(r *engine.Run, rules Rules, once bool, why string, at time.Time) Next {
	switch {
	case r.CancelBy != "":
		return cancelled(r)
	case rules.Spec == nil || once:
		return end(engine.StatusLost, why)
	case r.Losses > rules.MaxLosses:
		return end(engine.StatusDead, fmt.Sprintf("%s; %d attempts have been lost", why, r.Losses))
	}
	return again(at, why+": it is tried again")
}

// Revoked ends a queued attempt that no executor will ever claim. Where no user asked for that, an engine that crashed had
// taken back what it had prepared, or the task had waited for too long in the queue: then the run gets another attempt.
func Revoked(r *engine.Run, at, now time.Time) Next {
	a := r.Current()
	a.Status, a.FinishedAt = engine.StatusCancelled, at.Truncate(time.Microsecond)
	if r.CancelBy != "" {
		return cancelled(r)
	}
	return again(now, "its task was taken back from the queue: it is tried again")
}
