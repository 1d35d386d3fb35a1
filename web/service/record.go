package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

// readRecord reads what a record holds as JSON: nothing, of revision 0, where there is none.
func readRecord[T any](ctx context.Context, store engine.Records, kind, key string) (record engine.Record, held T, err error) {
	record, err = store.Record(ctx, kind, key)
	if errors.Is(err, engine.ErrNotFound) {
		return engine.Record{Kind: kind, Key: key}, held, nil
	}
	if err == nil {
		err = json.Unmarshal(record.Data, &held)
	}
	if err != nil {
		return record, held, fmt.Errorf("read %s of %s: %w", kind, key, err)
	}
	return record, held, nil
}

// writeRecord writes the next revision of a record that readRecord has read; engine.ErrConflict, ErrExists or ErrNotFound if another
// writer was first.
func writeRecord(ctx context.Context, store engine.Records, record engine.Record, held any) (err error) {
	if record.Data, err = json.Marshal(held); err != nil {
		return fmt.Errorf("encode %s of %s: %w", record.Kind, record.Key, err)
	}
	record.Revision++
	if record.Revision == 1 {
		return store.InsertRecord(ctx, record)
	}
	return store.ReplaceRecord(ctx, record)
}

// changeRecord changes what a record holds, and returns it; of two changes at once both hold. The record goes once lasts has passed
// since its last change; 0 is never.
func changeRecord[T any](ctx context.Context, s *Service, kind, key string, lasts time.Duration, change func(T) (T, error)) (held T, err error) {
	for range 10 {
		record, now, err := readRecord[T](ctx, s.store, kind, key)
		if err != nil {
			return held, err
		}
		if now, err = change(now); err != nil {
			return held, err
		}
		if lasts > 0 {
			record.ExpiresAt = s.now().Add(lasts)
		}
		err = writeRecord(ctx, s.store, record, now)
		switch {
		case err == nil:
			return now, nil
		case errors.Is(err, engine.ErrConflict), errors.Is(err, engine.ErrExists), errors.Is(err, engine.ErrNotFound):
			continue // another writer was faster
		default:
			return held, fmt.Errorf("keep %s of %s: %w", kind, key, err)
		}
	}
	return held, conflict("busy", "the same is being changed elsewhere: try again")
}
