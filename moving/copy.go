package moving

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tidewheel/tidewheel/engine"
)

// Position is how far documents have been copied. The zero value is the beginning.
type Position struct {
	Collection engine.Collection `json:"collection,omitempty"` // all before it are copied
	Place      string            `json:"place,omitempty"`      // in it, as its store names it
}

// ErrChanged means that the source was written to while it was copied.
var ErrChanged = errors.New("what is copied was changed meanwhile")

// CopyDocuments copies all documents of a store to another, and compares both. It starts where an earlier call stopped,
// and calls saved from time to time with its position. If both differ because the source has changed since that earlier
// call, it copies everything again. It returns how many documents there are.
func CopyDocuments(ctx context.Context, from Source, to Store, begin Position, saved func(Position) error, progress Progress) (int64, error) {
	for {
		copied, err := copyOnce(ctx, from, to, begin, saved, progress)
		if err != nil {
			return 0, err
		}
		want, err := Count(ctx, from, progress)
		if err != nil {
			return 0, err
		}
		got, err := Count(ctx, to, progress)
		if err != nil {
			return 0, err
		}
		different := want.Compare(got)
		switch {
		case different == nil:
			return want.Documents(), nil
		case begin != Position{}:
			begin = Position{}
			continue
		case want.Compare(copied) != nil:
			return 0, ErrChanged
		}
		return 0, fmt.Errorf("what was copied is not what it was copied from: %w", different)
	}
}

// copyOnce copies from a place on, and counts what it has copied.
func copyOnce(ctx context.Context, from Source, to Store, begin Position, saved func(Position) error, progress Progress) (Tallies, error) {
	copied := Tallies{}
	all := engine.Collections()
	first := max(0, slices.Index(all, begin.Collection))
	if (begin == Position{}) { // what another try has left may not be in the source any more
		for _, of := range all {
			if err := to.DropDocuments(ctx, of); err != nil {
				return nil, err
			}
		}
	}
	return copied, from.View(ctx, func(pages engine.DocumentPages) error {
		for _, of := range all[first:] {
			tally := &Tally{}
			copied[of] = tally
			place := ""
			if of == begin.Collection {
				place = begin.Place
			}
			if err := eachPage(ctx, pages, of, place, func(page []engine.Document, next string) error {
				for _, document := range page {
					if err := tally.Add(document); err != nil {
						return err
					}
				}
				if err := to.PutDocuments(ctx, page); err != nil {
					return err
				}
				progress.tell("copying "+title(of), tally.Count)
				if next == "" {
					return nil
				}
				return saved(Position{Collection: of, Place: next})
			}); err != nil {
				return err
			}
		}
		return nil
	})
}
