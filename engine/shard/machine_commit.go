package shard

import (
	"errors"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/core"
)

// How long after the beginning of a commit the next one begins at the earliest: gatherEach for each run in it, between
// none at all for a few and gatherMost. Thousands of runs a second are so written in fewer and larger commits: they
// share what a commit costs beside its runs, and a run that starts and ends meanwhile is written once.
const (
	gatherEach = 250 * time.Microsecond
	gatherMost = 10 * time.Millisecond
	gatherFew  = 8
)

// gatherFor returns how long after a commit of some runs the next one waits.
func gatherFor(runs int) time.Duration {
	if runs < gatherFew {
		return 0
	}
	return min(time.Duration(runs)*gatherEach, gatherMost)
}

// beginCommit takes what the cores have decided, unless a commit is under way: then it gathers and goes with the next. The
// shards take turns where all of it is too much for one.
func (m *Machine) beginCommit(out *actions, now time.Time) {
	m.gathering = false
	if m.writing {
		return
	}
	if now.Before(m.gather) {
		m.gathering = true
		return
	}
	var commit Commit
	runs := 0
	for i := range engine.Shards {
		shard := (m.first + i) % engine.Shards
		u := m.at(shard)
		if u == nil || !m.decide(out, now, u) {
			continue
		}
		commit.Seats = append(commit.Seats, u.seat)
		commit.Commits = append(commit.Commits, engine.ShardCommit{Shard: shard, Term: u.term, Position: u.position + 1, Batch: u.commit.Batch})
		if runs += len(u.commit.Batch.Runs); runs >= m.config.Core.CommitRuns {
			m.first = shard + 1
			break
		}
	}
	if len(commit.Seats) == 0 {
		return
	}
	m.writing = true
	m.gather = now.Add(gatherFor(runs))
	out.add(commit)
}

// decide reports whether the unit has something to write now: what has failed before, what its core has decided, or nothing,
// to find out whether the shard is still this engine's. What needs no writing is done at once.
func (m *Machine) decide(out *actions, now time.Time, u *unit) bool {
	if u.commit != nil {
		if now.Before(u.commitAt) {
			return false
		}
		u.commitAt = time.Time{}
		return true
	}
	ready := u.core.Ready()
	for ready != nil && ready.Batch.Empty() && !u.stood {
		m.settle(out, u, ready)
		ready = u.core.Ready()
	}
	if ready == nil {
		u.durable = u.core.Mark()
		checkEvery := m.config.CheckEvery
		u.acknowledge(out, checkEvery > 0)
		due := checkEvery > 0 && !now.Before(u.begun.Add(checkEvery))
		if len(u.held) == 0 && len(u.arrived) == 0 && !due {
			return false
		}
		ready = &core.Ready{Batch: &engine.Batch{}}
	}
	u.commit, u.begun = ready, now
	u.number++
	return true
}

// onCommitted continues with each shard whose decision is durable, tries it again where that is not known, and leaves those
// that another engine has taken over.
func (m *Machine) onCommitted(out *actions, now time.Time, in Committed) {
	m.writing = false
	for i, seat := range in.Seats {
		u := m.unit(seat)
		switch err := in.Errors[i]; {
		case u == nil:
		case errors.Is(err, engine.ErrFenced):
			m.fall(out, now, u)
		case err != nil:
			u.commitAt = now.Add(m.wait(u.commitFail))
			u.commitFail++
		default:
			m.committed(out, u)
			u.acknowledge(out, m.config.CheckEvery > 0)
		}
	}
}

// committed performs what waited for the commit.
func (m *Machine) committed(out *actions, u *unit) {
	commit := u.commit
	u.commit, u.commitFail = nil, 0
	u.position++
	u.proved = u.number
	if u.stood && u.stoodAt < u.proved {
		u.stood = false
		for _, effect := range u.held {
			u.perform(out, effect)
		}
		u.held = nil
	}
	decision := commit.Batch
	for i := range decision.Done {
		delete(u.commands, decision.Done[i].ID)
	}
	if m.sweepMore && len(decision.Handled)+len(decision.HandledDAGs)+len(decision.Done) > 0 && !m.sweeping {
		m.sweepMore, m.sweepAt = false, time.Time{}
	}
	m.settle(out, u, commit)
}

// settle performs what waited for a decision that is durable.
func (m *Machine) settle(out *actions, u *unit, ready *core.Ready) {
	for _, effect := range ready.After {
		if publish, ok := effect.(core.Publish); ok && !u.core.Awaits(publish.Task.Run, publish.Task.Attempt) {
			continue
		}
		m.perform(out, u, effect)
	}
	u.core.Committed(ready)
	u.durable = max(u.durable, ready.Upto)
}
