package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

const countRecord = "SELECT count(*) FROM records WHERE kind = ? AND key = ?"

// InsertRecord inserts a record of revision 1; engine.ErrExists.
func (s *Store) InsertRecord(ctx context.Context, record engine.Record) error {
	data := bytes.Clone(record.Data) // the writer may be at it yet when the caller has gone on
	return wrap("insert "+record.Kind+" "+record.Key, s.write(ctx, 1, func(w *writer) error {
		changed, err := w.exec("INSERT INTO records (kind, key, revision, expires_at, data) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
			record.Kind, record.Key, record.Revision, instant(record.ExpiresAt), data)
		if err == nil && changed == 0 {
			err = engine.ErrExists
		}
		return err
	}))
}

// ReplaceRecord writes a record on condition of its revision; engine.ErrConflict or engine.ErrNotFound.
func (s *Store) ReplaceRecord(ctx context.Context, record engine.Record) error {
	data := bytes.Clone(record.Data)
	return wrap("replace "+record.Kind+" "+record.Key, s.write(ctx, 1, func(w *writer) error {
		changed, err := w.exec("UPDATE records SET revision = ?, expires_at = ?, data = ? WHERE kind = ? AND key = ? AND revision = ?",
			record.Revision, instant(record.ExpiresAt), data, record.Kind, record.Key, record.Revision-1)
		if err == nil && changed == 0 {
			err = w.absentOrChanged(countRecord, record.Kind, record.Key)
		}
		return err
	}))
}

// DeleteRecord deletes a record of this revision, 0 for any; engine.ErrConflict or engine.ErrNotFound.
func (s *Store) DeleteRecord(ctx context.Context, kind, key string, revision int64) error {
	return wrap("delete "+kind+" "+key, s.write(ctx, 1, func(w *writer) error {
		changed, err := w.exec("DELETE FROM records WHERE kind = ? AND key = ? AND ? IN (0, revision)", kind, key, revision)
		if err == nil && changed == 0 {
			err = w.absentOrChanged(countRecord, kind, key)
		}
		return err
	}))
}

// Record returns one record; engine.ErrNotFound.
func (s *Store) Record(ctx context.Context, kind, key string) (engine.Record, error) {
	found, err := s.records(ctx, "kind = ? AND key = ?", kind, key)
	if err == nil && len(found) == 0 {
		err = engine.ErrNotFound
	}
	if err != nil {
		return engine.Record{}, wrap(kind+" "+key, err)
	}
	return found[0], nil
}

// Records lists records of a kind.
func (s *Store) Records(ctx context.Context, filter engine.RecordFilter) ([]engine.Record, error) {
	condition, args := "kind = ? AND key >= ?", []any{filter.Kind, filter.Prefix}
	if end := afterPrefix(filter.Prefix); end != "" {
		condition, args = condition+" AND key < ?", append(args, end)
	}
	order := " ORDER BY key"
	switch {
	case filter.Backwards && filter.After != "":
		condition, args = condition+" AND key < ?", append(args, filter.After)
	case filter.After != "":
		condition, args = condition+" AND key > ?", append(args, filter.After)
	}
	if filter.Backwards {
		order += " DESC"
	}
	records, err := s.records(ctx, condition+order+" LIMIT ?", append(args, int64(filter.Limit))...)
	return records, wrap("list "+filter.Kind, err)
}

// afterPrefix returns the first text behind all that begin with a prefix, "" for an empty one. No byte of UTF-8 is 0xff.
func afterPrefix(prefix string) string {
	if prefix == "" {
		return ""
	}
	last := len(prefix) - 1
	return prefix[:last] + string([]byte{prefix[last] + 1})
}

const recordColumns = "SELECT kind, key, revision, expires_at, data FROM records WHERE "

func (s *Store) records(ctx context.Context, condition string, args ...any) (records []engine.Record, err error) {
	if err := s.readable(ctx); err != nil {
		return nil, err
	}
	err = s.list(ctx, recordColumns+condition, args, func(rows *sql.Rows) error {
		record, err := scanRecord(rows)
		records = append(records, record)
		return err
	})
	return records, err
}

func scanRecord(rows *sql.Rows) (record engine.Record, err error) {
	var expires sql.NullInt64
	var data sql.RawBytes
	err = rows.Scan(&record.Kind, &record.Key, &record.Revision, &expires, &data)
	record.ExpiresAt, record.Data = instantOf(expires), bytes.Clone(data)
	return record, err
}

// ExpireRecords deletes at most limit records that expired before an instant, and counts them.
func (s *Store) ExpireRecords(ctx context.Context, before time.Time, limit int) (deleted int, err error) {
	deleted, err = s.expireCounted(ctx, limit,
		"DELETE FROM records WHERE (kind, key) IN (SELECT kind, key FROM records INDEXED BY records_expiring WHERE expires_at < ? LIMIT ?)", always(before))
	return deleted, wrap("expire records", err)
}

// records reads a page for View, in the order of kind and key.
func (v *view) records(ctx context.Context, from string, limit int) (page []engine.Document, next string, err error) {
	kind, key, _ := strings.Cut(from, "/")
	size := 0
	err = v.list(ctx, recordColumns+"(kind, key) > (?, ?) ORDER BY kind, key LIMIT ?", []any{kind, key, int64(limit)}, func(rows *sql.Rows) error {
		record, err := scanRecord(rows)
		if err != nil {
			return err
		}
		page = append(page, record)
		if _, next = record.Place(); len(page) < limit {
			if size += len(record.Data); size > pageBytes {
				return errEnough
			}
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		return page, next, nil
	}
	if len(page) < limit {
		next = ""
	}
	return page, next, err
}
