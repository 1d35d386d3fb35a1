package moving

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

// Tally reports whether two stores hold the same documents of a collection, in whatever order they give them: it is their
// number, and the sum of their SHA-256 modulo 2^256.
type Tally struct {
	Count int64
	sum   [4]uint64 // the lowest first
	line  bytes.Buffer
}

// Add counts a document. Instants count as exactly as every store keeps them.
func (t *Tally) Add(document engine.Document) error {
	t.line.Reset()
	if err := appendLine(&t.line, settled(document)); err != nil {
		return err
	}
	digest := sha256.Sum256(t.line.Bytes())
	var carry uint64
	for i := range t.sum {
		t.sum[i], carry = bits.Add64(t.sum[i], binary.LittleEndian.Uint64(digest[8*i:]), carry)
	}
	t.Count++
	return nil
}

// Same reports whether the documents counted are the same.
func (t *Tally) Same(other *Tally) bool { return t.Count == other.Count && t.sum == other.sum }

// Tallies holds one Tally for each collection.
type Tallies map[engine.Collection]*Tally

// Count counts all documents of a store.
func Count(ctx context.Context, store Source, progress Progress) (Tallies, error) {
	all := Tallies{}
	err := store.View(ctx, func(pages engine.DocumentPages) error {
		for _, of := range engine.Collections() {
			tally := &Tally{}
			all[of] = tally
			if err := eachPage(ctx, pages, of, "", func(page []engine.Document, _ string) error {
				for _, document := range page {
					if err := tally.Add(document); err != nil {
						return err
					}
				}
				progress.tell("comparing "+title(of), tally.Count)
				return nil
			}); err != nil {
				return err
			}
		}
		return nil
	})
	return all, err
}

// DifferentError reports that two places do not hold the same documents.
type DifferentError struct {
	Collection engine.Collection
	Want, Got  int64 // how many
}

func (e *DifferentError) Error() string {
	if e.Want == e.Got {
		return fmt.Sprintf("%s: there are %d on both sides, but they are not the same", title(e.Collection), e.Want)
	}
	return fmt.Sprintf("%s: there are %d where %d should be", title(e.Collection), e.Got, e.Want)
}

// Compare returns a *DifferentError for the first collection that differs.
func (t Tallies) Compare(got Tallies) error {
	for _, of := range engine.Collections() {
		a, b := t[of], got[of]
		if a == nil {
			a = &Tally{}
		}
		if b == nil {
			b = &Tally{}
		}
		if !a.Same(b) {
			return &DifferentError{Collection: of, Want: a.Count, Got: b.Count}
		}
	}
	return nil
}

// Documents is how many there are in all.
func (t Tallies) Documents() (n int64) {
	for _, tally := range t {
		n += tally.Count
	}
	return n
}

// titles are the names of collections in words, where the word alone is none.
var titles = map[engine.Collection]string{
	engine.CollectionGenerations: "generations of jobs", engine.CollectionDAGs: "DAGs", engine.CollectionDAGGenerations: "generations of DAGs",
	engine.CollectionDeadLetters: "dead letters", engine.CollectionScheduledTasks: "scheduled tasks", engine.CollectionSharedKeys: "shared keys",
}

// title is a collection in words.
func title(of engine.Collection) string { return cmp.Or(titles[of], string(of)) }

// settled cuts what one store keeps of an instant and another does not: the parts of a millisecond, and those of a
// microsecond of a run's instants.
func settled(document engine.Document) engine.Document {
	cut := func(instants ...*time.Time) {
		for _, at := range instants {
			*at = at.UTC().Truncate(time.Millisecond)
		}
	}
	switch d := document.(type) {
	case engine.Binary:
		cut(&d.UpdatedAt)
		d.Versions = append([]engine.BinaryVersion{}, d.Versions...) // never null
		for i := range d.Versions {
			cut(&d.Versions[i].At)
		}
		d.AliasHistory = slices.Clone(d.AliasHistory)
		for i := range d.AliasHistory {
			cut(&d.AliasHistory[i].At)
		}
		return d
	case engine.Job:
		cut(&d.PausedAt, &d.CreatedAt, &d.UpdatedAt)
		return d
	case engine.DAG:
		cut(&d.PausedAt, &d.CreatedAt, &d.UpdatedAt)
		return d
	case engine.Generation:
		cut(&d.At)
		return d
	case engine.DAGGeneration:
		cut(&d.At)
		return d
	case engine.Wave:
		cut(&d.Slot, &d.CreatedAt, &d.NotBefore, &d.StartedAt, &d.FinishedAt)
		d.Slots = maps.Clone(d.Slots)
		for root, slot := range d.Slots {
			cut(&slot)
			d.Slots[root] = slot
		}
		return d
	case engine.Run:
		return settledRun(d)
	case engine.RunEffect:
		cut(&d.CreatedAt, &d.OpenedAt, &d.DoneAt)
		return d
	case engine.SlotRange:
		cut(&d.From, &d.To)
		return d
	case engine.DeadLetter:
		cut(&d.At)
		return d
	case engine.Incident:
		d = d.Clone()
		for i := &d; i != nil; i = i.Next {
			cut(&i.Since, &i.Latest, &i.Slot, &i.Over)
		}
		return d
	case engine.ScheduledTask:
		cut(&d.Slot, &d.RunAt)
		return d
	case engine.Command:
		cut(&d.At, &d.From, &d.To)
		return d
	case engine.Record:
		cut(&d.ExpiresAt)
		return d
	}
	return document
}

func settledRun(r engine.Run) engine.Run {
	cut := func(instants ...*time.Time) {
		for _, at := range instants {
			*at = at.UTC().Truncate(time.Microsecond)
		}
	}
	cut(&r.Slot, &r.CreatedAt, &r.NotBefore, &r.QueuedAt, &r.StartedAt, &r.FinishedAt, &r.RetryAt)
	if r.Progress != nil {
		progress := *r.Progress
		cut(&progress.At)
		r.Progress = &progress
	}
	r.Attempts = slices.Clone(r.Attempts)
	for i := range r.Attempts {
		a := &r.Attempts[i]
		cut(&a.QueuedAt, &a.ClaimedAt, &a.FetchedAt, &a.StartedAt, &a.FinishedAt)
	}
	return r
}
