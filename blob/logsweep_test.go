package blob

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"
)

func TestSweepLogsTakesThoseOfRunsThatAreGone(t *testing.T) {
	store := openStore(t)
	for _, run := range []string{"gone", "here", "there"} {
		writer := newLog(t, store, run)
		if _, err := writer.Write([]byte(run)); err != nil {
			t.Fatal(err)
		}
		closeLog(t, writer)
	}
	var asked []string
	known := func(_ context.Context, runs []string) (map[string]bool, error) {
		asked = append(asked, runs...)
		return map[string]bool{"here": true, "there": true}, nil
	}
	if n, err := store.SweepLogs(t.Context(), time.Now().Add(-time.Hour), known); n != 0 || err != nil {
		t.Fatalf("of outputs that were just written it swept %d, %v", n, err)
	}
	asked = nil
	if n, err := store.SweepLogs(t.Context(), time.Now().Add(time.Hour), known); n != 1 || err != nil {
		t.Fatalf("it swept %d, %v, want one", n, err)
	}
	if want := []string{"gone", "here", "there"}; !slices.Equal(asked, want) {
		t.Errorf("it asked for %v, want %v", asked, want)
	}
	if _, err := store.OpenLog(t.Context(), "gone", 1); !errors.Is(err, ErrNotFound) {
		t.Errorf("open what was swept: %v", err)
	}
	checkLog(t, openLog(t, store, "here"), []byte("here"))
	away := errors.New("the store is away")
	_, err := store.SweepLogs(t.Context(), time.Now().Add(time.Hour), func(context.Context, []string) (map[string]bool, error) { return nil, away })
	if !errors.Is(err, away) {
		t.Errorf("without an answer: %v", err)
	}
	checkLog(t, openLog(t, store, "there"), []byte("there"))
}
