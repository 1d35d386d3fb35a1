package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/store/storetest"
)

// What the engine asks of waves, and pages of the history of a task, is answered by an index, whatever there is of others.
func TestWavesAndTasksUseTheirIndexes(t *testing.T) {
	store, _ := openStore(t)
	since, until := window(time.Time{}, time.Time{})
	ofTask := jobRange(&engine.RunFilter{JobUID: "a", Task: "join"}, nil)
	ofTaskQuery, ofTaskArgs := ofTask.query(&engine.RunFilter{Limit: 5}, newest)
	for _, test := range []struct {
		query string
		args  []any
		want  string
	}{
		{openWavesQuery, []any{"", 1, 5}, "USING INDEX waves_open (id>?)"},
		{openOfQuery, []any{`["a"]`}, "USING INDEX waves_open (id>? AND id<?)"},
		{lastEpochsQuery, []any{`["a"]`}, "USING COVERING INDEX waves_epoch (dag_uid=?)"},
		{expiringWaves(""), []any{5, 0, 5}, "USING INDEX waves_finished (finished_at>? AND finished_at<?)"},
		{runsOfWaveQuery, []any{"a-w1-", "a-w1.", 5}, "(turned>? AND turned<?)"},
		{ofTaskQuery, ofTaskArgs, "USING COVERING INDEX runs_history_task (job_uid=? AND task=?"},
		{"SELECT rowid FROM waves INDEXED BY waves_dag WHERE dag_uid = ? AND created_at >= ? AND created_at < ? ORDER BY created_at DESC, id DESC", []any{"a", since, until}, "USING COVERING INDEX waves_dag (dag_uid=?"},
	} {
		var plan strings.Builder
		err := store.list(context.WithoutCancel(t.Context()), "EXPLAIN QUERY PLAN "+test.query, test.args, func(rows *sql.Rows) error {
			var id, parent, unused int
			var detail string
			err := rows.Scan(&id, &parent, &unused, &detail)
			plan.WriteString(detail + "\n")
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if text := plan.String(); !strings.Contains(text, test.want) || strings.Contains(text, "TEMP B-TREE") {
			t.Errorf("%s\nis answered by\n%s", test.query, text)
		}
	}
}

// Runs of jobs and of tasks are found by keys of two forms, which never meet.
func TestKeysOfRunsNeverMeet(t *testing.T) {
	wave, manual := engine.WaveID("abc", 1), engine.ManualWaveID("abc", "key")
	seen := map[string]string{}
	for _, id := range []string{
		"abc-s1", "abc-s10", "s1-abc", engine.ManualRunID("abc", "key"),
		engine.TaskRunID(wave, "join"), engine.TaskRunID(wave, "join-all"), engine.ItemRunID(wave, 0, "join"), engine.TaskRunID(manual, "join"),
		engine.TaskRunID("w1-abc", "join"), engine.TaskRunID("join-w1", "abc"),
	} {
		if other, found := seen[turned(id)]; found {
			t.Errorf("%s and %s have one key", id, other)
		}
		seen[turned(id)] = id
	}
}

// A wave of 10,000 runs among others costs what it holds.
func BenchmarkRunsOfWave(b *testing.B) {
	store, _ := openStore(b)
	for epoch := range int64(20) {
		size := 100
		if epoch == 10 {
			size = 10_000
		}
		batch := &engine.Batch{}
		for n := range size {
			run := engine.Run{
				Revision: 1, Namespace: "default", JobUID: "etlaaaaaaaaaaaaa", DAG: "etl", Wave: engine.WaveID("etlaaaaaaaaaaaaa", epoch), Epoch: epoch,
				Task: fmt.Sprintf("task-%05d", n), Status: engine.StatusSucceeded, CreatedAt: testStart, FinishedAt: testStart,
			}
			if n%10 == 0 {
				run.Status, run.FinishedAt = engine.StatusQueued, time.Time{}
			}
			run.ID = engine.TaskRunID(run.Wave, run.Task)
			batch.Runs = append(batch.Runs, run)
		}
		if err := storetest.Write(b.Context(), store, *batch); err != nil {
			b.Fatal(err)
		}
	}
	wave := engine.WaveID("etlaaaaaaaaaaaaa", 10)
	for b.Loop() {
		count := 0
		for after := ""; ; {
			runs, err := store.RunsOfWave(b.Context(), wave, after, 1000)
			if err != nil {
				b.Fatal(err)
			}
			if len(runs) == 0 {
				break
			}
			count, after = count+len(runs), runs[len(runs)-1].ID
		}
		if count != 10_000 {
			b.Fatalf("%d runs", count)
		}
	}
}
