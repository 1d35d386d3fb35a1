package notify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/secret"
)

// The kinds of the records.
const (
	kindTarget   = secret.KindTarget // key: namespace/name
	kindRules    = "notify-rules"    // key: the namespace
	kindSilence  = "notify-silence"  // key: namespace/id
	kindDelivery = "delivery"        // key: namespace/id
	kindDue      = "delivery-due"    // key: see dueKey
)

// Installation is in the place of a namespace for what concerns the whole installation: a silent executor, a shard without an owner,
// a difference in the ledger. It has rules, targets, silences and deliveries like a namespace.
const Installation = "*"

// page is how many records are read at once.
const page = 500

// InvalidError reports which field of what was given is wrong, and why.
type InvalidError struct{ Field, Reason string }

func (e *InvalidError) Error() string { return e.Reason }

// InUseError reports what still names a target that was to be deleted.
type InUseError struct{ By string }

func (e *InUseError) Error() string { return "it is still named by " + e.By }

// Vault seals what targets hold that is secret. See secret.Vault.
type Vault interface {
	Seal(ctx context.Context, namespace, name string, value []byte) (secret.Value, error)
	Unseal(ctx context.Context, namespace, name string, value secret.Value) ([]byte, error)
}

// Book keeps targets, rules, silences and deliveries as records of a store. It is safe for concurrent use, also by several nodes on
// one store.
type Book struct {
	records engine.Records
	vault   Vault
	now     func() time.Time
	kept    time.Duration // how long a delivery that has ended is kept; 0 is for ever
}

// NewBook keeps a book in a store, which stays the caller's.
func NewBook(records engine.Records, vault Vault, now func() time.Time) *Book {
	return &Book{records: records, vault: vault, now: now, kept: DefaultKept}
}

// Keep sets how long deliveries are kept that end from now on: LeastKept or more, 0 for ever. It must be called before the book is used.
func (b *Book) Keep(kept time.Duration) { b.kept = kept }

// moment is the present as it is kept.
func (b *Book) moment() time.Time { return b.now().UTC().Truncate(time.Millisecond) }

// errLost means that another writer was first.
var errLost = errors.New("another writer was first")

// write inserts a record of revision 1 and replaces any other; errLost.
func (b *Book) write(ctx context.Context, record engine.Record, data any) (err error) {
	if record.Data, err = json.Marshal(data); err != nil {
		return fmt.Errorf("notify: write %s %s: %w", record.Kind, record.Key, err)
	}
	if record.Revision == 1 {
		err = b.records.InsertRecord(ctx, record)
	} else {
		err = b.records.ReplaceRecord(ctx, record)
	}
	switch {
	case errors.Is(err, engine.ErrExists), errors.Is(err, engine.ErrConflict), errors.Is(err, engine.ErrNotFound):
		return errLost
	case err != nil:
		return fmt.Errorf("notify: write %s %s: %w", record.Kind, record.Key, err)
	}
	return nil
}

// read reads a record into data; engine.ErrNotFound.
func (b *Book) read(ctx context.Context, kind, key string, data any) (engine.Record, error) {
	record, err := b.records.Record(ctx, kind, key)
	if err != nil {
		return engine.Record{}, fmt.Errorf("notify: read %s %s: %w", kind, key, err)
	}
	return record, decode(&record, data)
}

func decode(record *engine.Record, data any) error {
	if err := json.Unmarshal(record.Data, data); err != nil {
		return fmt.Errorf("notify: read %s %s: %w", record.Kind, record.Key, err)
	}
	return nil
}

// each calls visit with every record of a kind whose key begins with prefix.
func (b *Book) each(ctx context.Context, kind, prefix string, visit func(*engine.Record) error) error {
	for after := ""; ; {
		records, err := b.records.Records(ctx, engine.RecordFilter{Kind: kind, Prefix: prefix, After: after, Limit: page})
		if err != nil {
			return fmt.Errorf("notify: list %s: %w", kind, err)
		}
		for i := range records {
			if err := visit(&records[i]); err != nil {
				return err
			}
		}
		if len(records) < page {
			return nil
		}
		after = records[len(records)-1].Key
	}
}

func key(namespace, name string) string { return namespace + "/" + name }
