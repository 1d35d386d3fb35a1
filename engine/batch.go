package engine

import (
	"errors"
	"time"
)

// ErrFenced means that another engine has taken the shard over since: nothing was written, and nothing of this owner's
// term ever will be again.
var ErrFenced = errors.New("another engine has taken the shard over")

// Term is the time in which one owner works on a shard: from its Take to the next one.
type Term struct {
	// Number is larger with every Take of the shard, the first is 1.
	Number uint64
	// Position is that of the shard's last commit before it, 0 for none: the first commit of the term has the next one.
	Position uint64
}

// CommitRuns is how many runs a commit holds at most: a slow store takes that many in a time that is short beside what
// waits for them, and one that is quick does not take more at a lower price.
const CommitRuns = 1000

// ShardCommit is what the owner of a shard writes at one time: all of it or nothing.
type ShardCommit struct {
	Shard int
	// Term is the Number of the owner's term.
	Term uint64
	// Position is one more than that of the commit before it.
	Position uint64
	Batch    *Batch
}

// Batch is a set of whole documents to put and to delete, all of one shard. It has no order, because no reader sees a part
// of it, and no document is in it twice. Puts replace whatever is there.
type Batch struct {
	Runs        []Run
	Waves       []Wave
	Tasks       []ScheduledTask
	Slots       []SlotRange
	DeadLetters []DeadLetter
	Incidents   []Incident

	DropRuns    []string // ids
	DropTasks   []string // ids
	DropLetters []string // ids of runs

	DropIncidents []string // ids

	// Handled and HandledDAGs clear Pending where the definition still has the revision, or remove the tombstone that has it,
	// with its generations.
	Handled     []JobHandled
	HandledDAGs []JobHandled
	// Done deletes commands that were acted upon.
	Done []CommandDone
}

// JobHandled reports that the engine has acted on a revision of a job or DAG. Where the stored definition still has this
// revision, Pending is cleared; a tombstone is removed with its generations.
type JobHandled struct {
	UID       string
	Namespace string
	Name      string
	Revision  int64
}

// CommandDone names a command that was acted upon. One that was left again later under the same id has another instant.
type CommandDone struct {
	ID string
	At time.Time // compared by the millisecond
}

// Empty reports whether there is nothing to write.
func (d *Batch) Empty() bool {
	return len(d.Runs) == 0 && len(d.Waves) == 0 && len(d.Tasks) == 0 && len(d.Slots) == 0 && len(d.DeadLetters) == 0 && len(d.Incidents) == 0 &&
		len(d.DropRuns) == 0 && len(d.DropTasks) == 0 && len(d.DropLetters) == 0 && len(d.DropIncidents) == 0 &&
		len(d.Handled) == 0 && len(d.HandledDAGs) == 0 && len(d.Done) == 0
}
