package moving_test

import (
	"bytes"
	"io"
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/tidewheel/tidewheel/moving"
	"github.com/tidewheel/tidewheel/store/sqlite"
)

const benchRuns = 50_000

func fullStore(b *testing.B) *sqlite.Store {
	b.Helper()
	store := emptyStore(b)
	seedStore(b, store, nil, benchRuns)
	return store
}

func emptyStore(b *testing.B) *sqlite.Store {
	b.Helper()
	store, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "tidewheel.db"), sqlite.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = store.Close(b.Context()) })
	return store
}

func BenchmarkBackup(b *testing.B) {
	store := fullStore(b)
	for b.Loop() {
		if _, err := moving.Write(b.Context(), io.Discard, moving.Contents{Documents: store}, nil); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(benchRuns*float64(b.N)/b.Elapsed().Seconds(), "documents/s")
}

func BenchmarkRestore(b *testing.B) {
	var file bytes.Buffer
	if _, err := moving.Write(b.Context(), &file, moving.Contents{Documents: fullStore(b)}, nil); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := moving.Restore(b.Context(), bytes.NewReader(file.Bytes()), moving.Target{Documents: emptyStore(b)}, nil); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(benchRuns*float64(b.N)/b.Elapsed().Seconds(), "documents/s")
	b.ReportMetric(float64(file.Len())/benchRuns, "bytes/document")
}
