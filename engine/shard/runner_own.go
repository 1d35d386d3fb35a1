package shard

import (
	"context"
	"sync"
	"time"
)

// ownership is a change of what a runner owns.
type ownership struct {
	shards  []int
	stopped chan struct{} // closed once the runner works on no others
}

// Own tells the runner which shards it owns from now on, and returns once it works on no others: none of its writes for
// them is under way any more. The error is ctx's.
func (r *Runner) Own(ctx context.Context, shards []int) error {
	o := ownership{shards: shards, stopped: make(chan struct{})}
	select {
	case r.owned <- o:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select {
	case <-o.stopped:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (r *Runner) change(ctx context.Context, machine *Machine, o ownership, results *listener, cancel context.CancelCauseFunc) {
	before := r.commits
	r.commits = new(sync.WaitGroup)
	r.loader.Shards = o.shards
	r.perform(ctx, machine.Step(time.Now(), Owned{Shards: o.shards}), results, cancel)
	r.goDo(func() {
		before.Wait()
		close(o.stopped)
	})
}
