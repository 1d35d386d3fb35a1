package ui_test

import (
	"net/http"
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
		goodJob: {"When it runs", "Europe/Amsterdam", `<time datetime="2026-11-21T01:30:00.000Z"`},
		"kind: Job\nname: x\nbinary: tide-forecast\n":                            {"By hand only"},
		"kind: Job\nname: x\nbinary: tide-forecast\nschedul: 1\ntimeout: soon\n": {"2 problems", `data-line="4"`, `data-line="5"`},
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
	page := s.see(t, at)
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
	text := "kind: Job\nname: x\nbinary: nope\n# </textarea>\n"
	response := s.ask(t, http.MethodPost, "/jobs/new", url.Values{"definition": {text}, "message": {"why"}})
	page := response.Body.String()
	if response.Code != http.StatusUnprocessableEntity {
		t.Fatalf("%d: %s", response.Code, page)
	}
	for _, words := range []string{"# &lt;/textarea&gt;", `value="why"`, "there is no binary", "aria-invalid"} {
		if !strings.Contains(page, words) {
			t.Errorf("the form does not hold %q", words)
		}
	}
}

func TestEditThatSomebodyElseOvertookIsRefused(t *testing.T) {
	s := newSite(t)
	s.fill(t)
	job, err := s.Job(t.Context(), "default", "tide-forecast")
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
		if response.Code != http.StatusConflict || !strings.Contains(response.Body.String(), "was changed by somebody else") || !strings.Contains(response.Body.String(), "every: 2m") {
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
