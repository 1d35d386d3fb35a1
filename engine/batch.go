package engine

import (
	"slices"
	"time"
)

// Batch is what the owner of a shard writes at one time. It is not one transaction: a store applies its parts in
// the order of the fields below, each part whole before the next begins, and each write is an insert under a derived
// id or an update under a condition. So a crash between any two writes leaves something that doing the batch again
// repairs. Within a part no two writes concern the same id.
//
// A wave that is refused ends the batch, and so does a run whose write Halts: nothing after it is written, because another
// owner has decided otherwise. New runs of tasks follow from how others ended, so that they come after all other runs.
type Batch struct {
	Waves       []WaveWrite
	Runs        []RunWrite
	DeadLetters []DeadLetter // put where absent; should a crash take one, then the news of its run's end comes again
	Slots       []SlotRange  // put where absent or where the stored Count is smaller
	DropLetters []string     // dead letters of runs that were replayed
	DropRuns    []RunDrop    // prepared runs whose slot did not fire
	Tasks       []TaskWrite  // scheduled_tasks
	Handled     []JobHandled // clears Pending, or removes a tombstone
	HandledDAGs []JobHandled // the same for DAGs
	Commands    []string     // deletes commands that have been acted upon

	// Progress is the store's own: what it has done of a batch before an error, for when it is given the same again.
	Progress any
}

// CommitRuns is how many runs a commit holds at most: a slow store takes that many in a time that is short beside what
// waits for them, and one that is quick does not take more at a lower price.
const CommitRuns = 1000

// RunDrop removes a run that is scheduled, and nobody has written since. A slot may be prepared anew under the same id: by
// when it was made that is known to be another run.
type RunDrop struct {
	ID        string
	Revision  int64
	CreatedAt time.Time // compared by the millisecond
}

// Drop is the removal of the run as it is.
func (r *Run) Drop() RunDrop { return RunDrop{ID: r.ID, Revision: r.Revision, CreatedAt: r.CreatedAt} }

// RunWrite inserts (Run.Revision 1) or replaces a run on condition that the stored revision is Run.Revision-1, and that
// it was made at the same instant (CreatedAt): one that was removed, and made again under its id, is another.
type RunWrite struct {
	Run Run
	// Ahead says that this is a root's run as it was prepared, which is written with its scheduled task before all else: what
	// a slot leads to that has come, a wave that opens and the tasks after the root, is not begun before the slot is passed.
	Ahead bool
}

// Follows reports whether the run is a new one of a task: it was made because of how other runs stand.
func (w *RunWrite) Follows() bool { return w.Run.Revision == 1 && w.Run.Task != "" }

// Halts reports whether the batch ends where this write is refused. A new run of a job that is there already does not end it:
// its slot has its run, whoever made that.
func (w *RunWrite) Halts() bool { return w.Run.Revision > 1 || w.Run.Task != "" }

// TaskWrite inserts (Task.Revision 1) or replaces a scheduled task on condition that the stored revision is
// Task.Revision-1. With Delete set it removes the task of that id, whatever its revision.
type TaskWrite struct {
	Task   ScheduledTask
	Delete bool
}

// JobHandled says that the engine has acted on a revision of a job. Where the stored job still has this revision,
// Pending is cleared; a tombstone is removed with its generations.
type JobHandled struct {
	UID       string
	Namespace string
	Name      string
	Revision  int64
}

// Parts splits the batch into those that are written one after the other, none of which is begun before the one before is
// found to be done whole: what follows a write that was refused must not be done, because another owner has decided
// otherwise. These are roots whose slots have come, whose turn it is, the waves that have it, and runs and scheduled tasks
// before what they give up comes to the ledger and is removed. Of more runs than a commit holds, each part has as many as
// it may. Most batches have one part.
func (b *Batch) Parts() []*Batch {
	var parts []*Batch
	for _, part := range b.ordered() {
		parts = append(parts, part.bounded()...)
	}
	return parts
}

// bounded splits the runs off that are too many, those first on which others follow. What comes after runs comes last.
func (b *Batch) bounded() (parts []*Batch) {
	if len(b.Runs) <= CommitRuns {
		return []*Batch{b}
	}
	rest := *b
	rest.Runs = slices.Clone(b.Runs)
	slices.SortStableFunc(rest.Runs, func(a, b RunWrite) int {
		switch {
		case a.Follows() == b.Follows():
			return 0
		case b.Follows():
			return -1
		}
		return 1
	})
	for len(rest.Runs) > CommitRuns {
		parts = append(parts, &Batch{Waves: rest.Waves, Runs: rest.Runs[:CommitRuns:CommitRuns]})
		rest.Waves, rest.Runs = nil, rest.Runs[CommitRuns:]
	}
	return append(parts, &rest)
}

// ordered splits the batch by what must be found to be done first.
func (b *Batch) ordered() []*Batch {
	var parts []*Batch
	rest := *b
	rest.Tasks = nil
	ahead, turns := b.ahead(), &Batch{}
	if ahead != nil {
		parts = append(parts, ahead)
		rest.Runs = slices.DeleteFunc(slices.Clone(b.Runs), func(write RunWrite) bool { return write.Ahead })
	}
	for _, write := range b.Tasks {
		switch {
		case IsTurn(write.Task.ID):
			turns.Tasks = append(turns.Tasks, write)
		case ahead.passes(write.Task.ID):
			ahead.Tasks = append(ahead.Tasks, write)
		default:
			rest.Tasks = append(rest.Tasks, write)
		}
	}
	if len(turns.Tasks) > 0 {
		parts = append(parts, turns)
	}
	if len(b.Waves) > 0 {
		parts = append(parts, &Batch{Waves: b.Waves})
		rest.Waves = nil
	}
	if len(b.DropRuns) > 0 || len(b.Slots) > 0 {
		parts = append(parts, &Batch{DeadLetters: rest.DeadLetters, Runs: rest.Runs, Tasks: rest.Tasks})
		rest.DeadLetters, rest.Runs, rest.Tasks = nil, nil, nil
	}
	if !rest.Empty() || len(parts) == 0 {
		parts = append(parts, &rest)
	}
	return parts
}

// ahead gives the runs of roots whose slots have come, as they were prepared; nil if there are none.
func (b *Batch) ahead() *Batch {
	var ahead *Batch
	for i := range b.Runs {
		if b.Runs[i].Ahead {
			if ahead == nil {
				ahead = &Batch{}
			}
			ahead.Runs = append(ahead.Runs, b.Runs[i])
		}
	}
	return ahead
}

// passes reports whether a scheduled task passes the slots of these runs over; none does those of none.
func (b *Batch) passes(task string) bool {
	return b != nil && slices.ContainsFunc(b.Runs, func(write RunWrite) bool { return RootID(write.Run.JobUID, write.Run.Task) == task })
}

// Empty reports whether there is nothing to write.
func (b *Batch) Empty() bool {
	return len(b.Waves) == 0 && len(b.HandledDAGs) == 0 && len(b.Runs) == 0 && len(b.Slots) == 0 && len(b.DeadLetters) == 0 && len(b.DropLetters) == 0 &&
		len(b.DropRuns) == 0 && len(b.Tasks) == 0 && len(b.Handled) == 0 && len(b.Commands) == 0
}

// Done gives what a store has written of the batch that answered with these conflicts.
func (b *Batch) Done(conflicts []Conflict) *Batch {
	if len(conflicts) == 0 {
		return b
	}
	refused := map[Conflict]bool{}
	for _, conflict := range conflicts {
		refused[conflict] = true
	}
	done := &Batch{}
	for i := range b.Waves {
		if !refused[Conflict{Kind: "wave", ID: b.Waves[i].Wave.ID}] {
			done.Waves = append(done.Waves, b.Waves[i])
		}
	}
	if len(done.Waves) < len(b.Waves) {
		return done
	}
	for _, follows := range []bool{false, true} {
		halted := false
		for i := range b.Runs {
			switch write := &b.Runs[i]; {
			case write.Follows() != follows:
			case refused[Conflict{Kind: "run", ID: write.Run.ID}]:
				halted = halted || write.Halts()
			default:
				done.Runs = append(done.Runs, *write)
			}
		}
		if halted {
			return done
		}
	}
	runs := done.Runs
	*done = *b
	done.Runs, done.Tasks = runs, nil
	for i := range b.Tasks {
		if !refused[Conflict{Kind: "task", ID: b.Tasks[i].Task.ID}] {
			done.Tasks = append(done.Tasks, b.Tasks[i])
		}
	}
	return done
}

// Conflict names a write whose condition did not hold: somebody else wrote in between. A write that is found to be
// there already (the same revision with the same content: it was done, but reported as failed) is no conflict.
type Conflict struct {
	Kind string // "run", "wave" or "task"
	ID   string
}
