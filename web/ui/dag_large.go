package ui

import (
	"context"

	"github.com/tidewheel/tidewheel/spec"
)

const (
	// largeText is from how many bytes on a definition counts as large, and largeDAG from how many tasks and needs on.
	largeText = 128 << 10
	largeDAG  = 10_000
)

// turn lets one request at a time read, write or compare a large definition: that takes a few hundred times its size in
// memory for a moment, and many at once would take it from the runs. Small definitions do not wait.
type turn chan struct{}

func newTurn() turn { return make(turn, 1) }

// wait returns when it is the caller's turn, who calls leave afterwards.
func (t turn) wait(ctx context.Context, large bool) (leave func(), err error) {
	if !large {
		return func() {}, nil
	}
	select {
	case t <- struct{}{}:
		return func() { <-t }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// isLarge reports whether a DAG counts as large.
func isLarge(d *spec.DAG) bool {
	size := len(d.Tasks)
	for i := range d.Tasks {
		size += len(d.Tasks[i].Needs)
	}
	return size > largeDAG
}
