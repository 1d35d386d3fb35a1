package auth

import (
	"context"
	"sync"
	"time"
)

// Ended remembers for all web nodes which sessions were ended before their time.
type Ended interface {
	// EndSession keeps for a time that a session was ended.
	EndSession(ctx context.Context, id string, life time.Duration) error
	SessionEnded(ctx context.Context, id string) (bool, error)
}

const (
	// lookAgain is how long a node trusts that a session was not ended on another one.
	lookAgain = 3 * time.Second
	// lookLimit is how long a request waits for the answer.
	lookLimit = 2 * time.Second
	// sessionsRemembered is at how many sessions the node forgets those that it has not looked for lately.
	sessionsRemembered = 1000
)

// endedHere is what this node knows of ended sessions.
type endedHere struct {
	mu     sync.Mutex
	ended  map[string]time.Time // until when a session would have lasted
	looked map[string]time.Time // when a session that goes on was looked for last
}

// end remembers that a session is over.
func (e *endedHere) end(id string, now, until time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for other, over := range e.ended {
		if now.After(over) {
			delete(e.ended, other)
		}
	}
	if e.ended == nil {
		e.ended = make(map[string]time.Time)
	}
	e.ended[id] = until
	delete(e.looked, id)
}

// knows reports whether a session is over, and whether that is known for now.
func (e *endedHere) knows(id string, now time.Time) (over, known bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, over := e.ended[id]; over {
		return true, true
	}
	at, known := e.looked[id]
	return false, known && now.Sub(at) < lookAgain
}

func (e *endedHere) goesOn(id string, now time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.looked == nil || len(e.looked) >= sessionsRemembered {
		e.looked = make(map[string]time.Time)
	}
	e.looked[id] = now
}

// isEnded reports whether a session was ended. While the nodes' common memory is away, what this node knows counts: the
// pages that say what is wrong must be seen then.
func (g *Guard) isEnded(ctx context.Context, id string) bool {
	now := g.config.Now()
	if over, known := g.here.knows(id, now); known || g.config.Ended == nil {
		return over
	}
	ctx, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	over, err := g.config.Ended.SessionEnded(ctx, id)
	if err == nil && over {
		g.here.end(id, now, now.Add(g.config.SessionLife))
		return true
	}
	g.here.goesOn(id, now)
	return false
}
