package ui_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
)

const goodJob = "kind: Job\r\nname: night\r\nbinary: tide-forecast@stable\r\nschedule: \"30 2 * * *\"\r\ntimezone: Europe/Amsterdam\r\n"

func TestDefinitionIsCheckedWhileItIsTyped(t *testing.T) {
	s := newSite(t)
	s.fill(t)
	for definition, words := range map[string][]string{
		goodJob: {"When it runs", "Europe/Amsterdam", `<time datetime="2026-11-21T01:30:00.000Z"`, "Sat 2026-11-21 02:30:00"},
		"kind: Job\nname: x\nbinary: tide-forecast\n":                            {"Manual only"},
		"kind: Job\nname: x\nbinary: tide-forecast\nschedul: 1\ntimeout: soon\n": {"2 problems", `data-line="4"`, `data-line="5"`, `data-problem-path="timeout"`},
		"kind: Job\nname: x\n\nbinary: nope\n":                                   {"1 problem", `data-line="4"`, "there is no binary"},
		"kind: Job\nname: x\nbinary: tide-forecast\nschedule: \"0 0 30 2 *\"\n":  {"1 problem", "never"},
		"kind: Job\nname: x\nbinary: a\n---\nkind: Job\nname: y\nbinary: a\n":    {"this form takes one job"},
		"": {"1 problem"},
		"kind: Job\nname: <b>\nbinary: tide-forecast\n": {"&#39;&lt;&#39;"},
	} {
		response := s.ask(t, http.MethodPost, "/jobs/new/check", url.Values{"definition": {definition}})
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

func TestJobIsMadeByForm(t *testing.T) {
	s := newSite(t)
	s.fill(t)
	at := s.act(t, "/jobs/new", url.Values{"definition": {goodJob}, "message": {"because"}})
	if at != "/jobs/night?done=created" {
		t.Errorf("leads to %s", at)
	}
	page := s.see(t, at) + s.see(t, "/jobs/night/definition")
	for _, words := range []string{"Created. Its first slots are below.", "because", "schedule: &#34;30 2 * * *&#34;"} {
		if !strings.Contains(page, words) {
			t.Errorf("the job's page does not say %q", words)
		}
	}
	if at := s.act(t, "/jobs/new", url.Values{"definition": {goodJob}}); at != "/jobs/night?done=unchanged" {
		t.Errorf("sent twice it leads to %s", at)
	}
	other := strings.Replace(goodJob, "30 2", "30 3", 1)
	response := s.ask(t, http.MethodPost, "/jobs/new", url.Values{"definition": {other}})
	if response.Code != http.StatusConflict || !strings.Contains(response.Body.String(), "there is a job &#34;night&#34; already") {
		t.Errorf("a name that is taken: %d: %s", response.Code, response.Body)
	}
}

func TestWrongDefinitionComesBackAsItWasTyped(t *testing.T) {
	s := newSite(t)
	s.fill(t)
	s.act(t, "/dags/new", url.Values{"definition": {goodDAG}})
	for address, text := range map[string]string{
		"/jobs/new":        "kind: Job\nname: x\nbinary: none\n# </textarea>\n",
		"/dags/new":        "kind: DAG\nname: x\n# </textarea>\ntasks: {a: {binary: none}}\n",
		"/dags/tides/edit": "kind: DAG\nname: other\n# </textarea>\ntasks: {a: {binary: tide-forecast}}\n",
	} {
		response := s.ask(t, http.MethodPost, address, url.Values{"definition": {text}, "message": {"why"}, "revision": {"1"}})
		page := response.Body.String()
		if response.Code != http.StatusUnprocessableEntity {
			t.Fatalf("%s: %d: %s", address, response.Code, page)
		}
		for _, words := range []string{"# &lt;/textarea&gt;", `value="why"`, "1 problem", "aria-invalid"} {
			if !strings.Contains(page, words) {
				t.Errorf("%s does not hold %q", address, words)
			}
		}
	}
}

func TestEditThatAnotherUserOvertookIsRefused(t *testing.T) {
	s := newSite(t)
	s.fill(t)
	job, err := s.Jobs.Get(t.Context(), "default", "tide-forecast")
	if err != nil {
		t.Fatal(err)
	}
	form := url.Values{
		"revision":   {strconv.FormatInt(job.Revision, 10)},
		"definition": {"kind: Job\nname: tide-forecast\nbinary: tide-forecast\nevery: 1m\n"},
	}
	if at := s.act(t, "/jobs/tide-forecast/edit", form); at != "/jobs/tide-forecast?done=saved" {
		t.Errorf("leads to %s", at)
	}
	form.Set("definition", "kind: Job\nname: tide-forecast\nbinary: tide-forecast\nevery: 2m\n")
	for _, revision := range []string{form.Get("revision"), "", "x", "0"} {
		form.Set("revision", revision)
		response := s.ask(t, http.MethodPost, "/jobs/tide-forecast/edit", form)
		if response.Code != http.StatusConflict || !strings.Contains(response.Body.String(), "was changed by another user") || !strings.Contains(response.Body.String(), "every: 2m") {
			t.Errorf("revision %q: %d: %s", revision, response.Code, response.Body)
		}
	}
}

func TestEditKeepsTheName(t *testing.T) {
	s := newSite(t)
	s.fill(t)
	response := s.ask(t, http.MethodPost, "/jobs/tide-forecast/edit", url.Values{"revision": {"1"}, "definition": {"kind: Job\nname: other\nbinary: tide-forecast\n"}})
	if response.Code != http.StatusUnprocessableEntity || !strings.Contains(response.Body.String(), "cannot be changed") || !strings.Contains(response.Body.String(), `data-line="2"`) {
		t.Errorf("%d: %s", response.Code, response.Body)
	}
}

func TestEditIsComparedBeforeItIsSaved(t *testing.T) {
	s := newSite(t)
	s.fill(t)
	check := func(definition string) string {
		t.Helper()
		response := s.ask(t, http.MethodPost, "/jobs/tide-forecast/edit/check", url.Values{"definition": {definition}})
		if response.Code != http.StatusOK {
			t.Fatalf("%d: %s", response.Code, response.Body)
		}
		return response.Body.String()
	}
	page := s.see(t, "/jobs/tide-forecast/edit")
	if !strings.Contains(page, "No changes.") {
		t.Error("what is not changed is not told as such")
	}
	changed := check("kind: Job\nname: tide-forecast\n# a comment changes nothing\nbinary: tide-forecast@stable\nevery: 7m\n")
	for _, words := range []string{"What saving changes", "Added: </span>every: 7m", `Removed: </span>schedule: &#34;*/5 * * * *&#34;`, "every 7m"} {
		if !strings.Contains(changed, words) {
			t.Errorf("the check does not say %q: %s", words, changed)
		}
	}
	if strings.Contains(changed, "Removed: </span>name") {
		t.Error("a line that stays is told as removed")
	}
	if n := strings.Count(changed, `data-form="relative"`); n != 10 {
		t.Errorf("it shows %d slots, want 10", n)
	}
}

func TestEditIsSavedOverAnotherOneKnowingly(t *testing.T) {
	s := newSite(t)
	s.fill(t)
	const mine = "kind: Job\nname: tide-forecast\nbinary: tide-forecast\nevery: 2m\n"
	save := func(definition, revision, over string) *httptest.ResponseRecorder {
		t.Helper()
		return s.ask(t, http.MethodPost, "/jobs/tide-forecast/edit", url.Values{"revision": {revision}, "over": {over}, "definition": {definition}})
	}
	old := s.revision(t, "tide-forecast")
	s.act(t, "/jobs/tide-forecast/edit", url.Values{"revision": {old}, "definition": {strings.Replace(mine, "2m", "1m", 1)}, "message": {"faster"}})
	theirs := s.revision(t, "tide-forecast")
	response := save(mine, old, "")
	page := response.Body.String()
	if response.Code != http.StatusConflict {
		t.Fatalf("%d: %s", response.Code, page)
	}
	for _, words := range []string{`name="over" value="` + theirs + `"`, "Removed: </span>every: 1m", "Added: </span>every: 2m", "faster", `value="` + old + `"`} {
		if !strings.Contains(page, words) {
			t.Errorf("the conflict does not show %q", words)
		}
	}
	// A third edit, of which the second knows nothing, is not lost either.
	s.act(t, "/jobs/tide-forecast/edit", url.Values{"revision": {theirs}, "definition": {strings.Replace(mine, "2m", "3m", 1)}})
	if response := save(mine, old, theirs); response.Code != http.StatusConflict || !strings.Contains(response.Body.String(), "Removed: </span>every: 3m") {
		t.Errorf("over the edit before the last: %d: %s", response.Code, response.Body)
	}
	if response := save(mine, old, s.revision(t, "tide-forecast")); response.Code != http.StatusSeeOther {
		t.Errorf("over the last edit: %d: %s", response.Code, response.Body)
	}
	if page := s.see(t, "/jobs/tide-forecast/edit"); !strings.Contains(page, "every: 2m") {
		t.Error("it was not saved")
	}
}

func (s *site) revision(t *testing.T, name string) string {
	t.Helper()
	job, err := s.Jobs.Get(t.Context(), "default", name)
	if err != nil {
		t.Fatal(err)
	}
	return strconv.FormatInt(job.Revision, 10)
}

func TestDefinitionIsCopied(t *testing.T) {
	s := newSite(t)
	s.fill(t)
	s.act(t, "/dags/new", url.Values{"definition": {goodDAG}})
	for address, copied := range map[string][]string{
		"/jobs/new?from=tide-forecast": {"name: tide-forecast-copy", "max_attempts: 3", "A copy of", "Europe/Amsterdam"},
		"/dags/new?from=tides":         {"name: tides-copy", "A copy of", "needs: [orders, rates]"},
	} {
		page := s.see(t, address)
		for _, words := range copied {
			if !strings.Contains(page, words) {
				t.Errorf("%s does not hold %q", address, words)
			}
		}
	}
	s.PutBinary(t, strings.Repeat("x", 128), "stable")
	s.job(t, strings.Repeat("x", 128), "long", `"every": "90s"`)
	if page := s.see(t, "/jobs/new?from="+strings.Repeat("x", 128)); !strings.Contains(page, "name: "+strings.Repeat("x", 123)+"-copy\n") {
		t.Error("the copy of the longest name has no name that fits")
	}
	for _, address := range []string{"/jobs/new?from=none", "/dags/new?from=none"} {
		if response := s.ask(t, http.MethodGet, address, nil); response.Code != http.StatusNotFound {
			t.Errorf("%s: %d", address, response.Code)
		}
	}
}

func TestNewDefinitionTakesTheBinaryOfTheAddress(t *testing.T) {
	s := newSite(t)
	s.fill(t)
	for _, path := range []string{"/jobs/new", "/dags/new"} {
		if page := s.see(t, path+"?binary=other"); !strings.Contains(page, "binary: other") {
			t.Errorf("%s begins with another program", path)
		}
	}
}

func TestFormShowsAnEarlierGenerationOfAJob(t *testing.T) {
	s := newSite(t)
	s.fill(t)
	revision := s.revision(t, "tide-forecast")
	s.act(t, "/jobs/tide-forecast/edit", url.Values{"revision": {revision}, "definition": {"kind: Job\nname: tide-forecast\nbinary: tide-forecast\nevery: 7m\n"}})
	earlier := s.see(t, "/jobs/tide-forecast/edit?generation=1")
	for _, words := range []string{"This is generation 1", "restored generation 1", "Removed: </span>every: 7m", "data-unsaved"} {
		if !strings.Contains(earlier, words) {
			t.Errorf("the earlier form does not say %q", words)
		}
	}
}
