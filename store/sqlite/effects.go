package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

// InsertEffect inserts an effect of revision 1; engine.ErrExists.
func (s *Store) InsertEffect(ctx context.Context, effect engine.RunEffect) error {
	operation := "insert effect " + effect.Key + " of run " + effect.Run
	document, err := encode(&effect)
	if err != nil {
		return wrap(operation, err)
	}
	return wrap(operation, s.write(ctx, 1, func(w *writer) error {
		changed, err := w.exec("INSERT INTO effects (run_id, key, revision, created_at, doc) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
			effect.Run, effect.Key, effect.Revision, always(effect.CreatedAt), document)
		if err == nil && changed == 0 {
			err = engine.ErrExists
		}
		return err
	}))
}

// ReplaceEffect writes an effect on condition of its revision; engine.ErrConflict or engine.ErrNotFound.
func (s *Store) ReplaceEffect(ctx context.Context, effect engine.RunEffect) error {
	operation := "replace effect " + effect.Key + " of run " + effect.Run
	document, err := encode(&effect)
	if err != nil {
		return wrap(operation, err)
	}
	return wrap(operation, s.write(ctx, 1, func(w *writer) error {
		changed, err := w.exec("UPDATE effects SET revision = ?, doc = ? WHERE run_id = ? AND key = ? AND revision = ?",
			effect.Revision, document, effect.Run, effect.Key, effect.Revision-1)
		if err == nil && changed == 0 {
			err = w.absentOrChanged("SELECT count(*) FROM effects WHERE run_id = ? AND key = ?", effect.Run, effect.Key)
		}
		return err
	}))
}

// Effect returns one effect; engine.ErrNotFound.
func (s *Store) Effect(ctx context.Context, run, key string) (engine.RunEffect, error) {
	found, err := documents[engine.RunEffect](ctx, s, "SELECT doc FROM effects WHERE run_id = ? AND key = ?", run, key)
	if err == nil && len(found) == 0 {
		err = engine.ErrNotFound
	}
	if err != nil {
		return engine.RunEffect{}, wrap("effect "+key+" of run "+run, err)
	}
	return found[0], nil
}

// Effects lists the effects of a run by key.
func (s *Store) Effects(ctx context.Context, run, cursor string, limit int) (effects []engine.RunEffect, next string, err error) {
	after, _, err := engine.DecodeCursor("effects", cursor)
	if err != nil {
		return nil, "", wrap("list effects", err)
	}
	effects, err = documents[engine.RunEffect](ctx, s, "SELECT doc FROM effects WHERE run_id = ? AND key > ? ORDER BY key LIMIT ?",
		run, after.ID, int64(limit)+1)
	if err != nil {
		return nil, "", wrap("list effects", err)
	}
	effects, next = page("effects", effects, limit, func(effect engine.RunEffect) engine.Cursor { return engine.Cursor{ID: effect.Key} })
	return effects, next, nil
}

// ExpireEffects deletes at most limit effects that were opened first before an instant and whose runs are gone. Runs go
// first, so that none is ever there without its effects; what a crash leaves in between is found here.
func (s *Store) ExpireEffects(ctx context.Context, before time.Time, limit int) (deleted int, err error) {
	for after := ""; deleted < limit; {
		runs, err := s.runsWithEffects(ctx, before, after, limit)
		if err != nil {
			return deleted, wrap("expire effects", err)
		}
		if len(runs) == 0 {
			return deleted, nil
		}
		after = runs[len(runs)-1]
		known, err := s.runsByID(ctx, runs)
		if err != nil {
			return deleted, wrap("expire effects", err)
		}
		there := map[string]bool{}
		for i := range known {
			there[known[i].ID] = true
		}
		for _, run := range runs {
			if there[run] || deleted >= limit {
				continue
			}
			err := s.writeIdle(ctx, limit, func(w *writer) error {
				changed, err := w.exec("DELETE FROM effects WHERE rowid IN (SELECT rowid FROM effects WHERE run_id = ? AND created_at < ? LIMIT ?)",
					run, always(before), limit-deleted)
				deleted += int(changed)
				return err
			})
			if err != nil {
				return deleted, wrap("expire effects", err)
			}
		}
	}
	return deleted, nil
}

// runsWithEffects lists runs above after with effects that were opened first before an instant, by id.
func (s *Store) runsWithEffects(ctx context.Context, before time.Time, after string, limit int) (runs []string, err error) {
	err = s.list(ctx, "SELECT DISTINCT run_id FROM effects INDEXED BY effects_created WHERE created_at < ? AND run_id > ? ORDER BY run_id LIMIT ?",
		[]any{always(before), after, limit}, func(rows *sql.Rows) error {
			var run string
			err := rows.Scan(&run)
			runs = append(runs, run)
			return err
		})
	return runs, err
}

// SharedKey returns the key that is kept under a name: fresh, if none was kept before.
func (s *Store) SharedKey(ctx context.Context, name string, fresh []byte) (key []byte, err error) {
	err = s.write(ctx, 1, func(w *writer) error {
		if _, err := w.exec("INSERT INTO shared_keys (name, key) VALUES (?, ?) ON CONFLICT DO NOTHING", name, fresh); err != nil {
			return err
		}
		return w.query("SELECT key FROM shared_keys WHERE name = ?", []any{name}, func(values []driver.Value) error {
			kept, _ := values[0].([]byte)
			key = bytes.Clone(kept)
			return nil
		})
	})
	if err == nil && len(key) == 0 {
		err = errors.New("it is empty")
	}
	if err != nil {
		return nil, wrap("shared key "+name, err)
	}
	return key, nil
}
