package wire

import (
	"time"

	"github.com/tidewheel/tidewheel/spec"
)

// Executor is what an executor says of itself.
type Executor struct {
	ID      string            `json:"id"`
	Host    string            `json:"host"`
	PID     int               `json:"pid"`
	Version string            `json:"version"`
	Tiers   []spec.Tier       `json:"tiers" doc:"Its own first"`
	Slots   int               `json:"slots" doc:"How many runs it takes at a time"`
	Running []RunningAttempt  `json:"running"`
	Labels  map[string]string `json:"labels,omitempty" doc:"What jobs may ask for by runs_on"`
	// Isolation is what keeps programs from the executor and from each other.
	Isolation string `json:"isolation,omitempty" enum:"strict,own-user,own-domain,shared-user,none" doc:"What keeps programs apart: strict: each attempt runs in mount, PID and IPC namespaces of its own, as a user of its own where the executor can change users; own-user: each attempt runs as a user of its own; own-domain: all run as the executor's user, each attempt in a Landlock domain of its own; shared-user: all run as one user, which is not the executor's; none: all run as the executor's user"`
	Rights    string `json:"rights,omitempty" enum:"tier,node,wide" doc:"What it may do at NATS: tier: it is enrolled, and may do what tasks of its tiers need; node: everything, as its node has the store, too; wide: everything, with credentials that open everything"`
	Draining  bool   `json:"draining" doc:"It finishes what it runs and takes nothing new"`
	// DrainedBy and DrainedAt say which operator drains it, and since when.
	DrainedBy string    `json:"drained_by,omitempty" doc:"Who drains it; absent if it shuts down, or does not drain"`
	DrainedAt time.Time `json:"drained_at,omitzero" doc:"When that was asked"`
	Refused   *Refused  `json:"refused,omitempty" doc:"Tasks that it refused to run since it began; absent if there were none"`
	Since     time.Time `json:"since"`
	Seen      time.Time `json:"seen" doc:"When its last heartbeat was"`
}

// Refused are the tasks that an executor refused.
type Refused struct {
	Count int64     `json:"count"`
	Last  string    `json:"last" enum:"forged,altered,expired,replayed" doc:"Why it refused the last one: forged: no engine that it trusts signed it; altered: it is not what was signed; expired: it was signed too long ago; replayed: it is old, and no engine confirmed that its run waits"`
	Why   string    `json:"why" doc:"The same in words"`
	At    time.Time `json:"at" doc:"When it refused the last one"`
}

// Engine is one that turns shards.
type Engine struct {
	ID      string    `json:"id" doc:"Of one process: one that begins again has another"`
	Host    string    `json:"host"`
	PID     int       `json:"pid"`
	Version string    `json:"version"`
	Shards  int       `json:"shards" doc:"How many of the 64 shards it has"`
	Leaving bool      `json:"leaving" doc:"It hands over its shards and takes no more"`
	Since   time.Time `json:"since"`
	Seen    time.Time `json:"seen" doc:"When its last heartbeat was"`
	Problem string    `json:"problem,omitempty" doc:"What is the matter with its store; absent if that keeps up"`
}

// Clocks reports how far apart the clocks of the nodes are.
type Clocks struct {
	Apart   float64 `json:"apart" doc:"Seconds between the clocks that differ most, as far as that is visible from outside"`
	Problem string  `json:"problem,omitempty" doc:"What is the matter; absent if they agree well enough"`
}

// RunningAttempt is one of the attempts that an executor runs.
type RunningAttempt struct {
	Run     string    `json:"run"`
	Attempt int       `json:"attempt"`
	Job     string    `json:"job"`
	Since   time.Time `json:"since"`
}

// Queue is what waits in one tier and class, what is for executors with certain labels included.
type Queue struct {
	Tier    spec.Tier  `json:"tier"`
	Class   spec.Class `json:"class"`
	Waiting uint64     `json:"waiting" doc:"Published, and begun by no executor"`
	Claimed uint64     `json:"claimed" doc:"Of those, in the hands of an executor that has not begun them, or given back by one"`
	Pulls   int        `json:"pulls" doc:"Requests of idle executors, for what any of the tier may run"`
	Oldest  time.Time  `json:"oldest,omitzero" doc:"When the longest waiting task was published"`
	// Unserved is about what any executor of the tier may run.
	Unserved string `json:"unserved,omitempty" doc:"Why no executor of the tier takes from it now" example:"no executor serves the tier heavy"`
	Pools    []Pool `json:"pools,omitempty" doc:"How much of it is for executors with certain labels, in the order of the labels"`
}

// Pool is what waits in one tier and class for executors with certain labels.
type Pool struct {
	RunsOn   map[string]string `json:"runs_on" doc:"The labels that are required"`
	Waiting  uint64            `json:"waiting"`
	Claimed  uint64            `json:"claimed"`
	Pulls    int               `json:"pulls" doc:"Requests of idle executors that have the labels"`
	Oldest   time.Time         `json:"oldest,omitzero"`
	Unserved string            `json:"unserved,omitempty" doc:"Why no executor takes from it now" example:"no executor has gpu=true"`
}

// Stream is the size of one of the queue's streams or buckets.
type Stream struct {
	Name     string    `json:"name" doc:"TASKS, RESULTS, LOCKS or LEASES"`
	Messages uint64    `json:"messages"`
	Bytes    uint64    `json:"bytes"`
	Limit    uint64    `json:"limit,omitempty" doc:"Bytes above which executors take nothing new; absent where there is no such limit"`
	Oldest   time.Time `json:"oldest,omitzero" doc:"When its oldest message was stored"`
	Problem  string    `json:"problem,omitempty" doc:"What is wrong; absent if nothing is"`
}

// Event is a hint that something has changed: read it again if you show it.
type Event struct {
	Kind   string `json:"kind" enum:"run,wave,runs,executors,queues" doc:"run, wave: the one of this id; runs: more runs than are named one by one"`
	ID     string `json:"id,omitempty"`
	Job    string `json:"job,omitempty"`
	DAG    string `json:"dag,omitempty" doc:"Of a wave, or of the run of a task"`
	Wave   string `json:"wave,omitempty" doc:"Of the run of a task"`
	Task   string `json:"task,omitempty"`
	Status string `json:"status,omitempty" doc:"Of the run or wave, when the hint was made"`
}

// Version is the version of the server that answers.
type Version struct {
	Version string `json:"version"`
}
