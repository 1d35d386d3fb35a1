package trigger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// The kinds of the records.
const (
	kindFollower  = "trigger-follower"  // key: namespace/name of a definition that has after_success
	kindSuccess   = "trigger-success"   // key: a hash of what it lists
	kindOutcome   = "trigger-outcome"   // key: namespace/name/source
	kindSignature = "trigger-signature" // key: namespace/name/signature
	kindListener  = "trigger-listener"  // key: namespace/name of a definition with a message trigger
	kindInbox     = "trigger-inbox"     // key: namespace/name of a definition with an objects trigger
)

const (
	// page is how many records are read at once.
	page = 500
	// signatureKept is for how long the signature of a request without a timestamp is known.
	signatureKept = 90 * 24 * time.Hour
)

// ErrReplayed means that a request has the signature of an earlier one, and another id.
var ErrReplayed = errors.New("an earlier request had the same body and signature under another id")

// Book keeps what triggers need to know as records of a store. It is safe for concurrent use, also by several nodes on one store.
type Book struct {
	records engine.Records
	now     func() time.Time
}

// NewBook keeps a book in a store, which stays the caller's.
func NewBook(records engine.Records, now func() time.Time) *Book { return &Book{records, now} }

// name is how a definition is named across namespaces, in keys and in words.
func name(namespace, definition string) string { return namespace + "/" + definition }

// follower is a definition that starts after others.
type follower struct {
	namespace, name string
	// since says from when on it follows each of its upstreams, by name().
	since map[string]time.Time
	age   time.Time // when the record was written last
	// The record that says so.
	key      string
	revision int64
}

// following is the data of a record of kindFollower.
type following struct {
	At    time.Time            `json:"at"`
	Since map[string]time.Time `json:"since"`
}

// Follow writes down which upstreams a definition is about to follow. The caller must call it before it saves such a definition: a
// record too many is removed by the watcher, one too few would lose events.
func (b *Book) Follow(ctx context.Context, namespace, definition string, upstreams []spec.Upstream) error {
	now := b.now().UTC()
	next := following{At: now}
	return b.update(ctx, kindFollower, name(namespace, definition), &next, func() {
		before := next.Since
		next = following{At: now, Since: map[string]time.Time{}}
		for _, upstream := range upstreams {
			of := name(upstream.Namespace, upstream.Name)
			next.Since[of] = now
			if since, known := before[of]; known {
				next.Since[of] = since
			}
		}
	})
}

// update reads a record into data, lets change change that, and writes it; again where another writer was first. Without a record data
// stays as it is.
func (b *Book) update(ctx context.Context, kind, key string, data any, change func()) error {
	for {
		record, err := b.records.Record(ctx, kind, key)
		switch {
		case errors.Is(err, engine.ErrNotFound):
			record, err = engine.Record{Kind: kind, Key: key}, nil
		case err == nil:
			err = json.Unmarshal(record.Data, data)
		}
		if err != nil {
			return fmt.Errorf("read %s of %s: %w", kind, key, err)
		}
		change()
		switch err = b.write(ctx, record, data); {
		case err == nil:
			return nil
		case !errors.Is(err, engine.ErrConflict):
			return fmt.Errorf("write %s of %s: %w", kind, key, err)
		}
	}
}

// write inserts a record, or replaces the one that was read; engine.ErrConflict where another writer was first.
func (b *Book) write(ctx context.Context, record engine.Record, data any) (err error) {
	record.Revision++
	if record.Data, err = json.Marshal(data); err != nil {
		return err
	}
	if record.Revision == 1 {
		err = b.records.InsertRecord(ctx, record)
	} else {
		err = b.records.ReplaceRecord(ctx, record)
	}
	if errors.Is(err, engine.ErrExists) || errors.Is(err, engine.ErrNotFound) {
		return engine.ErrConflict
	}
	return err
}

// followers lists the definitions that start after others.
func (b *Book) followers(ctx context.Context) (found []follower, err error) {
	err = b.each(ctx, kindFollower, func(record *engine.Record) error {
		var data following
		if err := json.Unmarshal(record.Data, &data); err != nil {
			return fmt.Errorf("read what %s follows: %w", record.Key, err)
		}
		namespace, definition, _ := strings.Cut(record.Key, "/")
		found = append(found, follower{namespace, definition, data.Since, data.At, record.Key, record.Revision})
		return nil
	})
	return found, err
}

// each calls for all records of a kind.
func (b *Book) each(ctx context.Context, kind string, call func(*engine.Record) error) error {
	filter := engine.RecordFilter{Kind: kind, Limit: page}
	for {
		records, err := b.records.Records(ctx, filter)
		if err != nil {
			return fmt.Errorf("list %s: %w", kind, err)
		}
		for i := range records {
			if err := call(&records[i]); err != nil {
				return err
			}
		}
		if len(records) < page {
			return nil
		}
		filter.After = records[len(records)-1].Key
	}
}

// SetOutcome remembers what the last event of a source has led to. Of two at one time either may stay.
func (b *Book) SetOutcome(ctx context.Context, namespace, definition string, source Source, outcome Outcome) error {
	key := name(namespace, definition) + "/" + string(source)
	record, err := b.records.Record(ctx, kindOutcome, key)
	if errors.Is(err, engine.ErrNotFound) {
		record, err = engine.Record{Kind: kindOutcome, Key: key}, nil
	}
	if err == nil {
		err = b.write(ctx, record, &outcome)
	}
	if err != nil && !errors.Is(err, engine.ErrConflict) {
		return fmt.Errorf("write the outcome of an event of %s: %w", key, err)
	}
	return nil
}

// Outcomes returns what the last event of each source has led to, for one definition.
func (b *Book) Outcomes(ctx context.Context, namespace, definition string) (map[Source]Outcome, error) {
	prefix := name(namespace, definition) + "/"
	records, err := b.records.Records(ctx, engine.RecordFilter{Kind: kindOutcome, Prefix: prefix, Limit: page})
	if err != nil {
		return nil, fmt.Errorf("list the outcomes of events of %s: %w", prefix, err)
	}
	outcomes := map[Source]Outcome{}
	for i := range records {
		var outcome Outcome
		if err := json.Unmarshal(records[i].Data, &outcome); err != nil {
			return nil, fmt.Errorf("read the outcome %s: %w", records[i].Key, err)
		}
		outcomes[Source(strings.TrimPrefix(records[i].Key, prefix))] = outcome
	}
	return outcomes, nil
}

// remembered is the data of a record of kindSignature.
type remembered struct {
	ID string `json:"id"` // of the delivery
	// Started is the run or wave that the delivery has started; "" before that is written down.
	Started string `json:"started,omitempty"`
}

// UnmarshalJSON also reads what earlier versions wrote: the id alone.
func (r *remembered) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		return json.Unmarshal(data, &r.ID)
	}
	type plain remembered
	return json.Unmarshal(data, (*plain)(r))
}

// Remember lets a genuine delivery without a timestamp be used under its own id only: its id is not signed, so anyone who has seen the
// request could send it again under another one. It returns ErrReplayed for that, and otherwise what the delivery has started before,
// also where that was removed since; "" if nothing.
func (b *Book) Remember(ctx context.Context, namespace, definition string, delivery *Delivery) (started string, err error) {
	if delivery.Signature == "" {
		return "", nil
	}
	record := engine.Record{
		Kind: kindSignature, Key: name(namespace, definition) + "/" + delivery.Signature,
		ExpiresAt: b.now().UTC().Truncate(time.Millisecond).Add(signatureKept),
	}
	if err = b.write(ctx, record, &remembered{ID: delivery.ID}); !errors.Is(err, engine.ErrConflict) {
		return "", err
	}
	_, before, err := b.remembered(ctx, namespace, definition, delivery)
	if err == nil && before.ID != delivery.ID {
		err = ErrReplayed
	}
	return before.Started, err
}

func (b *Book) remembered(ctx context.Context, namespace, definition string, delivery *Delivery) (record engine.Record, data remembered, err error) {
	record, err = b.records.Record(ctx, kindSignature, name(namespace, definition)+"/"+delivery.Signature)
	if err == nil {
		err = json.Unmarshal(record.Data, &data)
	}
	return record, data, err
}

// RememberStarted writes down what a delivery that Remember knows has started, so that it starts nothing more once that is removed.
func (b *Book) RememberStarted(ctx context.Context, namespace, definition string, delivery *Delivery, started string) error {
	if delivery.Signature == "" {
		return nil
	}
	record, data, err := b.remembered(ctx, namespace, definition, delivery)
	if err != nil || data.Started != "" {
		return err
	}
	data.Started = started
	err = b.write(ctx, record, &data)
	if errors.Is(err, engine.ErrConflict) { // the same delivery came twice at once, and has started the same
		return nil
	}
	return err
}
