package sqlite

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tidewheel/tidewheel/engine"
)

// oldFile makes an empty file of a former schema, and returns the connection that fills it.
func oldFile(t *testing.T, path string, schema int) *connection {
	t.Helper()
	if err := registerFunctions(); err != nil {
		t.Fatal(err)
	}
	conn, err := connect(source(path))
	if err != nil {
		t.Fatal(err)
	}
	for version := 1; version <= schema; version++ {
		text, err := migrations.ReadFile(fmt.Sprintf("migrations/%04d.sql", version))
		if err != nil {
			t.Fatal(err)
		}
		if err := conn.script(string(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := conn.script(fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d;", applicationID, schema)); err != nil {
		t.Fatal(err)
	}
	return conn
}

// fill does a statement for each list of arguments.
func (c *connection) fill(t *testing.T, statement string, rows ...[]any) {
	t.Helper()
	for _, row := range rows {
		if _, err := c.exec(statement, row...); err != nil {
			t.Fatal(err)
		}
	}
}

// givenUp returns the record of a prepared run that is about to be removed, as schema 7 had it.
func givenUp(run *engine.Run, from, to time.Time, count int64) []byte {
	slots := appendText(appendText(appendText(appendText(nil, 1, engine.SlotRangeID(run.JobUID, from)), 2, run.JobUID), 3, run.Namespace), 4, run.Job)
	slots = appendText(appendText(appendInt(appendTime(appendTime(slots, 5, from), 6, to), 7, count), 8, "skipped"), 9, "cancelled")
	document := appendNested(encodeRunSchema10(run), fieldGivenUp, slots)
	return append(appendLength(nil, recordRun, len(document)), document...)
}

func oldRange(uid string, from, to time.Time, count int64, reason engine.SlotReason) engine.SlotRange {
	return engine.SlotRange{
		ID: engine.SlotRangeID(uid, from), JobUID: uid, Namespace: "default", Job: "report", From: from, To: to, Count: count,
		Outcome: engine.OutcomeSkipped, Reason: reason,
	}
}

// fillOld puts into a file of schema 7 what a crash could leave half done.
func fillOld(t *testing.T, conn *connection, now time.Time) {
	t.Helper()
	past, ahead, parked := now.Add(-time.Hour), now.Add(time.Hour), always(engine.Parked)
	noting := `{"slots":[{"id":"` + engine.SlotRangeID("uidnoting", past) + `","job_uid":"uidnoting","namespace":"default","job":"report",` +
		`"from":"` + past.Format(time.RFC3339Nano) + `","to":"` + past.Add(time.Minute).Format(time.RFC3339Nano) +
		`","count":2,"outcome":"skipped","reason":"paused"}],"run_at":"9999-01-01T00:00:00Z"}`
	conn.fill(t, `INSERT INTO scheduled_tasks (id, shard, slot, run_at, generation, revision, namespace, job, epoch, noting, writer)
		VALUES (?, 3, ?, ?, 2, 5, 'default', 'report', ?, ?, 77)`,
		[]any{"uidahead", ahead.UnixMilli(), ahead.UnixMilli(), 0, nil},
		[]any{"uiddue", past.UnixMilli(), past.UnixMilli(), 0, nil},
		[]any{"uidparked", past.UnixMilli(), parked, 0, nil},
		[]any{"uidnoting", past.UnixMilli(), now.UnixMilli(), 0, []byte(noting)},
		[]any{"uiddag-fetch", ahead.UnixMilli(), ahead.UnixMilli(), 4, nil},
		[]any{"uiddag-_", nil, parked, 4, nil}, // a turn
		[]any{"uidactive", past.UnixMilli(), past.UnixMilli(), 0, nil},
		[]any{"uidended", past.UnixMilli(), past.UnixMilli(), 0, nil},
		[]any{"uidgiven", past.UnixMilli(), past.UnixMilli(), 0, nil},
	)
	run := func(uid string) *engine.Run {
		return &engine.Run{
			ID: engine.SlotRunID(uid, past), Revision: 2, Namespace: "default", JobUID: uid, Job: "report", Slot: past, Status: engine.StatusScheduled,
			CreatedAt: past,
		}
	}
	active, ended, given, other := run("uidactive"), run("uidended"), run("uidgiven"), run("uidother")
	ended.Status, ended.FinishedAt = engine.StatusFailed, now
	plain := encodeRunSchema10(active)
	conn.fill(t, "INSERT INTO runs_log (seq, doc) VALUES (?, ?)",
		[]any{4, append(appendLength(nil, recordRun, len(plain)), plain...)},
		[]any{5, append(givenUp(given, past.Add(-time.Minute), past, 2), givenUp(other, past.Add(-time.Minute), past.Add(-time.Minute), 1)...)},
	)
	conn.fill(t, `INSERT INTO runs_history (turned, id, revision, namespace, job_uid, job, status, tier, "by", reason, created_at, finished_at, doc)
		VALUES (?, ?, 2, 'default', ?, 'report', 6, 'light', '', '', ?, ?, ?)`,
		[]any{turned(ended.ID), ended.ID, ended.JobUID, past.UnixMilli(), now.UnixMilli(), encodeRunSchema10(ended)})
	smaller := oldRange("uidnoting", past, past, 1, engine.ReasonPaused)
	document, err := encode(&smaller)
	if err != nil {
		t.Fatal(err)
	}
	conn.fill(t, "INSERT INTO slots (id, job_uid, from_at, to_at, count, doc) VALUES (?, ?, ?, ?, ?, ?)",
		[]any{smaller.ID, smaller.JobUID, past.UnixMilli(), past.UnixMilli(), 1, document})
}

// What earlier versions left half done is finished when the file is opened first, and only then.
func TestFileOfSeveralWritesForADecisionIsBroughtForward(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data.db")
	now := time.Now().UTC().Truncate(time.Millisecond)
	past, ahead := now.Add(-time.Hour), now.Add(time.Hour)
	conn := oldFile(t, path, 7)
	fillOld(t, conn, now)
	if err := conn.close(); err != nil {
		t.Fatal(err)
	}
	var first []engine.ScheduledTask
	for again := range 2 {
		store, err := Open(t.Context(), path, Config{Logger: slog.New(slog.NewTextHandler(t.Output(), nil))})
		if err != nil {
			t.Fatal(err)
		}
		tasks, err := store.tasks(t.Context(), "SELECT "+taskColumns+" FROM scheduled_tasks ORDER BY id")
		if err != nil {
			t.Fatal(err)
		}
		if again == 0 {
			first = tasks
		}
		same(t, "tasks of the second opening", first, tasks)
		task := func(id string, slot, runAt, accounted time.Time, taken ...time.Time) engine.ScheduledTask {
			return engine.ScheduledTask{
				ID: id, Shard: 3, Slot: slot, RunAt: runAt, Generation: 2, Revision: 5, Namespace: "default", Job: "report", Accounted: accounted, Taken: taken,
			}
		}
		var opened time.Time // as the tasks say that are accounted for until then
		for i := range tasks {
			if at := tasks[i].Accounted; at.After(opened) {
				opened = at
			}
		}
		if opened.Before(now) || opened.After(time.Now()) {
			t.Errorf("slots are accounted for until %s, at %s", opened, now)
		}
		before := past.Add(-time.Millisecond)
		root := task("uiddag-fetch", ahead, ahead, opened)
		root.Epoch = 4
		same(t, "scheduled tasks", []engine.ScheduledTask{
			task("uidactive", past, past, before, past), task("uidahead", ahead, ahead, opened), root, task("uiddue", past, past, before),
			task("uidended", past, past, before, past), task("uidgiven", past, past, before), task("uidnoting", past, engine.Parked, opened),
			task("uidparked", past, engine.Parked, opened),
		}, tasks)
		for uid, want := range map[string][]engine.SlotRange{
			"uidnoting": {oldRange("uidnoting", past, past.Add(time.Minute), 2, engine.ReasonPaused)},
			"uidgiven":  {oldRange("uidgiven", past.Add(-time.Minute), past, 2, engine.ReasonCancelled)},
			"uidother":  nil,
		} {
			slots, _, err := store.Slots(t.Context(), engine.SlotFilter{JobUID: uid, Limit: 10})
			if err != nil {
				t.Fatal(err)
			}
			same(t, "ledger of "+uid, want, slots)
		}
		runs, err := store.ActiveRuns(t.Context(), []int{0}, "", 10)
		if err != nil || len(runs) != 2 || runs[0].JobUID != "uidactive" || runs[1].JobUID != "uidother" {
			t.Errorf("active runs: %+v, %v", runs, err)
		}
		if err := store.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Fatal(err)
		}
	}
}

func same[T any](t *testing.T, what string, want, got T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("%s (-want +got):\n%s", what, diff)
	}
}
