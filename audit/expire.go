package audit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

// anchorKind is that of the one record that says which entry was removed last by its age: the chain begins after it.
const (
	anchorKind = "audit_anchor"
	anchorKey  = "anchor"
)

// anchor is the last entry that was removed: what follows it must name its hash.
type anchor struct {
	Number int64  `json:"number"`
	Hash   string `json:"hash"`

	revision int64
}

func (l *Log) anchor(ctx context.Context) (found anchor, err error) {
	record, err := l.records.Record(ctx, anchorKind, anchorKey)
	if errors.Is(err, engine.ErrNotFound) {
		return anchor{}, nil
	}
	if err == nil {
		err = json.Unmarshal(record.Data, &found)
		found.revision = record.Revision
	}
	if err != nil {
		err = fmt.Errorf("audit: read where the log begins: %w", err)
	}
	return found, err
}

func (l *Log) setAnchor(ctx context.Context, to anchor) error {
	data, err := json.Marshal(to)
	if err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	record := engine.Record{Kind: anchorKind, Key: anchorKey, Revision: to.revision + 1, Data: data}
	if to.revision == 0 {
		err = l.records.InsertRecord(ctx, record)
	} else {
		err = l.records.ReplaceRecord(ctx, record)
	}
	if err != nil {
		return fmt.Errorf("audit: write where the log begins: %w", err)
	}
	return nil
}

// Expire removes the oldest entries, those before an instant, and returns how many; what was written together goes together, when all
// of it is that old, and the newest stays. The removal is an entry itself. The chain then begins with the hash of the last one that
// went, which is written before any goes: a crash in between leaves entries that do not count any more and go the next time.
func (l *Log) Expire(ctx context.Context, before time.Time) (removed int, err error) {
	start, err := l.anchor(ctx)
	if err != nil {
		return 0, err
	}
	newest, err := l.newest(ctx)
	if err != nil {
		return 0, fmt.Errorf("audit: read the last entry: %w", err)
	}
	filter, end := engine.RecordFilter{Kind: kind, Limit: recordsPerRead}, start
	var keys []string
	for old := true; old; {
		records, err := l.records.Records(ctx, filter)
		if err != nil {
			return 0, fmt.Errorf("audit: %w", err)
		}
		for i := range records {
			entries, err := entriesOf(&records[i])
			if err != nil {
				return 0, err
			}
			last := entries[len(entries)-1]
			if old = last.Number <= start.Number || last.At.Before(before) && last.Number < newest.Number; !old {
				break
			}
			keys = append(keys, records[i].Key)
			if removed += len(entries); last.Number > end.Number {
				end.Number, end.Hash = last.Number, last.Hash
			}
		}
		if len(records) < recordsPerRead {
			break
		}
		filter.After = records[len(records)-1].Key
	}
	if end.Number > start.Number {
		if err := l.setAnchor(ctx, end); err != nil {
			return 0, err
		}
		err := l.Append(ctx, Entry{
			At: time.Now(), By: "retention", Action: "remove old entries", Target: fmt.Sprintf("entries up to %d", end.Number), Outcome: Done,
			Changes: []Change{{What: fmt.Sprintf("audit log up to entry %d", end.Number), Before: end.Hash}},
		})
		if err != nil {
			return 0, err
		}
	}
	for _, key := range keys {
		if err := l.records.DeleteRecord(ctx, kind, key, 0); err != nil && !errors.Is(err, engine.ErrNotFound) {
			return removed, fmt.Errorf("audit: remove old entries: %w", err)
		}
	}
	return removed, nil
}
