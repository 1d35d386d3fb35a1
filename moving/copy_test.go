package moving_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"testing"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/moving"
	"github.com/tidewheel/tidewheel/store/memory"
)

func digestOf(data []byte) string {
	digest := sha256.Sum256(data)
	return hex.EncodeToString(digest[:])
}

var errPower = errors.New("the power went")

// A copy that breaks off anywhere is gone on with, and ends with the same.
func TestACopyResumesWhereItWasInterrupted(t *testing.T) {
	from := openSQLite(t)
	seedStore(t, from, nil, 1600)
	want := all(t, from)
	for stop := range 5 {
		to := memory.New()
		var position moving.Position
		saves := 0
		saved := func(p moving.Position) error {
			position = p
			if saves++; saves == stop {
				return errPower
			}
			return nil
		}
		count, err := moving.CopyDocuments(t.Context(), from, to, position, saved, nil)
		for errors.Is(err, errPower) {
			if position == (moving.Position{}) {
				t.Fatal("nothing was saved")
			}
			count, err = moving.CopyDocuments(t.Context(), from, to, position, saved, nil)
		}
		if err != nil || count != int64(len(want)) {
			t.Fatalf("stopped at %d: %d documents, %v", stop, count, err)
		}
		same(t, "documents", all(t, to), want)
	}
}

// A source that was used after an interrupted copy is copied again: what is gone there is gone here, too.
func TestACopyOfWhatHasChangedSince(t *testing.T) {
	from, to := openSQLite(t), memory.New()
	seedStore(t, from, nil, 1600)
	var position moving.Position
	_, err := moving.CopyDocuments(t.Context(), from, to, position, func(p moving.Position) error {
		position = p
		return errPower
	}, nil)
	if !errors.Is(err, errPower) {
		t.Fatal(err)
	}
	if err := from.DropDocuments(t.Context(), engine.CollectionCommands); err != nil {
		t.Fatal(err)
	}
	seedStore(t, from, nil, 1500)
	run := all(t, from)["runs "+engine.SlotRunID("aaaaaaaaaaaaaaaa", noon)].(engine.Run)
	run.Revision, run.Status = 99, engine.StatusSucceeded
	if err := from.PutDocuments(t.Context(), []engine.Document{run}); err != nil {
		t.Fatal(err)
	}
	if _, err := moving.CopyDocuments(t.Context(), from, to, position, func(moving.Position) error { return nil }, nil); err != nil {
		t.Fatal(err)
	}
	same(t, "documents", all(t, to), all(t, from))
}

// busy is a store that changes while it is read.
type busy struct {
	*memory.Store
	t *testing.T
	n int64
}

// View writes before each look.
func (b *busy) View(ctx context.Context, read func(engine.DocumentPages) error) error {
	b.n++
	if err := b.PutDocuments(ctx, []engine.Document{engine.ScheduledTask{ID: "busy", Revision: b.n, RunAt: noon}}); err != nil {
		b.t.Error(err)
	}
	return b.Store.View(ctx, read)
}

func TestACopyOfWhatChangesIsRefused(t *testing.T) {
	from := &busy{Store: memory.New(), t: t}
	seedStore(t, from, nil, 10)
	if _, err := moving.CopyDocuments(t.Context(), from, memory.New(), moving.Position{}, nil, nil); !errors.Is(err, moving.ErrChanged) {
		t.Fatalf("got %v", err)
	}
}

// forgetful is a store that loses what it is given last.
type forgetful struct{ *memory.Store }

// PutDocuments loses the last.
func (f forgetful) PutDocuments(ctx context.Context, documents []engine.Document) error {
	return f.Store.PutDocuments(ctx, documents[:len(documents)-1])
}

func TestACopyThatLosesSomethingIsNoticed(t *testing.T) {
	from := memory.New()
	seedStore(t, from, nil, 10)
	var different *moving.DifferentError
	if _, err := moving.CopyDocuments(t.Context(), from, forgetful{memory.New()}, moving.Position{}, nil, nil); !errors.As(err, &different) || different.Want != different.Got+1 {
		t.Fatalf("got %v", err)
	}
	file := backup(t, from, nil, false)
	if _, err := moving.Restore(t.Context(), newReader(file), moving.Target{Documents: forgetful{memory.New()}}, nil); !errors.As(err, &different) {
		t.Fatalf("got %v", err)
	}
}

func TestObjectsAreCopiedAndCompared(t *testing.T) {
	from, to := newBucket(), newBucket()
	seedStore(t, memory.New(), from, 0)
	to.full = 2
	if _, _, err := moving.CopyObjects(t.Context(), from, to, nil); !errors.Is(err, errFull) {
		t.Fatalf("a full bucket: %v", err)
	}
	to.full = -1
	to.objects["logs/a-s1/1/index.json"] = []byte("[]") // of the same size, and another
	for range 2 {
		count, damaged, err := moving.CopyObjects(t.Context(), from, to, nil)
		if err != nil || count != 5 || len(damaged) > 0 {
			t.Fatalf("%d objects, %v, %v", count, damaged, err)
		}
		same(t, "objects", to.objects, from.objects)
	}
	for key := range from.objects {
		if key[:4] == "bina" {
			from.objects[key] = []byte("other")
		}
	}
	if _, damaged, err := moving.CopyObjects(t.Context(), from, to, nil); err != nil || len(damaged) != 1 {
		t.Errorf("a damaged program: %v, %v", damaged, err)
	}
}
