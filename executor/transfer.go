package executor

import (
	"context"
	"fmt"
	"time"
)

func (f *failure) Error() string { return f.message }

const (
	// transfersAtOnce bounds the artifacts of an attempt that are under way.
	transfersAtOnce = 4
	// slowest is how fast a transfer must be at least, in bytes a second: a slower one is given up.
	slowest = 1 << 20
)

// transfer tries until it is done, try says that there is no use, or the store has not answered for FetchTimeout. What
// is to be done is said in words: which thing, and that it is "fetched" or "stored".
func (a *attempt) transfer(ctx context.Context, which, done string, size int64, try func(context.Context) (again bool, err error)) error {
	// A try that is under way may take as long as its size needs; no new one begins after the time is over.
	over := time.Now().Add(a.e.config.FetchTimeout)
	ctx, cancel := context.WithDeadline(ctx, over.Add(time.Duration(size/slowest)*time.Second))
	defer cancel()
	for pause := firstRetry; ; pause = min(2*pause, lastRetry) {
		again, err := try(ctx)
		switch {
		case err == nil:
			return nil
		case !again || a.ctx.Err() != nil:
			return err
		case ctx.Err() != nil || time.Now().Add(pause).After(over):
			return &failure{unfetched: true, message: fmt.Sprintf("%s could not be %s for %v: %v", which, done, a.e.config.FetchTimeout, err)}
		}
		a.e.log.Warn(which+" could not be "+done+"; it is tried again", keyRun, a.task.Run, keyAttempt, a.task.Attempt, "after", pause, keyError, err)
		if waited(ctx, pause) {
			return err
		}
	}
}
