package moving_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/klauspost/compress/zstd"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/moving"
	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/store/memory"
	"github.com/tidewheel/tidewheel/store/sqlite"
)

// bucket is a bucket in memory, or a part of one that fails.
type bucket struct {
	objects map[string][]byte
	full    int // how many more it takes; below 0 any number
}

func newBucket() *bucket { return &bucket{objects: map[string][]byte{}, full: -1} }

// Objects lists by key.
func (b *bucket) Objects(_ context.Context, folder string, each func(moving.Object) error) error {
	var keys []string
	for key := range b.objects {
		if strings.HasPrefix(key, folder) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	for _, key := range keys {
		if err := each(moving.Object{Key: key, Size: int64(len(b.objects[key]))}); err != nil {
			return err
		}
	}
	return nil
}

// OpenObject opens one.
func (b *bucket) OpenObject(_ context.Context, key string) (io.ReadCloser, int64, error) {
	data, there := b.objects[key]
	if !there {
		return nil, 0, engine.ErrNotFound
	}
	return io.NopCloser(bytes.NewReader(data)), int64(len(data)), nil
}

var errFull = errors.New("no space is left")

// PutObject keeps one.
func (b *bucket) PutObject(_ context.Context, key string, content io.Reader, size int64) error {
	data, err := io.ReadAll(content)
	if err != nil || int64(len(data)) != size {
		return fmt.Errorf("put %s: %d of %d bytes: %w", key, len(data), size, err)
	}
	if b.full == 0 {
		return errFull
	}
	b.full--
	b.objects[key] = data
	return nil
}

var noon = time.Date(2026, 3, 1, 12, 0, 0, 7_000_000, time.UTC)

// seedStore fills a store and a bucket with documents and objects of every kind, and a number of runs.
func seedStore(t testing.TB, store moving.Store, objects *bucket, runs int) {
	t.Helper()
	program := []byte("#!/bin/sh\necho hello\n")
	digest := "0a75a3b6c1d6af0f9ff9b3e4e8f3b52e6a10f2a9bd0a9d3dfc4d4b6b3f1a2b3c"
	if objects != nil {
		digest = digestOf(program)
		objects.objects["binaries/"+digest] = program
		objects.objects["logs/a-s1/1/index.json"], objects.objects["logs/a-s1/1/00000000"] = []byte("{}"), bytes.Repeat([]byte("line\n"), 1000)
		objects.objects["artifacts/a-s1/1/deep/a b.csv"], objects.objects["artifacts/a-s1/1/empty"] = []byte("1,2\n"), nil
	}
	job := engine.Job{
		UID: "aaaaaaaaaaaaaaaa", Namespace: "default", Name: "report", Generation: 2, Revision: 3, Pending: true,
		Spec: spec.Job{
			Kind: spec.KindJob, Name: "report", Binary: "report", Schedule: spec.Strings{"* * * * *"}, Payload: json.RawMessage(`{"html":"<b>&</b>","big":12345678901234567890}`),
		},
		Source: "# «why»\r\nkind: Job\n", CreatedAt: noon, UpdatedAt: noon.Add(1234567 * time.Nanosecond),
	}
	documents := []engine.Document{
		engine.Binary{
			Namespace: "default", Name: "report", Revision: 1, UpdatedAt: noon, Aliases: map[string]int{"stable": 1},
			Versions: []engine.BinaryVersion{{N: 1, SHA256: digest, Size: int64(len(program)), Kind: "script", At: noon}},
		},
		job,
		engine.Generation{UID: job.UID, Generation: 1, Spec: job.Spec, Source: "first", At: noon},
		engine.Generation{UID: job.UID, Generation: 2, Spec: job.Spec, Source: job.Source, At: noon},
		engine.DAG{
			UID: "bbbbbbbbbbbbbbbb", Namespace: "default", Name: "etl", Generation: 1, Revision: 1, CreatedAt: noon, UpdatedAt: noon,
			Spec: spec.DAG{Kind: spec.KindDAG, Name: "etl", Tasks: spec.Tasks{{Name: "zeta", Binary: "report"}, {Name: "alpha", Binary: "report", Needs: []string{"zeta"}}}},
		},
		engine.DAGGeneration{UID: "bbbbbbbbbbbbbbbb", Generation: 1, At: noon},
		engine.Wave{
			ID: "bbbbbbbbbbbbbbbb-w1", Revision: 2, DAGUID: "bbbbbbbbbbbbbbbb", DAG: "etl", Namespace: "default", Epoch: 1, Status: engine.StatusRunning,
			Payload: json.RawMessage(`[1, 2 ,3]`), Slots: map[string]time.Time{"zeta": noon}, CreatedAt: noon,
		},
		engine.RunEffect{
			Run: "aaaaaaaaaaaaaaaa-s1", Key: "charge", Namespace: "default", Revision: 1, State: engine.EffectDone, Token: 1<<62 + 1,
			CreatedAt: noon, OpenedAt: noon, DoneAt: noon, Result: json.RawMessage(`{"a":  1}`),
		},
		engine.SlotRange{ID: "aaaaaaaaaaaaaaaa-s9", JobUID: job.UID, Namespace: "default", Job: "report", From: noon, To: noon, Count: 1, Outcome: engine.OutcomeMissed},
		engine.DeadLetter{RunID: "aaaaaaaaaaaaaaaa-s2", Namespace: "default", JobUID: job.UID, Job: "report", Error: "no \u2028 <&>", Attempts: 3, At: noon},
		engine.Incident{
			ID: engine.IncidentID(job.UID, "", spec.AlertFailed), Revision: 2, Shard: job.Shard, Namespace: "default", UID: job.UID, Job: "report",
			Alert: spec.AlertFailed, Since: noon, Latest: noon.Add(time.Minute), Count: 3, Slot: noon, Reason: "exit 3 <&>", To: []string{"ops"}, Notified: true,
		},
		engine.ScheduledTask{ID: job.UID, Slot: noon, RunAt: engine.Parked, Generation: 2, Revision: 7, Namespace: "default", Job: "report"},
		engine.ScheduledTask{ID: "bbbbbbbbbbbbbbbb-zeta", RunAt: noon, Generation: 1, Revision: 1, Namespace: "default", Job: "etl/zeta"},
		engine.Command{ID: "mark-1", Kind: engine.CommandMarkTask, JobUID: "bbbbbbbbbbbbbbbb", RunID: "bbbbbbbbbbbbbbbb-w1", Task: "alpha", Mark: engine.StatusSkipped, At: noon},
		engine.SharedKey{Name: "run-token", Key: []byte{0, 0xff, 'k'}},
		engine.Record{Kind: "user", Key: "ada", Revision: 3, Data: []byte("{}\x00"), ExpiresAt: noon},
	}
	statuses := engine.Statuses()
	for n := range runs {
		zero := 0
		at := noon.Add(time.Duration(n) * time.Minute)
		documents = append(documents, engine.Run{
			ID: engine.SlotRunID(job.UID, at), Revision: int64(n%7 + 1), Namespace: "default", JobUID: job.UID, Job: "report", Trigger: engine.TriggerSchedule, Slot: at,
			Status: statuses[n%len(statuses)], Tier: spec.TierLight, Class: spec.ClassStandard, Binary: "report", Payload: json.RawMessage(`[1, 2 ,3]`),
			Args: map[string]string{"Ü": ""}, CreatedAt: at, QueuedAt: at.Add(1001 * time.Microsecond), Attempt: 1, Reason: "\x00 «»",
			Attempts: []engine.Attempt{{
				N: 1, Status: statuses[n%len(statuses)], Token: 1<<62 + 1, ExitCode: &zero, Usage: &engine.Usage{CPU: 3},
				Output: &engine.Output{Size: 2, Tail: []byte{0xff, '\n'}},
			}},
			Outputs: json.RawMessage(`{"rows":  1.50}`),
		})
	}
	for some := range slices.Chunk(documents, 100) {
		if err := store.PutDocuments(t.Context(), some); err != nil {
			t.Fatal(err)
		}
	}
}

func openSQLite(t *testing.T) *sqlite.Store {
	t.Helper()
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "tidewheel.db"), sqlite.Config{Logger: slog.New(slog.NewTextHandler(t.Output(), nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return store
}

// all reads what a store holds, by place.
func all(t *testing.T, store moving.Source) map[string]engine.Document {
	t.Helper()
	found := map[string]engine.Document{}
	if err := store.View(t.Context(), func(pages engine.DocumentPages) error {
		for _, of := range engine.Collections() {
			for from := ""; ; {
				page, next, err := pages(of, from, 100)
				if err != nil {
					return err
				}
				for _, document := range page {
					_, id := document.Place()
					found[string(of)+" "+id] = document
				}
				if next == "" {
					break
				}
				from = next
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return found
}

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func backup(t *testing.T, store moving.Source, objects *bucket, running bool) []byte {
	t.Helper()
	var file bytes.Buffer
	contents := moving.Contents{
		Header:    moving.Header{Tidewheel: "test", CreatedAt: noon, Running: running, Logs: true},
		Documents: store, Keys: map[string][]byte{"token": []byte("tw_secret\n"), "s3.json": []byte("{}")},
	}
	if objects != nil {
		contents.Objects = objects
	}
	if _, err := moving.Write(t.Context(), &file, contents, nil); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

func TestABackupComesBack(t *testing.T) {
	for _, kind := range []string{"memory", "sqlite"} {
		t.Run(kind, func(t *testing.T) {
			open := func() moving.Store { return memory.New() }
			if kind == "sqlite" {
				open = func() moving.Store { return openSQLite(t) }
			}
			from, bytes := open(), newBucket()
			seedStore(t, from, bytes, 700)
			file := backup(t, from, bytes, false)

			header, manifest, err := moving.Verify(t.Context(), newReader(file), nil)
			if err != nil {
				t.Fatal(err)
			}
			if header.Tidewheel != "test" || len(manifest.Warnings) > 0 || manifest.Objects() != 5 || manifest.Count("documents/runs") != 700 {
				t.Errorf("got %+v and %+v", header, manifest)
			}
			to, target := open(), newBucket()
			keys := map[string]string{}
			for range 2 { // the second time goes over what the first has left
				if _, err := moving.Restore(t.Context(), newReader(file), moving.Target{
					Documents: to, Objects: target, Key: func(name string, content []byte) error { keys[name] = string(content); return nil },
				}, nil); err != nil {
					t.Fatal(err)
				}
				same(t, "documents", all(t, to), all(t, from))
				same(t, "objects", target.objects, bytes.objects)
				same(t, "keys", keys, map[string]string{"token": "tw_secret\n", "s3.json": "{}"})
			}
		})
	}
}

func newReader(file []byte) io.Reader { return bytes.NewReader(file) }

// What was queued while the server ran may have begun since: it comes back as begun, and nothing else changes.
func TestWhatWasQueuedInARunningServerCountsAsBegun(t *testing.T) {
	from := memory.New()
	seedStore(t, from, nil, 30)
	want := all(t, from)
	to := memory.New()
	if _, err := moving.Restore(t.Context(), newReader(backup(t, from, nil, true)), moving.Target{Documents: to}, nil); err != nil {
		t.Fatal(err)
	}
	queued := 0
	for place, document := range want {
		if run, is := document.(engine.Run); is && run.Status == engine.StatusQueued {
			queued++
			run = run.Clone()
			run.Status, run.Attempts[0].Status = engine.StatusRunning, engine.StatusRunning
			run.Reason = "it was queued when the backup was made: whether it has begun since is not known"
			want[place] = run
		}
	}
	if queued == 0 {
		t.Fatal("nothing was queued")
	}
	same(t, "documents", all(t, to), want)
}

// Whatever is done to a backup, it is refused, and nothing of it is put anywhere by who verifies it first.
func TestADamagedBackupIsRefused(t *testing.T) {
	from, objects := memory.New(), newBucket()
	seedStore(t, from, objects, 300)
	file := backup(t, from, objects, false)
	verify := func(file []byte) error {
		_, _, err := moving.Verify(t.Context(), newReader(file), nil)
		return err
	}
	for _, at := range []int{1, 3, 10, 100, len(file) / 2, len(file) - 10, len(file) - 1} {
		if err := verify(file[:at]); !errors.Is(err, moving.ErrCutOff) && !errors.Is(err, moving.ErrNotBackup) {
			t.Errorf("cut off at %d: %v", at, err)
		}
	}
	if err := verify(file[:len(file)/2]); !errors.Is(err, moving.ErrCutOff) {
		t.Errorf("cut off in its middle: %v", err)
	}
	for what, other := range map[string][]byte{"nothing": nil, "a text": []byte(strings.Repeat("no backup\n", 100)), "another archive": compress(t, []byte("hello"))} {
		if err := verify(other); !errors.Is(err, moving.ErrNotBackup) {
			t.Errorf("%s: %v", what, err)
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		broken := bytes.Clone(file)
		broken[random.IntN(len(broken))] ^= 1 << random.IntN(8)
		if err := verify(broken); err == nil && !bytes.Equal(plain(t, broken), plain(t, file)) {
			t.Fatal("a backup with a flipped bit passed")
		}
	}
	// The same archive with something else in it.
	text := plain(t, file)
	for what, change := range map[string][2]string{
		"a document that says something else": {`"reason":"\u0000 «»"`, `"reason":"\u0001 «»"`},
		"a key that is another":               {"tw_secret", "tw_Secret"},
		"a program with other bytes":          {"echo hello", "echo hallo"},
		"a manifest with another number":      {`"count": 300`, `"count": 301`},
	} {
		if !bytes.Contains(text, []byte(change[0])) {
			t.Fatalf("%s: there is no %s", what, change[0])
		}
		var damaged *moving.DamagedError
		if err := verify(compress(t, bytes.Replace(text, []byte(change[0]), []byte(change[1]), 1))); !errors.As(err, &damaged) {
			t.Errorf("%s: %v", what, err)
		}
	}
	var newer *moving.NewerError
	if err := verify(compress(t, bytes.Replace(text, []byte(`"format": 1`), []byte(`"format": 9`), 1))); !errors.As(err, &newer) || newer.Format != 9 {
		t.Errorf("a newer format: %v", err)
	}
}

func plain(t *testing.T, file []byte) []byte {
	t.Helper()
	decoder, err := zstd.NewReader(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	defer decoder.Close()
	text, err := io.ReadAll(decoder)
	if err != nil {
		return nil
	}
	return text
}

func compress(t *testing.T, text []byte) []byte {
	t.Helper()
	encoder, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer encoder.Close()
	return encoder.EncodeAll(text, nil)
}

// A backup says what it could not take.
func TestABackupWarns(t *testing.T) {
	from, objects := memory.New(), newBucket()
	seedStore(t, from, objects, 1)
	for key := range objects.objects {
		if strings.HasPrefix(key, "binaries/") {
			objects.objects[key] = []byte("other bytes")
		}
	}
	_, manifest, err := moving.Verify(t.Context(), newReader(backup(t, from, objects, false)), nil)
	if err != nil || len(manifest.Warnings) != 1 || !strings.Contains(manifest.Warnings[0], "is damaged where the backup was made") {
		t.Errorf("a damaged program: %v, %v", manifest, err)
	}
	_, manifest, err = moving.Verify(t.Context(), newReader(backup(t, from, newBucket(), false)), nil)
	if err != nil || len(manifest.Warnings) != 1 || !strings.Contains(manifest.Warnings[0], "version 1 of binary default/report") {
		t.Errorf("a missing program: %v, %v", manifest, err)
	}
}

// A write that fails fails the backup: there is no half one that passes.
func TestABackupThatCannotBeWritten(t *testing.T) {
	from, objects := memory.New(), newBucket()
	seedStore(t, from, objects, 300)
	whole := len(backup(t, from, objects, false))
	for _, room := range []int{0, 10, whole / 2, whole - 1} {
		file := &short{room: room}
		_, err := moving.Write(t.Context(), file, moving.Contents{
			Header: moving.Header{Tidewheel: "test", CreatedAt: noon, Logs: true}, Documents: from, Objects: objects, Keys: map[string][]byte{"token": []byte("tw_secret\n"), "s3.json": []byte("{}")},
		}, nil)
		if !errors.Is(err, errFull) {
			t.Errorf("with room for %d of %d bytes: %v", room, whole, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := moving.Write(ctx, io.Discard, moving.Contents{Documents: from}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}

// short is a disk that becomes full.
type short struct{ room int }

// Write takes what there is room for.
func (s *short) Write(p []byte) (int, error) {
	if s.room -= len(p); s.room < 0 {
		return 0, errFull
	}
	return len(p), nil
}
