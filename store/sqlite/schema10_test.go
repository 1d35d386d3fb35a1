package sqlite

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/store/storetest"
)

// at10 is a time as the values of these tests have them: apart from each other, in microseconds.
func at10(n int64) time.Time { return time.UnixMicro(1_700_000_000_000_000 + n*1_000_001).UTC() }

// run10 has every field that runs of schema 10 had. testdata/run-schema10 is its document, as the program of then wrote it.
func run10() engine.Run {
	item, exit := 0, -7
	return engine.Run{
		ID: "reportaaaaaaaaaa-s1772366400007", Revision: 4, Namespace: "default", JobUID: "reportaaaaaaaaaa", Job: "report",
		Shard: 63, Generation: 300,
		DAG: "nightly", Wave: "nightly-w7", Epoch: 7, Task: "fetch", Item: &item, Upstream: true,
		Trigger: engine.TriggerBackfill, By: "anna", Slot: at10(1), Status: engine.StatusDead, Reason: "zwölf ☃", Waiting: true,
		Tier: "light", Class: "premium", RunsOn: map[string]string{"disk": "ssd", "zone": "a"},
		Binary: "report@stable", Version: 3, Digest: "abab", Kind: "elf", Size: 1 << 40,
		Payload: json.RawMessage(`{ "a" : 1 }`), Args: map[string]string{"": "", "KEY": "value"},
		CreatedAt: at10(2), NotBefore: at10(3), QueuedAt: time.Unix(0, 0).UTC(), StartedAt: at10(5), FinishedAt: at10(6),
		RetryAt: at10(-3_000_000_000),
		Attempt: 2, Failures: 1, Losses: 5,
		Attempts: []engine.Attempt{{}, {
			N: 2, Status: engine.StatusTimedOut, Executor: "host-1", Token: 1<<63 + 9,
			QueuedAt: at10(8), ClaimedAt: at10(9), FetchedAt: at10(10), StartedAt: at10(11), FinishedAt: at10(12),
			ExitCode: &exit, Signal: "KILL", Error: "no answer", Usage: &engine.Usage{CPU: 5 * time.Second, MaxRSS: 7},
			Output: &engine.Output{Size: 6, Lines: -1, Tail: []byte("hello\n\x00\xff"), Chunks: 2, Truncated: 1 << 33, Lost: 9},
		}},
		Progress: &engine.Progress{Fraction: 0.25, Message: "a quarter", At: at10(13)},
		CancelBy: "bert", Outputs: json.RawMessage(`{"rows":7}`),
		Artifacts: []engine.Artifact{{Name: "a/b.csv", Size: 11, SHA256: "cdcd"}, {Name: "c"}},
	}
}

// wave10 is to waves what run10 is to runs.
func wave10() engine.Wave {
	return engine.Wave{
		ID: "nightly-w7", Revision: 9, Namespace: "default", DAGUID: "nightly", DAG: "Nightly", Shard: 5, Epoch: 7, Generation: 2,
		Trigger: engine.TriggerManual, By: "anna", Status: engine.StatusRunning, Reason: "a task failed", Slot: at10(1),
		Slots:   map[string]time.Time{"fetch": at10(2), "none": {}},
		Payload: json.RawMessage(`[ 1 ]`), Args: map[string]string{"": "", "KEY": "value"},
		CreatedAt: at10(3), StartedAt: at10(4), FinishedAt: at10(5), CancelBy: "bert", Resumed: 1,
		Rests: []engine.WaveRest{{From: at10(6), To: at10(7)}, {From: at10(8), To: at10(9)}},
		Tally: engine.WaveTally{Tasks: 15, Succeeded: 5, Failed: 4, Cancelled: 3, Skipped: 2},
	}
}

// schema10 returns the document of run10 or wave10 as the program of then wrote it.
func schema10(t testing.TB, name string) []byte {
	t.Helper()
	document, err := os.ReadFile("testdata/" + name + "-schema10")
	if err != nil {
		t.Fatal(err)
	}
	return document
}

func TestDocumentsOfSchema10AreRead(t *testing.T) {
	document := schema10(t, "run")
	run, err := decodeRun(document)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "run", run10(), run)
	if id, err := documentID(document); err != nil || id != run.ID {
		t.Errorf("the id is %q, %v", id, err)
	}
	same(t, "the run as it is written by the tests", document, encodeRunSchema10(&run))
	wave, err := decodeWave(schema10(t, "wave"))
	if err != nil {
		t.Fatal(err)
	}
	same(t, "wave", wave10(), wave)
	for _, damaged := range [][]byte{{}, {3}, {3, 200}, {3, 1, 'a', 99}, {3, 1, 'a', 31<<1 | 1, 2, 1}} {
		if _, err := decodeRun(damaged); !errors.Is(err, errDocument) {
			t.Errorf("%v is read as a run with %v", damaged, err)
		}
	}
}

// A file of schema 10 opens, and what is written to it from then on has the documents of now, beside those of then.
func TestFileOfSchema10IsReadAndWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data.db")
	conn := oldFile(t, path, 10)
	active, ended, wave := run10(), run10(), wave10()
	active.Status, active.FinishedAt = engine.StatusQueued, time.Time{}
	ended.ID = "reportaaaaaaaaaa-s1772366400008"
	record := encodeRunSchema10(&active)
	conn.fill(t, "INSERT INTO runs_log (seq, doc) VALUES (1, ?)", []any{appendNested(nil, recordRun, record)})
	conn.fill(t, `INSERT INTO runs_history
			(turned, id, revision, namespace, job_uid, job, status, tier, "by", reason, created_at, finished_at, doc, task)
		VALUES (?, ?, 4, 'default', ?, 'report', ?, 'light', '', '', ?, ?, ?, '')`,
		[]any{turned(ended.ID), ended.ID, ended.JobUID, int64(ended.Status), always(ended.CreatedAt), always(ended.FinishedAt), encodeRunSchema10(&ended)})
	conn.fill(t, `INSERT INTO waves (id, revision, namespace, dag_uid, shard, epoch, status, created_at, finished_at, doc)
		VALUES (?, 9, 'default', 'nightly', 5, 7, ?, ?, NULL, ?)`,
		[]any{wave.ID, int64(wave.Status), always(wave.CreatedAt), schema10(t, "wave")})
	if err := conn.close(); err != nil {
		t.Fatal(err)
	}
	check := func(store *Store) {
		t.Helper()
		for _, want := range []engine.Run{active, ended} {
			if run, err := store.Run(t.Context(), want.ID); err != nil || !reflect.DeepEqual(run, want) {
				t.Errorf("got %+v, %v", run, err)
			}
		}
		if got, err := store.Wave(t.Context(), wave.ID); err != nil || !reflect.DeepEqual(got, wave) {
			t.Errorf("got %+v, %v", got, err)
		}
		if runs, err := store.ActiveRuns(t.Context(), []int{active.Shard}, "", 10); err != nil || len(runs) != 1 {
			t.Errorf("%d active runs, %v", len(runs), err)
		}
	}
	for range 3 { // with documents of then, of both, and of now
		store, err := Open(t.Context(), path, Config{Logger: slog.New(slog.NewTextHandler(t.Output(), nil))})
		if err != nil {
			t.Fatal(err)
		}
		check(store)
		active.Revision, active.Reason = active.Revision+1, active.Reason+"!"
		wave.Revision++
		if err := storetest.Write(t.Context(), store, engine.Batch{Runs: []engine.Run{active}, Waves: []engine.Wave{wave}}); err != nil {
			t.Fatal(err)
		}
		check(store)
		if err := store.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Fatal(err)
		}
	}
}

// encodeRunSchema10 writes a run as programs of schema 10 did, for tests of files of then.
func encodeRunSchema10(r *engine.Run) []byte {
	b := writeSchema10(reflect.ValueOf((*run)(r)).Elem())
	return appendText(b, fieldLabels, spec.RunsOnText(r.RunsOn))
}

// writeSchema10 writes the fields of a struct in the order of their numbers, without what came after schema 10.
func writeSchema10(v reflect.Value) (b []byte) {
	v = stored(v)
	places := fieldNumbers(v.Type())
	for _, number := range slices.Sorted(maps.Keys(places)) {
		if number <= fieldLabels {
			b = appendValue(b, number, v.Field(places[number]))
		}
	}
	return b
}

// appendValue writes what value.set reads.
func appendValue(b []byte, number uint64, v reflect.Value) []byte {
	if at, is := v.Interface().(time.Time); is {
		return appendTime(b, number, at)
	}
	switch v.Kind() {
	case reflect.Bool:
		if v.Bool() {
			b = appendUint(b, number, 1)
		}
	case reflect.Int, reflect.Int64:
		b = appendInt(b, number, v.Int())
	case reflect.Uint8, reflect.Uint64:
		b = appendUint(b, number, v.Uint())
	case reflect.Float64:
		b = appendUint(b, number, math.Float64bits(v.Float()))
	case reflect.String:
		b = appendText(b, number, v.String())
	case reflect.Struct:
		b = appendNested(b, number, writeSchema10(v))
	case reflect.Pointer:
		switch {
		case v.IsNil():
		case v.Elem().Kind() == reflect.Struct:
			b = appendNested(b, number, writeSchema10(v.Elem()))
		default:
			b = appendNested(b, number, appendValue(nil, 1, v.Elem()))
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return appendText(b, number, v.Bytes())
		}
		for i := range v.Len() {
			b = appendNested(b, number, writeSchema10(v.Index(i)))
		}
	case reflect.Map:
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		for _, key := range keys {
			b = appendNested(b, number, appendValue(appendText(nil, 1, key.String()), 2, v.MapIndex(key)))
		}
	default:
		panic("teach this about " + v.Type().String())
	}
	return b
}

func appendNested(b []byte, number uint64, document []byte) []byte {
	return append(appendLength(b, number, len(document)), document...)
}

func appendUint(b []byte, number, v uint64) []byte {
	if v == 0 {
		return b
	}
	return binary.AppendUvarint(binary.AppendUvarint(b, number<<1|kindNumber), v)
}

func appendInt(b []byte, number uint64, v int64) []byte {
	return appendUint(b, number, uint64(v<<1)^uint64(v>>63))
}

func appendTime(b []byte, number uint64, at time.Time) []byte {
	if at.IsZero() {
		return b
	}
	micros := at.UnixMicro()
	return appendUint(b, number, (uint64(micros<<1)^uint64(micros>>63))<<1|1)
}
