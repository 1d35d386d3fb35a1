package templates

import "time"

// Executors is who runs programs, and what waits for them.
type Executors struct {
	Page     Page
	Troubles []string
	Tiles    []Tile
	Rows     []ExecutorRow
	Engines  []EngineRow
	// Shards is how many there are, Ownerless how many of them no engine has.
	Shards, Ownerless int
	Queues            []QueueRow
}

// ExecutorRow is one executor.
type ExecutorRow struct {
	LastOf            string // the tiers of which no other executor takes runs, in words; "" for none
	ID, Host, Version string
	Tiers             []string // its own first
	Labels            []string // "key=value", without the host
	Slots             int
	State             string // ready, draining, drained or silent
	Refused           int64  // tasks that it refused to run
	RefusedWhy        string // of the last
	RefusedAt         time.Time
	Isolation         string // strict, own-user, own-domain, shared-user, none; "" if it is not known
	Rights            string // at NATS: tier, node, wide; "" if it is not known
	// DrainedBy is who drains it, and since when; empty if it shuts down, or does not drain.
	DrainedBy   string
	DrainedAt   time.Time
	Since, Seen time.Time
	Running     []ExecutorRun
}

// Question is asked before it is drained: "" if others take its runs.
func (r *ExecutorRow) Question() string {
	if r.LastOf == "" {
		return ""
	}
	return "No other executor takes runs of tier " + r.LastOf + ". Drain " + r.ID + " anyway? Such runs wait until it, or another one, takes them."
}

// Can is what a user can ask of it now.
func (r *ExecutorRow) Can() []string {
	switch {
	case r.mayDrain():
		return []string{"drain"}
	case r.mayGoOn():
		return []string{"resume"}
	}
	return nil
}

// mayDrain and mayGoOn report what a user can ask of an executor: nothing of one that shuts down.
func (r *ExecutorRow) mayDrain() bool { return r.State == "ready" }
func (r *ExecutorRow) mayGoOn() bool  { return r.DrainedBy != "" && r.State != "silent" }

// EngineRow is one engine.
type EngineRow struct {
	ID, Host, Version string
	Shards            int
	State             string // ready, waiting for its first shards, or leaving
	Since, Seen       time.Time
}

// ExecutorRun is what an executor runs.
type ExecutorRun struct {
	Run, Job string
	Attempt  int
	Since    time.Time
}

// executorRuns is how many runs of an executor are named.
const executorRuns = 5

// QueueRow is what waits in one tier and class.
type QueueRow struct {
	Tier, Class      string
	Waiting, Claimed uint64
	Pulls            int
	Oldest           time.Time
	// Served is how many executors take from it, Slots how many slots they have, and Busy how many of these are taken.
	Served, Busy, Slots int
	// Pools say how much of it asks for labels.
	Pools []PoolRow
	// Share is how much waits beside the fullest queue, 0 … 1.
	Share float64
}

// PoolRow is what of a queue is for executors with certain labels.
type PoolRow struct {
	Labels              []string // "key=value"
	Waiting, Claimed    uint64
	Pulls               int
	Oldest              time.Time
	Served, Busy, Slots int
	Unserved            string // why no executor takes it, in words; "" if one does
}

func (p PoolRow) state() string {
	return QueueRow{Waiting: p.Waiting, Served: p.Served}.state()
}

// state is a queue's, as far as the waiting runs and the executors show it.
func (q QueueRow) state() string {
	switch {
	case q.Waiting > 0 && q.Served == 0:
		return "unserved"
	case q.Waiting > 0:
		return "waiting"
	case q.Served == 0:
		return "closed"
	}
	return "clear"
}
