package ui_test

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
)

const goodDAG = "kind: DAG\r\nname: tides\r\nschedule: \"0 * * * *\"\r\ntasks:\r\n" +
	"  orders: {binary: tide-forecast}\r\n" +
	"  rates:  {binary: tide-forecast, schedule: \"*/30 * * * *\", timezone: Europe/Amsterdam}\r\n" +
	"  join:   {binary: tide-forecast@stable, needs: [orders, rates]}\r\n"

func TestDAGIsCheckedWhileItIsDrawn(t *testing.T) {
	s := newSite(t)
	s.fill(t)
	const head = "kind: DAG\nname: x\ntasks:\n"
	for definition, words := range map[string][]string{
		goodDAG:                                 {"3 tasks", ">orders</h3>", ">rates</h3>", "Europe/Amsterdam", "<time datetime="},
		head + "  a: {binary: tide-forecast}\n": {"1 task. Waves start manually only"},
		head + "  a: {binary: tide-forecast, needs: [b]}\n  b: {binary: tide-forecast, needs: [a]}\n":               {"closes a cycle, a -&gt; b -&gt; a", `data-problem-path="tasks.a.needs[0]"`, `data-line="4"`},
		head + "  a: {binary: tide-forecast}\n  b:\n    needs: [a]\n\n    binary: none\n":                           {"1 problem", `data-line="8"`, `data-problem-path="tasks.b.binary"`, "there is no binary"},
		head + "  a: {binary: tide-forecast}\n  # b: {}\n  b: {binary: none, needs: [a]}\n":                         {"1 problem", `data-line="6"`},
		head + "  a: {binary: tide-forecast}\n  A: {binary: tide-forecast}\n":                                       {"in upper and lower case only"},
		head + "  a: {binary: tide-forecast, when: 1 +}\n":                                                          {`data-problem-path="tasks.a.when"`},
		"kind: Job\nname: x\nbinary: tide-forecast\n":                                                               {"this form takes a DAG"},
		"kind: DAG\nname: x\ntasks: {a: {binary: tide-forecast}}\n---\nkind: DAG\nname: y\ntasks: {a: {binary: x}}": {"this form takes one DAG"},
		"": {"1 problem"},
	} {
		response := s.ask(t, http.MethodPost, "/dags/new/check", url.Values{"definition": {definition}})
		part := response.Body.String()
		if response.Code != http.StatusOK || strings.Contains(part, "<html") {
			t.Fatalf("%q: %d: %s", definition, response.Code, part)
		}
		for _, want := range words {
			if !strings.Contains(part, want) {
				t.Errorf("%q: the check does not say %q: %s", definition, want, part)
			}
		}
	}
}

func TestDAGIsMadeEditedAndGivenBackAnEarlierForm(t *testing.T) {
	s := newSite(t)
	s.fill(t)
	if at := s.act(t, "/dags/new", url.Values{"definition": {goodDAG}, "message": {"because"}}); at != "/dags/tides?done=created" {
		t.Errorf("leads to %s", at)
	}
	if at := s.act(t, "/dags/new", url.Values{"definition": {goodDAG}}); at != "/dags/tides?done=unchanged" {
		t.Errorf("sent twice it leads to %s", at)
	}
	edited := strings.Replace(goodDAG, "*/30", "*/10", 1)
	response := s.ask(t, http.MethodPost, "/dags/new", url.Values{"definition": {edited}})
	if response.Code != http.StatusConflict || !strings.Contains(response.Body.String(), "there is a DAG &#34;tides&#34; already") {
		t.Errorf("a name that is taken: %d: %s", response.Code, response.Body)
	}
	if at := s.act(t, "/dags/tides/edit", url.Values{"definition": {edited}, "revision": {s.dagRevision(t)}}); at != "/dags/tides?done=saved" {
		t.Errorf("leads to %s", at)
	}
	page := s.see(t, "/dags/tides/edit")
	if !strings.Contains(page, "*/10 * * * *") || !strings.Contains(page, "No changes.") {
		t.Error("the form does not hold what was saved")
	}
	earlier := s.see(t, "/dags/tides/edit?generation=1")
	for _, words := range []string{"*/30 * * * *", "This is generation 1", "restored generation 1", "What saving changes", "data-unsaved"} {
		if !strings.Contains(earlier, words) {
			t.Errorf("the earlier form does not say %q", words)
		}
	}
	if response := s.ask(t, http.MethodGet, "/dags/tides/edit?generation=9", nil); response.Code != http.StatusNotFound {
		t.Errorf("a generation that never was: %d", response.Code)
	}
}

func TestDAGThatAnotherUserSavedIsComparedFirst(t *testing.T) {
	s := newSite(t)
	s.fill(t)
	s.act(t, "/dags/new", url.Values{"definition": {goodDAG}})
	old := s.dagRevision(t)
	save := func(definition, over string) (int, string) {
		t.Helper()
		response := s.ask(t, http.MethodPost, "/dags/tides/edit", url.Values{"definition": {definition}, "revision": {old}, "over": {over}, "message": {"mine"}})
		return response.Code, response.Body.String()
	}
	if code, page := save(strings.Replace(goodDAG, "*/30", "*/10", 1), ""); code != http.StatusSeeOther {
		t.Fatalf("%d: %s", code, page)
	}
	mine := strings.Replace(goodDAG, "*/30", "*/20", 1)
	code, page := save(mine, "")
	theirs := s.dagRevision(t)
	if code != http.StatusConflict {
		t.Fatalf("%d: %s", code, page)
	}
	for _, words := range []string{"tides was changed by another user", `name="over" value="` + theirs + `"`, "*/20 * * * *", "Removed: ", `value="mine"`} {
		if !strings.Contains(page, words) {
			t.Errorf("the conflict does not say %q", words)
		}
	}
	if code, page := save(mine, theirs); code != http.StatusSeeOther {
		t.Errorf("knowingly over it: %d: %s", code, page)
	}
}

func (s *site) dagRevision(t *testing.T) string {
	t.Helper()
	dag, err := s.DAGs.Get(t.Context(), "default", "tides")
	if err != nil {
		t.Fatal(err)
	}
	return strconv.FormatInt(dag.Revision, 10)
}
