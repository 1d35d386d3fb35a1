package shard

import (
	"slices"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

// onRecovered begins the work once all runs that have not ended are in memory.
func (m *Machine) onRecovered(out *actions, now time.Time, in Recovered) {
	if m.phase != phaseRecover {
		return
	}
	if in.Failed {
		m.failures++
		m.phaseAt = now.Add(m.wait(m.failures))
		return
	}
	m.phase, m.failures = phaseRun, 0
	m.pollAt, m.sweepAt = now, now
	m.step(out, now, in.Jobs)
	out.add(Listen{Epoch: m.epoch})
}

// onPolled loads the due jobs that are not in memory yet.
func (m *Machine) onPolled(out *actions, now time.Time, in Polled) {
	m.polls = false
	if in.Failed {
		m.horizon = m.polling // the next poll covers the same span again
		m.pollAt = now.Add(m.wait(m.pollFail))
		m.pollFail++
		return
	}
	m.pollFail = 0
	m.pollAt = now.Add(m.config.PollEvery)
	m.load(out, in.UIDs)
}

// load asks for jobs in chunks. A job that is being loaded already is loaded again afterwards.
func (m *Machine) load(out *actions, uids []string) {
	var fresh []string
	for _, uid := range uids {
		if m.loading[uid] {
			m.again[uid] = true
			continue
		}
		m.loading[uid] = true
		m.core.Hold(uid)
		fresh = append(fresh, uid)
	}
	for chunk := range slices.Chunk(fresh, m.config.LoadChunk) {
		out.add(Load{Epoch: m.epoch, UIDs: chunk, Due: m.due()})
	}
}

func (m *Machine) onLoaded(out *actions, now time.Time, in Loaded) {
	if in.Failed {
		// The driver waits before it answers, so this does not spin.
		out.add(Load{Epoch: m.epoch, UIDs: in.UIDs, Again: in.Again + 1, Due: m.due()})
		return
	}
	m.step(out, now, in.Jobs)
	var again []string
	for _, uid := range in.UIDs {
		delete(m.loading, uid)
		m.core.LetGo(uid)
		if m.again[uid] {
			delete(m.again, uid)
			again = append(again, uid)
		}
	}
	m.load(out, again)
}

// onSwept looks at what was left in the store.
func (m *Machine) onSwept(out *actions, now time.Time, in Swept) {
	m.sweeping = false
	m.sweepAt = now.Add(m.config.SweepEvery)
	if in.Failed {
		return // the next sweep comes soon enough
	}
	var fresh []string
	for _, uid := range in.Pending { // a sweep says nothing of a job that its load will not
		if !m.loading[uid] && !m.core.Acts(uid) {
			fresh = append(fresh, uid)
		}
	}
	m.load(out, fresh)
	for _, command := range in.Commands {
		if !m.commands[command.ID] {
			m.commands[command.ID] = true
			m.core.Hold(command.JobUID)
			out.add(LoadCommand{Epoch: m.epoch, Command: command, Due: m.due()})
		}
	}
	if m.sweepAgain {
		m.sweepAt, m.sweepAgain = now, false
	}
	m.sweepMore = in.More
}

// onReconciled loads jobs and DAGs of which the store has runs or waves that the core does not know.
func (m *Machine) onReconciled(out *actions, in Reconciled) {
	var fresh []string
	seen := map[string]bool{}
	for _, run := range in.Runs {
		if !m.core.KnowsRun(run.JobUID, run.ID, run.Revision) && !seen[run.JobUID] && !m.loading[run.JobUID] {
			seen[run.JobUID] = true
			fresh = append(fresh, run.JobUID)
		}
	}
	for _, wave := range in.Waves {
		if !m.core.KnowsWave(wave.DAGUID, wave.ID) && !seen[wave.DAGUID] && !m.loading[wave.DAGUID] {
			seen[wave.DAGUID] = true
			fresh = append(fresh, wave.DAGUID)
		}
	}
	// A former owner may have planned something within the horizon that had been polled already, and said that it is handled.
	for _, uid := range in.Overdue {
		if !m.core.Holds(uid) && !seen[uid] && !m.loading[uid] {
			fresh = append(fresh, uid)
		}
	}
	m.load(out, fresh)
}

func (m *Machine) onCommandLoaded(out *actions, now time.Time, in CommandLoaded) {
	defer m.core.LetGo(in.Command.JobUID)
	if in.Failed {
		delete(m.commands, in.Command.ID) // the next sweep finds it again
		return
	}
	m.step(out, now, engine.CommandReceived{Command: in.Command, Snapshot: in.Snapshot, Run: in.Run, Binaries: in.Binaries, DAG: in.DAG, Wave: in.Wave, WaveRuns: in.WaveRuns})
}

func (m *Machine) onWoken(out *actions, now time.Time, wake engine.Wake) {
	if m.phase != phaseRun {
		return
	}
	switch wake.Kind {
	case engine.WakeJob, engine.WakeDAG:
		if !m.others[engine.ShardOf(wake.Key)] {
			m.load(out, []string{wake.Key})
		}
	case engine.WakeCommand:
		if !m.sweeping {
			m.sweeping = true
			out.add(Sweep{Epoch: m.epoch})
		} else {
			m.sweepAgain = true
		}
	case engine.WakeTask:
		m.step(out, now, engine.TaskDropped{Run: wake.Key, Attempt: wake.Attempt})
	case engine.WakeBinary:
		if m.core.KnowsBinary(wake.Key) {
			out.add(ReadBinaries{Epoch: m.epoch, Keys: []string{wake.Key}})
		}
	}
}
