package engine

// Batch is what the owner of a shard writes at one time. It is not one transaction: a store applies its parts in
// the order of the fields below, each part whole before the next begins, and each write is an insert under a derived
// id or an update under a condition. So a crash between any two writes leaves something that doing the batch again
// repairs. Within a part no two writes concern the same id.
type Batch struct {
	Waves       []WaveWrite
	Runs        []RunWrite
	Slots       []SlotRange  // put where absent or where the stored Count is smaller
	DeadLetters []DeadLetter // put where absent
	DropLetters []string     // dead letters of runs that were replayed
	DropRuns    []string     // prepared runs whose slot did not fire: deleted while their status is scheduled
	Tasks       []TaskWrite  // scheduled_tasks
	Handled     []JobHandled // clears Pending, or removes a tombstone
	HandledDAGs []JobHandled // the same for DAGs
	Commands    []string     // deletes commands that have been acted upon
}

// RunWrite inserts (Run.Revision 1) or replaces a run on condition that the stored revision is Run.Revision-1.
type RunWrite struct {
	Run Run
}

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

// Empty tells whether there is nothing to write.
func (b *Batch) Empty() bool {
	return len(b.Waves) == 0 && len(b.HandledDAGs) == 0 && len(b.Runs) == 0 && len(b.Slots) == 0 && len(b.DeadLetters) == 0 && len(b.DropLetters) == 0 &&
		len(b.DropRuns) == 0 && len(b.Tasks) == 0 && len(b.Handled) == 0 && len(b.Commands) == 0
}

// Conflict names a write whose condition did not hold: somebody else wrote in between. A write that is found to be
// there already (the same revision with the same content: it was done, but reported as failed) is no conflict.
type Conflict struct {
	Kind string // "run", "wave" or "task"
	ID   string
}
