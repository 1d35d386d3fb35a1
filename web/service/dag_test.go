package service_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/web/service"
	"github.com/tidewheel/tidewheel/web/webtest"
)

const diamond = `
kind: DAG
name: etl
defaults: {binary: report}
labels: {team: survey}
tasks:
  orders: {schedule: "0 * * * *"}
  rates: {schedule: "*/30 * * * *"}
  join: {needs: [orders, rates]}
  tell: {needs: [join], trigger: all_done}
`

func documents(t *testing.T, text string) []spec.Document {
	t.Helper()
	read, problems := spec.Decode("etl.yaml", []byte(text))
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	return read
}

func TestDAGIsSavedByGenerations(t *testing.T) {
	w := webtest.New(t)
	w.PutBinary(t, "report")
	d := documents(t, diamond)[0].DAG
	first, change, err := w.DAGs.Save(t.Context(), "default", d, service.Save{By: "ann", Message: "first"})
	if err != nil || change != service.Created || first.Generation != 1 || !first.Pending || first.CreatedBy != "ann" || first.Shard != engine.ShardOf(first.UID) {
		t.Fatalf("%+v %s %v", first, change, err)
	}
	if wakes := w.Queue.Wakes(); len(wakes) == 0 || wakes[len(wakes)-1] != (engine.Wake{Shard: first.Shard, Kind: engine.WakeDAG, Key: first.UID}) {
		t.Errorf("the engine was woken with %+v", wakes)
	}
	if _, change, err := w.DAGs.Save(t.Context(), "default", d, service.Save{Create: true}); err != nil || change != service.Unchanged {
		t.Errorf("the same again: %s, %v", change, err)
	}
	edited := d.Clone()
	edited.Tasks[2].Args = []string{"--all"}
	_, _, err = w.DAGs.Save(t.Context(), "default", edited, service.Save{Create: true})
	refused(t, err, service.KindExists, "dag_exists")
	second, change, err := w.DAGs.Save(t.Context(), "default", edited, service.Save{By: "bob", IfRevision: first.Revision})
	if err != nil || change != service.Changed || second.Generation != 2 || second.UpdatedBy != "bob" || second.CreatedBy != "ann" {
		t.Fatalf("%+v %s %v", second, change, err)
	}
	_, _, err = w.DAGs.Save(t.Context(), "default", d, service.Save{IfRevision: first.Revision})
	refused(t, err, service.KindConflict, "dag_changed")
	difference, err := w.DAGs.Difference(t.Context(), "default", "etl", 1, 2)
	if err != nil || !strings.Contains(difference, `+  join: {args: ["--all"]`) {
		t.Errorf("difference %q, %v", difference, err)
	}
	if _, err := w.DAGs.Difference(t.Context(), "default", "etl", 1, 3); err == nil || !strings.Contains(err.Error(), "its last is 2") {
		t.Errorf("a generation that is not there: %v", err)
	}
	third, change, err := w.DAGs.Restore(t.Context(), "default", "etl", 1, "cem", "")
	if err != nil || change != service.Changed || third.Generation != 3 || third.Message != "restored generation 1" || !third.Spec.Equal(d) {
		t.Errorf("%+v %s %v", third, change, err)
	}
	paused, err := w.DAGs.Pause(t.Context(), "default", "etl", "dan", " the warehouse moves ")
	if err != nil || !paused.Paused || paused.PausedBy != "dan" || paused.PausedReason != "the warehouse moves" || paused.Generation != 3 {
		t.Errorf("%+v %v", paused, err)
	}
	refused(t, w.DAGs.Delete(t.Context(), "default", "etl", "dan", first.Revision), service.KindConflict, "dag_changed")
	if err := w.DAGs.Delete(t.Context(), "default", "etl", "dan", paused.Revision); err != nil {
		t.Error(err)
	}
	_, err = w.DAGs.Get(t.Context(), "default", "etl")
	refused(t, err, service.KindNotFound, "dag_not_found")
}

func TestProgramsOfAllTasksAreChecked(t *testing.T) {
	w := webtest.New(t)
	w.PutBinary(t, "report")
	d := documents(t, strings.ReplaceAll(diamond, `join: {`, `join: {binary: nothing@stable, secrets: {KEY: database}, `))[0].DAG
	_, _, err := w.DAGs.Save(t.Context(), "default", d, service.Save{})
	known := refused(t, err, service.KindInvalid, "secret_not_found")
	var at []string
	for _, f := range known.Fields {
		at = append(at, f.Location)
	}
	if fmt.Sprint(at) != "[body.tasks.join.secrets.KEY body.tasks.join.binary]" || !strings.Contains(known.Fields[1].Message, "task join: there is no binary \"nothing\"") {
		t.Errorf("%+v", known.Fields)
	}
}

func TestJobsAndDAGsShareTheirNames(t *testing.T) {
	w := webtest.New(t)
	w.PutBinary(t, "report")
	w.PutJob(t, `{"name":"etl","binary":"report"}`)
	_, _, err := w.DAGs.Save(t.Context(), "default", documents(t, diamond)[0].DAG, service.Save{})
	refused(t, err, service.KindExists, "name_taken")
	_, err = w.ApplyDocuments(t.Context(), "default", documents(t, "kind: Job\nname: a\nbinary: report\n---"+diamond), service.Apply{})
	known := refused(t, err, service.KindInvalid, "invalid_definition")
	if len(known.Fields) != 1 || known.Fields[0].Line != 6 || !strings.Contains(known.Detail, "share their names") {
		t.Errorf("%+v", known)
	}
	if err := w.Jobs.Delete(t.Context(), "default", "etl", "", 0); err != nil {
		t.Fatal(err)
	}
	w.PutDAG(t, diamond)
	_, _, err = w.Jobs.Save(t.Context(), "default", definition(t, `{"name":"etl","binary":"report"}`), service.Save{})
	refused(t, err, service.KindExists, "name_taken")
}

func TestApplyConvergesJobsAndDAGs(t *testing.T) {
	w := webtest.New(t)
	w.PutBinary(t, "report")
	const job = "kind: Job\nname: a\nbinary: report\n---"
	apply := func(text string, how service.Apply) string {
		t.Helper()
		applied, err := w.ApplyDocuments(t.Context(), "default", documents(t, text), how)
		if err != nil {
			t.Fatal(err)
		}
		var rows []string
		for _, one := range applied {
			rows = append(rows, fmt.Sprintf("%s %s %s", one.Kind, one.Name, one.Change))
		}
		return strings.Join(rows, ", ")
	}
	for _, c := range []struct {
		text, want string
		how        service.Apply
	}{
		{job + diamond, "Job a created, DAG etl created", service.Apply{DryRun: true}},
		{job + diamond, "Job a created, DAG etl created", service.Apply{}},
		{job + diamond, "Job a unchanged, DAG etl unchanged", service.Apply{}},
		{strings.ReplaceAll(job, "---", ""), "Job a unchanged, DAG etl deleted", service.Apply{Prune: true, DryRun: true}},
		{diamond, "DAG etl unchanged, Job a deleted", service.Apply{Prune: true}},
		{strings.ReplaceAll(diamond, "name: etl", "name: other"), "DAG other created, DAG etl deleted", service.Apply{Prune: true}},
	} {
		if got := apply(c.text, c.how); got != c.want {
			t.Errorf("%+v: %s, want %s", c.how, got, c.want)
		}
	}
}

func TestBinaryThatATaskUsesStays(t *testing.T) {
	w := webtest.New(t)
	binary := w.PutBinary(t, "report")
	w.PutDAG(t, diamond)
	users, err := w.JobsUsing(t.Context(), &binary)
	if err != nil || len(users) != 4 || users[0].Label() != "etl/orders" || users[0].Version != 1 {
		t.Errorf("%+v, %v", users, err)
	}
	known := refused(t, w.DeleteBinary(t.Context(), "default", "report"), service.KindConflict, "binary_in_use")
	if !strings.Contains(known.Detail, `task "etl/orders"`) {
		t.Error(known.Detail)
	}
}

func TestDAGsAreListedWithWhatComesNext(t *testing.T) {
	w := webtest.New(t)
	w.PutBinary(t, "report")
	dag := w.PutDAG(t, diamond)
	w.PutDAG(t, "kind: DAG\nname: by-hand\ntasks: {a: {binary: report}}\n")
	slot := webtest.Start.Add(30 * time.Minute)
	var tasks []engine.ScheduledTask
	for i, root := range []string{"orders", "rates"} {
		id := engine.RootID(dag.UID, root)
		tasks = append(tasks, engine.ScheduledTask{ID: id, Shard: dag.Shard, Slot: slot.Add(-time.Duration(i) * time.Minute), RunAt: slot, Revision: 1, Namespace: "default", Job: "etl/" + root})
	}
	w.Write(t, engine.Batch{Tasks: tasks})
	page, err := w.DAGs.Page(t.Context(), service.ListQuery{Namespace: "default", Limit: 10})
	if err != nil || len(page.Entries) != 2 || page.Entries[0].Definition.Name != "by-hand" || !page.Entries[1].Next.Equal(slot.Add(-time.Minute)) || !page.Entries[0].Next.IsZero() {
		t.Errorf("%+v, %v", page, err)
	}
	page, err = w.DAGs.Page(t.Context(), service.ListQuery{Namespace: "default", Limit: 1, Label: "team=survey"})
	if err != nil || len(page.Entries) != 1 || page.Entries[0].Definition.Name != "etl" {
		t.Errorf("by label: %+v, %v", page, err)
	}
	slots, schedules, err := w.DAGs.Preview(t.Context(), "default", "etl", time.Time{}, 3)
	var rows []string
	for _, s := range slots {
		rows = append(rows, s.Root+" "+s.Slot.Slot.Format("15:04"))
	}
	if err != nil || strings.Join(rows, ", ") != "rates 12:30, orders 13:00, rates 13:00" || len(schedules) != 2 {
		t.Errorf("%v %v %v", rows, schedules, err)
	}
}

func TestDAGHindrancesIncludeItsEndDateAndAMissingEngine(t *testing.T) {
	w := webtest.New(t)
	w.PutBinary(t, "report")
	has := func(dag engine.DAG, code string) bool {
		t.Helper()
		found, err := w.TaskHindrances(t.Context(), &dag)
		if err != nil {
			t.Fatal(err)
		}
		return slices.ContainsFunc(found, func(h service.Hindrance) bool { return h.Code == code && h.Stops })
	}
	dag := w.PutDAG(t, diamond)
	if has(dag, "active_time_over") || has(dag, "not_active_yet") || has(dag, "engine_behind") {
		t.Error("a DAG that fires says that it does not")
	}
	due := webtest.Start.Add(-time.Minute)
	w.Write(t, engine.Batch{Tasks: []engine.ScheduledTask{{
		ID: engine.RootID(dag.UID, "rates"), Shard: dag.Shard, Slot: due, RunAt: due, Generation: 1, Revision: 1, Namespace: "default", Job: "etl/rates",
	}}})
	if !has(dag, "engine_behind") {
		t.Error("it does not say that no engine takes up the slot of a root")
	}
	before, after := webtest.Start.Add(-time.Hour), webtest.Start.Add(time.Hour)
	dag.Spec.Active = &spec.Window{Until: &before}
	if !has(dag, "active_time_over") {
		t.Error("it does not say that its active time is over")
	}
	dag.Spec.Active = &spec.Window{From: &after}
	if !has(dag, "not_active_yet") {
		t.Error("it does not say that its active time has not begun")
	}
}

func TestTimelineForeseesTheRootsOfADAG(t *testing.T) {
	w := webtest.New(t)
	w.PutBinary(t, "report")
	dag := w.PutDAG(t, diamond)
	slot := webtest.Start.Add(30 * time.Minute)
	w.Write(t, engine.Batch{Tasks: []engine.ScheduledTask{{
		ID: engine.RootID(dag.UID, "rates"), Shard: dag.Shard, Slot: slot, RunAt: slot, Generation: 1, Revision: 1, Namespace: "default", Job: "etl/rates",
	}}})
	reach, bucket := 24*time.Hour, 30*time.Minute
	timeline, err := w.Tides(t.Context(), "default", engine.Window{From: webtest.Start.Add(-reach), Until: webtest.Start.Add(reach)}, bucket)
	if err != nil {
		t.Fatal(err)
	}
	slots, bars := 0, 0
	for _, bucket := range timeline.Future {
		if slots += bucket.Slots.N; bucket.Jobs > 0 && bucket.Names[0] == "etl/rates" {
			bars++
		}
	}
	if want := int(2*reach/time.Hour) - 1; slots < want || slots > want+1 || bars < want/2 { // what is due now is no more to come
		t.Errorf("it foresees %d slots in %d bars, want %d: one in each half hour", slots, bars, want)
	}
}

func TestLedgerOfARoot(t *testing.T) {
	w := webtest.New(t)
	w.PutBinary(t, "report")
	dag := w.PutDAG(t, diamond)
	wave := w.OpenWave(dag, 1, webtest.Start.Add(-time.Hour))
	w.PutWave(t, wave)
	run := w.TaskRun(wave, "orders", engine.StatusSucceeded)
	run.Trigger = engine.TriggerSchedule
	w.PutRun(t, run)
	skipped := webtest.Start.Add(-2 * time.Hour)
	id := engine.RootID(dag.UID, "orders")
	w.Write(t, engine.Batch{Slots: []engine.SlotRange{{
		ID: engine.SlotRangeID(id, skipped), JobUID: id, Namespace: "default", Job: "etl/orders", From: skipped, To: skipped, Count: 1,
		Outcome: engine.OutcomeSkipped, Reason: engine.ReasonOverlap,
	}}})
	entries, next, err := w.DAGs.LedgerPage(t.Context(), "default", "etl", "orders", time.Time{}, time.Time{}, "", 10)
	if err != nil || next != "" || len(entries) != 2 || entries[0].Run != run.ID || entries[1].Reason != "overlap" {
		t.Errorf("%+v %q %v", entries, next, err)
	}
	_, _, err = w.DAGs.LedgerPage(t.Context(), "default", "etl", "", time.Time{}, time.Time{}, "", 10)
	if known := refused(t, err, service.KindInvalid, "root_missing"); !strings.Contains(known.Detail, "orders, rates") {
		t.Error(known.Detail)
	}
	_, _, err = w.DAGs.LedgerPage(t.Context(), "default", "etl", "nothing", time.Time{}, time.Time{}, "", 10)
	refused(t, err, service.KindInvalid, "root_not_found")
}
