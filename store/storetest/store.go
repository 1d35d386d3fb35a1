// Package storetest holds every store to the same promises. Each promise is a named test; each adapter runs all of
// them. It declares the whole of what an adapter offers, as one interface, so that the ports of the engine
// (engine/shard), of the web and of retention ask nothing of one store that another cannot do.
package storetest

import (
	"context"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// Store is everything that an adapter offers. The first part is engine/shard's port, word for word.
type Store interface {
	Commits
	DAGs
	Documents
	Effects
	Marks
	Names
	engine.Records
	Tallies

	// DueTasks: RunAt in (after, until], the earliest first, all of them.
	DueTasks(ctx context.Context, shards []int, after, until time.Time) ([]engine.ScheduledTask, error)
	TasksByID(ctx context.Context, uids []string) ([]engine.ScheduledTask, error)
	JobsByUID(ctx context.Context, uids []string) ([]engine.Job, error)
	PendingJobs(ctx context.Context, shards []int, limit int) ([]engine.Job, error)
	Generation(ctx context.Context, uid string, generation int64) (engine.Generation, error)
	ActiveRuns(ctx context.Context, shards []int, after string, limit int) ([]engine.Run, error)
	ActiveRunIDs(ctx context.Context, shards []int, after string, limit int) ([]string, error)
	ActiveRunsOf(ctx context.Context, uids []string) ([]engine.Run, error)
	RunsByID(ctx context.Context, ids []string) ([]engine.Run, error)
	Commands(ctx context.Context, shards []int, limit int) ([]engine.Command, error)
	BinariesByKey(ctx context.Context, keys []string) ([]engine.Binary, error)

	// Jobs keeps jobs for their users.
	Jobs() engine.Definitions[spec.Job]

	// Run returns one run.
	Run(ctx context.Context, id string) (engine.Run, error)
	// Runs lists history, newest first (by CreatedAt, then id), with the cursor of the next page.
	Runs(ctx context.Context, filter engine.RunFilter) (runs []engine.Run, next string, err error)
	// PutCommand inserts a command; one that is there already is no error.
	PutCommand(ctx context.Context, command engine.Command) error
	// Command returns one command; engine.ErrNotFound once the engine has acted on it, or if there never was one.
	Command(ctx context.Context, id string) (engine.Command, error)

	// Slots lists ledger entries, newest first, with the cursor of the next page.
	Slots(ctx context.Context, filter engine.SlotFilter) (slots []engine.SlotRange, next string, err error)
	// Upcoming lists scheduled tasks of a namespace that are not parked, the earliest first.
	Upcoming(ctx context.Context, namespace string, limit int) ([]engine.ScheduledTask, error)
	// DeadLetters lists dead letters, newest first, with the cursor of the next page.
	DeadLetters(ctx context.Context, namespace, cursor string, limit int) (letters []engine.DeadLetter, next string, err error)
	// DeadLetter returns one; engine.ErrNotFound if there is none.
	DeadLetter(ctx context.Context, runID string) (engine.DeadLetter, error)
	// DeleteDeadLetter purges one; engine.ErrNotFound if there is none.
	DeleteDeadLetter(ctx context.Context, runID string) error

	// Incidents returns incidents of these shards with ids above after, in the order of their ids.
	Incidents(ctx context.Context, shards []int, after string, limit int) ([]engine.Incident, error)
	// IncidentsPage lists the incidents of a namespace that have begun, the latest begun first.
	IncidentsPage(ctx context.Context, namespace, cursor string, limit int) (incidents []engine.Incident, next string, err error)

	// ExpireDeadLetters deletes at most limit dead letters that an expiry takes, by when they were written.
	ExpireDeadLetters(ctx context.Context, what engine.Expiry, limit int) (deleted int, err error)

	// CreateBinary inserts a binary of revision 1; engine.ErrExists.
	CreateBinary(ctx context.Context, binary engine.Binary) error
	// ReplaceBinary writes a binary on condition that the stored revision is binary.Revision-1; engine.ErrConflict or engine.ErrNotFound.
	ReplaceBinary(ctx context.Context, binary engine.Binary) error
	// DeleteBinary removes a binary of this revision; engine.ErrConflict or engine.ErrNotFound.
	DeleteBinary(ctx context.Context, namespace, name string, revision int64) error
	// Binary returns one binary.
	Binary(ctx context.Context, namespace, name string) (engine.Binary, error)
	// Binaries lists binaries by name, with the cursor of the next page.
	Binaries(ctx context.Context, namespace, cursor string, limit int) (binaries []engine.Binary, next string, err error)

	// ExpireRuns deletes at most limit runs of these shards that an expiry takes, and returns those beside which something may
	// be kept, so that it can go, too.
	ExpireRuns(ctx context.Context, shards []int, what engine.Expiry, limit int) (engine.ExpiredRuns, error)
	// ExpireRunsOf deletes at most limit runs of a job that its own retention takes.
	ExpireRunsOf(ctx context.Context, uid string, what engine.OwnExpiry, limit int) (engine.ExpiredRuns, error)
	// ExpireSlots deletes at most limit ledger entries whose To an expiry takes.
	ExpireSlots(ctx context.Context, what engine.Expiry, limit int) (deleted int, err error)

	// Ping reports whether the store answers.
	Ping(ctx context.Context) error
	Close(ctx context.Context) error
}
