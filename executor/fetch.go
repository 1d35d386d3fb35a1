package executor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/executor/cache"
)

// fetch gets the program's file, trying again while the store is out of reach.
func (a *attempt) fetch() (*cache.File, *failure) {
	ctx, cancel := context.WithTimeout(a.ctx, a.e.config.FetchTimeout)
	defer cancel()
	damaged := false
	var reason error // the last that is not the end of ctx
	for pause := firstRetry; ; pause = min(2*pause, lastRetry) {
		file, err := a.e.cache.Get(ctx, a.task.Digest)
		var digest *cache.DigestError
		switch {
		case err == nil:
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
		case errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT):
			return nil, &failure{message: "the disk of executor " + a.e.config.ID + " is full: its program does not fit into the cache"}
		}
		if ctx.Err() == nil || reason == nil {
			reason = err
		}
		a.e.log.Warn("a program could not be fetched; it is tried again", keyRun, a.task.Run, "digest", a.task.Digest, "after", pause, keyError, err)
		if waited(ctx, pause) {
			if a.ctx.Err() != nil {
				return nil, a.stoppedBefore()
			}
			return nil, &failure{message: fmt.Sprintf("its program could not be fetched for %v: %v", a.e.config.FetchTimeout.Round(time.Second), reason)}
		}
	}
}

func (a *attempt) stoppedBefore() *failure {
	return &failure{ended: true, message: "executor " + a.e.config.ID + " stopped before its program began"}
}
