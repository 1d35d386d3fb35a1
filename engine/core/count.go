package core

import "github.com/tidewheel/tidewheel/engine"

// counts returns what a run adds to the counts of its namespace.
func (r *run) counts() (count engine.RunCount) {
	switch {
	case r.Status == engine.StatusRunning:
		count.Running = 1
	case r.Status == engine.StatusQueued, r.Status == engine.StatusRetrying, r.Status == engine.StatusScheduled && r.Waiting:
		count.Waiting = 1
	}
	return count
}

// count has the counts of a run's namespace follow what the run adds to them.
func (c *Core) count(r *run, now engine.RunCount) {
	if now == r.counted {
		return
	}
	sum := c.counts[r.Namespace].Add(now).Add(engine.RunCount{Waiting: -r.counted.Waiting, Running: -r.counted.Running})
	r.counted = now
	if sum == (engine.RunCount{}) {
		delete(c.counts, r.Namespace)
		return
	}
	c.counts[r.Namespace] = sum
}

// Count returns how many runs of a namespace wait, and run.
func (c *Core) Count(namespace string) engine.RunCount { return c.counts[namespace] }

// Counts adds how many runs of each namespace wait, and run.
func (c *Core) Counts(to map[string]engine.RunCount) {
	for namespace, count := range c.counts {
		to[namespace] = to[namespace].Add(count)
	}
}
