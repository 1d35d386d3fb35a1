package audit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"unicode/utf8"

	"github.com/tidewheel/tidewheel/engine"
)

// kind is that of the records that hold entries: many in one, where many were appended at once. A record's key is the number
// of its first entry.
const kind = "audit"

// Bounds of what is kept.
const (
	mostAtOnce = 256  // entries in a record
	mostText   = 1024 // bytes of a field that a user fills
)

// Records is where entries are kept.
type Records interface {
	InsertRecord(ctx context.Context, record engine.Record) error
	ReplaceRecord(ctx context.Context, record engine.Record) error
	DeleteRecord(ctx context.Context, kind, key string, revision int64) error
	Record(ctx context.Context, kind, key string) (engine.Record, error)
	Records(ctx context.Context, filter engine.RecordFilter) ([]engine.Record, error)
}

// Log is the audit log. It is safe for concurrent use, also by several nodes on one store.
type Log struct {
	records Records

	mu      sync.Mutex
	waiting []*pending
	writing bool
	last    *Entry // as far as this node knows; nil: not read yet
}

type pending struct {
	entry Entry
	done  chan error
}

// New makes a log over a store, which stays the caller's.
func New(records Records) *Log { return &Log{records: records} }

// Append adds an entry; its number, previous and hash are set here. Those that are appended at the same time are written
// together. The caller must not stop waiting for it: what ctx carries is used, its end is not.
func (l *Log) Append(ctx context.Context, entry Entry) error {
	for _, text := range []*string{&entry.By, &entry.Remote, &entry.RequestID, &entry.Agent, &entry.Namespace, &entry.Target} {
		*text = shortened(*text)
	}
	mine := &pending{entry: entry, done: make(chan error, 1)}
	l.mu.Lock()
	l.waiting = append(l.waiting, mine)
	lead := !l.writing
	l.writing = true
	l.mu.Unlock()
	if lead {
		l.write(context.WithoutCancel(ctx))
	}
	return <-mine.done
}

// write writes what waits until nothing does.
func (l *Log) write(ctx context.Context) {
	for {
		l.mu.Lock()
		some := l.waiting[:min(len(l.waiting), mostAtOnce)]
		if l.waiting = l.waiting[len(some):]; len(some) == 0 {
			l.writing = false
			l.mu.Unlock()
			return
		}
		l.mu.Unlock()
		err := l.put(ctx, some)
		for _, one := range some {
			one.done <- err
		}
	}
}

// put writes entries as one record behind the last one, which another node may be writing at the same time.
func (l *Log) put(ctx context.Context, some []*pending) error {
	for {
		if l.last == nil {
			last, err := l.newest(ctx)
			if err != nil {
				return fmt.Errorf("audit: read the last entry: %w", err)
			}
			l.last = &last
		}
		last, entries := *l.last, make([]Entry, len(some))
		for i := range some {
			last = some[i].entry.follow(last.Number+1, last.Hash)
			entries[i] = last
		}
		data, err := json.Marshal(entries)
		if err != nil {
			return fmt.Errorf("audit: %w", err)
		}
		err = l.records.InsertRecord(ctx, engine.Record{Kind: kind, Key: keyOf(entries[0].Number), Revision: 1, Data: data})
		if err == nil {
			l.last = &last
			return nil
		}
		l.last = nil // whatever it was, what is there must be read
		if !errors.Is(err, engine.ErrExists) {
			return fmt.Errorf("audit: %w", err)
		}
	}
}

// newest reads the last entry, the zero one of an empty log.
func (l *Log) newest(ctx context.Context) (Entry, error) {
	records, err := l.records.Records(ctx, engine.RecordFilter{Kind: kind, Backwards: true, Limit: 1})
	if err != nil || len(records) == 0 {
		return Entry{}, err
	}
	entries, err := entriesOf(&records[0])
	if err != nil {
		return Entry{}, err
	}
	return entries[len(entries)-1], nil
}

// keyOf orders numbers as texts.
func keyOf(number int64) string { return fmt.Sprintf("%016d", number) }

func entriesOf(record *engine.Record) (entries []Entry, err error) {
	if err = json.Unmarshal(record.Data, &entries); err == nil && len(entries) == 0 {
		err = errors.New("it is empty")
	}
	if err != nil {
		number, _ := strconv.ParseInt(record.Key, 10, 64)
		return nil, &BrokenError{Number: number, Why: "its record cannot be read: " + err.Error()}
	}
	return entries, nil
}

// shortened is a text of at most mostText bytes.
func shortened(text string) string {
	if len(text) <= mostText {
		return text
	}
	cut := mostText
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "…"
}
