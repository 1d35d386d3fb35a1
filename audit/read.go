package audit

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

// Filter selects entries. Zero fields do not filter.
type Filter struct {
	By         string // exactly
	Namespaces []string
	Text       string // in the action, the target or the changes; case is ignored
	Outcome    Outcome
	Since      time.Time // at or after it
	Until      time.Time // before it
	Below      int64     // the number that the page before ended with; 0 for the first page
	Limit      int       // entries of a page
}

func (f *Filter) match(e *Entry) bool {
	text := strings.ToLower(f.Text)
	return (f.By == "" || e.By == f.By || strings.HasPrefix(e.By, f.By+"/")) && f.within(e.Namespace) && (f.Outcome == "" || e.Outcome == f.Outcome) &&
		!e.At.Before(f.Since) && (f.Until.IsZero() || e.At.Before(f.Until)) &&
		(text == "" || strings.Contains(strings.ToLower(e.words()), text))
}

// words are all that a text is looked for in.
func (e *Entry) words() string {
	words := []string{e.Action, e.Target}
	for _, change := range e.Changes {
		words = append(words, change.What, change.Before, change.After)
	}
	return strings.Join(words, "\n")
}

func (f *Filter) within(namespace string) bool {
	for _, name := range f.Namespaces {
		if name == namespace {
			return true
		}
	}
	return len(f.Namespaces) == 0
}

// Bounds of one List.
const (
	recordsPerRead = 200
	mostLookedAt   = 50_000 // entries, however few of them match
)

// clockLeeway is by how much the clocks of nodes may differ: an entry can be that much older than the previous one.
const clockLeeway = 10 * time.Minute

// List returns entries, the newest first. next is the Below of the page that follows, 0 at the end. A page may be short, even
// empty, where what matches is rare.
func (l *Log) List(ctx context.Context, filter Filter) (entries []Entry, next int64, err error) {
	looked := 0
	err = l.walk(ctx, filter.Below, true, func(e *Entry) bool {
		if !filter.Since.IsZero() && e.At.Before(filter.Since.Add(-clockLeeway)) {
			next = 0
			return false
		}
		if looked++; filter.match(e) {
			entries = append(entries, *e)
		}
		if len(entries) == filter.Limit || looked == mostLookedAt {
			next = e.Number
			return false
		}
		return true
	})
	if next == 1 {
		next = 0
	}
	return entries, next, err
}

// walk calls see with entries from a number on, which is not among them (0: all of them), until it returns false.
func (l *Log) walk(ctx context.Context, from int64, backwards bool, see func(*Entry) bool) error {
	filter := engine.RecordFilter{Kind: kind, Backwards: backwards, Limit: recordsPerRead}
	if from > 0 {
		filter.After = keyOf(from)
	}
	for {
		records, err := l.records.Records(ctx, filter)
		if err != nil {
			return fmt.Errorf("audit: %w", err)
		}
		for i := range records {
			entries, err := entriesOf(&records[i])
			if err != nil {
				return err
			}
			for k := range entries {
				e := &entries[k]
				if backwards {
					e = &entries[len(entries)-1-k]
				}
				if backwards && from > 0 && e.Number >= from {
					continue
				}
				if !see(e) {
					return nil
				}
			}
		}
		if len(records) < recordsPerRead {
			return nil
		}
		filter.After = records[len(records)-1].Key
	}
}

// BrokenError says where the log is not what was written.
type BrokenError struct {
	Number int64 // of the entry
	Why    string
}

func (e *BrokenError) Error() string {
	return fmt.Sprintf("entry %d of the audit log: %s", e.Number, e.Why)
}

// Verify reads the whole log and returns its last entry, or a *BrokenError for the first one that does not follow from the one
// before. A hash that was kept elsewhere (known, "" for none) must be that of one of its entries, or of the last one that retention
// removed.
func (l *Log) Verify(ctx context.Context, known string) (last Entry, err error) {
	for {
		start, err := l.anchor(ctx)
		if err != nil {
			return Entry{}, err
		}
		last, err = l.verifyFrom(ctx, start, known)
		if err == nil {
			return last, nil
		}
		// Retention may have removed what was to be read.
		if now, failed := l.anchor(ctx); failed != nil || now.Number == start.Number {
			return last, err
		}
	}
}

// verifyFrom is Verify for what follows an anchor.
func (l *Log) verifyFrom(ctx context.Context, start anchor, known string) (last Entry, err error) {
	var broken *BrokenError
	found := known == "" || known == start.Hash
	last = Entry{Number: start.Number, Hash: start.Hash}
	err = l.walk(ctx, 0, false, func(e *Entry) bool {
		switch {
		case e.Number <= start.Number:
			return true // it is about to go
		case e.Number != last.Number+1:
			broken = &BrokenError{Number: e.Number, Why: fmt.Sprintf("it follows entry %d: what was between is gone", last.Number)}
		case e.Previous != last.Hash:
			broken = &BrokenError{Number: e.Number, Why: "the one before it was changed after it was written"}
		case e.sum() != e.Hash:
			broken = &BrokenError{Number: e.Number, Why: "it was changed after it was written"}
		}
		last, found = *e, found || e.Hash == known
		return broken == nil
	})
	switch {
	case err != nil:
		return last, err
	case broken != nil:
		return last, broken
	case !found:
		return last, &BrokenError{Number: last.Number, Why: "no entry up to this one, the last, has the hash that you gave: newer ones were removed, or it is of another log"}
	}
	return last, nil
}
