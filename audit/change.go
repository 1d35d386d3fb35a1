package audit

import (
	"context"
	"fmt"
	"sync"
)

// Change is one thing that a request has changed.
type Change struct {
	What   string `json:"what"`             // "job nightly-report"
	Before string `json:"before,omitempty"` // what it was, in short: "generation 3"; "" for what was not there
	After  string `json:"after,omitempty"`  // what it is now; "" for what is gone
}

// mostChanges is how many changes of one request are kept one by one.
const mostChanges = 100

// Changes are what a request has changed, as the code that changes it says on the way. It is safe for concurrent use: a
// request may change many things at once.
type Changes struct {
	mu        sync.Mutex
	namespace string
	list      []Change
	more      int
}

type changesKey struct{}

// Collect returns a context in which Describe adds to the changes.
func Collect(ctx context.Context) (context.Context, *Changes) {
	changes := &Changes{}
	return context.WithValue(ctx, changesKey{}, changes), changes
}

// Describe records what a request changes in a namespace. It does nothing where no request is recorded.
func Describe(ctx context.Context, namespace string, change Change) {
	changes, collected := ctx.Value(changesKey{}).(*Changes)
	if !collected {
		return
	}
	changes.mu.Lock()
	defer changes.mu.Unlock()
	if namespace != "" {
		changes.namespace = namespace
	}
	if len(changes.list) >= mostChanges {
		changes.more++
		return
	}
	change.What, change.Before, change.After = shortened(change.What), shortened(change.Before), shortened(change.After)
	changes.list = append(changes.list, change)
}

// Fill puts the changes into an entry.
func (c *Changes) Fill(entry *Entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.namespace != "" {
		entry.Namespace = c.namespace
	}
	if entry.Changes = c.list; c.more > 0 {
		entry.Changes = append(entry.Changes, Change{What: fmt.Sprintf("and %d more", c.more)})
	}
}
