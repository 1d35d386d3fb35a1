package core

import "github.com/tidewheel/tidewheel/engine"

// Effect is something to be done outside the store. The set is closed. Effects are idempotent: each may be done
// again after a crash.
type Effect interface{ effect() }

// Publish asks executors to run an attempt; answered by TaskPublished.
type Publish struct{ Task *engine.Task }

// Revoke takes a queued attempt back; answered by AttemptRevoked, and by a result of kind revoked.
type Revoke struct {
	Shard   int
	Run     string
	Attempt int
	Tier    string
	Class   string
	RunsOn  map[string]string
}

// Inspect asks the queue how an attempt stands: whether its task waits there, what came of it, and whether it holds one of
// these locks; answered by AttemptInspected.
type Inspect struct {
	Shard   int
	Run     string
	Attempt int
	Locks   []string
	// Where its task waits; not asked for where Tier is "".
	Tier   string
	Class  string
	RunsOn map[string]string
}

// DeclareLost ends an attempt whose lock has gone, unless it reported something after the message with this sequence.
// The answer comes as a result of kind lost or finished.
type DeclareLost struct {
	Shard   int
	Run     string
	Attempt int
	After   uint64
}

// Ask asks the executor of a running attempt to end its program, or allows it to begin it. It may be lost.
type Ask struct{ engine.Control }

// LookUpRuns asks which of these runs exist; answered by RunsLookedUp.
type LookUpRuns struct {
	Command engine.Command
	IDs     []string
}

// Notify sends the notifier the beginning of an incident, or, where Over is set, its end, after the beginning. The answer is
// IncidentNotified.
type Notify struct{ engine.Incident }

func (Publish) effect()     {}
func (Revoke) effect()      {}
func (Inspect) effect()     {}
func (DeclareLost) effect() {}
func (Ask) effect()         {}
func (LookUpRuns) effect()  {}
func (Notify) effect()      {}
