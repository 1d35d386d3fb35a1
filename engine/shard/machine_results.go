package shard

import (
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

// onResults passes on what executors report. Results that the core cannot place are of runs that have ended, most likely:
// they come again after a restart. But where somebody else has made the run, or its attempt, in the belief to own the
// shard, an acknowledgement would take from the true owner what it may not have seen: so the store is asked first.
func (m *Machine) onResults(out *actions, now time.Time, in Results) {
	var strange []engine.Result
	for i := range in.Results {
		if !m.core.Places(&in.Results[i]) {
			strange = append(strange, in.Results[i])
		}
	}
	m.step(out, now, engine.ResultsReceived{Results: in.Results})
	m.arrive(in.Receipt)
	if len(strange) > 0 {
		m.strange++
		out.add(ReadStrange{Epoch: m.epoch, Results: strange})
	}
}

// fall begins anew, once no commit is under way: what is read then has it.
func (m *Machine) fall(out *actions, now time.Time) {
	if m.commit == nil || !m.commitAt.IsZero() {
		m.reset(out, now, m.doomed)
	}
}

// onStrange begins anew where a run that the core does not know has not ended: then results come again, and meet it.
func (m *Machine) onStrange(out *actions, now time.Time, in StrangeRead) {
	if in.Failed {
		out.add(ReadStrange{Epoch: m.epoch, Results: in.Results}) // the driver waits before it answers
		return
	}
	stored := map[string]*engine.Run{}
	for i := range in.Runs {
		stored[in.Runs[i].ID] = &in.Runs[i]
	}
	for i := range in.Results {
		result := &in.Results[i]
		if run := stored[result.Run]; run != nil && !run.Status.Terminal() && result.Attempt >= run.Attempt {
			m.doomed = "run " + run.ID + " was made by somebody else, and there is news of it"
			m.fall(out, now)
			return
		}
	}
	var dead []engine.Run
	for i := range in.Results {
		result := &in.Results[i]
		if run := stored[result.Run]; run != nil && run.Status == engine.StatusDead && result.Attempt == run.Attempt && result.Ends() {
			dead = append(dead, *run)
		}
	}
	if len(dead) > 0 {
		m.step(out, now, engine.FoundDead{Runs: dead})
	}
	if m.strange--; m.strange == 0 {
		for _, receipt := range m.withheld {
			m.arrive(receipt)
		}
		m.withheld = nil
	}
}

// arrived is a delivery that has led to nothing beyond the mark.
type arrived struct {
	receipt Receipt
	mark    uint64
}

func (m *Machine) arrive(receipt Receipt) {
	m.arrived = append(m.arrived, arrived{receipt: receipt, mark: m.core.Mark()})
}
