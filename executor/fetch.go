package executor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/executor/cache"
)

// How a program is tried for again that the store did not give.
const (
	firstFetchRetry = 200 * time.Millisecond
	lastFetchRetry  = 2 * time.Second
)

// fetch gets the program's file, trying again while the store is out of reach: no program is at fault, so an attempt
// that gets nothing for FetchTimeout is handed back.
func (a *attempt) fetch() (got *cache.File, refused *failure) {
	if file := a.e.cache.Have(a.task.Digest); file != nil && a.ctx.Err() == nil {
		a.e.observer.BinaryFetched(true)
		return file, nil
	} else if file != nil {
		file.Release()
	}
	ctx, cancel := context.WithTimeout(a.ctx, a.e.config.FetchTimeout)
	defer cancel()
	damaged := false
	var reason error // the last that is not the end of ctx
	since, reported := now(), false
	fetched := make(chan bool, 1)
	defer func() { fetched <- got != nil }()
	for pause := firstFetchRetry; ; pause = min(2*pause, lastFetchRetry) {
		file, err := a.e.cache.Get(ctx, a.task.Digest)
		var digest *cache.DigestError
		switch {
		case err == nil:
			a.e.observer.BinaryFetched(false)
			return file, nil
		case a.ctx.Err() != nil:
			return nil, a.stoppedBefore()
		case errors.Is(err, engine.ErrNotFound):
			return nil, &failure{noRetry: true, message: fmt.Sprintf("its program (sha256 %s) is not stored any more: upload it again", a.task.Digest)}
		case errors.As(err, &digest) && damaged:
			return nil, &failure{noRetry: true, message: fmt.Sprintf("its program is damaged where it is stored: its bytes have sha256 %s, not %s; upload it again", digest.Got, digest.Want)}
		case errors.As(err, &digest):
			damaged = true // perhaps on the way
			continue
		case isFull(err):
			return nil, &failure{unfetched: true, message: "the disk of executor " + a.e.config.ID + " is full: its program does not fit into the cache"}
		}
		if ctx.Err() == nil || reason == nil {
			reason = err
		}
		a.e.log.Warn("a run waits for S3, which has not given its program; it is tried again",
			keyRun, a.task.Run, keyAttempt, a.task.Attempt, "digest", a.task.Digest, "since", since, "after", pause, keyError, err)
		if !reported {
			reported = true
			a.beside.Go(func() { a.reportWait(since, fetched) })
		}
		if waited(ctx, pause) {
			if a.ctx.Err() != nil {
				return nil, a.stoppedBefore()
			}
			return nil, &failure{
				unfetched: true,
				message:   fmt.Sprintf("executor %s could not fetch its program from S3 for %v: %v", a.e.config.ID, a.e.config.FetchTimeout, reason),
			}
		}
	}
}

func (a *attempt) stoppedBefore() *failure {
	return &failure{ended: true, message: "executor " + a.e.config.ID + " stopped before its program began"}
}

// tellWait shows on the run what it waits for, and when the wait is over.
func (a *attempt) reportWait(since time.Time, fetched <-chan bool) {
	tell := func(words string) {
		result := a.result(engine.ResultProgress)
		result.Waits = words
		if err := a.report(result); errors.Is(err, ErrFenced) {
			a.end(endLost) // the engine has given the attempt up
		}
	}
	tell("waits since " + since.Format("15:04:05 MST") + " for S3, which does not give its program")
	if <-fetched {
		tell("") // the end says it otherwise
	}
}
