package blob

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

func newLog(t testing.TB, s *Store, run string) *LogWriter {
	t.Helper()
	writer, err := s.NewLogWriter(t.Context(), run, 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = writer.Close() }) // the test's own Close is checked
	return writer
}

func closeLog(t testing.TB, w *LogWriter) LogInfo {
	t.Helper()
	info, err := w.Close()
	if err != nil {
		t.Fatal(err)
	}
	return info
}

func openLog(t testing.TB, s *Store, run string) *LogReader {
	t.Helper()
	reader, err := s.OpenLog(t.Context(), run, 1)
	if err != nil {
		t.Fatal(err)
	}
	return reader
}

// split is the obvious way to find lines, to hold the index against.
func split(data []byte) [][]byte {
	lines := bytes.Split(data, []byte{'\n'})
	if len(lines[len(lines)-1]) == 0 {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// checkLog holds every way to read a log against its bytes.
func checkLog(t *testing.T, reader *LogReader, want []byte) {
	t.Helper()
	lines := split(want)
	if reader.Size() != int64(len(want)) || reader.Lines() != int64(len(lines)) {
		t.Errorf("%d bytes in %d lines, want %d in %d", reader.Size(), reader.Lines(), len(want), len(lines))
	}
	var whole bytes.Buffer
	if n, err := reader.WriterTo(t.Context()).WriteTo(&whole); err != nil || n != int64(len(want)) || !bytes.Equal(whole.Bytes(), want) {
		t.Errorf("streamed %d bytes, equal %v, %v", n, bytes.Equal(whole.Bytes(), want), err)
	}
	for _, from := range []int{0, 1, len(lines) / 2, len(lines) - 3, len(lines) - 1, len(lines)} {
		if from < 0 {
			continue
		}
		got, err := reader.ReadLines(t.Context(), int64(from), 5)
		if err != nil {
			t.Fatal(err)
		}
		expected := lines[min(from, len(lines)):min(from+5, len(lines))]
		if len(got) != len(expected) {
			t.Errorf("from line %d: %d lines, want %d", from, len(got), len(expected))
			continue
		}
		for i, line := range got {
			text := expected[i]
			cut := len(text) > LogLineLimit
			if cut {
				text = text[:LogLineLimit]
			}
			if line.Number != int64(from+i) || line.Truncated != cut || !bytes.Equal(line.Text, text) {
				t.Errorf("line %d: number %d, %d bytes, truncated %v", from+i, line.Number, len(line.Text), line.Truncated)
			}
			if !bytes.HasPrefix(want[line.Offset:], line.Text) {
				t.Errorf("line %d is not at offset %d", from+i, line.Offset)
			}
		}
	}
	for _, offset := range []int{0, 1, LogChunkSize - 10, LogChunkSize, len(want) - 5, len(want), len(want) + 1} {
		if offset < 0 {
			continue
		}
		p := make([]byte, 20)
		n, err := reader.ReadAt(t.Context(), p, int64(offset))
		expected := want[min(offset, len(want)):min(offset+20, len(want))]
		if !bytes.Equal(p[:n], expected) || errors.Is(err, io.EOF) != (len(expected) < 20) {
			t.Errorf("at %d: %q, %v, want %q", offset, p[:n], err, expected)
		}
	}
}

func TestLogReadsAsWritten(t *testing.T) {
	t.Parallel()
	store := openStore(t)
	giant := strings.Repeat("x", 2*LogChunkSize+100)
	for name, content := range map[string]string{
		"empty":              "",
		"one-line":           "hello\n",
		"unfinished-line":    "hello\nworld",
		"empty-lines":        "\n\n\n",
		"invalid-utf8":       "\xff\xfe\x00 binary \x80\n\x00\n",
		"no-newline":         giant,
		"giant-between":      "first\n" + giant + "\nlast\n",
		"line-limit":         strings.Repeat("y", LogLineLimit) + "\n" + strings.Repeat("z", LogLineLimit+1) + "\nend",
		"exactly-a-chunk":    strings.Repeat("0123456\n", LogChunkSize/8),
		"newline-at-the-cut": strings.Repeat("a", LogChunkSize) + "\nnext",
		"newline-before-cut": strings.Repeat("a", LogChunkSize-1) + "\nnext\n",
		"line-over-the-cut":  strings.Repeat("b", LogChunkSize-3) + "\nover the cut\nnext\n",
	} {
		t.Run(name, func(t *testing.T) {
			writer := newLog(t, store, name)
			for rest := []byte(content); len(rest) > 0; {
				n := min(len(rest), 70_001)
				if written, err := writer.Write(rest[:n]); written != n || err != nil {
					t.Fatal(written, err)
				}
				rest = rest[n:]
			}
			info := closeLog(t, writer)
			reader := openLog(t, store, name)
			if !reader.Complete() || info.Size != reader.Size() || info.Lines != reader.Lines() ||
				info.Chunks != (info.Size+LogChunkSize-1)/LogChunkSize {
				t.Errorf("closed as %+v, complete %v", info, reader.Complete())
			}
			checkLog(t, reader, []byte(content))
		})
	}
}

func TestSyncShowsWhatHasCome(t *testing.T) {
	t.Parallel()
	store := openStore(t)
	writer := newLog(t, store, "run")
	if _, err := store.OpenLog(t.Context(), "run", 1); !errors.Is(err, ErrNotFound) {
		t.Fatalf("before anything was stored: %v", err)
	}
	var all []byte
	write := func(text string) {
		if _, err := writer.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		all = append(all, text...)
	}
	if err := writer.Sync(nil); err != nil {
		t.Fatal(err)
	}
	reader := openLog(t, store, "run")
	checkLog(t, reader, nil)
	last := ""
	for _, text := range []string{"one\ntw", "o\n", strings.Repeat("three\n", LogChunkSize/6), "", "four"} {
		write(text)
		if err := writer.Sync([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if err := reader.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		if reader.Complete() {
			t.Error("complete while it is written")
		}
		if want := cmp.Or(text, last); string(reader.Marks()) != want {
			t.Errorf("its marks are %q", reader.Marks())
		}
		last = cmp.Or(text, last)
		checkLog(t, reader, all)
	}
	closeLog(t, writer)
	if marks := openLog(t, store, "run").Marks(); marks != nil {
		t.Errorf("complete, it has marks that are the run's by then: %q", marks)
	}
	if _, err := writer.Write([]byte("late")); !errors.Is(err, ErrLogClosed) {
		t.Errorf("write after the end: %v", err)
	}
	if err := writer.Sync(nil); !errors.Is(err, ErrLogClosed) {
		t.Errorf("sync after the end: %v", err)
	}
	if again := closeLog(t, writer); again.Size != int64(len(all)) {
		t.Errorf("closed again: %+v", again)
	}
}

// Writers and syncers at once must lose or mix no byte, whichever overtakes.
func TestLogWrittenAndSyncedAtOnce(t *testing.T) {
	t.Parallel()
	store := openStore(t)
	writer := newLog(t, store, "run")
	line := func(writer, number int) []byte {
		return append(bytes.Repeat([]byte{byte('a' + writer)}, 1000), fmt.Sprintf(" %d\n", number)...)
	}
	const writers, each = 3, 4000
	done := make(chan struct{})
	syncing := make(chan struct{})
	go func() {
		defer close(syncing)
		for {
			select {
			case <-done:
				return
			default:
			}
			if err := writer.Sync(nil); err != nil {
				t.Error(err)
				return
			}
		}
	}()
	var writing sync.WaitGroup
	for w := range writers {
		writing.Go(func() {
			for n := range each {
				if _, err := writer.Write(line(w, n)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	writing.Wait()
	close(done)
	<-syncing
	closeLog(t, writer)
	var got bytes.Buffer
	if _, err := openLog(t, store, "run").CopyTo(t.Context(), &got, 0); err != nil {
		t.Fatal(err)
	}
	var next [writers]int
	for i, text := range split(got.Bytes()) {
		w := int(text[0] - 'a')
		if w < 0 || w >= writers || !bytes.Equal(append(text, '\n'), line(w, next[w])) {
			t.Fatalf("line %d is broken: %q", i, text)
		}
		next[w]++
	}
	if next != [writers]int{each, each, each} {
		t.Errorf("lines of each writer: %v", next)
	}
}

func TestLogOutlivesAnOutage(t *testing.T) {
	t.Parallel()
	var down atomic.Bool
	refused := make(chan struct{}, 1)
	endpoint := proxy(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if down.Load() {
				select {
				case refused <- struct{}{}:
				default:
				}
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			next.ServeHTTP(w, r)
		})
	})
	through := config(t)
	through.Endpoint = endpoint
	store, err := Open(t.Context(), through)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	content := bytes.Repeat([]byte("through thick and thin\n"), LogChunkSize/10)
	writer := newLog(t, store, "run")
	down.Store(true)
	go func() {
		<-refused
		down.Store(false)
	}()
	if _, err := writer.Write(content); err != nil {
		t.Fatal(err)
	}
	closeLog(t, writer)
	checkLog(t, openLog(t, store, "run"), content)

	// Without end, the context ends it, and the writer with it.
	down.Store(true)
	ctx, cancel := context.WithCancel(t.Context())
	stuck, err := store.NewLogWriter(ctx, "stuck", 1)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		<-refused
		cancel()
	}()
	if _, err := stuck.Write(content); err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("write: %v", err)
	}
	if _, err := stuck.Close(); !errors.Is(err, context.Canceled) {
		t.Errorf("close: %v", err)
	}
}

func TestLogRefusedForGoodSaysSo(t *testing.T) {
	store := openStore(t)
	store.bucket = "no-such-bucket-here"
	writer := newLog(t, store, "run")
	if _, err := writer.Write([]byte("text\n")); err != nil {
		t.Fatal(err)
	}
	if err := writer.Sync(nil); !errors.Is(err, ErrNotFound) {
		t.Errorf("sync: %v", err)
	}
	if _, err := writer.Write([]byte("more\n")); !errors.Is(err, ErrNotFound) {
		t.Errorf("write: %v", err)
	}
	if info, err := writer.Close(); !errors.Is(err, ErrNotFound) || info.Size != 0 {
		t.Errorf("close: %+v, %v", info, err)
	}
}

func TestDeleteLogsTakesAllAttemptsOfOneRun(t *testing.T) {
	store := openStore(t)
	for _, run := range []string{"run", "run-2"} {
		for attempt := 1; attempt <= 2; attempt++ {
			writer, err := store.NewLogWriter(t.Context(), run, attempt)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := writer.Write([]byte(run)); err != nil {
				t.Error(err)
			}
			closeLog(t, writer)
		}
	}
	for _, some := range []bool{true, false} { // the second time there is nothing, which is no error
		if n, err := store.DeleteLogs(t.Context(), "run"); err != nil || n > int64(len("run")) != some {
			t.Fatalf("it removed %d bytes, %v", n, err)
		}
	}
	objects, _ := keys(t, store)
	if len(objects) != 4 {
		t.Errorf("left: %v", objects)
	}
	for _, key := range objects {
		if !strings.HasPrefix(key, logsFolder+"run-2/") {
			t.Errorf("left: %s", key)
		}
	}
}

func TestLogNamesAreChecked(t *testing.T) {
	store := openStore(t)
	for _, run := range []string{"", "a/b", "..", "a b", strings.Repeat("a", 513)} {
		if _, err := store.NewLogWriter(t.Context(), run, 1); err == nil {
			t.Errorf("a log for run %q", run)
		}
		if _, err := store.DeleteLogs(t.Context(), run); err == nil {
			t.Errorf("deleted logs of run %q", run)
		}
	}
	if _, err := store.OpenLog(t.Context(), "run", 0); err == nil {
		t.Error("an attempt 0")
	}
}

func TestDamagedLogIsNoticed(t *testing.T) {
	store := openStore(t)
	writer := newLog(t, store, "run")
	if _, err := writer.Write([]byte("one\ntwo\n")); err != nil {
		t.Fatal(err)
	}
	closeLog(t, writer)
	reader := openLog(t, store, "run")
	if err := store.putSmall(t.Context(), chunkKey(logsFolder+"run/1/", 0), []byte("one")); err != nil {
		t.Fatal(err)
	}
	if _, err := reader.CopyTo(t.Context(), io.Discard, 0); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("stream: %v", err)
	}
	if _, err := reader.ReadLines(t.Context(), 0, 2); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("lines: %v", err)
	}
	for _, index := range []string{"{", `{"format":9}`, `{"format":1,"size":99}`} {
		if err := store.putSmall(t.Context(), logsFolder+"run/1/"+logIndexName, []byte(index)); err != nil {
			t.Fatal(err)
		}
		if err := reader.Refresh(t.Context()); err == nil {
			t.Errorf("index %s was taken", index)
		}
	}
}

// The memory of a log does not grow with it, neither in writing nor in reading.
func TestLargeLog(t *testing.T) {
	store := openStore(t)
	const size = 100 << 20
	giant := bytes.Repeat([]byte("g\xff"), 20<<20/2) // one line over five chunks
	line := []byte("2026-01-01T00:00:00Z a line of a long log, as programs write it\n")
	var peak uint64
	runtime.GC()
	var before, now runtime.MemStats
	runtime.ReadMemStats(&before)
	measure := func() { runtime.ReadMemStats(&now); peak = max(peak, now.HeapInuse) }

	writer := newLog(t, store, "run")
	var lines, giantLine, written int64 = 0, -1, 0
	for written < size {
		text := line
		if giantLine < 0 && written > size/2 {
			giantLine, text = lines, slices.Concat(giant, []byte{'\n'})
		}
		if _, err := writer.Write(text); err != nil {
			t.Fatal(err)
		}
		written, lines = written+int64(len(text)), lines+1
		if lines%50_000 == 0 {
			measure()
		}
	}
	info := closeLog(t, writer)
	if info.Size != written || info.Lines != lines {
		t.Fatalf("closed as %+v, want %d bytes, %d lines", info, written, lines)
	}
	reader := openLog(t, store, "run")
	got, err := reader.ReadLines(t.Context(), giantLine-1, 3)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 3 || !got[1].Truncated || !bytes.Equal(got[1].Text, giant[:LogLineLimit]) ||
		!bytes.Equal(got[0].Text, line[:len(line)-1]) || !bytes.Equal(got[2].Text, line[:len(line)-1]) {
		t.Errorf("around the giant line: %d lines", len(got))
	}
	page, err := reader.ReadLines(t.Context(), lines-1000, 5000)
	if err != nil || len(page) != 1000 || page[999].Number != lines-1 {
		t.Errorf("the last page: %d lines, %v", len(page), err)
	}
	full, err := reader.ReadLines(t.Context(), 0, 1<<40)
	if err != nil || int64(len(full)) != (LogPageLimit+int64(len(line))-2)/int64(len(line)-1) {
		t.Errorf("a page without bound: %d lines, %v", len(full), err)
	}
	if n, err := reader.CopyTo(t.Context(), io.Discard, 0); n != written || err != nil {
		t.Errorf("streamed %d bytes, %v", n, err)
	}
	measure()
	// Of this, 20 MiB are the test's own giant line, twice.
	if grown := int64(peak) - int64(before.HeapInuse); grown > 80<<20 {
		t.Errorf("a log of %d MiB took %d MiB of heap", size>>20, grown>>20)
	} else {
		t.Logf("a log of %d MiB took %d MiB of heap", size>>20, grown>>20)
	}
}
