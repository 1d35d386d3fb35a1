package templates

import "time"

// Executors is who runs programs, and what waits for them.
type Executors struct {
	Page     Page
	Troubles []string
	Tiles    []Tile
	Rows     []ExecutorRow
	Queues   []QueueRow
}

// ExecutorRow is one executor.
type ExecutorRow struct {
	ID, Host, Version string
	Tiers             []string // its own first
	Slots             int
	State             string // ready, draining or silent
	Since, Seen       time.Time
	Running           []ExecutorRun
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
	// Served tells how many executors take from it.
	Served int
	// Share is how much waits beside the fullest queue, 0 … 1.
	Share float64
}

// state is a queue's, as far as it can be told from what waits and who takes.
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
