package ui_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

func TestOpenWaveSaysWhatItWaitsFor(t *testing.T) {
	s := newSite(t)
	s.fill(t)
	open := s.fillDAGs(t)
	page := s.see(t, "/waves/"+open.ID)
	for _, words := range []string{"Wave 25", "The slot of root orders", `"name":"rates"`, "critical", "Mark…", "Cancel this wave?", "rows=12"} {
		if !strings.Contains(page, words) {
			t.Errorf("an open wave does not say %q", words)
		}
	}
	asked := s.see(t, "/waves/"+engine.ManualWaveID(open.DAGUID, "later"))
	for _, words := range []string{"Upcoming wave", "Wave 25, which is running: waves of one DAG never overlap", "&lt;script&gt;", "by joris"} {
		if !strings.Contains(asked, words) {
			t.Errorf("a wave that waits does not say %q", words)
		}
	}
}

func TestFailedWaveShowsWhereAndCanGoOn(t *testing.T) {
	s := newSite(t)
	s.fill(t)
	open := s.fillDAGs(t)
	failed := engine.WaveID(open.DAGUID, 24)
	page := s.see(t, "/waves/"+failed)
	for _, words := range []string{
		`"state":"dead"`, "upstream failed", "join failed", "2 attempts", `"critical":true`, "Resume from failure", `href="/runs/` + failed + `-join"`,
		"Critical path:", `data-panel="/waves/` + failed + `/task?name=join"`, `rel="prev"`, `rel="next"`,
	} {
		if !strings.Contains(page, words) {
			t.Errorf("a failed wave does not say %q", words)
		}
	}
	if !strings.Contains(page, "data-live") {
		t.Error("a wave that has ended, and may be resumed elsewhere, does not refresh")
	}
	if !strings.Contains(s.see(t, "/runs/"+engine.TaskRunID(failed, "shops")), "data-live") {
		t.Error("the run of a skipped task, which runs once its wave is resumed, does not refresh")
	}
	if page := s.see(t, "/waves/"+failed+"?state=upstream_failed"); strings.Count(page, `<tr id="task-`) != 2 || !strings.Contains(page, "2 of 6") {
		t.Error("the table is not narrowed to a state")
	}
	s.act(t, "/waves/"+failed+"/resume", nil)
	if response := s.ask(t, http.MethodPost, "/waves/"+failed+"/cancel", url.Values{}); response.Code != http.StatusConflict {
		t.Errorf("cancelling a wave that has ended is answered with %d", response.Code)
	}
}

func TestTaskIsMarked(t *testing.T) {
	s := newSite(t)
	s.fill(t)
	open := s.fillDAGs(t)
	form := s.see(t, "/waves/"+open.ID+"/mark?task=orders")
	for _, words := range []string{"4 tasks come after it", "What needs it goes on as if it had succeeded", `value="failed"`} {
		if !strings.Contains(form, words) {
			t.Errorf("the question does not say %q", words)
		}
	}
	s.act(t, "/waves/"+open.ID+"/mark", url.Values{"task": {"orders"}, "as": {"skipped"}})
	for as, want := range map[string]int{"": http.StatusUnprocessableEntity, "running": http.StatusUnprocessableEntity} {
		if response := s.ask(t, http.MethodPost, "/waves/"+open.ID+"/mark", url.Values{"task": {"orders"}, "as": {as}}); response.Code != want {
			t.Errorf("marking as %q is answered with %d, want %d", as, response.Code, want)
		}
	}
	if response := s.ask(t, http.MethodPost, "/waves/"+open.ID+"/mark", url.Values{"task": {"rates"}, "as": {"failed"}}); response.Code != http.StatusUnprocessableEntity || !strings.Contains(response.Body.String(), "has ended") {
		t.Errorf("marking what has ended is answered with %d", response.Code)
	}
	if response := s.ask(t, http.MethodGet, "/waves/"+open.ID+"/mark?task=nobody", nil); response.Code != http.StatusNotFound {
		t.Errorf("a task that is not there is answered with %d", response.Code)
	}
	if page := s.see(t, "/waves/"+engine.WaveID(open.DAGUID, 24)+"/mark?task=join"); strings.Contains(page, `value="failed"`) {
		t.Error("a task of a wave that has ended can be marked as failed, which changes nothing")
	}
}

func TestTaskIsRunAgain(t *testing.T) {
	s := newSite(t)
	s.fill(t)
	open := s.fillDAGs(t)
	ended := "/waves/" + engine.WaveID(open.DAGUID, 24)
	if panel := s.see(t, ended+"/task?name=orders"); !strings.Contains(panel, ended+"/clear?task=orders") {
		t.Error("the panel of a task of a wave that has ended does not offer to run it again")
	}
	if panel := s.see(t, "/waves/"+open.ID+"/task?name=orders"); strings.Contains(panel, "/clear?") {
		t.Error("the panel of a task of an open wave offers to run it again")
	}
	form := s.see(t, ended+"/clear?task=orders")
	for _, words := range []string{"4 tasks come after it", "With the 4 tasks after it", `value="alone"`} {
		if !strings.Contains(form, words) {
			t.Errorf("the question does not say %q", words)
		}
	}
	if form := s.see(t, ended+"/clear?task=tell"); strings.Contains(form, `value="after"`) || !strings.Contains(form, "No task comes after it") {
		t.Error("the last task can be run again with what comes after it")
	}
	s.act(t, ended+"/clear", url.Values{"task": {"orders"}, "what": {"after"}})
	s.act(t, ended+"/clear", url.Values{"task": {"orders"}, "what": {"alone"}, "payload": {`{"day": 7}`}, "variables": {"DAY=7"}})
	for _, wrong := range []url.Values{
		{"task": {"orders"}, "item": {"two"}}, {"task": {"orders"}, "item": {"2"}}, {"task": {"orders"}, "payload": {"{day"}}, {"task": {"orders"}, "variables": {"DAY"}},
	} {
		response := s.ask(t, http.MethodPost, ended+"/clear", wrong)
		if response.Code != http.StatusUnprocessableEntity || !strings.Contains(response.Body.String(), `role="alert"`) {
			t.Errorf("%v is answered with %d", wrong, response.Code)
		}
		if typed := wrong.Get("payload") + wrong.Get("variables"); !strings.Contains(response.Body.String(), ">"+typed+"</textarea>") {
			t.Errorf("what was typed is lost: %v", wrong)
		}
	}
	if response := s.ask(t, http.MethodPost, "/waves/"+open.ID+"/clear", url.Values{"task": {"orders"}}); response.Code != http.StatusUnprocessableEntity ||
		!strings.Contains(response.Body.String(), "once it has ended") {
		t.Errorf("clearing a task of an open wave is answered with %d", response.Code)
	}
}

func TestMappedTaskUnfolds(t *testing.T) {
	s := newSite(t)
	s.fill(t)
	open := s.fillDAGs(t)
	good := "/waves/" + engine.WaveID(open.DAGUID, 22)
	if page := s.see(t, good); !strings.Contains(page, `"items":{"total":8,"succeeded":8}`) || !strings.Contains(page, "Show the items") || strings.Contains(page, `<tr class="item"`) {
		t.Error("a mapped task is not one row with its counts")
	}
	page := s.see(t, good+"?unfold=shops")
	if rows := strings.Count(page, `id="item-`); rows != 8 || !strings.Contains(page, engine.ItemRunID(engine.WaveID(open.DAGUID, 22), 7, "shops")) {
		t.Errorf("%d items are shown, want 8, each with its run", rows)
	}
}

func TestLargeWaveIsPaged(t *testing.T) {
	s := newSite(t)
	s.fill(t)
	d := s.PutDAG(t, fanned("fan", 500))
	wave := s.putWave(t, &d, past{epoch: 1, trigger: engine.TriggerManual, at: s.Now.Add(-time.Hour), ends: failingAt("part-0013")})
	for query, want := range map[string]int{"": 200, "from=400": 102, "from=9999": 0, "from=-3": 200, "q=part-001*": 10, "q=13": 15, "state=failed": 1, "state=nonsense": 200} {
		if rows := strings.Count(s.see(t, "/waves/"+wave.ID+"?"+query), `<tr id="task-`); rows != want {
			t.Errorf("%q lists %d tasks, want %d", query, rows, want)
		}
	}
	if n := strings.Count(s.see(t, "/waves/"+wave.ID), `"bars":`); n != 501 {
		t.Errorf("the chart of times is sent %d tasks, want the 501 that have begun", n)
	}
}

func TestTaskOfAWaveHasAPageWithItsAttemptsAndOutput(t *testing.T) {
	s := newSite(t)
	s.fill(t)
	open := s.fillDAGs(t)
	failed := "/waves/" + engine.WaveID(open.DAGUID, 24)
	page := s.see(t, failed+"/task?name=join")
	for _, words := range []string{"<h1>join</h1>", "Attempt 1", "Attempt 2", "Resume from failure", `id="output"`, ">orders</a>", ">shops</a>", "Mark…"} {
		if !strings.Contains(page, words) {
			t.Errorf("the task does not say %q", words)
		}
	}
	if page := s.see(t, failed+"/task?name=shops"); !strings.Contains(page, "join failed") || strings.Contains(page, "Cancel the run") {
		t.Error("a task that was skipped does not say why")
	}
	if page := s.see(t, "/waves/"+open.ID+"/task?name=orders"); !strings.Contains(page, "waiting") {
		t.Error("a task without a run has no page")
	}
	good := "/waves/" + engine.WaveID(open.DAGUID, 22)
	if page := s.see(t, good+"/task?name=shops"); strings.Count(page, "&amp;item=") != 8 {
		t.Error("a mapped task does not list its items")
	}
	if page := s.see(t, good+"/task?name=shops&item=3"); !strings.Contains(page, "<h1>shops, item 3</h1>") || !strings.Contains(page, "Attempt 1") {
		t.Error("an item has no page")
	}
	if response := s.ask(t, http.MethodGet, failed+"/task?name=nobody", nil); response.Code != http.StatusNotFound {
		t.Errorf("a task that is not there is answered with %d", response.Code)
	}
}

func TestRunsOfTasksLeadToTheirWaves(t *testing.T) {
	s := newSite(t)
	s.fill(t)
	open := s.fillDAGs(t)
	failed := engine.WaveID(open.DAGUID, 24)
	list := s.see(t, "/runs?dag=etl")
	for _, words := range []string{`href="/dags/etl"`, `href="/waves/` + open.ID + `"`, "wave 25", "upstream"} {
		if !strings.Contains(list, words) {
			t.Errorf("the list of runs does not hold %q", words)
		}
	}
	page := s.see(t, "/runs/"+failed+"-join")
	for _, words := range []string{"Run of etl/join", `href="/waves/` + failed + `"`, `href="/dags/etl"`} {
		if !strings.Contains(page, words) {
			t.Errorf("the run of a task does not hold %q", words)
		}
	}
	overview := s.see(t, "/")
	for _, words := range []string{"3 waves failed in the last 24 hours, including the last one", `action="/waves/` + failed + `/resume"`} {
		if !strings.Contains(overview, words) {
			t.Errorf("the overview does not hold %q", words)
		}
	}
	if found := s.see(t, "/ui/search?q=et"); !strings.Contains(found, `href="/dags/etl"`) {
		t.Error("the search does not find a DAG")
	}
}

func TestTheRunOfATaskShowsItsDefinition(t *testing.T) {
	s := newSite(t)
	s.PutBinary(t, "report")
	d := s.PutDAG(t, "kind: DAG\nname: etl\ndefaults: {timeout: 7m}\ntasks:\n  fetch: {binary: report, description: All boats, args: [--all], env: {LEVEL: debug}}\n  tell: {binary: report, needs: [fetch]}\n")
	before := s.putWave(t, &d, past{epoch: 1, trigger: engine.TriggerManual, at: s.Now.Add(-time.Hour)})
	wave := s.putWave(t, &d, past{epoch: 2, trigger: engine.TriggerManual, at: s.Now.Add(-time.Minute)})
	page := s.see(t, "/runs/"+engine.TaskRunID(wave.ID, "fetch"))
	for _, words := range []string{"--all", "LEVEL", "debug", "7m", "All boats"} {
		if !strings.Contains(page, words) {
			t.Errorf("the run does not say %q", words)
		}
	}
	if strings.Contains(page, "not kept any more") {
		t.Error("the run says that its definition is not kept")
	}
	run, err := s.Run(t.Context(), engine.DefaultNamespace, engine.TaskRunID(wave.ID, "fetch"))
	if err != nil {
		t.Fatal(err)
	}
	good, found, err := s.LastGoodRun(t.Context(), &run)
	if want := engine.TaskRunID(before.ID, "fetch"); err != nil || !found || good.ID != want {
		t.Errorf("the last good run before it is %s (%t, %v), want %s", good.ID, found, err, want)
	}
}
