package memory

import (
	"context"

	"github.com/tidewheel/tidewheel/engine"
)

// Commit writes a batch as engine.Batch says.
func (s *Store) Commit(ctx context.Context, batch *engine.Batch) ([]engine.Conflict, error) {
	if err := s.write(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	var conflicts []engine.Conflict
	for i := range batch.Waves {
		if !s.writeWave(&batch.Waves[i].Wave) {
			conflicts = append(conflicts, engine.Conflict{Kind: "wave", ID: batch.Waves[i].Wave.ID})
		}
	}
	if len(conflicts) > 0 {
		return conflicts, nil
	}
	for _, follows := range []bool{false, true} {
		halted := false
		for i := range batch.Runs {
			if write := &batch.Runs[i]; write.Follows() == follows && !s.writeRun(&write.Run) {
				conflicts = append(conflicts, engine.Conflict{Kind: "run", ID: write.Run.ID})
				halted = halted || write.Halts()
			}
		}
		if halted {
			return conflicts, nil
		}
	}
	for _, letter := range batch.DeadLetters {
		if _, found := s.letters[letter.RunID]; !found {
			s.letters[letter.RunID] = letter
		}
	}
	for _, slots := range batch.Slots {
		if stored, found := s.slots[slots.ID]; !found || stored.Count < slots.Count {
			s.slots[slots.ID] = slots
		}
	}
	for _, id := range batch.DropLetters {
		delete(s.letters, id)
	}
	for _, drop := range batch.DropRuns {
		if run := s.active[drop.ID]; run != nil && run.Status == engine.StatusScheduled && run.Revision == drop.Revision && run.CreatedAt.UnixMilli() == drop.CreatedAt.UnixMilli() {
			s.dropRun(drop.ID)
		}
	}
	for _, write := range batch.Tasks {
		if !s.writeTask(write) {
			conflicts = append(conflicts, engine.Conflict{Kind: "task", ID: write.Task.ID})
		}
	}
	for _, handled := range batch.Handled {
		s.jobs.handle(handled)
	}
	for _, handled := range batch.HandledDAGs {
		s.dags.handle(handled)
	}
	for _, id := range batch.Commands {
		delete(s.commands, id)
	}
	return conflicts, nil
}

// writeRun answers false where the run's condition does not hold.
func (s *Store) writeRun(run *engine.Run) bool {
	stored := s.runs[run.ID]
	switch {
	case stored == nil && run.Revision == 1, stored != nil && stored.Revision == run.Revision-1 && engine.MadeAtOnce(*stored, *run):
		s.putRun(run)
		return true
	default:
		return stored != nil && engine.SameRun(*stored, *run)
	}
}

func (s *Store) putRun(run *engine.Run) {
	kept := copyRun(run)
	s.runs[run.ID] = &kept
	if run.Status.Terminal() {
		delete(s.active, run.ID)
	} else {
		s.active[run.ID] = &kept
	}
}

func (s *Store) dropRun(id string) {
	delete(s.runs, id)
	delete(s.active, id)
}

func (s *Store) writeTask(write engine.TaskWrite) bool {
	if write.Delete {
		delete(s.tasks, write.Task.ID)
		return true
	}
	stored, found := s.tasks[write.Task.ID]
	switch {
	case !found && write.Task.Revision == 1, found && stored.Revision == write.Task.Revision-1:
		s.tasks[write.Task.ID] = write.Task
		return true
	default:
		return found && engine.SameTask(stored, write.Task)
	}
}
