package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/web/webtest"
)

const etl = `{"name":"etl","defaults":{"binary":"report"},"tasks":{
	"orders":{"schedule":"0 * * * *"},"rates":{"schedule":"*/30 * * * *"},"join":{"needs":["orders","rates"]},"tell":{"needs":["join","orders"],"trigger":"all_done"}}}`

const etlPath = "/api/v1/dags/etl"

func TestDAGIsCreatedReplacedAndDeletedUnderItsTag(t *testing.T) {
	s := newSite(t)
	s.PutBinary(t, "report")
	created := s.ask("POST", "/api/v1/dags?message=first", etl).is(http.StatusCreated)
	dag := into[wire.DAG](created)
	if dag.Name != "etl" || dag.Generation != 1 || len(dag.Spec.Tasks) != 4 || dag.Message != "first" || !strings.HasPrefix(dag.Schedule, "4 tasks; orders: ") {
		t.Errorf("%+v", dag)
	}
	if got := created.header.Get("Location"); got != etlPath {
		t.Errorf("Location %q", got)
	}
	s.ask("POST", "/api/v1/dags", etl).is(http.StatusOK)
	edited := strings.Replace(etl, `"*/30 * * * *"`, `"*/10 * * * *"`, 1)
	s.ask("POST", "/api/v1/dags", edited).problem(http.StatusConflict, "dag_exists")
	s.ask("PUT", etlPath, edited, "If-Match", `"2"`).problem(http.StatusPreconditionFailed, "dag_changed")
	if dag = into[wire.DAG](s.ask("PUT", etlPath, edited, "If-Match", `"1"`).is(http.StatusOK)); dag.Generation != 2 {
		t.Errorf("%+v", dag)
	}
	tag := s.ask("GET", etlPath, "").is(http.StatusOK).header.Get("ETag")
	if tag != `"2"` {
		t.Errorf("ETag %s", tag)
	}
	s.ask("GET", etlPath, "", "If-None-Match", tag).is(http.StatusNotModified)
	yaml := "kind: DAG\nname: etl\ndefaults: {binary: report}\ntasks: {a: {}}\n"
	s.ask("PUT", etlPath, yaml, "Content-Type", "application/yaml").is(http.StatusOK)
	s.ask("PUT", etlPath, strings.Replace(yaml, "etl", "other", 1), "Content-Type", "application/yaml").problem(http.StatusUnprocessableEntity, "invalid_definition", "make both the same")
	s.ask("PUT", etlPath, "kind: Job\nname: etl\nbinary: report\n", "Content-Type", "application/yaml").problem(http.StatusUnprocessableEntity, "invalid_definition", "kind must be DAG here")
	s.ask("PUT", "/api/v1/jobs/a", yaml, "Content-Type", "application/yaml").problem(http.StatusUnprocessableEntity, "invalid_definition")
	s.ask("POST", "/api/v1/jobs", `{"name":"etl","binary":"report"}`).problem(http.StatusConflict, "name_taken", `there is a DAG "etl" already`)

	if forms := into[wire.List[wire.DAGGeneration]](s.ask("GET", etlPath+"/generations?limit=2", "").is(http.StatusOK)); len(forms.Items) != 2 || forms.Next == "" || forms.Items[0].Generation != 3 {
		t.Errorf("%+v", forms)
	}
	if diff := into[wire.Difference](s.ask("GET", etlPath+"/difference?from=1&to=2", "").is(http.StatusOK)); !strings.Contains(diff.Diff, "+  rates: {schedule: \"*/10 * * * *\"}") {
		t.Errorf("%+v", diff)
	}
	if dag = into[wire.DAG](s.ask("POST", etlPath+"/restore", `{"generation":1}`).is(http.StatusOK)); dag.Generation != 4 || len(dag.Spec.Tasks) != 4 {
		t.Errorf("%+v", dag)
	}
	if dag = into[wire.DAG](s.ask("POST", etlPath+"/pause?reason=the+warehouse+moves", "").is(http.StatusOK)); !dag.Paused || dag.PausedReason != "the warehouse moves" {
		t.Errorf("paused %+v", dag.Definition)
	}
	if list := into[wire.List[wire.DAG]](s.ask("GET", "/api/v1/dags?paused=true&q=ET", "").is(http.StatusOK)); len(list.Items) != 1 {
		t.Errorf("%+v", list)
	}
	for query, want := range map[string]int{"state=paused": 1, "state=running": 0, "state=failing&paused=true": 0, "order=failures&paused=true": 1, "order=last&q=other": 0} {
		if list := into[wire.List[wire.DAG]](s.ask("GET", "/api/v1/dags?"+query, "").is(http.StatusOK)); len(list.Items) != want {
			t.Errorf("%s lists %+v", query, list)
		}
	}
	s.ask("GET", "/api/v1/dags?state=late", "").is(http.StatusUnprocessableEntity)
	if dag = into[wire.DAG](s.ask("POST", etlPath+"/resume", "").is(http.StatusOK)); dag.Paused {
		t.Error("it is still paused")
	}
	s.ask("DELETE", etlPath, "", "If-Match", `"1"`).problem(http.StatusPreconditionFailed, "dag_changed")
	s.ask("DELETE", etlPath, "").is(http.StatusNoContent)
	s.ask("GET", etlPath, "").problem(http.StatusNotFound, "dag_not_found")
}

func TestGraphAndSlotsOfADAG(t *testing.T) {
	s := newSite(t)
	s.PutBinary(t, "report")
	s.PutDAG(t, etl[:1]+`"kind":"DAG",`+etl[1:])
	graph := into[wire.DAGGraph](s.ask("GET", etlPath+"/graph", "").is(http.StatusOK))
	var rows []string
	for _, n := range graph.Tasks {
		rows = append(rows, fmt.Sprintf("%s %d %s", n.Name, n.Level, n.Trigger))
	}
	for _, e := range graph.Edges {
		rows = append(rows, fmt.Sprintf("%s-%s %t", e.From, e.To, e.Implied))
	}
	if got := strings.Join(rows, ", "); got != "orders 0 , rates 0 , join 1 all_success, tell 2 all_done, orders-join false, rates-join false, join-tell false, orders-tell true" {
		t.Errorf("graph: %s", got)
	}
	next := into[wire.DAGPreview](s.ask("GET", etlPath+"/next?count=2", "").is(http.StatusOK))
	if len(next.Items) != 2 || next.Items[0].Root != "rates" || len(next.Roots) != 2 {
		t.Errorf("%+v", next)
	}
	at(t, s.ask("GET", etlPath+"/slots", "").problem(http.StatusUnprocessableEntity, "root_missing"), "query.root")
	if slots := into[wire.List[wire.LedgerEntry]](s.ask("GET", etlPath+"/slots?root=orders", "").is(http.StatusOK)); len(slots.Items) != 0 {
		t.Errorf("%+v", slots)
	}
	plan := into[wire.DAGBackfill](s.ask("POST", etlPath+"/backfill", `{"from":"2026-11-20T09:00:00Z","to":"2026-11-20T11:00:01Z","dry_run":true}`).is(http.StatusOK))
	if plan.New != 3 || len(plan.Items) != 3 || len(plan.Items[0].Slots) != 2 {
		t.Errorf("%+v", plan)
	}
	s.ask("POST", etlPath+"/backfill", `{"from":"2026-11-20T09:00:00Z","to":"2026-11-20T11:00:01Z"}`).is(http.StatusAccepted)
	s.ask("POST", etlPath+"/backfill", `{"from":"2026-11-20T09:00:00Z","to":"2026-11-20T11:00:01Z"}`).is(http.StatusOK)
	s.Act(t)
	if waves := into[wire.List[wire.Wave]](s.ask("GET", "/api/v1/waves?dag=etl&status=scheduled", "").is(http.StatusOK)); len(waves.Items) != 3 || waves.Items[0].Trigger != engine.TriggerBackfill {
		t.Errorf("%+v", waves)
	}
}

func TestWaveSaysWhenItHadEndedBeforeItWasResumed(t *testing.T) {
	s := newSite(t)
	s.PutBinary(t, "report")
	dag := s.PutDAG(t, etl[:1]+`"kind":"DAG",`+etl[1:])
	wave := s.OpenWave(dag, 1, webtest.Start.Add(-time.Hour))
	wave.Resumed, wave.Rests = 1, []engine.WaveRest{{From: wave.StartedAt.Add(time.Minute), To: wave.StartedAt.Add(30 * time.Minute)}}
	s.PutWave(t, wave)
	got := into[wire.WaveDetail](s.ask("GET", "/api/v1/waves/"+wave.ID, "").is(http.StatusOK))
	if got.Resumed != 1 || len(got.Rests) != 1 || !got.Rests[0].From.Equal(wave.Rests[0].From) || !got.Rests[0].To.Equal(wave.Rests[0].To) {
		t.Errorf("resumed %d times, rests %+v", got.Resumed, got.Rests)
	}
}

func TestWaveIsStartedShownAndChanged(t *testing.T) {
	s := newSite(t)
	s.PutBinary(t, "report")
	dag := s.PutDAG(t, etl[:1]+`"kind":"DAG",`+etl[1:])
	asked := s.ask("POST", etlPath+"/run", `{"payload":{"a":1},"args":{"DAY":"7"}}`, "Idempotency-Key", "k").is(http.StatusCreated)
	wave := into[wire.Wave](asked)
	if wave.Status != engine.StatusScheduled || asked.header.Get("Location") != "/api/v1/waves/"+wave.ID {
		t.Errorf("%+v", wave)
	}
	s.ask("POST", etlPath+"/run", `{"payload":{"a":1},"args":{"DAY":"7"}}`, "Idempotency-Key", "k").is(http.StatusOK)
	s.ask("POST", etlPath+"/run", `{}`, "Idempotency-Key", "k").problem(http.StatusUnprocessableEntity, "key_reused")
	if detail := into[wire.WaveDetail](s.ask("GET", "/api/v1/waves/"+wave.ID, "").is(http.StatusOK)); detail.Counts["waiting"] != 4 || len(detail.CriticalPath) != 0 ||
		detail.Status != engine.StatusScheduled || detail.Reason != acceptedReason {
		t.Errorf("before it begins: %+v", detail)
	}
	s.ask("POST", "/api/v1/waves/"+wave.ID+"/resume", "").problem(http.StatusConflict, "wave_open")
	s.ask("POST", "/api/v1/waves/"+wave.ID+"/mark", `{"task":"join","as":"skipped"}`).problem(http.StatusConflict, "wave_not_begun")
	s.ask("POST", "/api/v1/waves/"+wave.ID+"/clear", `{"task":"join"}`).problem(http.StatusConflict, "wave_open")
	s.ask("POST", "/api/v1/waves/"+wave.ID+"/cancel", "").is(http.StatusAccepted)
	s.Act(t)
	if detail := into[wire.WaveDetail](s.ask("GET", "/api/v1/waves/"+wave.ID, "").is(http.StatusOK)); detail.Reason != "" || detail.Revision != 1 {
		t.Errorf("once the engine has made it: %+v", detail)
	}

	open := s.OpenWave(dag, 1, webtest.Start.Add(-time.Hour))
	s.PutWave(t, open)
	for task, status := range map[string]engine.Status{"orders": engine.StatusSucceeded, "rates": engine.StatusRunning} {
		s.PutRun(t, s.TaskRun(open, task, status))
	}
	path := "/api/v1/waves/" + open.ID
	detail := into[wire.WaveDetail](s.ask("GET", path, "").is(http.StatusOK))
	var rows []string
	for _, task := range detail.Tasks {
		rows = append(rows, task.Name+" "+task.State+" "+task.Status)
	}
	if got := strings.Join(rows, ", "); got != "orders succeeded succeeded, rates running running, join waiting , tell waiting " || detail.CriticalPath[0] != "rates" || detail.Epoch != 1 {
		t.Errorf("%s: %+v", got, detail)
	}
	s.ask("POST", path+"/resume", "").problem(http.StatusConflict, "wave_open")
	s.ask("POST", path+"/mark", `{"task":"rates","as":"succeeded"}`).problem(http.StatusConflict, "task_running", "cancel its run first")
	s.ask("POST", path+"/mark", `{"task":"join","as":"skipped"}`).is(http.StatusAccepted)
	at(t, s.ask("POST", path+"/mark", `{"task":"join","as":"lost"}`).problem(http.StatusUnprocessableEntity, "invalid_request"), "body.as")
	s.ask("POST", path+"/cancel", "").is(http.StatusAccepted)

	runs := into[wire.List[wire.Run]](s.ask("GET", "/api/v1/runs?dag=etl", "").is(http.StatusOK))
	if len(runs.Items) != 2 || runs.Items[0].DAG != "etl" || runs.Items[0].Wave != open.ID || runs.Items[0].Epoch != 1 || runs.Items[0].Job != "" {
		t.Errorf("%+v", runs)
	}
	if runs = into[wire.List[wire.Run]](s.ask("GET", "/api/v1/runs?dag=etl&task=rates", "").is(http.StatusOK)); len(runs.Items) != 1 {
		t.Errorf("%+v", runs)
	}
	at(t, s.ask("GET", "/api/v1/runs?task=rates", "").problem(http.StatusUnprocessableEntity, "invalid_request"), "query.task")
	if waves := into[wire.List[wire.Wave]](s.ask("GET", etlPath+"/waves?limit=1", "").is(http.StatusOK)); len(waves.Items) != 1 || waves.Next == "" || waves.Items[0].ID != wave.ID {
		t.Errorf("%+v", waves)
	}
	s.ask("GET", "/api/v1/waves/nothing", "").problem(http.StatusNotFound, "wave_not_found")
	s.ask("GET", "/api/v1/waves?dag=nothing", "").problem(http.StatusNotFound, "dag_not_found")
}

// The server refuses a faulty DAG when it is saved, before anything runs, and names the place of the fault.
func TestFaultsOfDAGsAreReported(t *testing.T) {
	s := newSite(t)
	s.PutBinary(t, "report")
	var many strings.Builder
	many.WriteString("kind: DAG\nname: etl\ndefaults: {binary: report}\ntasks:\n")
	for i := range 50_000 {
		fmt.Fprintf(&many, "  t%d: {}\n", i)
	}
	for name, c := range map[string]struct {
		tasks string
		at    string
		line  int
		words string
	}{
		"cycle":                 {"  a: {needs: [b]}\n  b: {needs: [a]}\n", "body.tasks.a.needs[0]", 5, "a -> b -> a"},
		"names by case":         {"  fetch: {}\n  Fetch: {}\n", "body.tasks.Fetch", 6, "case"},
		"no list":               {"  a: {}\n  b: {needs: [a], for_each: '3'}\n", "body.tasks.b.for_each", 6, "list"},
		"does not compile":      {"  a: {}\n  b: {needs: [a], when: 'outputs.a.rows >'}\n", "body.tasks.b.when", 6, ""},
		"a task of another DAG": {"  a: {needs: [other.fetch]}\n", "body.tasks.a.needs[0]", 5, "another DAG"},
		"a program not there":   {"  a: {binary: nothing}\n", "body.tasks.a.binary", 5, "task a: there is no binary"},
	} {
		t.Run(name, func(t *testing.T) {
			text := "kind: DAG\nname: etl\ndefaults: {binary: report}\ntasks:\n" + c.tasks
			for _, path := range []string{"/api/v1/validate?file=etl.yaml", "/api/v1/apply?file=etl.yaml"} {
				problem := s.ask("POST", path, text).is(http.StatusUnprocessableEntity)
				rows := into[wire.Problem](problem)
				found := false
				for _, e := range rows.Errors {
					found = found || e.Location == c.at && e.Line == c.line && strings.Contains(e.Message, c.words)
				}
				if !found {
					t.Errorf("%s: %s", path, problem.body)
				}
			}
		})
	}
	s.ask("POST", "/api/v1/validate", many.String()).problem(http.StatusUnprocessableEntity, "invalid_definition", "at most 10000")
	s.ask("GET", etlPath, "").problem(http.StatusNotFound, "dag_not_found")
}

func TestAWaveIsStartedLater(t *testing.T) {
	s := newSite(t)
	s.PutBinary(t, "report")
	s.PutDAG(t, `{"kind":"DAG",`+etl[1:])
	for _, want := range []int{http.StatusCreated, http.StatusOK} {
		wave := into[wire.Wave](s.ask("POST", etlPath+"/run", `{"at":"2026-11-21T00:00:00Z"}`, "Idempotency-Key", "later").is(want))
		read := into[wire.WaveDetail](s.ask("GET", "/api/v1/waves/"+wave.ID, "").is(http.StatusOK))
		for _, view := range []*wire.Wave{wave, &read.Wave} {
			if view.Status != engine.StatusScheduled || view.NotBefore.Format(time.RFC3339) != "2026-11-21T00:00:00Z" {
				t.Errorf("%+v", view)
			}
		}
	}
	s.ask("POST", etlPath+"/run", `{"at":"2026-11-22T00:00:00Z"}`, "Idempotency-Key", "later").problem(http.StatusUnprocessableEntity, "key_reused")
}
