package templates_test

import (
	"testing"
	"time"

	"github.com/a-h/templ"

	"github.com/tidewheel/tidewheel/templates"
)

func jobHead(tab templates.Tab) templates.Head {
	return templates.Head{
		Kind: templates.KindJob, Name: "tides", Description: hostile, Rhythm: "Runs every 5 minutes, UTC.", Tab: tab, RunKey: "page-1", Payload: hostile,
	}
}

func pausedHead(tab templates.Tab) templates.Head {
	head := jobHead(tab)
	head.Paused, head.PausedAt, head.PausedBy, head.PausedReason = true, now.Add(-time.Hour), "mira", hostile
	return head
}

func job(rows []templates.RunRow, slots []templates.Slot) templates.Job {
	marks := []templates.Mark{
		{ID: "abc-s1", Status: "dead", Weight: 1, At: now.Add(-time.Hour), Took: "4.0 s"}, {ID: "abc-s2", Status: "succeeded", Weight: 0.5, At: now, Took: "2.0 s"},
	}
	chart := templates.Chart{
		Name: "Duration", Words: "how long each took, of the last 2 runs", Top: "4.0 s", P50: "2.0 s", P95: "4.0 s", AtP50: 0.5, AtP95: 1,
		Dots: []templates.Dot{
			{Run: "abc-s1", Status: "dead", Words: "4.0 s, dead", At: 0, Height: 1}, {Run: "abc-s2", Status: "succeeded", Words: "2.0 s, succeeded", At: 1, Height: 0.5},
		},
		Outliers: []templates.Outlier{{Run: "abc-s1", Span: "4.0 s", Times: "3 times the median", Status: "dead"}},
	}
	shown := templates.Shown{
		Page: page("tides", templates.SectionJobs), Head: jobHead(templates.TabNow),
		Hindrances: []templates.Hindrance{
			{Words: hostile, Stops: true, Since: now.Add(-time.Hour), At: now.Add(time.Hour), Href: "/executors", Cure: "See the executors"},
			{Words: "Its last slot was skipped: the run before it had not ended."},
		},
		Facts: []templates.Fact{{Name: "Tier", Value: "light, standard"}}, Labels: []string{"team=finance"},
		Created: now.Add(-time.Hour), CreatedBy: "mira", Updated: now, UpdatedBy: "joris", Generation: 2,
		Strip: marks, Rate: "50%", RateOf: 2, Duration: chart, Live: "/jobs/tides",
	}
	return templates.Job{
		Shown: shown, Binary: "tides@stable", BinaryName: "tides", Next: templates.ScheduleSlots{Zone: "Asia/Dhaka", Next: slots}, Runs: rows,
		Lag: templates.Chart{Name: "Start lag", Words: "No slot has fired on time yet."},
	}
}

func jobPages(rows []templates.RunRow, slots []templates.Slot) map[string]templ.Component {
	list := page("Jobs", templates.SectionJobs)
	paused := templates.Job{
		Shown: templates.Shown{
			Page: page("tides", templates.SectionJobs), Head: pausedHead(templates.TabNow), Created: now, Updated: now, Generation: 1,
			Live: "/jobs/tides", Duration: templates.Chart{Name: "Duration"},
		},
		Binary: "sha256:" + hostile, Lag: templates.Chart{Name: "Start lag"},
	}
	calendar := templates.Calendar{
		Page: page("tides", templates.SectionJobs), Head: pausedHead(templates.TabSlots), Month: "November 2026", Zone: "Asia/Dhaka",
		Previous: "/jobs/tides/slots?month=2026-10", Next: "/jobs/tides/slots?month=2026-12", Problem: "This month is not understood.",
		Weeks: [][]templates.CalendarDay{{
			{}, {N: 1, Name: "Sunday 1 November", Href: "/jobs/tides/slots?day=2026-11-01#day", Chosen: true, Fired: 500, Bad: 2, Skipped: 3, Missed: 4, ByHand: 1, More: true, Heat: 4, Reasons: []string{"3 slots: " + hostile}},
			{N: 2, Name: "Monday 2 November", Today: true, Planned: 24}, {N: 3, Name: "Tuesday 3 November"}, {}, {}, {},
		}},
		Day: "Sunday 1 November 2026", DayHref: "/runs?job=tides", DayMore: true,
		Ledger: []templates.LedgerRow{
			{From: now, To: now, Count: 1, Outcome: "fired", Reason: "on time", Run: "abc-s1", Status: "succeeded"},
			{From: now, To: now.Add(time.Hour), Count: 12, Outcome: "missed", Reason: "no engine was running"},
		},
	}
	return map[string]templ.Component{
		"jobs": templates.DefinitionsPage(templates.Definitions{Kind: templates.KindJob,
			Page: list, Live: "/jobs", Pager: templates.Pager{Next: "/jobs?cursor=x"}, Filter: templates.ListFilter{Order: "next", Label: "team=finance"},
			Partial: true, Rows: []templates.DefinitionRow{
				{
					Name: "tides", Description: hostile, Labels: []string{"team=finance"}, Schedule: "every 5 minutes, UTC", Next: now.Add(time.Minute),
					NextLocal: "Fri 18:01 Asia/Dhaka", Failures: 2, Late: 40 * time.Second, Note: "tier heavy", Strip: job(nil, nil).Strip, Rate: "50%", RateOf: 2,
					Trend: templates.Spark{Points: []float64{4, 2}, Words: "duration of the last 2 runs"}, Took: "2.0 s",
				},
				{Name: "old", Schedule: "manual only", Paused: true},
			},
		}),
		"jobs-empty":    templates.DefinitionsPage(templates.Definitions{Kind: templates.KindJob, Page: list, Live: "/jobs"}),
		"jobs-no-match": templates.DefinitionsPage(templates.Definitions{Kind: templates.KindJob, Page: list, Live: "/jobs?q=x", Filter: templates.ListFilter{Text: hostile}, Problem: "The state is unknown and was ignored."}),
		"job":           templates.JobPage(job(rows, slots)),
		"job-paused":    templates.JobPage(paused),
		"job-slots":     templates.CalendarPage(calendar),
		"job-run":       templates.ActPage(templates.Act{Page: page("Run tides", templates.SectionJobs), Head: jobHead(""), Act: "run", Problem: hostile, Payload: hostile, Variables: hostile}),
		"job-pause":     templates.ActPage(templates.Act{Page: page("Pause tides", templates.SectionJobs), Head: jobHead(""), Act: "pause", Reason: hostile}),
		"job-delete":    templates.ActPage(templates.Act{Page: page("Delete tides", templates.SectionJobs), Head: jobHead(""), Act: "delete", Confirm: hostile}),
		"job-definition": templates.DefinitionTextPage(templates.DefinitionText{
			Page: page("tides", templates.SectionJobs), Head: jobHead(templates.TabDefinition), Definition: hostile + "\n",
			Generations: templates.Generations{
				Of: "tides", Path: "/jobs/tides", Note: "the newest first", Present: 52, Pager: templates.Pager{First: "/jobs/tides/definition", Next: "/jobs/tides/definition?cursor=x"},
				Forms: []templates.Generation{{N: 2, At: now, By: "joris", Message: hostile}, {N: 1, At: now.Add(-time.Hour), By: "mira"}},
				From:  1, To: 52, Compared: true, Changes: templates.Changes{{Kind: templates.LineRemoved, Text: hostile}, {Kind: templates.LineAdded, Text: "every: 2m"}},
			},
		}),
		"job-backfill": templates.BackfillPage(templates.Backfill{
			Page: page("tides", templates.SectionJobs), Head: jobHead(templates.TabBackfill), From: "2026-11-19T12:00", To: "2026-11-20T12:00", Zone: "Asia/Dhaka",
			Planned: true, New: 1, More: 3, Slots: []templates.BackfillSlot{{At: now, Local: "Fri 18:00"}, {At: now, Local: "Fri 18:05", Href: "/runs/abc-s1", Status: "succeeded"}},
		}),
		"job-backfill-wrong": templates.BackfillPage(templates.Backfill{
			Page: page("tides", templates.SectionJobs), Head: jobHead(templates.TabBackfill), From: hostile, To: hostile, Zone: "UTC", Problem: hostile,
		}),
	}
}

func TestJobPages(t *testing.T) {
	for name, component := range jobPages([]templates.RunRow{row("running"), row("failed")}, []templates.Slot{{At: now.Add(time.Minute), Local: "Fri 18:01", Note: hostile}, {At: now.Add(time.Hour)}}) {
		t.Run(name, func(t *testing.T) {
			html := render(t, component)
			checkPage(t, html)
			golden(t, name, html)
		})
	}
}
