package ui_test

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/web/webtest"
)

var jobRow = regexp.MustCompile(`<tr id="job-([a-z0-9-]+)">`)

func TestJobsAreNarrowedByTheAddress(t *testing.T) {
	s := newSite(t)
	s.fill(t)
	s.PutJob(t, `{"name": "labelled", "binary": "harbour-log", "labels": {"team": "quay"}}`)
	s.narrowed(t, "/jobs", jobRow, map[string]string{
		"":                        "ferry-booking gauge-anomalies harbour-log labelled nightly-report tide-forecast",
		"q=LOG":                   "harbour-log",
		"label=team%3Dquay":       "labelled",
		"label=team":              "labelled",
		"label=team%3Dnobody":     "",
		"state=paused":            "nightly-report",
		"state=failing":           "gauge-anomalies",
		"tier=heavy":              "nightly-report",
		"tier=heavy&q=log":        "",
		"order=next":              "harbour-log gauge-anomalies tide-forecast",
		"order=last":              "harbour-log tide-forecast gauge-anomalies",
		"order=failures":          "gauge-anomalies harbour-log",
		"state=nonsense":          "ferry-booking gauge-anomalies harbour-log labelled nightly-report tide-forecast",
		"order=nonsense&q=tide-":  "tide-forecast",
		"label=%3Dnonsense&q=log": "harbour-log",
		"cursor=nonsense&q=tide":  "tide-forecast",
	})
}

// narrowed looks at a list with each query, and holds the names in it, in order, to what is wanted. A query with nonsense in it
// says that it was left out, and no other.
func (s *site) narrowed(t *testing.T, list string, row *regexp.Regexp, wanted map[string]string) {
	t.Helper()
	for query, want := range wanted {
		page := s.see(t, list+"?"+query)
		var got []string
		for _, match := range row.FindAllStringSubmatch(page, -1) {
			got = append(got, match[1])
		}
		if names := strings.Join(got, " "); names != want {
			t.Errorf("%s?%s lists %q, want %q", list, query, names, want)
		}
		said := strings.Contains(page, "was ignored") || strings.Contains(page, "no longer exists")
		if strings.Contains(query, "nonsense") != said {
			t.Errorf("%s?%s: what was not understood is said: %v", list, query, said)
		}
	}
}

func TestJobsTellHowTheyDo(t *testing.T) {
	s := newSite(t)
	s.fill(t)
	page := s.see(t, "/jobs")
	for _, words := range []string{"the last run failed", "80%", "of the last 5", "last 6 runs: 4 succeeded, 1 timed out, 1 queued", "Asia/Dhaka", "duration of the last 5 runs"} {
		if !strings.Contains(page, words) {
			t.Errorf("the list does not say %q", words)
		}
	}
	if strips := strings.Count(page, `href="/runs/`); strips != 8 {
		t.Errorf("%d marks lead to runs, want 8", strips)
	}
}

func TestJobsArePaged(t *testing.T) {
	s := newSite(t)
	s.PutBinary(t, "report")
	for i := range 120 {
		s.PutJob(t, fmt.Sprintf(`{"name": "job-%03d", "binary": "report", "labels": {"odd": "%d"}}`, i, i%2))
	}
	for query, want := range map[string]int{"": 120, "label=odd%3D1": 60} {
		seen := map[string]bool{}
		for at, pages := "/jobs?"+query, 0; at != ""; pages++ {
			page := s.see(t, at)
			for _, match := range jobRow.FindAllStringSubmatch(page, -1) {
				if seen[match[1]] {
					t.Errorf("%q lists %s twice", query, match[1])
				}
				seen[match[1]] = true
			}
			at = ""
			if next := regexp.MustCompile(`href="([^"]+)" rel="next"`).FindStringSubmatch(page); next != nil {
				at = strings.ReplaceAll(next[1], "&amp;", "&")
			}
			if pages > 5 {
				t.Fatalf("%q never ends", query)
			}
		}
		if len(seen) != want {
			t.Errorf("%q lists %d jobs, want %d", query, len(seen), want)
		}
	}
}

func TestJobSaysWhyItDoesNotRun(t *testing.T) {
	s := newSite(t)
	s.fill(t)
	page := s.see(t, "/jobs/nightly-report")
	for _, words := range []string{"Why it does not run", "It is paused: no slot fires until it is resumed.", "Next, once resumed", "2026-11-21 03:00:00"} {
		if !strings.Contains(page, words) {
			t.Errorf("a paused job does not say %q", words)
		}
	}
	s.Queue.SetExecutors()
	if page := s.see(t, "/jobs/harbour-log"); !strings.Contains(page, "No executor is alive") {
		t.Error("a job without executors does not say so")
	}
}

func TestJobIsPausedWithAReason(t *testing.T) {
	s := newSite(t)
	s.fill(t)
	s.act(t, "/jobs/harbour-log/pause", url.Values{"reason": {"too <loud>"}})
	if page := s.see(t, "/jobs/harbour-log"); !strings.Contains(page, "too &lt;loud&gt;") {
		t.Error("the reason is not told")
	}
	s.act(t, "/jobs/harbour-log/resume", nil)
	if page := s.see(t, "/jobs/harbour-log"); strings.Contains(page, "too &lt;loud&gt;") {
		t.Error("the reason outlives the pause")
	}
}

func TestJobRunsWithWhatIsTyped(t *testing.T) {
	s := newSite(t)
	s.fill(t)
	form := url.Values{"with": {"1"}, "payload": {`{"day": 1}`}, "variables": {"DAY=2026-12-01\r\nEMPTY=\r\n"}}
	at, _, _ := strings.Cut(strings.TrimPrefix(s.act(t, "/jobs/harbour-log/run", form), "/runs/"), "?")
	run, err := s.Run(t.Context(), engine.DefaultNamespace, at)
	if err != nil || string(run.Payload) != `{"day": 1}` || run.Args["DAY"] != "2026-12-01" || len(run.Args) != 2 {
		t.Errorf("%v: %s %v", err, run.Payload, run.Args)
	}
	for _, form := range []url.Values{
		{"with": {"1"}, "payload": {"{day: 1"}}, {"with": {"1"}, "variables": {"nothing"}}, {"with": {"1"}, "variables": {"1X=a"}, "payload": {`{"kept": 1}`}},
	} {
		response := s.ask(t, http.MethodPost, "/jobs/harbour-log/run", form)
		if response.Code != http.StatusUnprocessableEntity || !strings.Contains(response.Body.String(), `role="alert"`) {
			t.Errorf("%v: %d", form, response.Code)
		}
		if kept := form.Get("payload"); kept != "" && !strings.Contains(response.Body.String(), strings.ReplaceAll(kept, `"`, "&#34;")) {
			t.Errorf("what was typed is gone: %v", form)
		}
	}
}

func TestCalendarUnfoldsADay(t *testing.T) {
	s := newSite(t)
	s.fill(t)
	page := s.see(t, "/jobs/tide-forecast/slots", "Cookie", "tidewheel_zone=job")
	for _, words := range []string{"November 2026", "days of Europe/Amsterdam", "Friday 20 November: 1 fired, 1 skipped, 5 missed, ", " upcoming", "5 slots: no engine was running", "Choose a day"} {
		if !strings.Contains(page, words) {
			t.Errorf("the calendar does not say %q", words)
		}
	}
	day := s.see(t, "/jobs/tide-forecast/slots?day=2026-11-20", "Cookie", "tidewheel_zone=job")
	for _, words := range []string{"Friday 20 November 2026", "5 slots", "no engine was running", "the previous run had not finished", "/runs/" + s.first.ID} {
		if !strings.Contains(day, words) {
			t.Errorf("the day does not say %q", words)
		}
	}
	if page := s.see(t, "/jobs/tide-forecast/slots?month=nonsense"); !strings.Contains(page, "was ignored") || !strings.Contains(page, "November 2026") {
		t.Error("a month that is none is not told")
	}
	if page := s.see(t, "/jobs/tide-forecast/slots?month=2027-03"); !strings.Contains(page, "March 2027") {
		t.Error("another month is not shown")
	}
}

func TestGenerationsAreComparedAndRestored(t *testing.T) {
	s := newSite(t)
	s.fill(t)
	s.PutJob(t, `{"name": "gauge-anomalies", "binary": "gauge-anomalies@stable", "every": "3m", "timeout": "30s"}`)
	page := s.see(t, "/jobs/gauge-anomalies/definition?from=1&to=2")
	for _, words := range []string{"From generation 1 to 2", "every: 1m30s", "every: 3m", `action="/jobs/gauge-anomalies/restore"`} {
		if !strings.Contains(page, words) {
			t.Errorf("the difference does not say %q", words)
		}
	}
	if at := s.act(t, "/jobs/gauge-anomalies/restore", url.Values{"generation": {"1"}}); at != "/jobs/gauge-anomalies/definition?done=restored" {
		t.Errorf("restoring leads to %s", at)
	}
	job, err := s.Jobs.Get(t.Context(), engine.DefaultNamespace, "gauge-anomalies")
	if err != nil || job.Generation != 3 || time.Duration(job.Spec.Every) != 90*time.Second {
		t.Errorf("%v: %+v", err, job)
	}
	for _, path := range []string{"/jobs/gauge-anomalies/definition?from=1&to=9", "/jobs/nope/definition"} {
		if response := s.ask(t, http.MethodGet, path, nil); response.Code != http.StatusNotFound {
			t.Errorf("%s: %d", path, response.Code)
		}
	}
}

func TestOlderGenerationsAreOnAPageOfTheirOwn(t *testing.T) {
	s := newSite(t)
	s.PutBinary(t, "report")
	for n := 1; n <= 52; n++ {
		s.PutJob(t, fmt.Sprintf(`{"name": "hourly", "binary": "report", "every": "1h", "env": {"N": "%d"}}`, n))
		s.PutDAG(t, fmt.Sprintf(`{"kind": "DAG", "name": "etl", "tasks": {"a": {"binary": "report", "env": {"N": "%d"}}}}`, n))
	}
	for _, path := range []string{"/jobs/hourly", "/dags/etl"} {
		page := s.see(t, path+"/definition")
		restore := func(n int) string { return fmt.Sprintf(`name="generation" value="%d"`, n) }
		if !strings.Contains(page, restore(51)) || !strings.Contains(page, restore(3)) || strings.Contains(page, restore(2)) {
			t.Errorf("%s: the first page does not list the newest 50", path)
		}
		link := regexp.MustCompile(`href="([^"]+)" rel="next"`).FindStringSubmatch(page)
		if link == nil {
			t.Fatalf("%s: there is no way to the older ones", path)
		}
		older := s.see(t, html.UnescapeString(link[1]))
		if !strings.Contains(older, restore(2)) || !strings.Contains(older, restore(1)) || strings.Contains(older, restore(3)) {
			t.Errorf("%s: the second page does not list the two oldest", path)
		}
		if !strings.Contains(older, `<option value="2" selected>`) || !strings.Contains(older, `<option value="52" selected>`) {
			t.Errorf("%s: the second page does not offer to compare with the present", path)
		}
	}
}

func TestBackfillIsPlannedFirst(t *testing.T) {
	s := newSite(t)
	s.PutBinary(t, "report")
	job := s.PutJob(t, `{"name": "hourly", "binary": "report", "schedule": "0 * * * *", "timezone": "Asia/Dhaka"}`)
	run := s.Running(job, s.Now.Add(-2*time.Hour))
	s.PutRun(t, run)
	s.PutRun(t, webtest.Ended(run, engine.StatusSucceeded, ""))
	if page := s.see(t, "/jobs/hourly/backfill", "Cookie", "tidewheel_zone=job"); !strings.Contains(page, `value="2026-11-19T18:00"`) {
		t.Error("the range is not on the clock of the zone")
	}
	// Noon UTC is 18:00 in Dhaka.
	page := s.see(t, "/jobs/hourly/backfill?from=2026-11-20T15:00&to=2026-11-20T18:00", "Cookie", "tidewheel_zone=job")
	for _, words := range []string{"2 new runs for 3 slots", ">2026-11-20 15:00:00<", "/runs/" + run.ID, "Run 2 slots"} {
		if !strings.Contains(page, words) {
			t.Errorf("the plan does not say %q", words)
		}
	}
	if commands, err := s.Store.Commands(t.Context(), []int{job.Shard}, 10); err != nil || len(commands) != 0 {
		t.Errorf("a plan leaves %d commands, %v", len(commands), err)
	}
	at := s.act(t, "/jobs/hourly/backfill", url.Values{"zone": {"Asia/Dhaka"}, "from": {"2026-11-20T15:00"}, "to": {"2026-11-20T18:00"}})
	commands, err := s.Store.Commands(t.Context(), []int{job.Shard}, 10)
	if err != nil || at != "/jobs/hourly?done=backfilled" || len(commands) != 1 || commands[0].Kind != engine.CommandBackfill {
		t.Errorf("%s, %v, %v", at, commands, err)
	}
	for _, query := range []string{"from=&to=x", "from=2026-11-20T18:00&to=2026-11-20T15:00", "from=2027-11-20T18:00&to=2027-11-21T15:00"} {
		response := s.ask(t, http.MethodGet, "/jobs/hourly/backfill?"+query, nil)
		if response.Code != http.StatusUnprocessableEntity || !strings.Contains(response.Body.String(), `role="alert"`) {
			t.Errorf("%s: %d", query, response.Code)
		}
	}
}
