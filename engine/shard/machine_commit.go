package shard

import (
	"fmt"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

// How long after the beginning of a commit the next one begins at the earliest: gatherEach for each run in it, between
// none at all for a few and gatherMost. Thousands of runs a second are so written in fewer and larger commits: they
// share what a commit costs beside its runs, and a run that starts and ends meanwhile is written once.
const (
	gatherEach = 250 * time.Microsecond
	gatherMost = 10 * time.Millisecond
	gatherFew  = 8
)

// standstill is how long Step is not called only where the engine stood still: it is at least once a SweepEvery. An engine
// that stood still may have lost its shards without knowing, for longer than the queue remembers a claim.
const standstill = 3 * time.Second

// gatherFor tells how long after a commit of some runs the next one waits.
func gatherFor(runs int) time.Duration {
	if runs < gatherFew {
		return 0
	}
	return min(time.Duration(runs)*gatherEach, gatherMost)
}

// beginCommit takes what the core has decided, unless a commit is under way: then it gathers and goes with the next.
func (m *Machine) beginCommit(out *actions, now time.Time) {
	m.gathering = false
	if m.commit != nil || m.phase != phaseRun {
		return
	}
	if now.Before(m.gather) {
		m.gathering = true
		return
	}
	ready := m.core.Ready()
	for ready != nil && ready.Batch.Empty() {
		for _, effect := range ready.After {
			out.add(Perform{Epoch: m.epoch, Effect: effect})
		}
		m.core.Committed(ready)
		m.acknowledgeUpTo(out, ready.Upto)
		ready = m.core.Ready()
	}
	if ready == nil {
		m.acknowledgeUpTo(out, m.core.Mark())
		return
	}
	m.commit, m.begun = ready, now
	m.gather = now.Add(gatherFor(len(ready.Batch.Runs)))
	m.parts = ready.Batch.Parts()
	m.writePart(out)
}

// writePart writes the first part that is not durable.
func (m *Machine) writePart(out *actions) {
	m.writing = m.epoch
	out.add(Commit{Epoch: m.epoch, Batch: m.parts[0]})
}

// onCommitted goes on once a batch is durable, or tries it again.
func (m *Machine) onCommitted(out *actions, now time.Time, in Committed) {
	if m.commit == nil {
		return
	}
	if m.doomed != "" {
		m.reset(out, now, m.doomed)
		return
	}
	if in.Failed {
		m.commitAt = now.Add(m.wait(m.commitFail))
		m.commitFail++
		return
	}
	m.commitFail = 0
	var refused []string
	for _, conflict := range in.Conflicts {
		if conflict.Kind != "run" || !m.inserted(conflict.ID) {
			m.reset(out, now, fmt.Sprintf("%s %s was changed by somebody else", conflict.Kind, conflict.ID))
			return
		}
		refused = append(refused, conflict.ID)
	}
	if len(refused) > 0 { // somebody was first to make these runs: what they are decides how it goes on
		out.add(ReadRefused{Epoch: m.epoch, IDs: refused})
		return
	}
	m.nextPart(out, now)
}

// nextPart goes on with the next part of the commit, or is done with it.
func (m *Machine) nextPart(out *actions, now time.Time) {
	if m.parts = m.parts[1:]; len(m.parts) > 0 {
		m.writePart(out)
		return
	}
	found := m.refused
	m.refused = nil
	refused := map[string]bool{}
	for i := range found {
		if !found[i].Status.Terminal() && m.core.Heard(found[i].ID) {
			m.reset(out, now, "run "+found[i].ID+" was made by somebody else, and there is news of it")
			return
		}
		refused[found[i].ID] = true
	}
	m.settle(out, now, refused)
	for i := range found {
		m.step(out, now, engine.InsertRefused{Stored: found[i]})
	}
}

// inserted reports whether a run is one of a job that the commit made. Of a DAG's tasks, others have followed from what
// this one believed of the wave, so that there is nothing to go on with.
func (m *Machine) inserted(id string) bool {
	for i := range m.commit.Batch.Runs {
		if run := &m.commit.Batch.Runs[i].Run; run.ID == id {
			return !m.commit.Batch.Runs[i].Halts()
		}
	}
	return false
}

// onRefused tells the core what the refused runs are, and goes on with the rest of the commit.
func (m *Machine) onRefused(out *actions, now time.Time, in RefusedRead) {
	if m.commit == nil {
		return
	}
	if m.doomed != "" {
		m.reset(out, now, m.doomed)
		return
	}
	if in.Failed {
		m.commitAt = now.Add(m.wait(m.commitFail)) // the batch may be written again: what was refused stays refused
		m.commitFail++
		return
	}
	if len(in.Runs) < in.Asked {
		m.reset(out, now, "a run that was there is not there any more")
		return
	}
	m.refused = append(m.refused, in.Runs...)
	m.nextPart(out, now)
}

// settle performs what waited for the commit, but for runs that were refused, and acknowledges what led to it.
func (m *Machine) settle(out *actions, now time.Time, refused map[string]bool) {
	commit := m.commit
	m.commit = nil
	for _, effect := range commit.After {
		if publish, ok := effect.(engine.Publish); ok {
			switch {
			case refused[publish.Task.Run] || !m.core.Awaits(publish.Task.Run, publish.Task.Attempt):
				continue
			case m.stood.After(m.begun):
				m.core.Affirm(publish.Task.Run)
				continue
			}
		}
		out.add(Perform{Epoch: m.epoch, Effect: effect})
	}
	for _, id := range commit.Batch.Commands {
		delete(m.commands, id)
	}
	if m.sweepMore && len(commit.Batch.Handled)+len(commit.Batch.HandledDAGs)+len(commit.Batch.Commands) > 0 && !m.sweeping {
		m.sweepMore, m.sweepAt = false, time.Time{}
	}
	m.core.Committed(commit)
	m.acknowledgeUpTo(out, commit.Upto)
}

// acknowledgeUpTo acknowledges what has led to nothing beyond this mark.
func (m *Machine) acknowledgeUpTo(out *actions, mark uint64) {
	n := 0
	for n < len(m.arrived) && m.arrived[n].mark <= mark {
		m.acknowledge(out, m.arrived[n].receipt)
		n++
	}
	m.arrived = m.arrived[n:]
}

func (m *Machine) acknowledge(out *actions, receipt Receipt) {
	if m.strange > 0 {
		m.withheld = append(m.withheld, receipt)
		return
	}
	out.add(Acknowledge{Receipt: receipt})
}
