package templates

import "time"

// Executors is who runs programs, and what waits for them.
type Executors struct {
	Page     Page
	Troubles []string
	Rows     []ExecutorRow
	Queues   []QueueRow
}

// ExecutorRow is one executor.
type ExecutorRow struct {
	ID, Host, Version string
	Tiers             string
	Slots             int
	Draining          bool
	Since, Seen       time.Time
	Running           []ExecutorRun
}

// ExecutorRun is what an executor runs.
type ExecutorRun struct {
	Run, Job string
	Since    time.Time
}

// QueueRow is what waits in one tier and class.
type QueueRow struct {
	Tier, Class      string
	Waiting, Claimed uint64
	Pulls            int
	Oldest           time.Time
}

func executorState(draining bool) string {
	if draining {
		return "draining"
	}
	return "ready"
}
