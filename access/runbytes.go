package access

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/tidewheel/tidewheel/engine"
)

const (
	// runBytesKind is the kind of the records that hold what the runs of a namespace have stored, by its name.
	runBytesKind = "run_bytes"
	// runBytesTries is how often a change is tried against those of other nodes.
	runBytesTries = 20
)

// RunBytes keeps how many bytes the runs of each namespace have stored, artifacts and output. It is a sum that is added to
// and subtracted from, so that reading it costs the same however long the history is. A change that a crash loses, or makes
// twice, is wrong until the next Recount. It is safe for concurrent use, also by several nodes on one store.
type RunBytes struct {
	records engine.Records
}

type runBytesRecord struct {
	Bytes int64 `json:"bytes"`
}

// NewRunBytes keeps the sums in a store, which stays the caller's.
func NewRunBytes(records engine.Records) *RunBytes { return &RunBytes{records: records} }

// Of returns how many bytes the runs of a namespace have stored.
func (r *RunBytes) Of(ctx context.Context, namespace string) (int64, error) {
	record, err := r.records.Record(ctx, runBytesKind, namespace)
	if errors.Is(err, engine.ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read what the runs of namespace %s have stored: %w", namespace, err)
	}
	return decodeRunBytes(&record)
}

// All returns the sums of all namespaces whose runs have stored something.
func (r *RunBytes) All(ctx context.Context) (map[string]int64, error) {
	all := map[string]int64{}
	filter := engine.RecordFilter{Kind: runBytesKind, Limit: namespacesPerRead}
	for {
		records, err := r.records.Records(ctx, filter)
		if err != nil {
			return nil, fmt.Errorf("read what runs have stored: %w", err)
		}
		for i := range records {
			if all[records[i].Key], err = decodeRunBytes(&records[i]); err != nil {
				return nil, err
			}
		}
		if len(records) < namespacesPerRead {
			return all, nil
		}
		filter.After = records[len(records)-1].Key
	}
}

func decodeRunBytes(record *engine.Record) (int64, error) {
	var sum runBytesRecord
	if err := json.Unmarshal(record.Data, &sum); err != nil {
		return 0, fmt.Errorf("read what the runs of namespace %s have stored: %w", record.Key, err)
	}
	return sum.Bytes, nil
}

// Add adds bytes to the sum of a namespace, or subtracts them, down to 0. After an error nothing is known.
func (r *RunBytes) Add(ctx context.Context, namespace string, bytes int64) error {
	var err error
	for range runBytesTries {
		err = r.addOnce(ctx, namespace, bytes)
		if !errors.Is(err, engine.ErrConflict) && !errors.Is(err, engine.ErrExists) && !errors.Is(err, engine.ErrNotFound) {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("write what the runs of namespace %s have stored: %w", namespace, err)
	}
	return nil
}

// Recount corrects the sums. counted is what was found in S3 of the runs that had ended when before was read by All. What was
// added and subtracted since then counts, too.
func (r *RunBytes) Recount(ctx context.Context, before, counted map[string]int64) error {
	wrong := map[string]int64{}
	for namespace, bytes := range counted {
		wrong[namespace] = bytes - before[namespace]
	}
	for namespace, bytes := range before {
		if _, found := counted[namespace]; !found {
			wrong[namespace] = -bytes
		}
	}
	for namespace, bytes := range wrong {
		if bytes == 0 {
			continue
		}
		if err := r.Add(ctx, namespace, bytes); err != nil {
			return err
		}
	}
	return nil
}

// addOnce changes a sum unless another node was faster: engine.ErrConflict, ErrExists or ErrNotFound.
func (r *RunBytes) addOnce(ctx context.Context, namespace string, bytes int64) error {
	record, err := r.records.Record(ctx, runBytesKind, namespace)
	insert := errors.Is(err, engine.ErrNotFound)
	var sum int64
	switch {
	case insert:
		record = engine.Record{Kind: runBytesKind, Key: namespace}
	case err != nil:
		return err
	default:
		if sum, err = decodeRunBytes(&record); err != nil {
			return err
		}
	}
	sum = max(sum+bytes, 0)
	if sum == 0 {
		if insert {
			return nil
		}
		return r.records.DeleteRecord(ctx, runBytesKind, namespace, record.Revision)
	}
	if record.Data, err = json.Marshal(runBytesRecord{sum}); err != nil {
		return err
	}
	record.Revision++
	if insert {
		return r.records.InsertRecord(ctx, record)
	}
	return r.records.ReplaceRecord(ctx, record)
}
