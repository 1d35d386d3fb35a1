package core

import (
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/incident"
)

// unwritten is what has been decided about one job or DAG and has not been handed out by Ready. Jobs and DAGs do not depend
// on each other: all of one is written at one time, after what was decided before, and a commit holds as many as it may.
type unwritten struct {
	uid    string
	number uint64    // in the order in which they began to have something to write
	since  time.Time // when that was

	waves     []*waveState
	runs      []*run // dirty, in the order in which they became so
	jobs      []*job // whose task is dirty
	slots     []*ledgerRange
	letters   []engine.DeadLetter
	incidents []*incident.Entry
	unletter  []string
	drops     []*run
	after     []Effect

	// What was acted upon.
	handled []engine.JobHandled
	ofDAG   bool // they are revisions of a DAG
	done    []engine.CommandDone
}

// backlog holds what has not been handed out, the oldest first.
type backlog struct {
	of    map[string]*unwritten // by the uid of the job or DAG
	queue []*unwritten
	last  uint64 // number
}

// about returns what is to be written about a job or DAG, to add to it.
func (b *backlog) about(uid string, now time.Time) *unwritten {
	u := b.of[uid]
	if u == nil {
		b.last++
		u = &unwritten{uid: uid, number: b.last, since: now}
		b.of[uid] = u
		b.queue = append(b.queue, u)
	}
	return u
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
