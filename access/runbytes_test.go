package access_test

import (
	"context"
	"errors"
	"maps"
	"sync"
	"testing"

	"github.com/tidewheel/tidewheel/access"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/store/memory"
)

func TestRunBytesOfSeveralNodesAddUp(t *testing.T) {
	store := memory.New()
	const nodes, changes = 4, 50
	var work sync.WaitGroup
	for range nodes {
		work.Go(func() {
			sums := access.NewRunBytes(store)
			for range changes {
				if err := sums.Add(t.Context(), "finance", 10); err != nil {
					t.Error(err)
				}
				if err := sums.Add(t.Context(), "finance", -4); err != nil {
					t.Error(err)
				}
			}
		})
	}
	work.Wait()
	if bytes, err := access.NewRunBytes(store).Of(t.Context(), "finance"); err != nil || bytes != nodes*changes*6 {
		t.Errorf("%d bytes, %v, want %d", bytes, err, nodes*changes*6)
	}
}

func TestRunBytesAreNeverBelowNothing(t *testing.T) {
	store := memory.New()
	sums := access.NewRunBytes(store)
	for _, change := range []struct{ bytes, want int64 }{{-5, 0}, {7, 7}, {-7, 0}, {3, 3}, {-9, 0}} {
		if err := sums.Add(t.Context(), "finance", change.bytes); err != nil {
			t.Fatal(err)
		}
		if got, err := sums.Of(t.Context(), "finance"); err != nil || got != change.want {
			t.Errorf("after %+d it is %d, %v, want %d", change.bytes, got, err, change.want)
		}
	}
	if all, err := sums.All(t.Context()); err != nil || len(all) > 0 {
		t.Errorf("%v, %v: a record is left of nothing", all, err)
	}
}

func TestRecountKeepsWhatCameMeanwhile(t *testing.T) {
	sums := access.NewRunBytes(memory.New())
	for namespace, bytes := range map[string]int64{"wrong": 100, "right": 50, "gone": 7, "meanwhile": 5} {
		if err := sums.Add(t.Context(), namespace, bytes); err != nil {
			t.Fatal(err)
		}
	}
	before, err := sums.All(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := sums.Add(t.Context(), "meanwhile", 3); err != nil {
		t.Fatal(err)
	}
	if err := sums.Recount(t.Context(), before, map[string]int64{"wrong": 90, "right": 50, "meanwhile": 5, "unknown": 4}); err != nil {
		t.Fatal(err)
	}
	want := map[string]int64{"wrong": 90, "right": 50, "meanwhile": 8, "unknown": 4}
	if all, err := sums.All(t.Context()); err != nil || !maps.Equal(all, want) {
		t.Errorf("%v, %v, want %v", all, err, want)
	}
}

// readOnly is a store that takes no change.
type readOnly struct{ *memory.Store }

var errReadOnly = errors.New("it takes no change")

func (readOnly) InsertRecord(context.Context, engine.Record) error { return errReadOnly }

func TestRunBytesReportFailedWrites(t *testing.T) {
	sums := access.NewRunBytes(readOnly{memory.New()})
	if err := sums.Add(t.Context(), "finance", 1); !errors.Is(err, errReadOnly) {
		t.Errorf("%v", err)
	}
}
