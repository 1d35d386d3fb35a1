package engine

import (
	"fmt"
	"time"

	"github.com/tidewheel/tidewheel/spec"
)

// Presence is what an executor says of itself every few seconds.
type Presence struct {
	ID      string            `json:"id"`
	Host    string            `json:"host"`
	PID     int               `json:"pid"`
	Version string            `json:"version"`
	Tiers   []spec.Tier       `json:"tiers"` // its own first
	Slots   int               `json:"slots"`
	Running []RunningAttempt  `json:"running"`
	Labels  map[string]string `json:"labels,omitempty"`
	// Isolation is what keeps its programs from it and from each other, as process.Isolation; "" of an earlier version.
	Isolation string `json:"isolation,omitempty"`
	// Rights are what it may do at the queue; "" of an earlier version.
	Rights   Rights `json:"rights,omitempty"`
	Draining bool   `json:"draining,omitempty"`
	// Drain is the last order of an operator; nil if there was none.
	Drain *DrainOrder `json:"drain,omitempty"`
	// Refused are the tasks that it has refused; nil: none.
	Refused *Refusals `json:"refused,omitempty"`
	// Ahead estimates how far its clock is ahead of the clock of the queue's server; negative: behind. A queue returns a
	// presence with Seen by the server's clock.
	Ahead time.Duration `json:"-"`
	Since time.Time     `json:"since"`
	Seen  time.Time     `json:"seen"`
}

// Rights are what an executor may do at the queue.
type Rights string

// The rights.
const (
	RightsOfTier Rights = "tier" // it is enrolled: what the tasks of its tiers need
	RightsOfNode Rights = "node" // everything, as its node has the store anyway
	RightsWide   Rights = "wide" // everything, with credentials that open everything
)

// RefusalReason is why an executor refuses a task.
type RefusalReason string

// The reasons.
const (
	RefusedForged   RefusalReason = "forged"   // it has no signature, or one of a key that the executor does not trust
	RefusedAltered  RefusalReason = "altered"  // it is not what was signed
	RefusedExpired  RefusalReason = "expired"  // it was signed too long ago
	RefusedReplayed RefusalReason = "replayed" // it is old, and no engine confirmed that its run waits
)

// RefusalReasons lists the reasons.
func RefusalReasons() []RefusalReason {
	return []RefusalReason{RefusedForged, RefusedAltered, RefusedExpired, RefusedReplayed}
}

// Refusals are what an executor has refused since it began.
type Refusals struct {
	Count int64         `json:"count"`
	Last  RefusalReason `json:"last"`
	Why   string        `json:"why"` // of the last, in words
	At    time.Time     `json:"at"`  // of the last
}

// DrainOrder is what an operator wants of an executor.
type DrainOrder struct {
	Draining bool      `json:"draining"` // true: it takes nothing new, and lets end what it runs; false: it is as before
	By       string    `json:"by"`
	At       time.Time `json:"at"`
	// Revision grows with every order to the same executor.
	Revision uint64 `json:"-"`
}

// EnginePresence is what an engine says of itself every few seconds.
type EnginePresence struct {
	ID      string    `json:"id"` // of one process: one that begins again has another
	Host    string    `json:"host"`
	PID     int       `json:"pid"`
	Version string    `json:"version"`
	Shards  int       `json:"shards"` // how many it works on
	Leaving bool      `json:"leaving,omitempty"`
	Since   time.Time `json:"since"`
	Seen    time.Time `json:"seen"`
	// Behind is for how long the oldest of its decisions has waited for the store, 0 if that keeps up; Unwritten is how many
	// jobs and DAGs have such.
	Behind    time.Duration `json:"behind,omitempty"`
	Unwritten int           `json:"unwritten,omitempty"`
	// Held are the queued runs whose tasks it keeps back from the queue; nil: none.
	Held []HeldRuns `json:"held,omitempty"`
	// Namespaces count the runs of its shards that have not ended, by namespace; nil: there are none.
	Namespaces map[string]RunCount `json:"namespaces,omitempty"`
	// Ahead is as in Presence.
	Ahead time.Duration `json:"-"`
}

// HeldRuns counts the queued runs of a tier and class whose tasks an engine keeps back from the queue, which has enough of the same
// namespace.
type HeldRuns struct {
	Tier  spec.Tier  `json:"tier"`
	Class spec.Class `json:"class"`
	Runs  int        `json:"runs"`
}

// RunCount counts runs that have not ended. Those that are planned for later are in neither.
type RunCount struct {
	Waiting int `json:"waiting"` // queued, waiting for another run to end, or for the next attempt
	Running int `json:"running"`
}

// Add returns the sum of two counts.
func (c RunCount) Add(other RunCount) RunCount {
	return RunCount{Waiting: c.Waiting + other.Waiting, Running: c.Running + other.Running}
}

// behindAfter is how long a decision may wait for a store that keeps up.
const behindAfter = 5 * time.Second

// Waits says in the presence how far the store is behind: it has yet to write decisions about so many jobs and DAGs, of
// which the oldest was made at since; zero if there are none.
func (e *EnginePresence) Waits(unwritten int, since, now time.Time) {
	e.Behind, e.Unwritten = 0, 0
	if behind := now.Sub(since); !since.IsZero() && behind >= behindAfter {
		e.Behind, e.Unwritten = behind, unwritten
	}
}

// Slow says in a sentence that the store is slower than what is asked of it, "" if it keeps up.
func (e *EnginePresence) Slow() string {
	if e.Behind == 0 {
		return ""
	}
	return fmt.Sprintf("the store is slower than what is asked of it: runs start late, decisions about %d jobs and DAGs wait to be written, the oldest for %s",
		e.Unwritten, e.Behind.Round(time.Second))
}

// RunningAttempt is one of the attempts that an executor runs.
type RunningAttempt struct {
	Run     string    `json:"run"`
	Attempt int       `json:"attempt"`
	Job     string    `json:"job"`
	Since   time.Time `json:"since"`
}

// Control is a request to the executor that runs an attempt, or to one executor by its name.
type Control struct {
	Kind     ControlKind `json:"kind"`
	Run      string      `json:"run,omitempty"`
	Attempt  int         `json:"attempt,omitempty"`
	Executor string      `json:"executor,omitempty"`
	Token    uint64      `json:"token,omitempty"` // of the claim that is meant
}

// ControlKind is what is asked.
type ControlKind string

// The kinds.
const (
	ControlCancel ControlKind = "cancel" // end the process: SIGTERM, grace, SIGKILL
	ControlWatch  ControlKind = "watch"  // send the recent output and what follows, for the next 15 seconds
	ControlDrain  ControlKind = "drain"  // the executor looks for the order that was left for it
	ControlBegin  ControlKind = "begin"  // the claim by this executor with this token is durable: its program may begin
)

// LogFrame is a piece of an attempt's output for those who watch it live.
type LogFrame struct {
	Run     string `json:"run"`
	Attempt int    `json:"attempt"`
	Offset  int64  `json:"offset"` // of Data's first byte in the whole output
	Data    []byte `json:"data"`
	End     bool   `json:"end,omitempty"` // nothing follows
	// Marks are those of the output from the piece of Data's first byte on; of the first frame to a watcher, all.
	Marks []byte `json:"marks,omitempty"`
}

// QueueDepth is what waits and runs in one tier and class, what is for executors with certain labels included.
type QueueDepth struct {
	Tier    spec.Tier  `json:"tier"`
	Class   spec.Class `json:"class"`
	Waiting uint64     `json:"waiting"` // published, and begun by no executor
	// Claimed is how many of those are in the hands of an executor that has not begun them, or were given back by one.
	Claimed uint64 `json:"claimed"`
	Pulls   int    `json:"pulls"` // requests of idle executors, for what any of the tier may run
	// Oldest is when the first of the waiting tasks was published; zero when none waits.
	Oldest time.Time `json:"oldest,omitzero"`
	// Pools tell how much of that is for executors with certain labels, in the order of the labels.
	Pools []PoolDepth `json:"pools,omitempty"`
}

// MaxPools is how many different tiers and sets of labels may be in use at once. A queue keeps those apart, which costs it
// something for each.
const MaxPools = 64

// PoolDepth is what waits and runs in one tier and class for executors that have certain labels.
type PoolDepth struct {
	RunsOn  map[string]string `json:"runs_on"`
	Waiting uint64            `json:"waiting"`
	Claimed uint64            `json:"claimed"`
	Pulls   int               `json:"pulls"`
	Oldest  time.Time         `json:"oldest,omitzero"`
}
