package sqlite

import (
	"context"

	"github.com/tidewheel/tidewheel/engine"
)

// Commit writes a batch as engine.Batch says, all of it in one transaction.
func (s *Store) Commit(ctx context.Context, batch *engine.Batch) ([]engine.Conflict, error) {
	// All documents are made here, by the caller's goroutine: the writer's time is what everybody shares, and the
	// batch belongs to the caller again if ctx ends early.
	if batch.Empty() {
		return nil, nil
	}
	waves := make([][]byte, len(batch.Waves))
	for i := range batch.Waves {
		waves[i] = encodeWave(&batch.Waves[i].Wave)
	}
	runs := encodeRuns(batch.Runs)
	slots, err := encodeAll(batch.Slots)
	if err != nil {
		return nil, wrap("commit: slots", err)
	}
	letters, err := encodeAll(batch.DeadLetters)
	if err != nil {
		return nil, wrap("commit: dead letters", err)
	}
	rest := *batch
	rest.Runs = nil
	weight := len(batch.Waves) + 2*len(batch.Runs) + len(batch.Slots) + len(batch.DeadLetters) + len(batch.DropLetters) + len(batch.DropRuns) + len(batch.Tasks) +
		len(batch.Handled) + len(batch.HandledDAGs) + len(batch.Commands)
	var conflicts []engine.Conflict
	err = s.write(ctx, weight, func(w *writer) (err error) {
		conflicts, err = w.commit(waves, runs, &rest, slots, letters)
		return err
	})
	if err != nil {
		return nil, wrap("commit", err)
	}
	return conflicts, nil
}

func encodeAll[T any](list []T) ([][]byte, error) {
	documents := make([][]byte, len(list))
	for i := range list {
		var err error
		if documents[i], err = encode(&list[i]); err != nil {
			return nil, err
		}
	}
	return documents, nil
}

func (w *writer) commit(waves [][]byte, runs []*runWrite, b *engine.Batch, slots, letters [][]byte) (conflicts []engine.Conflict, err error) {
	for i := range b.Waves {
		written, err := w.writeWave(&b.Waves[i].Wave, waves[i])
		if err != nil {
			return nil, err
		}
		if !written {
			conflicts = append(conflicts, engine.Conflict{Kind: "wave", ID: b.Waves[i].Wave.ID})
		}
	}
	if len(conflicts) > 0 {
		return conflicts, nil
	}
	for _, follows := range []bool{false, true} {
		halted := false
		for i := range runs {
			if runs[i].follows != follows {
				continue
			}
			written, err := w.writeRun(runs[i])
			if err != nil {
				return nil, err
			}
			if !written {
				conflicts = append(conflicts, engine.Conflict{Kind: "run", ID: runs[i].id})
				halted = halted || runs[i].halts
			}
		}
		if halted {
			return conflicts, nil
		}
	}
	for i := range b.Slots {
		if err := w.putSlots(&b.Slots[i], slots[i]); err != nil {
			return nil, err
		}
	}
	for i := range b.DeadLetters {
		letter := &b.DeadLetters[i]
		if _, err := w.exec("INSERT INTO dead_letters (run_id, namespace, at, doc) VALUES (?, ?, ?, ?) ON CONFLICT (run_id) DO NOTHING",
			letter.RunID, letter.Namespace, always(letter.At), letters[i]); err != nil {
			return nil, err
		}
	}
	for _, id := range b.DropLetters {
		if _, err := w.exec(deleteLetter, id); err != nil {
			return nil, err
		}
	}
	for _, drop := range b.DropRuns {
		if err := w.dropRun(drop); err != nil {
			return nil, err
		}
	}
	for i := range b.Tasks {
		written, err := w.writeTask(&b.Tasks[i])
		if err != nil {
			return nil, err
		}
		if !written {
			conflicts = append(conflicts, engine.Conflict{Kind: "task", ID: b.Tasks[i].Task.ID})
		}
	}
	for i := range b.Handled {
		if err := jobs.handle(w, &b.Handled[i]); err != nil {
			return nil, err
		}
	}
	for i := range b.HandledDAGs {
		if err := dags.handle(w, &b.HandledDAGs[i]); err != nil {
			return nil, err
		}
	}
	for _, id := range b.Commands {
		if _, err := w.exec("DELETE FROM commands WHERE id = ?", id); err != nil {
			return nil, err
		}
	}
	return conflicts, nil
}
