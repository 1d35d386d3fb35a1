package blob

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

// since answers a sweep: the objects of these runs are to go if none was written at an instant or later.
func since(before time.Time, runs ...string) Unwanted {
	return func(context.Context, []string) (map[string]time.Time, error) {
		going := map[string]time.Time{}
		for _, run := range runs {
			going[run] = before
		}
		return going, nil
	}
}

func TestSweepTakesTheOutputsOfUnwantedRuns(t *testing.T) {
	store := openStore(t)
	for _, run := range []string{"gone", "here", "there"} {
		writer := newLog(t, store, run)
		if _, err := writer.Write([]byte(run)); err != nil {
			t.Fatal(err)
		}
		closeLog(t, writer)
	}
	if n, err := store.SweepRuns(t.Context(), Logs, since(time.Now().Add(-time.Hour), "gone")); n != 0 || err != nil {
		t.Fatalf("of outputs that were just written it swept %d, %v", n, err)
	}
	var asked []string
	unwanted := since(time.Now().Add(time.Hour), "gone")
	n, err := store.SweepRuns(t.Context(), Logs, func(ctx context.Context, runs []string) (map[string]time.Time, error) {
		asked = append(asked, runs...)
		return unwanted(ctx, runs)
	})
	if n != 1 || err != nil {
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
	_, err = store.SweepRuns(t.Context(), Logs, func(context.Context, []string) (map[string]time.Time, error) { return nil, away })
	if !errors.Is(err, away) {
		t.Errorf("without an answer: %v", err)
	}
	checkLog(t, openLog(t, store, "there"), []byte("there"))
}

func TestSweepTakesTheArtifactsOfUnwantedRuns(t *testing.T) {
	store := openStore(t)
	for _, run := range []string{"gone", "here"} {
		putArtifact(t, store, run, 1, "lost/before/its/report", []byte("x"))
		putArtifact(t, store, run, 2, "a", []byte("x"))
	}
	writer := newLog(t, store, "gone")
	closeLog(t, writer) // which another sweep is for
	if n, err := store.SweepRuns(t.Context(), Artifacts, since(time.Now().Add(-time.Hour), "gone")); n != 0 || err != nil {
		t.Fatalf("of artifacts that were just stored it swept %d, %v", n, err)
	}
	before, _ := keys(t, store)
	unwanted := since(time.Now().Add(time.Hour), "gone")
	if runs, err := store.UnwantedRuns(t.Context(), Artifacts, unwanted); !slices.Equal(runs, []string{"gone"}) || err != nil {
		t.Errorf("unwanted are those of %v, %v", runs, err)
	}
	if n, err := store.SweepRuns(t.Context(), Artifacts, unwanted); n != 1 || err != nil {
		t.Fatalf("it swept %d, %v, want one", n, err)
	}
	after, _ := keys(t, store)
	if len(after) != len(before)-2 || strings.Contains(strings.Join(after, " "), "artifacts/gone") {
		t.Errorf("left are %v", after)
	}
	if n, err := store.DeleteArtifacts(t.Context(), "here"); n != 2 || err != nil {
		t.Fatalf("it removed %d bytes, %v, want 2", n, err)
	}
	if n, err := store.DeleteArtifacts(t.Context(), "here"); n != 0 || err != nil {
		t.Errorf("when there are none: %d, %v", n, err)
	}
}
