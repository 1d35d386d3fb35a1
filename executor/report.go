package executor

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

// How often a message is retried.
const (
	firstRetry = 100 * time.Millisecond
	lastRetry  = 500 * time.Millisecond
)

// reports are an attempt's messages, one after the other: each is published under the condition that the previous one
// is the last, so that none may be sent before it is certain what happened to the previous one.
type reports struct {
	mu       sync.Mutex
	sequence uint64

	// Progress waits here, the latest only.
	progressMu sync.Mutex
	progress   *engine.Progress
	publishing bool
	ended      bool
}

func (a *attempt) result(kind engine.ResultKind) engine.Result {
	return engine.Result{
		Kind: kind, Run: a.task.Run, Attempt: a.task.Attempt, Shard: a.task.Shard,
		Executor: a.e.config.ID, Token: a.token, At: now(),
	}
}

// errOutlived means that an attempt may not be claimed any more: it may be over and forgotten.
var errOutlived = errors.New("it was delivered too long ago")

// claim makes the attempt ours, or returns ErrClaimed. It tries until the lock could expire, or the delivery is too old: a
// claim without an answer may have been stored, and then it is found again.
func (a *attempt) claim(delivery Delivery, until time.Time) error {
	started := a.result(engine.ResultStarted)
	started.At, started.Asks = a.claimedAt, a.asks()
	ctx, cancel := context.WithDeadline(a.e.base, until)
	defer cancel()
	return a.persist(ctx, func(ctx context.Context) (err error) {
		if ctx.Err() != nil || delivery.Outlived() { // this process may have was suspended
			cancel()
			return errOutlived
		}
		a.reports.sequence, err = a.e.queue.Claim(ctx, started)
		return err
	})
}

// report publishes a message, or returns ErrFenced. It tries until it is certain or base ends, also without the lock: an
// engine or executor that takes the attempt away publishes that on the same subject.
func (a *attempt) report(result engine.Result) error {
	a.reports.mu.Lock()
	defer a.reports.mu.Unlock()
	return a.persist(a.e.base, func(ctx context.Context) error {
		sequence, err := a.e.queue.Report(ctx, result, a.reports.sequence)
		if err == nil {
			a.reports.sequence = sequence
		}
		return err
	})
}

// persist tries until the queue has decided or ctx ends.
func (a *attempt) persist(ctx context.Context, try func(context.Context) error) error {
	for pause := firstRetry; ; pause = min(2*pause, lastRetry) {
		err := try(ctx)
		if err == nil || errors.Is(err, ErrClaimed) || errors.Is(err, ErrFenced) || ctx.Err() != nil {
			return err
		}
		if suppressed, ok := a.e.throttle.Allow("sent again", time.Now()); ok {
			a.e.log.Warn("the queue did not accept a message; sending it again", keyRun, a.task.Run, keyAttempt, a.task.Attempt, keyError, err, "suppressed", suppressed)
		}
		if waited(ctx, pause) {
			return err
		}
	}
}

// finish reports the attempt's end.
func (a *attempt) finish(finish *engine.Finish) {
	a.quiet()
	finish.FinishedAt = now()
	result := a.result(engine.ResultFinished)
	result.At, result.Finish = finish.FinishedAt, finish
	switch err := a.report(result); {
	case errors.Is(err, ErrFenced):
		a.e.log.Warn("an attempt ended after the engine had given it up; its end is dropped", keyRun, a.task.Run, keyAttempt, a.task.Attempt, keyJob, a.task.Job)
		return
	case err != nil:
		a.e.log.Error("the end of an attempt could not be reported", keyRun, a.task.Run, keyAttempt, a.task.Attempt, keyJob, a.task.Job, keyError, err)
		return
	}
	a.e.observer.AttemptFinished(&a.task, finish)
}

// progressEvery bounds how often progress is reported.
const progressEvery = time.Second

// progress takes a progress line. The reader of the output calls it. It does not wait.
func (a *attempt) progress(fraction float64, message string) {
	r := &a.reports
	r.progressMu.Lock()
	defer r.progressMu.Unlock()
	r.progress = &engine.Progress{Fraction: fraction, Message: message, At: now()}
	if !r.publishing && !r.ended {
		r.publishing = true
		a.beside.Go(a.publishProgress)
	}
}

// publishProgress reports the latest progress once a second until there is none.
func (a *attempt) publishProgress() {
	r := &a.reports
	for {
		r.progressMu.Lock()
		latest := r.progress
		r.progress = nil
		if latest == nil || r.ended {
			r.publishing = false
			r.progressMu.Unlock()
			return
		}
		r.progressMu.Unlock()
		result := a.result(engine.ResultProgress)
		result.At, result.Progress = latest.At, latest
		if err := a.report(result); errors.Is(err, ErrFenced) {
			a.end(endLost) // the engine has given the attempt up
		}
		waited(a.live.over(), progressEvery)
	}
}

// endProgress drops what has not been reported: the end says more.
func (a *attempt) endProgress() {
	a.reports.progressMu.Lock()
	defer a.reports.progressMu.Unlock()
	a.reports.ended = true
}
