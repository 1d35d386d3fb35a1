package templates_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/a-h/templ"

	"github.com/tidewheel/tidewheel/templates"
)

var update = flag.Bool("update", false, "write the golden files anew")

var (
	now = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	// hostile is what must never reach a page as it is.
	hostile = `</pre><script>alert("x")</script> & 'quoted'`
)

func page(title string, section templates.Section) templates.Page {
	return templates.Page{
		Title: title, Section: section, Now: now, Version: "1.2.3", SignOut: true,
		Assets: templates.Assets{Script: "/static/app.A.js", Style: "/static/app.A.css", Icon: "/static/favicon.A.svg"},
	}
}

func row(status string) templates.RunRow {
	r := templates.RunRow{
		ID: "abc-s1795176000000-" + status, Job: "tides", Status: status, Trigger: "schedule",
		Slot: now.Add(-time.Minute), Created: now.Add(-time.Minute), Started: now.Add(-59 * time.Second), Attempt: 1,
	}
	switch status {
	case "running":
		r.Progress = &templates.Progress{Fraction: 0.25, Message: hostile}
	case "queued":
		r.Started = time.Time{}
	default:
		r.Finished, r.Ended, r.Reason, r.Attempt = now.Add(-50*time.Second), true, hostile, 2
	}
	return r
}

// pages are all pages, with something in them and with nothing.
func pages() map[string]templ.Component {
	rows := []templates.RunRow{row("running"), row("queued"), row("succeeded"), row("timed_out")}
	slots := []templates.Slot{{At: now.Add(time.Minute)}, {At: now.Add(48 * time.Hour), Note: "moved: 02:30 does not exist on this day"}}
	check := templates.Check{Now: now, Schedule: "every 5 minutes, UTC", Next: slots}
	runPage := run()
	ended := run()
	ended.Status, ended.Ended, ended.Progress, ended.CanCancel, ended.CanRetry, ended.Reason = "failed", true, nil, false, true, hostile
	ended.Finished, ended.Live, ended.Newer = now, "", 3
	ended.Output = templates.Output{Run: ended.ID, Attempt: 2, Complete: true, Missing: "the output is not in S3 any more"}
	return map[string]templ.Component{
		"overview": templates.OverviewPage(templates.Overview{
			Page: page("Overview", templates.SectionOverview), Troubles: []string{"The queue does not answer."},
			Tiles:   []templates.Tile{{Name: "running", Value: "1", Href: "/runs?status=running", Tone: "busy"}},
			Running: rows[:2], Next: []templates.Upcoming{{Job: "tides", Slot: now.Add(time.Minute)}}, Failed: rows[3:], Finished: rows[2:],
		}),
		"overview-empty": templates.OverviewPage(templates.Overview{Page: page("Overview", templates.SectionOverview), NoJobs: true}),
		"jobs": templates.JobsPage(templates.Jobs{Page: page("Jobs", templates.SectionJobs), Live: "/jobs", Pager: templates.Pager{Next: "/jobs?cursor=x"}, Rows: []templates.JobRow{
			{Name: "tides", Description: hostile, Schedule: "every 5 minutes, UTC", Binary: "tides@stable", Next: now.Add(time.Minute), Last: &rows[2]},
			{Name: "old", Schedule: "by hand", Binary: "old", Paused: true},
		}}),
		"jobs-empty":    templates.JobsPage(templates.Jobs{Page: page("Jobs", templates.SectionJobs), Live: "/jobs"}),
		"jobs-no-match": templates.JobsPage(templates.Jobs{Page: page("Jobs", templates.SectionJobs), Live: "/jobs?q=x", Text: hostile}),
		"job":           templates.JobPage(job(rows, slots)),
		"job-paused": templates.JobPage(templates.Job{
			Page: page("tides", templates.SectionJobs), Name: "tides", Paused: true, PausedAt: now.Add(-time.Hour), PausedBy: hostile,
			Schedule: "by hand", Binary: "sha256:00", Created: now, Updated: now, Live: "/jobs/tides",
		}),
		"job-new":   templates.JobFormPage(templates.JobForm{Page: page("New job", templates.SectionJobs), Definition: "kind: Job\n", Check: check, Binaries: []string{"tides", "old"}}),
		"job-wrong": templates.JobFormPage(templates.JobForm{Page: page("Edit tides", templates.SectionJobs), Name: "tides", Revision: 7, Definition: "</textarea>" + hostile, Message: hostile, Check: templates.Check{Now: now, Conflict: "somebody else changed it", Problems: []templates.Problem{{Message: hostile, Line: 3, Column: 1}, {Message: "as a whole"}}}}),
		"runs": templates.RunsPage(templates.Runs{Page: page("Runs", templates.SectionRuns), Rows: rows, Live: "/runs?job=tides", Pager: templates.Pager{First: "/runs", Next: "/runs?cursor=x"}, Problem: "left out",
			Filter: templates.RunFilter{Job: "tides", Status: "failed", Statuses: []string{"failed", "timed_out"}, Tiers: []string{"light"}, Spans: []templates.Option{{Value: "1h", Name: "in the last hour"}}}}),
		"runs-empty": templates.RunsPage(templates.Runs{Page: page("Runs", templates.SectionRuns)}),
		"run":        templates.RunPage(runPage),
		"run-ended":  templates.RunPage(ended),
		"run-scheduled": templates.RunPage(templates.Run{
			Page: page("Run of tides", templates.SectionRuns), ID: "abc-kx", Job: "tides", Status: "scheduled", Trigger: "hand", By: "mira",
			Created: now, CanCancel: true, Live: "/runs/abc-kx?attempt=0", Output: templates.Output{Run: "abc-kx"},
		}),
		"binaries": templates.BinariesPage(templates.Binaries{Page: page("Binaries", templates.SectionBinaries), Rows: []templates.BinaryRow{
			{Name: "tides", Latest: 3, Kind: "ELF, amd64", Size: 4 << 20, Aliases: []templates.Alias{{Name: "stable", N: 2}}, Updated: now.Add(-time.Hour)},
		}}),
		"binaries-empty": templates.BinariesPage(templates.Binaries{Page: page("Binaries", templates.SectionBinaries)}),
		"binary": templates.BinaryPage(templates.Binary{
			Page: page("tides", templates.SectionBinaries), Name: "tides", Jobs: []string{"tides"},
			Versions: []templates.Version{{N: 2, SHA256: strings.Repeat("ab", 32), Size: 812, Kind: "script", By: hostile, At: now, Content: "/content", Aliases: []string{"stable"}}, {N: 1}},
			Aliases:  []templates.Alias{{Name: "stable", N: 2, Back: 1}},
			Moves:    []templates.AliasMove{{Alias: "stable", From: 1, To: 2, By: "mira", At: now}, {Alias: "stable", To: 1, At: now}},
		}),
		"binary-unused": templates.BinaryPage(templates.Binary{Page: page("tides", templates.SectionBinaries), Name: "tides", Versions: []templates.Version{{N: 1}}}),
		"upload":        templates.UploadPage(templates.Upload{Page: page("Upload a program", templates.SectionBinaries), Alias: "stable", MaxSize: "4.0 GiB"}),
		"upload-wrong":  templates.UploadPage(templates.Upload{Page: page("Upload a program", templates.SectionBinaries), Name: hostile, Problem: hostile}),
		"executors": templates.ExecutorsPage(templates.Executors{Page: page("Executors and queues", templates.SectionExecutors), Troubles: []string{hostile},
			Rows:   []templates.ExecutorRow{{ID: "one", Host: "quay", Version: "1.2.3", Tiers: "light, medium", Slots: 4, Since: now.Add(-time.Hour), Seen: now, Running: []templates.ExecutorRun{{Run: "abc-s1", Job: "tides", Since: now.Add(-time.Second)}}}, {ID: "two", Draining: true}},
			Queues: []templates.QueueRow{{Tier: "light", Class: "standard", Waiting: 3, Claimed: 1, Pulls: 2, Oldest: now.Add(-time.Minute)}}}),
		"executors-empty": templates.ExecutorsPage(templates.Executors{Page: page("Executors and queues", templates.SectionExecutors)}),
		"login":           templates.LoginPage(templates.Login{Page: page("Sign in", ""), Problem: hostile, Next: "/jobs"}),
		"failure":         templates.FailurePage(templates.Failure{Page: page("Something went wrong", ""), Title: "Something went wrong", Detail: hostile, Request: "R1"}),
	}
}

func job(rows []templates.RunRow, slots []templates.Slot) templates.Job {
	return templates.Job{
		Page: page("tides", templates.SectionJobs), Name: "tides", Description: hostile, Schedule: "every 5 minutes, UTC",
		Binary: "tides@stable", BinaryName: "tides", Facts: []templates.Fact{{Name: "Tier", Value: "light, standard"}},
		Created: now.Add(-time.Hour), CreatedBy: "mira", Updated: now, UpdatedBy: "joris", Next: slots, Runs: rows,
		Ledger: []templates.LedgerRow{
			{From: now, To: now, Count: 1, Outcome: "fired", Reason: "on time", Run: "abc-s1", Status: "succeeded"},
			{From: now, To: now.Add(time.Hour), Count: 12, Outcome: "missed", Reason: "no engine was running"},
		},
		LedgerMore: true, Definition: hostile + "\n", Generations: []templates.Generation{{N: 2, At: now, By: "joris", Message: hostile}},
		RunKey: "page-1", Live: "/jobs/tides",
	}
}

func run() templates.Run {
	return templates.Run{
		Page: page("Run of tides", templates.SectionRuns), ID: "abc-s1795176000000", Job: "tides", Status: "running", Trigger: "schedule",
		Slot: now.Add(-time.Minute), Created: now.Add(-time.Minute), Queued: now.Add(-time.Minute), Started: now.Add(-59 * time.Second), Lag: "1.2 ms after its slot",
		Progress: &templates.Progress{Fraction: 0.42, Message: hostile}, Tier: "light", Class: "standard", Binary: "tides@stable", BinaryName: "tides",
		Version: 3, Digest: strings.Repeat("cd", 32), Payload: hostile, Args: []templates.Fact{{Name: "DAY", Value: hostile}}, CanCancel: true, Cancelling: true,
		Attempts: []templates.Attempt{
			{N: 1, Status: "failed", Executor: "one", Started: now.Add(-time.Minute), Took: "2.0 s", Exit: "1", CPU: "12 ms", Memory: "9.0 MiB", Output: "17 bytes", Error: hostile},
			{N: 2, Status: "running", Executor: "one", Started: now.Add(-time.Second)},
		},
		ShownAttempt: 2, Live: "/runs/abc-s1795176000000?attempt=2",
		Output: templates.Output{Run: "abc-s1795176000000", Attempt: 2, End: 99_000, Size: 99_000, Piece: templates.Piece{Text: hostile + "\n", Before: 33_464, Earlier: "/runs/abc-s1795176000000?attempt=2&before=33464"}},
	}
}

func TestPages(t *testing.T) {
	for name, component := range pages() {
		t.Run(name, func(t *testing.T) {
			html := render(t, component)
			checkPage(t, html)
			golden(t, name, html)
			if strings.Contains(html, `<script>`) || strings.Contains(html, `alert("x")`) {
				t.Error("something reached the page without being escaped")
			}
		})
	}
}

func TestParts(t *testing.T) {
	parts := map[string]templ.Component{
		"part-run":   templates.RunPart(run()),
		"part-piece": templates.PiecePart(templates.Piece{Text: hostile, Before: 10, Earlier: "/runs/abc?attempt=1&before=10"}),
		"part-first": templates.PiecePart(templates.Piece{Text: "the beginning\n"}),
		"part-check": templates.CheckPart(templates.Check{Now: now, Manual: true}),
	}
	for name, component := range parts {
		t.Run(name, func(t *testing.T) {
			html := render(t, component)
			checkHTML(t, html)
			golden(t, name, html)
		})
	}
}

func render(t *testing.T, component templ.Component) string {
	t.Helper()
	var out strings.Builder
	if err := component.Render(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// golden compares with testdata/NAME.html, where each tag begins a line so that a difference is easily seen.
func golden(t *testing.T, name, html string) {
	t.Helper()
	got := strings.ReplaceAll(html, "><", ">\n<") + "\n"
	path := filepath.Join("testdata", name+".html")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; write it with: go test ./templates -update", err)
	}
	if got == string(want) {
		return
	}
	gotLines, wantLines := strings.Split(got, "\n"), strings.Split(string(want), "\n")
	for i := range gotLines {
		if i >= len(wantLines) || gotLines[i] != wantLines[i] {
			line := "nothing"
			if i < len(wantLines) {
				line = wantLines[i]
			}
			t.Fatalf("it differs from %s at line %d; if that is meant: go test ./templates -update\n got: %s\nwant: %s", path, i+1, gotLines[i], line)
		}
	}
	t.Fatalf("it is shorter than %s; if that is meant: go test ./templates -update", path)
}
