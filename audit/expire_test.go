package audit_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/audit"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/store/memory"
)

// deletesSome is a store that stops to delete records after some.
type deletesSome struct {
	*memory.Store
	left int
}

var errStopped = errors.New("stopped")

func (d *deletesSome) DeleteRecord(ctx context.Context, kind, key string, revision int64) error {
	if d.left--; d.left < 0 {
		return errStopped
	}
	return d.Store.DeleteRecord(ctx, kind, key, revision)
}

func TestTheChainHoldsAfterOldEntriesWereRemoved(t *testing.T) {
	store := memory.New()
	log := filled(t, store, 20)
	first, err := log.Verify(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	all, _, err := log.List(t.Context(), audit.Filter{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	for _, most := range []int{0, 3, 100} { // a crash in between leaves some
		crashing := audit.New(&deletesSome{store, most})
		if _, err := crashing.Expire(t.Context(), noon.Add(8*time.Minute)); err != nil && !errors.Is(err, errStopped) {
			t.Fatal(err)
		}
		if _, err := audit.New(store).Verify(t.Context(), first.Hash); err != nil {
			t.Fatalf("after %d were removed: %v", most, err)
		}
	}
	numbers := list(t, log, audit.Filter{Limit: 100})
	if len(numbers) != 13 || numbers[0] != 21 || numbers[12] != 9 {
		t.Errorf("left are %v, want 9 to 20 and the removal", numbers)
	}
	newest, _, err := log.List(t.Context(), audit.Filter{Limit: 1})
	if err != nil || newest[0].By != "retention" || len(newest[0].Changes) != 1 || newest[0].Changes[0].Before != all[12].Hash {
		t.Errorf("the entry of the removal is %+v, %v", newest, err)
	}
	if _, err := log.Verify(t.Context(), all[12].Hash); err != nil { // entry 8, the last that went
		t.Errorf("with the hash of the last entry that went: %v", err)
	}
	if removed, err := log.Expire(t.Context(), noon.Add(8*time.Minute)); removed != 0 || err != nil {
		t.Errorf("once more %d were removed, %v", removed, err)
	}
	if err := log.Append(t.Context(), entry(30)); err != nil {
		t.Fatal(err)
	}
	// Whatever is taken out by others is found as before.
	if err := store.DeleteRecord(t.Context(), "audit", "0000000000000009", 0); err != nil {
		t.Fatal(err)
	}
	var broken *audit.BrokenError
	if _, err := log.Verify(t.Context(), ""); !errors.As(err, &broken) || broken.Number != 10 {
		t.Errorf("without entry 9: %v", err)
	}
}

func TestTheNewestEntryStays(t *testing.T) {
	store := memory.New()
	log := filled(t, store, 3)
	if removed, err := log.Expire(t.Context(), noon.Add(1000*time.Hour)); removed != 2 || err != nil {
		t.Fatalf("%d were removed, %v", removed, err)
	}
	if _, err := log.Verify(t.Context(), ""); err != nil {
		t.Error(err)
	}
	records, err := store.Records(t.Context(), engine.RecordFilter{Kind: "audit", Limit: 10})
	if err != nil || len(records) != 2 {
		t.Errorf("%d records are left, %v", len(records), err)
	}
}
