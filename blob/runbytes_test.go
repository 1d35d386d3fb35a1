package blob

import (
	"errors"
	"fmt"
	"maps"
	"testing"
)

func TestRunBytesAreThoseOfArtifactsAndOutput(t *testing.T) {
	store := openStore(t)
	putArtifact(t, store, "a", 1, "left/by/a/failed/attempt", []byte("1234"))
	putArtifact(t, store, "a", 2, "report", []byte("12345"))
	putArtifact(t, store, "b", 1, "report", []byte("1"))
	writer := newLog(t, store, "b")
	if _, err := writer.Write(make([]byte, 10_000)); err != nil {
		t.Fatal(err)
	}
	closeLog(t, writer)
	_, index, err := store.OpenObject(t.Context(), "logs/b/1/"+logIndexName)
	if err != nil {
		t.Fatal(err)
	}
	counted := map[string]int64{}
	err = store.RunBytes(t.Context(), func(bytes map[string]int64) error {
		for run, n := range bytes {
			counted[run] += n
		}
		return nil
	})
	if want := map[string]int64{"a": 9, "b": 1 + 10_000 + index}; err != nil || !maps.Equal(counted, want) {
		t.Errorf("%v, %v, want %v", counted, err, want)
	}
	away := errors.New("the store is away")
	if err := store.RunBytes(t.Context(), func(map[string]int64) error { return away }); !errors.Is(err, away) {
		t.Errorf("when the caller fails: %v", err)
	}
}

func TestRunBytesComeInBatches(t *testing.T) {
	store := openStore(t)
	const runs = runsPerCount + 3
	for i := range runs {
		putArtifact(t, store, fmt.Sprintf("run-%04d", i), 1, "x", []byte("1"))
		putArtifact(t, store, fmt.Sprintf("run-%04d", i), 2, "x", []byte("2"))
	}
	var sizes []int
	counted := map[string]int64{}
	err := store.RunBytes(t.Context(), func(bytes map[string]int64) error {
		sizes = append(sizes, len(bytes))
		maps.Copy(counted, bytes)
		return nil
	})
	if err != nil || fmt.Sprint(sizes) != fmt.Sprint([]int{runsPerCount, 3}) || len(counted) != runs || counted["run-0499"] != 2 {
		t.Errorf("%d runs in batches of %v, run-0499 has %d bytes, %v", len(counted), sizes, counted["run-0499"], err)
	}
}
