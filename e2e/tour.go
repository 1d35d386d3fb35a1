package e2e

import (
	"context"
	"fmt"
	"html"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tidewheel/tidewheel/client"
	"github.com/tidewheel/tidewheel/client/wire"
)

// tourDefinitions are of every kind, so that every page has something to show.
const tourDefinitions = `
kind: Job
name: ticks
binary: says
schedule: "* * * * * *"
---
kind: Job
name: fails
binary: says
env: {EXIT: "64"}
---
kind: DAG
name: tour
tasks:
  first: {binary: says, schedule: "0 0 1 1 *"}
  each: {binary: says, needs: [first], for_each: "[1, 2, 3]"}
  last: {binary: says, needs: [each]}
`

const (
	tourProgram = "#!/bin/sh\necho hello\nexit ${EXIT:-0}\n"
	// tourLike is how many pages that differ in names only are looked at.
	tourLike = 3
)

// tourBegins are where a reader begins: the menu, and what forms and scripts ask for.
var tourBegins = []string{
	"/", "/jobs", "/jobs?q=tick", "/jobs?sort=last", "/jobs?status=failed", "/dags", "/dags?q=tour", "/runs", "/runs?status=failed", "/runs?status=running",
	"/runs?status=failed,running", "/runs?job=ticks", "/runs?dag=tour", "/runs?dag=tour&task=last", "/runs?task=last", "/runs?tier=heavy", "/runs?by=admin",
	"/runs?q=tick", "/runs?since=2020-01-01T00:00:00Z", "/runs?until=2020-01-01T00:00:00Z", "/runs?limit=1", "/dead-letters", "/dead-letters?job=fails",
	"/dead-letters?dag=tour", "/binaries", "/executors", "/ui/search?q=t", "/ui/search?q=", "/jobs/new", "/dags/new",
	"/api/v1/jobs", "/api/v1/jobs?limit=1", "/api/v1/jobs/ticks", "/api/v1/jobs/ticks/slots", "/api/v1/jobs/ticks/next", "/api/v1/jobs/ticks/generations",
	"/api/v1/dags", "/api/v1/dags/tour", "/api/v1/dags/tour/waves", "/api/v1/dags/tour/waves?status=succeeded", "/api/v1/dags/tour/waves?limit=1", "/api/v1/dags/tour/slots",
	"/api/v1/dags/tour/generations", "/api/v1/runs", "/api/v1/runs?limit=1", "/api/v1/runs?status=dead", "/api/v1/runs?job=ticks&status=succeeded", "/api/v1/runs?dag=tour&status=succeeded",
	"/api/v1/dead-letters", "/api/v1/binaries", "/api/v1/executors", "/api/v1/engines", "/api/v1/queues", "/api/v1/ledger-check", "/readyz",
}

// Tour runs a job, one that fails for good and a DAG, and then looks at every page that a link leads to from the pages
// of the menu, and at every list of the API, page by page.
func Tour(t *testing.T, binary string, args ...string) {
	ctx := t.Context()
	server := NewServer(t, binary, args...)
	server.Start()
	api := server.Client()
	if _, err := api.UploadBinary(ctx, "says", strings.NewReader(tourProgram), client.UploadOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := api.Apply(ctx, []client.File{{Name: "tour.yaml", Data: []byte(tourDefinitions)}}, client.ApplyOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := api.RunJob(ctx, "fails", wire.RunRequest{}, "once"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := api.RunDAG(ctx, "tour", wire.WaveRequest{}, ""); err != nil {
			t.Fatal(err)
		}
	}
	endedWaves(ctx, t, api)
	if _, err := api.PauseJob(ctx, "ticks", ""); err != nil { // it shows what did not run
		t.Fatal(err)
	}
	settled(ctx, t, api)
	if _, err := api.ResumeJob(ctx, "ticks"); err != nil {
		t.Fatal(err)
	}
	seen := server.follow(ctx, tourBegins)
	for _, some := range []string{"/runs/*", "/waves/*", "/jobs/*", "/dags/*", "/dags/*/grid", "/jobs/*/slots", "/binaries/*"} {
		if !slices.Contains(seen, some) {
			t.Errorf("no link leads to %s", some)
		}
	}
	t.Logf("%d kinds of pages: %s", len(seen), strings.Join(seen, " "))
}

var tourLink = regexp.MustCompile(`(?:href|hx-get|data-url)="(/[^"#]*)`)

// follow looks at pages and at what they link to, and returns the kinds of all that were seen.
func (s *Server) follow(ctx context.Context, begin []string) (kinds []string) {
	s.t.Helper()
	like, asked, from := map[string]int{}, map[string]bool{}, map[string]string{}
	for queue := slices.Clone(begin); len(queue) > 0; queue = queue[1:] {
		address, kind := queue[0], tourKind(queue[0])
		if asked[address] || like[kind] == tourLike && !slices.Contains(begin, address) || strings.HasPrefix(kind, "/static/") {
			continue
		}
		asked[address] = true
		if like[kind]++; like[kind] == 1 {
			kinds = append(kinds, kind)
		}
		for _, link := range tourLink.FindAllStringSubmatch(s.get(ctx, address, from[address]), -1) {
			next := html.UnescapeString(link[1])
			if queue = append(queue, next); from[next] == "" {
				from[next] = address
			}
		}
	}
	slices.Sort(kinds)
	return kinds
}

// tourKind is an address without the names in it, and without the values of its query.
func tourKind(address string) string {
	path, query, _ := strings.Cut(address, "?")
	parts := strings.Split(path, "/")
	if len(parts) > 2 && parts[2] != "new" && parts[1] != "api" && parts[1] != "ui" {
		parts[2] = "*"
	}
	kind := strings.Join(parts, "/")
	for term := range strings.SplitSeq(query, "&") {
		if name, _, _ := strings.Cut(term, "="); name != "" {
			kind += " " + name
		}
	}
	return kind
}

// get reads a page to its end. A page that is not there is a fault of the page that links to it.
func (s *Server) get(ctx context.Context, address, from string) string {
	s.t.Helper()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.address+address, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	token, err := os.ReadFile(s.Data() + "/token")
	if err != nil {
		s.t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer answer.Body.Close()
	if !strings.HasPrefix(answer.Header.Get("Content-Type"), "text/html") && !strings.Contains(answer.Header.Get("Content-Type"), "json") {
		if answer.StatusCode != http.StatusOK {
			s.t.Errorf("GET %s: %s", address, answer.Status)
		}
		return "" // a stream of events or a download has no links, and need not end
	}
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		s.t.Fatal(fmt.Errorf("GET %s: %w", address, err))
	}
	if answer.StatusCode != http.StatusOK {
		s.t.Errorf("GET %s, as %s has it: %s: %.200s", address, from, answer.Status, text)
	}
	return string(text)
}
