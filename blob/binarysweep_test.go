package blob

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

func stored(t *testing.T, store *Store, content string) string {
	t.Helper()
	info, err := store.PutBinary(t.Context(), strings.NewReader(content), PutOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return info.SHA256
}

func isStored(t *testing.T, store *Store, digest string) bool {
	t.Helper()
	there, err := store.HasBinary(t.Context(), digest)
	if err != nil {
		t.Fatal(err)
	}
	return there
}

func TestSweepBinariesRemovesWhatStaysUnused(t *testing.T) {
	store := openStore(t)
	used, unused, back, again := stored(t, store, "used"), stored(t, store, "unused"), stored(t, store, "back"), stored(t, store, "again")
	inUse := map[string]bool{used: true}
	sweep := func(before time.Time) []string {
		t.Helper()
		removed, err := store.SweepBinaries(t.Context(), before, func(context.Context, []string) (map[string]bool, error) { return inUse, nil })
		if err != nil {
			t.Fatal(err)
		}
		return removed
	}
	past, future := time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	if removed := sweep(past); removed != nil {
		t.Errorf("of what was just stored it removed %v", removed)
	}
	if removed := sweep(future); removed != nil {
		t.Errorf("the first sweep removed %v", removed)
	}
	inUse[back] = true // a version refers to it again
	stored(t, store, "again")
	if removed := sweep(future); !slices.Equal(removed, []string{unused}) {
		t.Errorf("it removed %v, want %v", removed, unused)
	}
	if isStored(t, store, unused) || !isStored(t, store, used) || !isStored(t, store, back) || !isStored(t, store, again) {
		t.Error("it removed others")
	}
	delete(inUse, back)
	// Both were marked again: back in this sweep, again in the previous one.
	if removed := sweep(future); !slices.Equal(removed, []string{again}) {
		t.Errorf("it removed %v, want %v", removed, again)
	}
	if removed := sweep(future); !slices.Equal(removed, []string{back}) {
		t.Errorf("it removed %v, want %v", removed, back)
	}
	if marked := marks(t, store); len(marked) > 0 {
		t.Errorf("the marks %v are left of what was removed or is used", marked)
	}
	stored(t, store, "unused")
	if !isStored(t, store, unused) {
		t.Error("it cannot be stored again")
	}
}

// marks are the programs that are marked as unused, and since when.
func marks(t *testing.T, store *Store) map[string]time.Time {
	t.Helper()
	marked, err := store.digests(t.Context(), unusedFolder, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	return marked
}

// A program that was stored long ago and found unused just now is kept as long as any other.
func TestSweepBinariesCountsFromWhenAProgramWasFoundUnused(t *testing.T) {
	store := openStore(t)
	digest := stored(t, store, "old")
	unused := func(context.Context, []string) (map[string]bool, error) { return nil, nil }
	at, err := store.digests(t.Context(), binariesFolder, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	between := at[digest].Add(time.Nanosecond)
	for marks(t, store)[digest].Before(between) { // the store's clock may tick slowly
		if err := store.putSmall(t.Context(), store.unusedKey(digest), nil); err != nil {
			t.Fatal(err)
		}
	}
	if removed, err := store.SweepBinaries(t.Context(), between, unused); err != nil || removed != nil {
		t.Errorf("it removed %v, %v", removed, err)
	}
	if removed, err := store.SweepBinaries(t.Context(), time.Now().Add(time.Hour), unused); err != nil || len(removed) != 1 {
		t.Errorf("later it removed %v, %v", removed, err)
	}
}

// Between the two questions a version may have come to refer to it.
func TestSweepBinariesAsksAgainBeforeItRemoves(t *testing.T) {
	store := openStore(t)
	digest := stored(t, store, "late")
	future := time.Now().Add(time.Hour)
	asked := 0
	used := func(context.Context, []string) (map[string]bool, error) {
		asked++
		return map[string]bool{digest: asked == 3}, nil
	}
	for range 2 {
		if removed, err := store.SweepBinaries(t.Context(), future, used); err != nil || removed != nil {
			t.Fatalf("it removed %v, %v", removed, err)
		}
	}
	if asked != 3 || !isStored(t, store, digest) {
		t.Errorf("it asked %d times, and the program is stored: %t", asked, isStored(t, store, digest))
	}
	// Nor is one removed that is uploaded again while the sweep asks.
	asked = 0
	again := func(context.Context, []string) (map[string]bool, error) {
		if asked++; asked == 2 {
			stored(t, store, "late")
		}
		return nil, nil
	}
	if removed, err := store.SweepBinaries(t.Context(), future, again); err != nil || removed != nil || asked != 2 {
		t.Errorf("as it was uploaded again, it removed %v after %d questions, %v", removed, asked, err)
	}
	away := errors.New("the store is away")
	if removed, err := store.SweepBinaries(t.Context(), future, func(context.Context, []string) (map[string]bool, error) { return nil, away }); !errors.Is(err, away) || removed != nil {
		t.Errorf("without an answer it removed %v, %v", removed, err)
	}
	if marked := marks(t, store); len(marked) > 0 {
		t.Errorf("without an answer it marked %v", marked)
	}
}
