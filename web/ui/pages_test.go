package ui_test

import (
	"errors"
	"html"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"
)

var href = regexp.MustCompile(`href="(/[^"#]*)`)

// Every page that can be reached by links is there, has a title and one h1, and holds nothing inline.
func TestEveryLinkLeadsToAPage(t *testing.T) {
	for name, full := range map[string]bool{"empty": false, "full": true} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			if full {
				s.fill(t)
			}
			seen := map[string]bool{"/": true}
			for todo := []string{"/"}; len(todo) > 0; todo = todo[1:] {
				path := todo[0]
				response := s.ask(t, http.MethodGet, path, nil)
				body := response.Body.String()
				if response.Code != http.StatusOK {
					t.Fatalf("%s: %d: %s", path, response.Code, body)
				}
				if !strings.HasPrefix(response.Header().Get("Content-Type"), "text/html") {
					continue // an output, a program, or the API's description
				}
				for _, tag := range []string{" · Tidewheel</title>", "<h1>", "<main "} {
					if n := strings.Count(body, tag); n != 1 {
						t.Errorf("%s has %d times %s", path, n, tag)
					}
				}
				for _, inline := range []string{"<style", "<script>", " style=", " onclick="} {
					if strings.Contains(body, inline) {
						t.Errorf("%s holds %q", path, inline)
					}
				}
				for _, match := range href.FindAllStringSubmatch(body, -1) {
					link := html.UnescapeString(match[1])
					// A timeline goes on to both sides, and an output from line to line.
					endless := strings.HasPrefix(path, "/timeline?") && strings.HasPrefix(link, "/timeline?") ||
						strings.Contains(path, "&line=") && strings.Contains(link, "&line=")
					if !seen[link] && !endless && !strings.HasPrefix(link, "/static/") {
						seen[link] = true
						todo = append(todo, link)
					}
				}
			}
			want := []string{"/jobs", "/jobs/new", "/runs", "/binaries", "/binaries/upload", "/executors"}
			if full {
				want = append(want, "/jobs/tide-forecast", "/jobs/tide-forecast/edit", "/runs/"+s.first.ID, "/runs/"+s.broken.ID+"?attempt=1", "/binaries/tide-forecast")
			}
			for _, path := range want {
				if !seen[path] {
					t.Errorf("no link leads to %s", path)
				}
			}
		})
	}
}

// What refreshes by itself is fetched as a part, and marked to be fetched again.
func TestPartsRefreshThemselves(t *testing.T) {
	s := newSite(t)
	s.fill(t)
	for path, id := range map[string]string{"/": "overview", "/jobs": "jobs", "/jobs/tide-forecast": "job", "/runs?job=tide-forecast": "runs", "/runs/" + s.first.ID + "?attempt=1": "run", "/executors": "executors"} {
		part := s.see(t, path, "HX-Request", "true")
		if strings.Contains(part, "<html") || !strings.Contains(part, `id="`+id+`"`) {
			t.Errorf("%s gives no part named %s: %.200s", path, id, part)
		}
		if !strings.Contains(part, "hx-get=") || !strings.Contains(part, "data-live") {
			t.Errorf("%s is not fetched again", path)
		}
		if !strings.Contains(s.see(t, path), `id="`+id+`"`) {
			t.Errorf("%s does not hold its part %s", path, id)
		}
	}
}

func TestPartOfRunThatEndedWellIsTheLast(t *testing.T) {
	s := newSite(t)
	s.fill(t)
	list := s.see(t, "/runs?status=succeeded")
	path := regexp.MustCompile(`/runs/[a-z0-9]+-s[0-9]+`).FindString(list)
	if response := s.ask(t, http.MethodGet, path+"?attempt=1", nil, "HX-Request", "true"); response.Code != 286 {
		t.Errorf("%s: %d, want 286, which ends the polling", path, response.Code)
	}
}

func TestOverviewTellsWhatGoesOn(t *testing.T) {
	s := newSite(t)
	s.fill(t)
	page := s.see(t, "/")
	for _, words := range []string{"<strong>1</strong> <span>running", "<strong>1</strong> <span>queued", "<strong>2</strong> <span>failed in 24 hours", "<strong>1 of 12</strong> <span>2 executors", "its 2 attempts are used up", "in 9 s"} {
		if !strings.Contains(page, words) {
			t.Errorf("the overview does not say %q", words)
		}
	}
}

func TestEmptyPagesTeachTheFirstStep(t *testing.T) {
	s := newSite(t)
	for path, words := range map[string]string{
		"/": "tidewheel binary push hello ./hello.sh", "/jobs": "tidewheel apply -f job.yaml", "/runs": "tidewheel run JOB --wait",
		"/binaries": "tidewheel binary push report", "/executors": "tidewheel server --roles executor", "/jobs/new": "upload one first",
	} {
		if !strings.Contains(s.see(t, path), words) {
			t.Errorf("%s does not teach %q", path, words)
		}
	}
}

func TestRunsAreNarrowed(t *testing.T) {
	s := newSite(t)
	s.fill(t)
	for query, want := range map[string]int{
		"": 8, "status=succeeded": 4, "status=bad": 2, "job=tide-forecast": 1, "tier=medium": 8, "since=10m": 7, "q=used+up": 1, "job=nobody": 0,
		"status=nonsense": 8, "since=soon": 8, "cursor=nonsense": 8,
	} {
		page := s.see(t, "/runs?"+query)
		if got := strings.Count(page, `id="row-`); got != want && query != "tier=medium" {
			t.Errorf("%q lists %d runs, want %d", query, got, want)
		}
		said := strings.Contains(page, "was ignored") || strings.Contains(page, "no longer exists")
		if wrong := strings.Contains(query, "nonsense") || strings.Contains(query, "soon"); said != wrong {
			t.Errorf("%q: what was not understood is said: %v", query, said)
		}
	}
}

func TestPagesLiveWithoutTheQueue(t *testing.T) {
	s := newSite(t)
	s.fill(t)
	s.Queue.Fail(errors.New("no route to NATS"))
	for _, path := range []string{"/", "/executors"} {
		if page := s.see(t, path); !strings.Contains(page, "no route to NATS") {
			t.Errorf("%s does not say that the queue is gone", path)
		}
	}
	if !strings.Contains(s.see(t, "/"), "tide-forecast") {
		t.Error("the overview shows nothing of what the store knows")
	}
}

func TestFailureIsAPage(t *testing.T) {
	s := newSite(t)
	for path, words := range map[string]string{
		"/nope": "There is no page at /nope", "/jobs/nope": "There is no job &#34;nope&#34;.", "/runs/nope": "There is no run",
		"/binaries/nope": "There is no binary", "/jobs/nope/edit": "There is no job",
	} {
		response := s.ask(t, http.MethodGet, path, nil)
		if response.Code != http.StatusNotFound || !strings.Contains(response.Body.String(), words) || strings.Count(response.Body.String(), "<h1>") != 1 {
			t.Errorf("%s: %d: %s", path, response.Code, response.Body)
		}
	}
	s.Store.Fail(errors.New("connection refused"))
	response := s.ask(t, http.MethodGet, "/", nil)
	if response.Code != http.StatusServiceUnavailable || !strings.Contains(response.Body.String(), "The store does not answer") || !strings.Contains(response.Body.String(), "request <code>") {
		t.Errorf("without the store: %d: %s", response.Code, response.Body)
	}
}

// Fragments are in the page's own address, so a cache must tell them apart.
func TestPartsVary(t *testing.T) {
	s := newSite(t)
	if got := s.ask(t, http.MethodGet, "/", nil).Header().Values("Vary"); !strings.Contains(strings.Join(got, ","), "HX-Request") {
		t.Errorf("Vary is %v", got)
	}
}

// The store learns when a process began from how it ended: until then the page counts from when an executor took it.
func TestRunningRunShowsSinceWhen(t *testing.T) {
	s := newSite(t)
	run := running(t, s, "")
	next := run.Clone()
	next.Revision, next.StartedAt = 2, time.Time{}
	next.Attempts[0].StartedAt, next.Attempts[0].ClaimedAt = time.Time{}, s.Now.Add(-42*time.Second)
	s.PutRun(t, next)
	for _, path := range []string{"/runs", "/runs/" + run.ID} {
		if page := s.see(t, path); !strings.Contains(page, `data-form="elapsed"`) || !strings.Contains(page, ">42 s<") {
			t.Errorf("%s does not tell how long it has run", path)
		}
	}
}
