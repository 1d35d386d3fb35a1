package sqlite

import (
	"context"
	"math"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

const deleteLetter = "DELETE FROM dead_letters WHERE run_id = ?"

// place reads the cursor of a list that is newest first: all of it where there is none.
func place(kind, word string) (at int64, id string, err error) {
	cursor, given, err := engine.DecodeCursor(kind, word)
	if err != nil || !given {
		return math.MaxInt64, "", err
	}
	return always(cursor.At), cursor.ID, nil
}

// window returns the bounds of [since, until) as numbers.
func window(since, until time.Time) (low, high int64) {
	low, high = math.MinInt64, math.MaxInt64
	if !since.IsZero() {
		low = always(since)
	}
	if !until.IsZero() {
		high = always(until)
	}
	return low, high
}

// Slots lists ledger entries, newest first.
func (s *Store) Slots(ctx context.Context, filter engine.SlotFilter) (slots []engine.SlotRange, next string, err error) {
	at, id, err := place("slots", filter.Cursor)
	if err != nil {
		return nil, "", wrap("list slots", err)
	}
	since, until := window(filter.Since, filter.Until)
	slots, err = documents[engine.SlotRange](ctx, s, `SELECT doc FROM slots INDEXED BY slots_job
		WHERE job_uid = ? AND (from_at, id) < (?, ?) AND from_at < ? AND to_at >= ? ORDER BY from_at DESC, id DESC LIMIT ?`,
		filter.JobUID, at, id, until, since, int64(filter.Limit)+1)
	if err != nil {
		return nil, "", wrap("list slots", err)
	}
	slots, next = page("slots", slots, filter.Limit, func(entry engine.SlotRange) engine.Cursor {
		return engine.Cursor{At: entry.From, ID: entry.ID}
	})
	return slots, next, nil
}

// DeadLetters lists the dead letters of a namespace (of all, if it is ""), newest first.
func (s *Store) DeadLetters(ctx context.Context, namespace, cursor string, limit int) (letters []engine.DeadLetter, next string, err error) {
	at, id, err := place("letters", cursor)
	if err != nil {
		return nil, "", wrap("list dead letters", err)
	}
	which, args := "", []any{at, id, int64(limit) + 1}
	if namespace != "" {
		which, args = "namespace = ? AND ", append([]any{namespace}, args...)
	}
	letters, err = documents[engine.DeadLetter](ctx, s,
		"SELECT doc FROM dead_letters WHERE "+which+"(at, run_id) < (?, ?) ORDER BY at DESC, run_id DESC LIMIT ?", args...)
	if err != nil {
		return nil, "", wrap("list dead letters", err)
	}
	letters, next = page("letters", letters, limit, func(letter engine.DeadLetter) engine.Cursor {
		return engine.Cursor{At: letter.At, ID: letter.RunID}
	})
	return letters, next, nil
}

// DeadLetter returns one; engine.ErrNotFound.
func (s *Store) DeadLetter(ctx context.Context, runID string) (engine.DeadLetter, error) {
	letters, err := documents[engine.DeadLetter](ctx, s, "SELECT doc FROM dead_letters WHERE run_id = ?", runID)
	if err == nil && len(letters) == 0 {
		err = engine.ErrNotFound
	}
	if err != nil {
		return engine.DeadLetter{}, wrap("dead letter "+runID, err)
	}
	return letters[0], nil
}

// DeleteDeadLetter purges one; engine.ErrNotFound.
func (s *Store) DeleteDeadLetter(ctx context.Context, runID string) error {
	return wrap("delete dead letter "+runID, s.write(ctx, 1, func(w *writer) error {
		changed, err := w.exec(deleteLetter, runID)
		if err == nil && changed == 0 {
			err = engine.ErrNotFound
		}
		return err
	}))
}
