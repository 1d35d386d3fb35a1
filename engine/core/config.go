package core

import (
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

// Config holds the core's times and bounds. DefaultConfig gives what production uses.
type Config struct {
	// Lead is how long before its slot a run is prepared.
	Lead time.Duration
	// Grace is how late a slot may be and still count as on time: catch-up rules apply to older ones only.
	Grace time.Duration
	// LockTTL is how long an executor's lock lasts without being refreshed.
	LockTTL time.Duration
	// Margin is added to an instant at which a lock could expire before it is checked.
	Margin time.Duration
	// Requeue is how long a task may wait unclaimed before the core makes sure that the queue still has it. It
	// doubles with each check, up to four times.
	Requeue time.Duration
	// Resend is the time between two requests to cancel a running attempt.
	Resend time.Duration
	// Unfetched is the wait before the next attempt of a run whose program could not be fetched.
	Unfetched time.Duration
	// MaxLosses bounds the lost attempts of a run, and those whose program could not be fetched; the next makes it dead.
	MaxLosses int
	// MaxCatchUp bounds the slots that one catch-up brings back, and MaxWaiting the runs of a job that wait.
	MaxCatchUp int
	MaxWaiting int
	// CommitRuns bounds the runs of one commit, and the jobs and DAGs that it is about. Only where one DAG has more are
	// there more.
	CommitRuns int
	// Incidents means that there is a notifier: the core writes incidents and sends them to it. Without it there are none.
	Incidents bool
}

// DefaultConfig is what production uses.
func DefaultConfig() Config {
	return Config{
		Lead:       250 * time.Millisecond,
		Grace:      10 * time.Second,
		LockTTL:    10 * time.Second,
		Margin:     200 * time.Millisecond,
		Requeue:    30 * time.Second,
		Resend:     2 * time.Second,
		Unfetched:  5 * time.Second,
		MaxLosses:  10,
		MaxCatchUp: 1000,
		MaxWaiting: 1000,
		CommitRuns: engine.CommitRuns,
	}
}
