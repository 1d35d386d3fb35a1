package mongo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/tidewheel/tidewheel/engine"
)

// Commit writes a batch: its parts in the order of engine.Batch, each whole before the next begins. Conflicts name
// the writes that were refused; all others are done, but for those that come after one that ends the batch, and, when
// Commit returns, on the journals of a majority. After an error any part may have been done: the same batch may be given
// again, and what is known to be done of it is not done again. A slow server takes a batch in as many tries as it needs.
func (s *Store) Commit(ctx context.Context, batch *engine.Batch) (conflicts []engine.Conflict, err error) {
	if err := context.Cause(ctx); err != nil {
		return nil, s.failed("commit", err)
	}
	done, again := batch.Progress.(progress)
	ctx = context.WithValue(s.paced(ctx), turn{}, turn{until: time.Now().Add(2 * s.config.OperationTimeout), again: again})
	batch.Progress = done
	conflicts = slices.Clone(done.conflicts)
	refuse := func(kind string, refused []int, id func(int) string) {
		for _, n := range refused {
			conflicts = append(conflicts, engine.Conflict{Kind: kind, ID: id(n)})
		}
	}
	halted := false
	before, following := batch.Runs, []engine.RunWrite(nil)
	if slices.ContainsFunc(batch.Runs, func(w engine.RunWrite) bool { return w.Follows() }) {
		before = slices.DeleteFunc(slices.Clone(batch.Runs), func(w engine.RunWrite) bool { return w.Follows() })
		following = slices.DeleteFunc(slices.Clone(batch.Runs), func(w engine.RunWrite) bool { return !w.Follows() })
	}
	runs := func(writes []engine.RunWrite) func() error {
		return func() error {
			refused, err := s.commitRuns(ctx, writes)
			refuse("run", refused, func(n int) string { return writes[n].Run.ID })
			halted = slices.ContainsFunc(refused, func(n int) bool { return writes[n].Halts() })
			return err
		}
	}
	for n, part := range []struct {
		name  string
		size  int
		write func() error
	}{
		{"waves", len(batch.Waves), func() error {
			refused, err := s.commitWaves(ctx, batch.Waves)
			refuse("wave", refused, func(n int) string { return batch.Waves[n].Wave.ID })
			halted = len(refused) > 0
			return err
		}},
		{"runs", len(before), runs(before)},
		{"new runs of tasks", len(following), runs(following)},
		{"dead letters", len(batch.DeadLetters), func() error { return s.commitLetters(ctx, batch.DeadLetters) }},
		{"slots", len(batch.Slots), func() error { return s.commitSlots(ctx, batch.Slots) }},
		{"dropped dead letters", len(batch.DropLetters), func() error { return s.remove(ctx, s.deadLetters, batch.DropLetters, nil) }},
		{"dropped runs", len(batch.DropRuns), func() error { return s.dropRuns(ctx, batch.DropRuns) }},
		{"scheduled tasks", len(batch.Tasks), func() error {
			refused, err := s.commitTasks(ctx, batch.Tasks)
			refuse("task", refused, func(n int) string { return batch.Tasks[n].Task.ID })
			return err
		}},
		{"handled jobs", len(batch.Handled), func() error { return s.jobs.handle(ctx, batch.Handled) }},
		{"handled DAGs", len(batch.HandledDAGs), func() error { return s.dags.handle(ctx, batch.HandledDAGs) }},
		{"commands", len(batch.Commands), func() error { return s.remove(ctx, s.commands, batch.Commands, nil) }},
	} {
		if part.size == 0 || n < done.parts {
			continue
		}
		if err := part.write(); err != nil {
			return conflicts, s.failed("commit "+part.name, err)
		}
		done = progress{parts: n + 1, conflicts: slices.Clone(conflicts)}
		batch.Progress = done
		if halted {
			return conflicts, nil
		}
	}
	return conflicts, nil
}

// turn says until when a try of a batch begins something: then it answers that it has not ended, so that whoever waits knows
// that the store is there. The next try looks first at what the one before has done.
type turn struct {
	until time.Time
	again bool
}

func turnOf(ctx context.Context) turn {
	t, _ := ctx.Value(turn{}).(turn)
	return t
}

// over reports whether a turn has ended; what has none goes on.
func (t turn) over() bool { return !t.until.IsZero() && time.Now().After(t.until) }

var errTurnOver = errors.New("it takes long: what is done stays done, and the rest goes with the next try")

// progress is what has been done of a batch.
type progress struct {
	parts     int
	conflicts []engine.Conflict // in these
}

func (s *Store) commitRuns(ctx context.Context, writes []engine.RunWrite) (refused []int, err error) {
	changes := make([]change, len(writes))
	for n := range writes {
		if changes[n], err = runChange(&writes[n].Run); err != nil {
			return nil, err
		}
	}
	return s.settle(ctx, s.runs, changes, func(n int, stored bson.Raw) (step, error) {
		return judgeRun(s.runs, &writes[n].Run, stored)
	})
}

func (s *Store) dropRuns(ctx context.Context, drops []engine.RunDrop) error {
	for chunk := range slices.Chunk(drops, s.config.BulkSize) {
		models := make([]mongo.WriteModel, len(chunk))
		for i, drop := range chunk {
			models[i] = mongo.NewDeleteOneModel().SetFilter(append(byID(drop.ID),
				bson.E{Key: "status", Value: engine.StatusScheduled.String()}, bson.E{Key: "revision", Value: drop.Revision},
				bson.E{Key: "created_at", Value: date(drop.CreatedAt)}))
		}
		if err := s.repeat(ctx, func() error {
			ctx, cancel := s.command(ctx)
			defer cancel()
			_, err := s.runs.BulkWrite(ctx, models, options.BulkWrite().SetOrdered(false))
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

// commitSlots puts ranges where there are none or smaller ones. A range of one slot is most likely new, a larger one
// most likely there.
func (s *Store) commitSlots(ctx context.Context, slots []engine.SlotRange) error {
	changes := make([]change, len(slots))
	for n := range slots {
		raw, err := bson.Marshal(newSlotDocument(&slots[n]))
		if err != nil {
			return fmt.Errorf("slots %s: %w", slots[n].ID, err)
		}
		smaller := bson.D{{Key: "count", Value: bson.D{{Key: "$lt", Value: slots[n].Count}}}}
		changes[n] = change{id: slots[n].ID, document: raw, condition: smaller, first: firstStep(slots[n].Count)}
	}
	_, err := s.settle(ctx, s.slots, changes, func(n int, stored bson.Raw) (step, error) {
		if stored == nil {
			return stepInsert, nil
		}
		found, err := decode[slotDocument](s.slots, stored)
		switch {
		case err != nil:
			return 0, err
		case found.Count < slots[n].Count:
			return stepReplace, nil
		}
		return stepDone, nil
	})
	return err
}

func (s *Store) commitLetters(ctx context.Context, letters []engine.DeadLetter) error {
	changes := make([]change, len(letters))
	for n := range letters {
		raw, err := bson.Marshal(newLetterDocument(&letters[n]))
		if err != nil {
			return fmt.Errorf("dead letter %s: %w", letters[n].RunID, err)
		}
		changes[n] = change{id: letters[n].RunID, document: raw, first: stepInsert}
	}
	_, err := s.settle(ctx, s.deadLetters, changes, func(_ int, stored bson.Raw) (step, error) {
		if stored == nil {
			return stepInsert, nil
		}
		return stepDone, nil
	})
	return err
}

func (s *Store) commitTasks(ctx context.Context, writes []engine.TaskWrite) (refused []int, err error) {
	var gone []string
	var changes []change
	var numbers []int // of the changes, in writes
	for n := range writes {
		task := &writes[n].Task
		if writes[n].Delete {
			gone = append(gone, task.ID)
			continue
		}
		raw, err := bson.Marshal(newTaskDocument(task))
		if err != nil {
			return nil, fmt.Errorf("scheduled task %s: %w", task.ID, err)
		}
		changes = append(changes, change{
			id: task.ID, document: raw, condition: revisionOf(task.Revision - 1), first: firstStep(task.Revision),
		})
		numbers = append(numbers, n)
	}
	if len(gone) > 0 {
		if err := s.remove(ctx, s.tasks, gone, nil); err != nil {
			return nil, err
		}
	}
	if len(changes) == 0 {
		return nil, nil
	}
	refused, err = s.settle(ctx, s.tasks, changes, func(n int, stored bson.Raw) (step, error) {
		task := &writes[numbers[n]].Task
		return judgeWrite[taskDocument](s.tasks, task.Revision, stored, func(found engine.ScheduledTask) (int64, bool) {
			return found.Revision, engine.SameTask(found, *task)
		})
	})
	for i, n := range refused {
		refused[i] = numbers[n]
	}
	return refused, err
}
