package executor

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/executor/process"
)

// noRunner must not be asked.
type noRunner struct{ t *testing.T }

func (r noRunner) Start(process.Command, io.Writer) (Running, error) {
	r.t.Error("the program was started")
	return nil, errors.New("it must not be started")
}

// An executor that goes on after a stop may come to the start of a program before any timer tells it that the lock is
// no longer its own.
func TestStartLooksAtTheLockItself(t *testing.T) {
	const margin = time.Second
	a := &attempt{
		e:     &Executor{runner: noRunner{t}},
		lease: &lease{until: time.Now().Add(margin), margin: margin}, // no timer watches it
	}
	a.ctx, a.cancel = context.WithCancelCause(t.Context())
	if _, err := a.start(process.Command{}); !errors.Is(err, errEnded) {
		t.Errorf("the start says %v", err)
	}
	if a.reason() != endLost || a.ctx.Err() == nil {
		t.Errorf("the attempt is to end for reason %d, its context says %v", a.reason(), a.ctx.Err())
	}
}
