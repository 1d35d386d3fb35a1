package service

import (
	"context"
	"fmt"
	"time"
)

// Clocks is how far apart the clocks of the nodes are, as their presences report.
type Clocks struct {
	// First is the host whose clock is behind all others, Last the one whose clock is before them; "" without nodes.
	First, Last string

	behind, before time.Duration
}

// add takes in a node.
func (c *Clocks) add(ahead *time.Duration, host string) {
	if c.First == "" || *ahead < c.behind {
		c.First, c.behind = host, *ahead
	}
	if c.Last == "" || *ahead > c.before {
		c.Last, c.before = host, *ahead
	}
}

// Apart is how far the clocks differ that differ most.
func (c *Clocks) Apart() time.Duration { return c.before - c.behind }

func (c *Clocks) words() string {
	return fmt.Sprintf("the clock of %s is about %s before that of %s", c.Last, c.Apart().Round(time.Second), c.First)
}

// Clocks compares the clocks of all nodes that say that they are alive. problem says in a sentence what is the matter;
// it is empty if they agree well enough.
func (s *Service) Clocks(ctx context.Context) (clocks Clocks, problem string, err error) {
	engines, err := s.Engines(ctx)
	if err != nil {
		return Clocks{}, "", err
	}
	executors, err := s.queue.Executors(ctx)
	if err != nil {
		return Clocks{}, "", err
	}
	for i := range engines.All {
		clocks.add(&engines.All[i].Ahead, engines.All[i].Host)
	}
	for i := range executors {
		clocks.add(&executors[i].Ahead, executors[i].Host)
	}
	if clocks.Apart() > clockTolerance {
		problem = clocks.words()
	}
	return clocks, problem, nil
}
