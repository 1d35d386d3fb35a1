package core

import (
	"slices"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

// unwritten is what has been decided about one job or DAG and has not been handed out by Ready. Jobs and DAGs do not depend
// on each other: all of one is written at one time, after what was decided before, and a commit holds as many as it may.
type unwritten struct {
	uid    string
	number uint64    // in the order in which they began to have something to write
	since  time.Time // when that was

	waves    []*waveState
	runs     []*run // dirty, in the order in which they became so
	jobs     []*job // whose task is dirty
	slots    []*ledgerRange
	letters  []engine.DeadLetter
	unletter []string
	drops    []*run
	after    []Effect

	// What was acted upon.
	handled     []engine.JobHandled
	handledDAGs []engine.JobHandled
	done        []engine.CommandDone
}

// backlog holds what has not been handed out, the oldest first.
type backlog struct {
	of    map[string]*unwritten // by the uid of the job or DAG
	queue []*unwritten
	last  uint64 // number
}

// unwritten gives what is to be written about a job or DAG, to add to it.
func (c *Core) unwritten(uid string) *unwritten {
	b := &c.pending
	u := b.of[uid]
	if u == nil {
		b.last++
		u = &unwritten{uid: uid, number: b.last, since: c.now}
		b.of[uid] = u
		b.queue = append(b.queue, u)
	}
	return u
}

// owner is the uid of the job, or of the DAG that it is a task of.
func (j *job) owner() string {
	if j.dag != nil {
		return j.dag.uid
	}
	return j.uid
}

// take removes the oldest, which have no more than that many runs together, but one in any case.
func (b *backlog) take(most int) []*unwritten {
	n, runs := 0, 0
	for n < len(b.queue) && n < most {
		runs += b.queue[n].size()
		if n > 0 && runs > most {
			break
		}
		delete(b.of, b.queue[n].uid)
		n++
	}
	taken := b.queue[:n:n]
	if b.queue = b.queue[n:]; len(b.queue) == 0 {
		b.queue = nil
	}
	return taken
}

// size counts the runs that are to be written.
func (u *unwritten) size() int { return len(u.runs) + len(u.drops) }

// Mark names all that has been decided so far: it is durable once a batch is whose Upto is not lower.
func (c *Core) Mark() uint64 { return c.pending.last }

// puts reports whether a run is to be written.
func (u *unwritten) puts(id string) bool {
	return slices.ContainsFunc(u.runs, func(r *run) bool { return r.ID == id && !r.gone() })
}

// handled says that a revision of a job has been acted upon.
func (c *Core) handled(uid string, handled engine.JobHandled) {
	c.acting[uid]++
	u := c.unwritten(uid)
	u.handled = append(u.handled, handled)
}

// handledDAG says the same of a DAG.
func (c *Core) handledDAG(uid string, handled engine.JobHandled) {
	c.acting[uid]++
	u := c.unwritten(uid)
	u.handledDAGs = append(u.handledDAGs, handled)
}

// Acts reports whether the core has acted upon a job or DAG and the store does not know yet. Until it does it says that the
// job waits: to read it again each time would make more work the slower the store is.
func (c *Core) Acts(uid string) bool { return c.acting[uid] > 0 }

// cleared forgets that, once it is durable.
func (c *Core) cleared(decision *engine.Batch) {
	for _, list := range [][]engine.JobHandled{decision.Handled, decision.HandledDAGs} {
		for i := range list {
			if c.acting[list[i].UID]--; c.acting[list[i].UID] <= 0 {
				delete(c.acting, list[i].UID)
			}
		}
	}
}
