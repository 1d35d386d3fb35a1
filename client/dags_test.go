package client_test

import (
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/client"
	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/web/webtest"
)

func TestDAGsAndWaves(t *testing.T) {
	s := newSite(t)
	s.PutBinary(t, "report")
	ctx := t.Context()
	task := definition{"binary": "report", "schedule": "@hourly"}
	dag := must[wire.DAG](t)(s.api.CreateDAG(ctx, definition{"name": "etl", "tasks": definition{"a": task}}))
	if dag.Generation != 1 || dag.CreatedBy != "root" {
		t.Errorf("created %+v", dag)
	}
	_, err := s.api.CreateDAG(ctx, definition{"name": "etl", "tasks": definition{"b": task}})
	refused(t, err, 409, "dag_exists")
	edited := must[wire.DAG](t)(s.api.PutDAG(ctx, "etl", definition{"tasks": definition{"a": task, "b": definition{"binary": "report", "needs": []string{"a"}}}}, dag.Revision, "more"))
	if edited.Generation != 2 || edited.Message != "more" {
		t.Errorf("edited %+v", edited)
	}
	if must[wire.DAG](t)(s.api.PauseDAG(ctx, "etl", "too loud")).PausedReason != "too loud" || must[wire.DAG](t)(s.api.ResumeDAG(ctx, "etl")).Paused {
		t.Error("it is not paused and resumed")
	}
	if list := must[wire.List[wire.DAG]](t)(s.api.DAGs(ctx, client.DefinitionFilter{Text: "T"})); len(list.Items) != 1 {
		t.Errorf("listed %+v", list)
	}
	if forms := must[wire.List[wire.DAGGeneration]](t)(s.api.DAGGenerations(ctx, "etl", client.Page{Limit: 1})); len(forms.Items) != 1 || forms.Next == "" {
		t.Errorf("generations %+v", forms)
	}
	if next := must[wire.DAGPreview](t)(s.api.NextDAGSlots(ctx, "etl", webtest.Start, 2)); len(next.Items) != 2 || next.Items[0].Root != "a" {
		t.Errorf("next %+v", next)
	}
	if slots := must[wire.List[wire.LedgerEntry]](t)(s.api.DAGSlots(ctx, "etl", "a", webtest.Start, client.Page{})); len(slots.Items) != 0 {
		t.Errorf("slots %+v", slots)
	}
	plan := must[wire.DAGBackfill](t)(s.api.BackfillDAG(ctx, "etl", wire.BackfillRequest{From: webtest.Start.Add(-time.Hour), To: webtest.Start, DryRun: true}))
	if plan.New != 1 {
		t.Errorf("backfill %+v", plan)
	}
	wave := must[wire.Wave](t)(s.api.RunDAG(ctx, "etl", wire.WaveRequest{Payload: []byte(`1`)}, "k"))
	if again := must[wire.Wave](t)(s.api.RunDAG(ctx, "etl", wire.WaveRequest{Payload: []byte(`1`)}, "k")); again.ID != wave.ID {
		t.Errorf("wave %s, again %s", wave.ID, again.ID)
	}
	if detail := must[wire.WaveDetail](t)(s.api.Wave(ctx, wave.ID)); len(detail.Tasks) != 2 || detail.Tasks[1].Needs[0] != "a" {
		t.Errorf("wave %+v", detail)
	}
	s.Act(t)
	if list := must[wire.List[wire.Wave]](t)(s.api.Waves(ctx, client.WaveFilter{DAG: "etl", Statuses: []string{"scheduled"}})); len(list.Items) != 1 {
		t.Errorf("waves %+v", list)
	}
	_, err = s.api.ResumeWave(ctx, wave.ID)
	refused(t, err, 409, "wave_open")
	_, err = s.api.MarkTask(ctx, wave.ID, wire.MarkRequest{Task: "b", As: "skipped"})
	refused(t, err, 409, "wave_not_begun")
	must[wire.Wave](t)(s.api.CancelWave(ctx, wave.ID))
	if err := s.api.DeleteDAG(ctx, "etl", 0); err != nil {
		t.Error(err)
	}
	_, err = s.api.DAG(ctx, "etl")
	refused(t, err, 404, "dag_not_found")
}
