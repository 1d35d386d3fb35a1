package shard

import (
	"context"
	"sync"
	"time"
)

// ownership is a change of what a runner owns.
type ownership struct {
	shards  []int
	changed chan struct{} // closed once the runner begins nothing for others
	stopped chan struct{} // closed once it writes nothing for others
}

// Own sets the shards that the runner owns from now on. It returns once the runner begins nothing for others any more;
// stopped is closed once none of its writes for them is under way either. The error is ctx's.
func (r *Runner) Own(ctx context.Context, shards []int) (stopped <-chan struct{}, err error) {
	o := ownership{shards: shards, changed: make(chan struct{}), stopped: make(chan struct{})}
	select {
	case r.owned <- o:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	select {
	case <-o.changed:
		return o.stopped, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (r *Runner) change(ctx context.Context, machine *Machine, o ownership, results *listener, cancel context.CancelCauseFunc) {
	before := r.commits
	r.commits = new(sync.WaitGroup)
	r.perform(ctx, machine.Step(time.Now(), Owned{Shards: o.shards}), results, cancel)
	close(o.changed)
	r.goDo(func() {
		before.Wait()
		close(o.stopped)
	})
}
