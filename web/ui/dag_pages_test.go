package ui_test

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

var dagRow = regexp.MustCompile(`<tr id="dag-([a-z0-9-]+)">`)

func TestDAGsAreNarrowedByTheAddress(t *testing.T) {
	s := newSite(t)
	if page := s.see(t, "/dags"); !strings.Contains(page, "There is no DAG yet.") || !strings.Contains(page, "tidewheel apply -f dag.yaml") {
		t.Error("an empty list does not teach the first step")
	}
	s.fill(t)
	s.fillDAGs(t)
	paused := s.PutDAG(t, layered("paused", 2, 3)+"labels: {crew: night}\n")
	s.act(t, "/dags/"+paused.Name+"/pause", nil)
	s.narrowed(t, "/dags", dagRow, map[string]string{
		"":                 "etl paused",
		"q=ET":             "etl",
		"state=paused":     "paused",
		"state=running":    "etl",
		"state=failing":    "etl",
		"order=last":       "etl paused",
		"order=failures":   "etl paused",
		"q=nothing":        "",
		"state=nonsense":   "etl paused",
		"order=nonsense":   "etl paused",
		"cursor=nonsense":  "etl paused",
		"q=a&state=paused": "paused",

		"label=crew%3Dnight":             "paused",
		"label=crew&order=last":          "paused",
		"label=crew%3Dday":               "",
		"state=late&q=nonsense":          "",
		"order=next&cursor=nonsense":     "etl paused",
		"label=crew&state=running&q=etl": "",
	})
}

func TestDAGsInAnyOrderArePaged(t *testing.T) {
	s := newSite(t)
	s.fill(t)
	for i := range 60 {
		s.PutDAG(t, layered(fmt.Sprintf("dag-%03d", i), 1, 1))
	}
	for _, query := range []string{"", "order=last", "order=failures"} {
		seen := map[string]bool{}
		page := s.see(t, "/dags?"+query)
		if next := regexp.MustCompile(`href="([^"]+)" rel="next"`).FindStringSubmatch(page); next != nil {
			page += s.see(t, strings.ReplaceAll(next[1], "&amp;", "&"))
		}
		for _, match := range dagRow.FindAllStringSubmatch(page, -1) {
			seen[match[1]] = true
		}
		if rows := len(dagRow.FindAllString(page, -1)); len(seen) != 60 || rows != 60 {
			t.Errorf("%q: two pages list %d DAGs in %d rows, want 60", query, len(seen), rows)
		}
	}
}

func TestDAGTellsWhatItIsMadeOfAndHowItDoes(t *testing.T) {
	s := newSite(t)
	s.fill(t)
	open := s.fillDAGs(t)
	page := s.see(t, "/dags/etl")
	for _, words := range []string{
		`<small>6</small>`, "orders, rates", "every 30 minutes", "86%", "the last 23", `href="/waves/` + open.ID + `"`,
		"3 succeeded, 1 failed, 2 skipped", "slots during a wave are skipped",
	} {
		if !strings.Contains(page, words) {
			t.Errorf("the page of a DAG does not say %q", words)
		}
	}
	for _, part := range []string{"/dags/etl", "/dags/etl/grid", "/dags", "/dags/etl/waves"} {
		if html := s.see(t, part, "HX-Request", "true"); strings.Contains(html, "<html") {
			t.Errorf("%s answers a script with a whole page", part)
		}
	}
	if page := s.see(t, "/dags/etl/waves"); !strings.Contains(page, "upcoming") || strings.Count(page, `<tr id="wave-`) != 26 {
		t.Errorf("the list of waves shows %d, want 26", strings.Count(page, `<tr id="wave-`))
	}
	if page := s.see(t, "/dags/etl/definition"); !strings.Contains(page, "kind: DAG") {
		t.Error("the definition is not shown")
	}
}

func TestDAGIsActedOn(t *testing.T) {
	s := newSite(t)
	s.fill(t)
	s.fillDAGs(t)
	at := s.act(t, "/dags/etl/run", url.Values{"with": {"1"}, "key": {"k"}, "payload": {`{"day": 1}`}, "variables": {"DAY=2026-12-01"}})
	id, _, _ := strings.Cut(strings.TrimPrefix(at, "/waves/"), "?")
	if wave, err := s.Wave(t.Context(), engine.DefaultNamespace, id); err != nil || string(wave.Payload) != `{"day": 1}` || wave.Args["DAY"] != "2026-12-01" {
		t.Errorf("the wave is %+v, %v", wave, err)
	}
	if response := s.ask(t, http.MethodPost, "/dags/etl/run", url.Values{"with": {"1"}, "payload": {"no JSON"}}); response.Code != http.StatusUnprocessableEntity || !strings.Contains(response.Body.String(), "no JSON</textarea>") {
		t.Errorf("a payload that is no JSON is answered with %d, or was lost", response.Code)
	}
	if response := s.ask(t, http.MethodPost, "/dags/etl/pause", url.Values{"reason": {strings.Repeat("x", 501)}}); response.Code != http.StatusUnprocessableEntity {
		t.Errorf("a reason that is too long is answered with %d", response.Code)
	}
	s.act(t, "/dags/etl/pause", url.Values{"reason": {"the warehouse moves"}})
	for path, words := range map[string]string{
		"": "Next, once resumed", "?": "the warehouse moves", "/grid": "the warehouse moves", "/definition": "/dags/new?from=etl",
	} {
		if page := s.see(t, "/dags/etl"+path); !strings.Contains(page, words) {
			t.Errorf("/dags/etl%s of a DAG that is paused does not say %q", path, words)
		}
	}
	s.act(t, "/dags/etl/resume", nil)
	if response := s.ask(t, http.MethodPost, "/dags/etl/delete", url.Values{"confirm": {"other"}}); response.Code != http.StatusUnprocessableEntity {
		t.Errorf("a wrong name is answered with %d", response.Code)
	}
	s.act(t, "/dags/etl/delete", url.Values{"confirm": {"etl"}})
	s.remove(t)
	if response := s.ask(t, http.MethodGet, "/dags/etl", nil); response.Code != http.StatusNotFound {
		t.Errorf("a deleted DAG is answered with %d", response.Code)
	}
	if page := s.see(t, "/waves/"+id); strings.Contains(page, `href="/dags/etl"`) && !strings.Contains(page, "trail") {
		t.Error("the wave of a deleted DAG leads to it")
	}
}

func TestDAGIsGivenAnEarlierFormAgain(t *testing.T) {
	s := newSite(t)
	s.fill(t)
	s.PutDAG(t, etl)
	s.PutDAG(t, strings.Replace(etl, "max_parallel: 4", "max_parallel: 2", 1))
	page := s.see(t, "/dags/etl/definition?from=1&to=2")
	if !strings.Contains(page, "max_parallel: 4") || !strings.Contains(page, "max_parallel: 2") {
		t.Error("the difference of two generations is not shown")
	}
	s.act(t, "/dags/etl/restore", url.Values{"generation": {"1"}})
	restored, err := s.DAGs.Get(t.Context(), engine.DefaultNamespace, "etl")
	if err != nil || restored.Generation != 3 || restored.Spec.Tasks[3].MaxParallel != 4 {
		t.Errorf("restored is generation %d, %v", restored.Generation, err)
	}
}

func TestDAGBackfillSaysFirstWhatItWouldDo(t *testing.T) {
	s := newSite(t)
	s.fill(t)
	s.PutDAG(t, strings.Replace(etl, "timezone: Europe/Amsterdam\n", "", 1))
	day := s.Now.UTC().AddDate(0, 0, -1).Format("2006-01-02")
	span := "from=" + day + "T00:00&to=" + day + "T06:00"
	page := s.see(t, "/dags/etl/backfill?"+span)
	found := regexp.MustCompile(`(\d+) new waves`).FindStringSubmatch(page)
	if found == nil || strings.Count(page, "<strong>to be created</strong>") == 0 {
		t.Fatal("the plan does not tell how many waves it makes")
	}
	before, _, err := s.Store.Waves(t.Context(), engine.WaveFilter{Limit: 100})
	if err != nil || len(before) != 0 {
		t.Fatalf("a plan has made %d waves, %v", len(before), err)
	}
	s.act(t, "/dags/etl/backfill", url.Values{"from": {day + "T00:00"}, "to": {day + "T06:00"}})
	const planned = "Every slot of this range has had its wave"
	if page := s.see(t, "/dags/etl/backfill?"+span); !strings.Contains(page, planned) {
		t.Error("a second plan would make waves again that the engine has not made yet")
	}
	s.Act(t)
	made, _, err := s.Store.Waves(t.Context(), engine.WaveFilter{Limit: 100})
	if err != nil || fmt.Sprint(len(made)) != found[1] {
		t.Errorf("%d waves were made, %s were planned, %v", len(made), found[1], err)
	}
	if page := s.see(t, "/dags/etl/backfill?"+span); !strings.Contains(page, planned) {
		t.Error("a second plan would make waves again")
	}
	if response := s.ask(t, http.MethodGet, "/dags/etl/backfill?from=x&to=y", nil); response.Code != http.StatusUnprocessableEntity {
		t.Errorf("a range that is none is answered with %d", response.Code)
	}
}

func TestGridHoldsTasksAndWaves(t *testing.T) {
	s := newSite(t)
	s.fill(t)
	s.fillDAGs(t)
	page := s.see(t, "/dags/etl/grid")
	for _, words := range []string{
		"join in wave 24: dead, took", "shops in wave 24: upstream failed, join failed", "shops in wave 22: 8 items, 8 succeeded", "report in wave 12: skipped",
		"orders in wave 25: waiting", "report in wave 15: cancelled",
	} {
		if !strings.Contains(page, words) {
			t.Errorf("the grid does not say %q", words)
		}
	}
	if rows := strings.Count(page, `<tr id="grid-`); rows != 6 {
		t.Errorf("the grid has %d rows, want 6", rows)
	}
	if page := s.see(t, "/dags/etl/grid?q=JOI"); strings.Count(page, `<tr id="grid-`) != 1 {
		t.Error("a part of a name does not narrow the grid")
	}
}

// Of an old wave the items are counted right however many the waves after it had.
func TestGridCountsItemsOfOldWaves(t *testing.T) {
	s := newSite(t)
	s.fill(t)
	d := s.PutDAG(t, "kind: DAG\nname: shops\ndefaults: {binary: harbour-log}\ntasks:\n  list: {}\n  each: {needs: [list], for_each: outputs.list.shops}\n")
	for epoch := range int64(6) {
		s.putWave(t, &d, past{epoch: epoch + 1, trigger: engine.TriggerManual, at: s.Now.Add(time.Duration(epoch-30) * time.Hour), items: map[string]int{"each": 120}})
	}
	for range 2 { // the second time from memory
		page := s.see(t, "/dags/shops/grid")
		for epoch := range 6 {
			if words := fmt.Sprintf("each in wave %d: 120 items, 120 succeeded", epoch+1); !strings.Contains(page, words) {
				t.Errorf("the grid does not say %q", words)
			}
		}
		for _, words := range []string{`data-form="day"`, `data-form="clock"`, `class="grid-bar"`, "/task?name=each"} {
			if !strings.Contains(page, words) {
				t.Errorf("the grid has no %s", words)
			}
		}
	}
}

func TestCalendarOfARootTellsWhatBecameOfItsSlots(t *testing.T) {
	s := newSite(t)
	s.fill(t)
	s.fillDAGs(t)
	d, err := s.DAGs.Get(t.Context(), engine.DefaultNamespace, "etl")
	if err != nil {
		t.Fatal(err)
	}
	skipped := s.Now.Add(-90 * time.Minute)
	s.Write(t, engine.Batch{Slots: []engine.SlotRange{{
		ID: engine.SlotRangeID(engine.RootID(d.UID, "rates"), skipped), JobUID: engine.RootID(d.UID, "rates"), Namespace: d.Namespace, Job: "etl/rates",
		From: skipped, To: skipped, Count: 1, Outcome: engine.OutcomeSkipped, Reason: engine.ReasonOverlap,
	}}})
	zone, err := time.LoadLocation("Europe/Amsterdam")
	if err != nil {
		t.Fatal(err)
	}
	page := s.see(t, "/dags/etl/slots?root=rates&day="+skipped.In(zone).Format("2006-01-02"), "Cookie", "tidewheel_zone=job")
	for _, words := range []string{"slots of rates, days of Europe/Amsterdam", "1 skipped", "fired", `href="/dags/etl/slots?root=orders"`} {
		if !strings.Contains(page, words) {
			t.Errorf("the calendar does not say %q", words)
		}
	}
	byHand := s.PutDAG(t, layered("by-hand", 1, 2))
	if page := s.see(t, "/dags/"+byHand.Name+"/slots"); !strings.Contains(page, "No root has a schedule.") {
		t.Error("a DAG without a schedule does not say so")
	}
}

func TestGraphHoldsEveryTaskUpToABound(t *testing.T) {
	s := newSite(t)
	s.fill(t)
	for definition, drawn := range map[string]bool{fanned("fan", 1000): true, layered("layers", 25, 40): true, layered("small", 3, 5): true, layered("layers-5000", 20, 250): false} {
		d := s.PutDAG(t, definition)
		page := s.see(t, "/dags/"+d.Name)
		if got := strings.Contains(page, "data-graph"); got != drawn {
			t.Errorf("%s of %d tasks has a picture: %t, want %t", d.Name, len(d.Spec.Tasks), got, drawn)
		}
		if !drawn {
			if !strings.Contains(page, "is too large for a picture") {
				t.Errorf("%s does not say why there is no picture", d.Name)
			}
			continue
		}
		if n := strings.Count(page, `{"name":`); n != len(d.Spec.Tasks) {
			t.Errorf("%s sends %d tasks, want %d", d.Name, n, len(d.Spec.Tasks))
		}
		if rows := strings.Count(page, `<th scope="row" class="task-name">`); rows != min(len(d.Spec.Tasks), 500) {
			t.Errorf("without scripts %s lists %d tasks", d.Name, rows)
		}
	}
}

func TestGraphSaysWhenTasksStart(t *testing.T) {
	s := newSite(t)
	s.fill(t)
	s.PutDAG(t, "kind: DAG\nname: rules\ndefaults: {binary: harbour-log}\ntasks:\n  a: {}\n  b: {needs: [a], trigger: one_failed, when: 'outputs.a.rows > 0'}\n  c: {needs: [a, b], for_each: outputs.a.shops}\n")
	page := s.see(t, "/dags/rules")
	for _, words := range []string{`"trigger":"one_failed"`, `"when":"outputs.a.rows \u003e 0"`, `"needs":[0,1]`, "at the first failure, if outputs.a.rows &gt; 0", "outputs.a.shops", ">manually<"} {
		if !strings.Contains(page, words) {
			t.Errorf("the page does not say %q", words)
		}
	}
}
