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
		Title: title, Section: section, Now: now, Version: "1.2.3", SignOut: true, User: "ada",
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

func session(current bool) templates.SessionRow {
	return templates.SessionRow{
		ID: "0123456789abcdef", Address: "10.0.0.7", Agent: "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0 " + hostile,
		Made: now.Add(-time.Hour), Seen: now, Expires: now.Add(time.Hour), Current: current,
	}
}

func apiToken() templates.TokenRow {
	return templates.TokenRow{
		ID: "fedcba9876543210", Name: "deploy", Prefix: "tw_abcd", Grants: []templates.Grant{{Namespace: "shop", Role: "editor"}},
		Created: now.Add(-time.Hour), Used: now.Add(-time.Minute),
	}
}

func account() templates.UserRow {
	return templates.UserRow{
		Name: "ada", By: "root", Created: now.Add(-time.Hour), Last: now, Grants: []templates.Grant{{Namespace: "*", Role: "viewer"}, {Namespace: "shop", Role: "editor"}},
	}
}

// pages are all pages, with something in them and with nothing.
func pages() map[string]templ.Component {
	rows := []templates.RunRow{row("running"), row("queued"), row("succeeded"), row("timed_out")}
	check := checked()
	runPage := run()
	unserved := run()
	unserved.Status, unserved.Progress, unserved.Attempts, unserved.Unserved, unserved.RunsOn = "queued", nil, nil, "no executor has gpu=true", []string{"gpu=true"}
	ended := run()
	ended.Status, ended.Ended, ended.Progress, ended.CanCancel, ended.CanRetry, ended.Reason = "failed", true, nil, false, true, hostile
	ended.Finished, ended.Live, ended.Newer = now, "", 3
	ended.RunsOn = []string{"arch=arm64", "gpu=true"}
	ended.LastGood, ended.HurtsRetry = "/runs/diff?a=last-good&b=abc", "Sure?"
	ended.Definition = &templates.RunDefinition{
		Generation: 3, Link: "/jobs/tides", Of: "job", Args: []string{"--day", hostile}, Facts: []templates.Fact{{Name: "Timeout", Value: "10m"}},
		Env: []templates.EnvironmentVariable{{Name: "LEVEL", Value: hostile}, {Name: "TOKEN", Hidden: "hidden"}}, Labels: []templates.Fact{{Name: "team", Value: hostile}},
	}
	ended.Output = templates.Output{Run: ended.ID, Attempt: 2, Complete: true, Missing: "the output is not in S3 any more"}
	return map[string]templ.Component{
		"overview": templates.OverviewPage(templates.Overview{
			Page: page("Overview", templates.SectionOverview), Troubles: []string{"The queue does not answer."},
			Tiles:   []templates.Tile{{Name: "running", Value: "1", Href: "/runs?status=running", Tone: "busy"}},
			Running: rows[:2], Next: []templates.Upcoming{{Job: "tides", Slot: now.Add(time.Minute)}}, Finished: rows[2:],
			Concerns: []templates.Concern{
				{ID: "concern-dead-tides", Status: "dead", Title: "tides", Href: "/runs/abc-s1", Words: hostile, At: now.Add(-time.Minute), Cures: []templates.Cure{{Name: "Try again", Icon: "retry", Href: "/runs/abc-s1/retry", Post: true}, {Name: "See the run", Icon: "right", Href: "/runs/abc-s1"}}},
				{ID: "concern-silent-two", Status: "silent", Title: hostile, At: now},
			},
			Tides: templates.Tides{Now: now, From: now.Add(-24 * time.Hour), Until: now.Add(24 * time.Hour), Beyond: "more", Bars: []templates.TideBar{
				{From: now.Add(-90 * time.Minute), Until: now.Add(-time.Hour), Href: "/runs?since=a&until=b", Words: hostile, Good: 100, Bad: 1, Open: 2, Idle: 1},
				{From: now.Add(-time.Hour), Until: now.Add(-30 * time.Minute)},
				{From: now, Until: now.Add(30 * time.Minute), Href: "/jobs/tides", Words: "6 upcoming slots: tides", Slots: 6, Future: true},
			}},
		}),
		"login-issuer": templates.LoginPage(templates.Login{
			Page: page("Sign in", ""), Problem: hostile, Next: "/jobs", Users: true,
			Issuer: &templates.LoginIssuer{Name: "id.example.com", Path: "/login/oidc?next=%2Fjobs", Away: true},
		}),
		"settings": templates.SettingsPage(templates.Settings{
			Page: page("Your account", ""), Name: "ada", Password: true, PasswordProblem: hostile, TokenProblem: hostile,
			Grants:   []templates.Grant{{Namespace: "*", Role: "viewer"}, {Namespace: "shop", Role: "editor"}},
			Sessions: []templates.SessionRow{session(true), session(false)}, Tokens: []templates.TokenRow{apiToken(), {ID: "2", Name: "old", Prefix: "tw_wxyz", Created: now, Expires: now.Add(-time.Hour)}},
			Token: templates.TokenForm{Name: hostile, Role: "editor", Namespace: "shop", Expires: "90d", Namespaces: []string{"default", "shop"}},
			Made:  &templates.MadeToken{Name: "deploy", Secret: "tw_secret"},
		}),
		"settings-issuer": templates.SettingsPage(templates.Settings{Page: page("Your account", ""), Name: "olga", From: "https://id.example.com"}),
		"users": templates.UsersPage(templates.Users{
			Page: page("Users", ""), Rows: []templates.UserRow{account(), {Name: "olga", From: "https://id.example.com", Disabled: true, Created: now}},
			Pager: templates.Pager{Next: "/users?cursor=olga"}, Problem: hostile, Text: "o", Form: templates.UserForm{Name: hostile, Role: "viewer", Namespace: "shop", Namespaces: []string{"shop"}},
		}),
		"users-empty": templates.UsersPage(templates.Users{Page: page("Users", "")}),
		"user": templates.UserPage(templates.User{
			Page: page("ada", ""), User: account(), Problem: hostile, Namespaces: []string{"default", "shop"},
			Sessions: []templates.SessionRow{session(false)}, Tokens: []templates.TokenRow{apiToken()},
		}),
		"user-issuer": templates.UserPage(templates.User{
			Page: page("olga", ""), User: templates.UserRow{Name: "olga", From: "https://id.example.com", Disabled: true, Created: now, Grants: []templates.Grant{{Namespace: "shop", Role: "admin"}}},
		}),
		"namespaces": templates.NamespacesPage(templates.Namespaces{Page: page("Namespaces", ""), Rows: []templates.NamespaceRow{
			{Name: "default", Role: "viewer", Current: true},
			{Name: "shop", Description: hostile, Role: "admin", Admin: true, Problem: hostile, Members: []templates.NamespaceMember{
				{User: "ada", Role: "admin", All: true}, {User: "bob", Role: "editor"}, {User: "olga", Role: "viewer", From: "https://id.example.com"},
			}},
		}}),
		"overview-empty": templates.OverviewPage(templates.Overview{Page: page("Overview", templates.SectionOverview), NoJobs: true}),
		"job-new":        templates.DefinitionFormPage(templates.DefinitionForm{Kind: templates.KindJob, Page: page("New job", templates.SectionJobs), Definition: "kind: Job\n", Check: check, Binaries: []string{"tides", "old"}}),
		"job-wrong":      templates.DefinitionFormPage(wrongJobForm()),
		"job-conflict":   templates.DefinitionFormPage(overtakenJobForm()),
		"dag-new":        templates.DefinitionFormPage(newDAGForm()),
		"dag-wrong":      templates.DefinitionFormPage(wrongDAGForm()),
		"dag-conflict":   templates.DefinitionFormPage(overtakenDAGForm()),
		"runs": templates.RunsPage(templates.Runs{Page: page("Runs", templates.SectionRuns), Rows: rows, Live: "/runs?job=tides", Pager: templates.Pager{First: "/runs", Next: "/runs?cursor=x"}, Problem: "left out",
			Looked: "Looked back to then", WhyNot: &templates.WhyNot{Job: "tides", Any: true, Lines: []string{hostile}, Next: now, Slots: []templates.LedgerRow{{From: now, To: now.Add(time.Hour), Count: 12, Outcome: "missed", Reason: hostile}}},
			Filter: templates.RunFilter{Job: "tides", Chosen: []string{"failed"}, By: hostile, Bad: "/runs?status=failed", Statuses: []string{"failed", "timed_out"}, Tiers: []string{"light"}, Spans: []templates.Option{{Value: "1h", Name: "in the last hour"}}}}),
		"run-diff": templates.DiffPage(templates.RunDiff{
			Page: page("Difference of two runs", templates.SectionRuns), Notes: []string{hostile}, Other: "/runs/diff?a=x&b=y&exact=1", Swap: "/runs/diff?a=y&b=x",
			A:      templates.DiffSide{ID: "abc-s1", Job: "tides", Status: "succeeded", Words: "Left: the last good run", Row: rows[2]},
			B:      templates.DiffSide{ID: "abc-s2", Job: "tides", Status: "failed", Words: "Right", Row: rows[3]},
			Fields: []templates.DiffField{{Name: "env LEVEL", A: hostile, B: "info"}}, Same: []templates.DiffField{{Name: "job", A: "tides", B: "tides"}},
			Output: lineDiff,
		}),
		"dead-letters":       templates.DeadLettersPage(deadLetters()),
		"dead-letters-empty": templates.DeadLettersPage(templates.DeadLetters{Page: page("Dead letters", templates.SectionRuns), Live: "/dead-letters"}),
		"dead-letters-none":  templates.DeadLettersPage(templates.DeadLetters{Page: page("Dead letters", templates.SectionRuns), Job: hostile}),
		"dead-letters-replay": templates.DeadLetterActPage(templates.DeadLetterAct{
			Page: page("Try again", templates.SectionRuns), Act: "replay", Job: hostile, Until: "2026-11-20T12:00:00Z", Count: 1000, More: true, Oldest: now.Add(-time.Hour),
			Tasks: true, Of: []templates.DeadLettersOf{{Job: "tides", Href: "/jobs/tides", Count: 990}, {Job: "etl/load", Href: "/dags/etl", Count: 10}},
		}),
		"dead-letters-purge": templates.DeadLetterActPage(templates.DeadLetterAct{
			Page: page("Purge", templates.SectionRuns), Act: "purge", Run: "abc-s1", Count: 1, Single: &deadLetters().Rows[1],
		}),
		"dead-letters-refused": templates.DeadLetterActPage(templates.DeadLetterAct{
			Page: page("Try again", templates.SectionRuns), Act: "replay", Handled: true, Done: 2,
			Refused: []templates.DeadLetterRefused{{DeadLetterRow: deadLetters().Rows[0], Why: hostile}},
		}),
		"runs-empty":   templates.RunsPage(templates.Runs{Page: page("Runs", templates.SectionRuns)}),
		"run":          templates.RunPage(runPage),
		"run-unserved": templates.RunPage(unserved),
		"run-ended":    templates.RunPage(ended),
		"run-scheduled": templates.RunPage(templates.Run{
			Page: page("Run of tides", templates.SectionRuns), ID: "abc-kx", Job: "tides", Status: "scheduled", Trigger: "manual", By: "mira",
			Created: now, CanCancel: true, Live: "/runs/abc-kx?attempt=0", Output: templates.Output{Run: "abc-kx"},
		}),
		"binaries": templates.BinariesPage(templates.Binaries{Page: page("Binaries", templates.SectionBinaries), Rows: []templates.BinaryRow{
			{Name: "tides", Latest: 3, Kind: "ELF, amd64", Size: 4 << 20, Aliases: []templates.Alias{{Name: "stable", N: 2}}, Updated: now.Add(-time.Hour)},
		}}),
		"binaries-empty": templates.BinariesPage(templates.Binaries{Page: page("Binaries", templates.SectionBinaries)}),
		"binary": templates.BinaryPage(templates.Binary{
			Page: page("tides", templates.SectionBinaries), Name: "tides", Total: 2, Choice: templates.VersionChoice{Offered: []int{2, 1}, Latest: 2}, Uploaded: true,
			Jobs:     []templates.BinaryUser{{Job: "tides", Reference: "@stable", Version: 2}, {Job: "ebb", Paused: true, Version: 2}, {Job: "gone", Reference: "@canary"}},
			Versions: []templates.Version{{N: 2, Before: 1, SHA256: strings.Repeat("ab", 32), Size: 812, Kind: "script", By: hostile, At: now, Content: "/content", Aliases: []string{"stable"}, Jobs: []string{"a", "b", "c", "d"}}, {N: 1}},
			Aliases:  []templates.Alias{{Name: "stable", N: 2, Back: 1}},
			Moves:    []templates.AliasMove{{Alias: "stable", From: 1, To: 2, By: "mira", At: now}, {Alias: "stable", To: 1, At: now}},
		}),
		"binary-version": templates.BinaryVersionPage(templates.BinaryVersion{
			Page: page("tides version 2", templates.SectionBinaries), Name: "tides", Before: 1, After: 3, RunBy: []string{"nightly"}, Recent: []string{"nightly, 12 of the last 50"},
			Version: templates.Version{N: 2, SHA256: "0123456789abcdef0123", Size: 2048, Kind: "script", By: hostile, At: now, Content: "/content", Aliases: []string{"stable"}},
			Choice:  templates.VersionChoice{Offered: []int{3, 2, 1}, Latest: 3},
			Source:  templates.Source{Lines: []string{"#!/bin/sh", hostile, ""}, More: 12},
		}),
		"binary-version-compiled": templates.BinaryVersionPage(templates.BinaryVersion{
			Page: page("tides version 1", templates.SectionBinaries), Name: "tides", After: 2, Version: templates.Version{N: 1, Kind: "elf amd64", At: now},
			Choice: templates.VersionChoice{Latest: 500}, Source: templates.Source{Missing: "Version 1 is a compiled program, so there is no source to show."},
		}),
		"binary-diff": templates.BinaryDiffPage(templates.BinaryDiff{
			Page: page("tides: version 1 and 2", templates.SectionBinaries), Name: "tides", A: templates.Version{N: 1, At: now}, B: templates.Version{N: 2, At: now, By: hostile},
			Choice: templates.VersionChoice{Latest: 500}, Swap: "/swap", Notes: []string{hostile}, Source: lineDiff,
			Fields: []templates.DiffField{{Name: "size", A: "1 bytes", B: "2 bytes"}}, Same: []templates.DiffField{{Name: "kind", A: "script", B: "script"}},
		}),
		"binary-unused": templates.BinaryPage(templates.Binary{Page: page("tides", templates.SectionBinaries), Name: "tides", Versions: []templates.Version{{N: 1}}, Total: 1, Choice: templates.VersionChoice{Offered: []int{1}, Latest: 1}}),
		"binary-alias": templates.AliasChangePage(templates.AliasChange{
			Page: page("Roll stable back to version 1", templates.SectionBinaries), Binary: "tides", Alias: "stable", RollBack: true,
			From: templates.Version{N: 2, SHA256: strings.Repeat("ab", 32), Size: 812, Kind: "script", By: hostile, At: now}, To: templates.Version{N: 1},
			Jobs: []templates.BinaryUser{{Job: "tides", Reference: "@stable", Version: 2}},
		}),
		"binary-alias-new": templates.AliasChangePage(templates.AliasChange{Page: page("Move canary to version 1", templates.SectionBinaries), Binary: "tides", Alias: "canary", To: templates.Version{N: 1}}),
		"upload":           templates.UploadPage(templates.Upload{Page: page("Upload a program", templates.SectionBinaries), Alias: "stable", MaxSize: "4.0 GiB", Platform: "linux/amd64"}),
		"upload-wrong":     templates.UploadPage(templates.Upload{Page: page("Upload a program", templates.SectionBinaries), Name: hostile, Problem: hostile}),
		"executors": templates.ExecutorsPage(templates.Executors{Page: page("Executors and queues", templates.SectionExecutors), Troubles: []string{hostile},
			Rows: []templates.ExecutorRow{{ID: "one", Host: "quay", Version: "1.2.3", Tiers: []string{"light", "medium"}, Labels: []string{"arch=arm64", "gpu=true"}, Slots: 4, State: "ready", Isolation: "own-user", Since: now.Add(-time.Hour), Seen: now, Running: []templates.ExecutorRun{{Run: "abc-s1", Job: "tides", Since: now.Add(-time.Second)}}}, {ID: "two", State: "silent", Isolation: "none"}, {ID: "three", State: "ready", Isolation: "shared-user"}, {ID: "four", State: "ready", Isolation: "own-domain", Refused: 2, RefusedWhy: "the task at tasks.light.standard.x is refused as altered: it is not what was signed", RefusedAt: now.Add(-time.Minute)}, {ID: "five", State: "ready", Isolation: "strict", Rights: "tier"}, {ID: "six", State: "ready", Rights: "wide"}},
			Queues: []templates.QueueRow{{Tier: "light", Class: "standard", Waiting: 3, Claimed: 1, Pulls: 2, Oldest: now.Add(-time.Minute), Served: 1, Busy: 1, Slots: 4, Pools: []templates.PoolRow{
				{Labels: []string{"arch=amd64", "gpu=true"}, Waiting: 2, Oldest: now.Add(-time.Minute), Unserved: hostile}, {Labels: []string{"gpu=true"}, Served: 1, Slots: 4},
			}}}}),
		"executors-empty": templates.ExecutorsPage(templates.Executors{Page: page("Executors and queues", templates.SectionExecutors)}),
		"scaling": templates.ScalingPage(templates.Scaling{Page: page("Scaling", templates.SectionExecutors), Troubles: []string{hostile}, Rows: []templates.ScalingRow{
			{Tier: "light", Wanted: 3, Alive: 1, Waiting: 24, Busy: 8, Slots: 8, Oldest: "12 s", Average: "3.0 s", Why: hostile},
			{Tier: "medium", Alive: 2, Slots: 4, Why: "Nothing waits and nothing runs."},
			{Tier: "heavy", Why: "Nothing waits and nothing runs."},
		}}),
		"login":       templates.LoginPage(templates.Login{Page: page("Sign in", ""), Problem: hostile, Next: "/jobs", Users: true}),
		"login-first": templates.LoginPage(templates.Login{Page: page("Sign in", ""), Next: "/"}),
		"welcome":     templates.WelcomePage(templates.Welcome{Page: page("Welcome", ""), Problem: hostile, Name: hostile, Next: "/jobs"}),
		"open":        templates.FailurePage(templates.Failure{Page: unguarded(page("Not found", "")), Title: "Not found", Detail: "There is nothing."}),
		"failure":     templates.FailurePage(templates.Failure{Page: page("Something went wrong", ""), Title: "Something went wrong", Detail: hostile, Request: "R1"}),
	}
}

func run() templates.Run {
	return templates.Run{
		Page: page("Run of tides", templates.SectionRuns), ID: "abc-s1795176000000", Job: "tides", Status: "running", Trigger: "schedule",
		Slot: now.Add(-time.Minute), Created: now.Add(-time.Minute), Queued: now.Add(-time.Minute), Started: now.Add(-59 * time.Second), Lag: "1.2 ms after its slot",
		Progress: &templates.Progress{Fraction: 0.42, Message: hostile}, Tier: "light", Class: "standard", Binary: "tides@stable", BinaryName: "tides",
		Version: 3, Digest: strings.Repeat("cd", 32), Payload: hostile, Args: []templates.Fact{{Name: "DAY", Value: hostile}}, CanCancel: true, Cancelling: true, Trace: "4bf92f3577b34da6a3ce929d0e0e4736", TraceURL: "https://jaeger.example.com/trace/4bf9",
		Attempts: []templates.Attempt{
			{N: 1, Status: "failed", Executor: "one", Started: now.Add(-time.Minute), Took: "2.0 s", Exit: "exit 1", Phases: []templates.Phase{{Kind: "wait", Name: "scheduling", Took: "0.1 ms", Since: now, Width: 0.3}, {Kind: "run", Name: "running", Since: now, From: 0.3, Width: 50}}, CPU: "12 ms", Memory: "9.0 MiB", Output: "17 bytes", Error: hostile},
			{N: 2, Status: "running", Executor: "one", Started: now.Add(-time.Second)},
		},
		ShownAttempt: 2, Live: "/runs/abc-s1795176000000?attempt=2",
		Effects: templates.Effects{Run: "abc-s1795176000000", More: true, Rows: []templates.EffectRow{
			{Key: "charge-anna", Done: true, Attempt: 1, At: now.Add(-30 * time.Second), Result: hostile},
			{Key: "charge-ben", Unsure: true, Attempt: 1, At: now.Add(-20 * time.Second)}, {Key: "charge-carla", Attempt: 2, At: now},
		}},
		Output: output(),
	}
}

func output() templates.Output {
	return templates.Output{
		Run: "abc-s1795176000000", Attempt: 2, Size: 99_000, Total: 9000, Follow: templates.Place{Offset: 99_000, Line: 9000, Mid: true},
		Lines: []templates.Line{
			{N: 8998, Spans: []templates.Styled{{Text: hostile}, {Class: "f1 b", Text: hostile}}}, {N: 8999}, {N: 9000, Spans: []templates.Styled{{Text: "long"}}, More: 2 << 20, Offset: 98_000},
		},
		Find:  hostile,
		Found: &templates.Found{One: "holds it", Many: "hold it", Matches: []templates.Match{{N: 7, Before: "a", Hit: hostile, Behind: "b"}, {N: 9}}, Next: "/runs/abc?find=x&from=9", Share: "1.0 MiB of 2.0 MiB"},
	}
}

// unguarded is the page of a server that asks for no credentials.
func unguarded(p templates.Page) templates.Page {
	p.Open = true
	return p
}

func TestPages(t *testing.T) {
	for name, component := range pages() {
		t.Run(name, func(t *testing.T) {
			html := render(t, component)
			checkPage(t, html)
			golden(t, name, own(html))
			if strings.Contains(html, `<script>`) || strings.Contains(html, `alert("x")`) {
				t.Error("something reached the page without being escaped")
			}
		})
	}
}

func TestParts(t *testing.T) {
	parts := map[string]templ.Component{
		"part-run":   templates.RunPart(run()),
		"part-lines": templates.LinesPart(output()),
		"part-found": templates.FoundPart(output()),
		"part-check": templates.CheckPart(templates.Check{Now: now}),
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

func deadLetters() templates.DeadLetters {
	return templates.DeadLetters{
		Page: page("Dead letters", templates.SectionRuns), Job: "tides", Live: "/dead-letters?job=tides", Count: "2 runs, the newest first",
		Pager: templates.Pager{Next: "/dead-letters?cursor=x"},
		Rows: []templates.DeadLetterRow{
			{Run: "abc-s1795176000000", Job: "tides", Error: hostile, Attempts: 3, At: now.Add(-time.Minute)},
			{
				Run: "abc-w3-load", Job: "etl/load", Error: "exit 1; failed 2 of 2 attempts", Attempts: 2, At: now.Add(-time.Hour),
				Of: templates.WaveRun{DAG: "etl", Task: "load", Wave: "abc-w3", Epoch: 3},
			},
		},
	}
}

var lineDiff = templates.LineDiff{Removed: 2, Added: 2, Rows: []templates.DiffRow{
	{Kind: "same", A: 1, B: 1, TextA: hostile, TextB: hostile}, {Kind: "gap", Gap: 12}, {Kind: "numbers", A: 14, B: 14, TextA: "1", TextB: "2"},
	{Kind: "changed", A: 15, B: 15, TextA: "a", TextB: hostile}, {Kind: "removed", A: 16, TextA: "gone"}, {Kind: "added", B: 16, TextB: "new"},
}}
