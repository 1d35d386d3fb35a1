package templates_test

import (
	"testing"
	"time"

	"github.com/a-h/templ"

	"github.com/tidewheel/tidewheel/templates"
)

func dagHead(tab templates.Tab) templates.Head {
	return templates.Head{
		Kind: templates.KindDAG, Name: "etl", Description: hostile, Rhythm: "3 tasks · orders: every hour", Tab: tab, RunKey: "page-1", Payload: hostile, Args: "DAY=today\n",
	}
}

func graph() templates.Graph {
	g := templates.Graph{
		Key: "etl", Path: "/waves/a-w2/task?name=", Span: 4000,
		Tasks: []templates.GraphTask{
			{Name: "orders", Binary: "load", Schedule: []string{"0 * * * *"}, State: "succeeded", Took: "2.0 s", Critical: true, Bars: []templates.GraphBar{{To: 100}, {From: 100, To: 2000, State: "succeeded"}}},
			{Name: "shops", Needs: []int{0}, ForEach: hostile, Trigger: "none_failed", When: hostile, State: "failed", Reason: hostile, Items: &templates.GraphItems{Total: 8, Failed: 1, Succeeded: 7}},
			{Name: "plain"},
		},
	}
	g.See("succeeded")
	g.See("failed")
	return g
}

func waveRows() []templates.WaveRow {
	return []templates.WaveRow{
		{ID: "a-kabc", Status: "scheduled", Trigger: "manual", By: "mira", Created: now},
		{ID: "a-w2", Epoch: 2, Status: "running", Trigger: "schedule", Slot: now.Add(-time.Minute), Started: now.Add(-time.Minute)},
		{ID: "a-w1", Epoch: 1, Status: "failed", Reason: hostile, Trigger: "schedule", Started: now.Add(-time.Hour), Finished: now.Add(-59 * time.Minute), Tally: "1 succeeded, 1 failed"},
	}
}

func waveMarks() []templates.Mark {
	return []templates.Mark{
		{ID: "a-w1", Name: "wave 1", Status: "failed", Weight: 1, At: now.Add(-time.Hour), Took: "1 min 00 s"}, {ID: "a-w2", Name: "wave 2", Status: "running", At: now.Add(-time.Minute)},
	}
}

func wave() templates.Wave {
	return templates.Wave{
		Page: page("etl, wave 2", templates.SectionDAGs), ID: "a-w2", DAG: "etl", Epoch: 2, Status: "running", Trigger: "schedule", By: "mira", Resumed: 2,
		Slot: now.Add(-time.Minute), Slots: []templates.WaveSlot{{Root: "orders", At: now.Add(-time.Minute)}}, Payload: hostile,
		Args: []templates.Fact{{Name: "DAY", Value: hostile}}, Generation: 3, Created: now.Add(-time.Minute), Started: now.Add(-time.Minute),
		Waits:  []templates.WaveWait{{Words: "The slot of root rates", At: now.Add(time.Minute)}, {Words: "Wave 1, which is running", Href: "/waves/a-w1"}},
		Before: "a-w1", CanCancel: true, Live: "/waves/a-w2",
		Counts: []templates.WaveCount{{State: "failed", N: 1, Href: "/waves/a-w2?state=failed#tasks", Chosen: true}, {State: "upstream_failed", N: 1, Href: "/waves/a-w2?state=upstream_failed#tasks"}},
		All:    templates.WaveCount{N: 4, Href: "/waves/a-w2#tasks"}, Graph: graph(), Critical: "Critical path: orders → shops, 4.0 s",
		Filter: templates.WaveFilter{State: "failed", Text: hostile}, Shown: "3 of 4",
		Tasks: []templates.TaskRow{
			{Name: "orders", State: "succeeded", Run: "a-w2-orders", Attempts: 2, Started: now, Finished: now, Took: "2.0 s", Outputs: hostile, Artifacts: 2, Critical: true},
			{Name: "shops", State: "failed", Reason: hostile, Mapped: true, Open: true, ItemsHref: "/waves/a-w2#task-shops", Counts: []templates.WaveCount{{State: "failed", N: 1}, {State: "succeeded", N: 7}}},
			{Name: "join", State: "running", Run: "a-w2-join", Started: now.Add(-time.Second), Since: now.Add(-time.Second), Progress: &templates.Progress{Fraction: 0.5, Message: hostile}},
			{Name: "tell", State: "waiting", CanMark: true},
		},
		Pager: templates.Pager{First: "/waves/a-w2", Next: "/waves/a-w2?from=200"},
		Items: &templates.TaskItems{
			Task: "shops", Shown: "Items 0 to 1 of 8.", Next: "/waves/a-w2?items=100&unfold=shops#task-shops",
			Rows: []templates.ItemRow{{N: 0, Run: "a-w2i0-shops", Status: "succeeded", Attempts: 1, Took: "1.0 s"}, {N: 1, Run: "a-w2i1-shops", Status: "dead", Reason: hostile, Attempts: 3}},
		},
	}
}

func waveTask() templates.WaveTask {
	return templates.WaveTask{
		Page: page("join", templates.SectionDAGs), Wave: "a-w2", Epoch: 2, DAG: "etl", Name: "join", State: "running", Started: now.Add(-time.Minute), Since: now.Add(-time.Minute), Shown: 2,
		Address: "/waves/a-w2/task?name=join", Needs: []templates.Crumb{{Name: "orders", Href: "/waves/a-w2/task?name=orders"}, {Name: "rates", Href: "/waves/a-w2/task?name=rates"}},
		Before: []templates.Crumb{{Name: "tell", Href: "/waves/a-w2/task?name=tell"}},
		Run: &templates.Run{ID: "a-w2-join", Status: "running", CanCancel: true, Progress: &templates.Progress{Fraction: 0.5, Message: hostile}, Attempts: []templates.Attempt{
			{N: 1, Status: "failed", Took: "2.0 s", Executor: "quay", Exit: "Exit code 3", Error: hostile}, {N: 2, Status: "running", Started: now},
		}},
		Output: templates.Output{Run: "a-w2-join", Attempt: 2, Lines: []templates.Line{{N: 1, Spans: []templates.Styled{{Text: hostile}}}}, Total: 1, Size: 9},
	}
}

func dagPages() map[string]templ.Component {
	list := page("DAGs", templates.SectionDAGs)
	etl := page("etl", templates.SectionDAGs)
	paused := dagHead(templates.TabNow)
	paused.Paused, paused.PausedAt, paused.PausedBy, paused.PausedReason = true, now.Add(-time.Hour), "mira", hostile
	states := []templates.Option{{Value: "failing", Name: "failing"}}
	ended := wave()
	ended.Status, ended.Ended, ended.Reason, ended.Finished, ended.CanCancel, ended.CanResume = "failed", true, hostile, now, false, true
	ended.Waits, ended.After, ended.DAGGone, ended.Tasks, ended.Items = nil, "a-w3", true, nil, nil
	calendar := templates.Calendar{
		Page: etl, Head: dagHead(templates.TabSlots), Root: "orders",
		Roots: []templates.Crumb{{Name: "orders", Href: "/dags/etl/slots?root=orders"}, {Name: "rates", Href: "/dags/etl/slots?root=rates"}},
		Month: "November 2026", Zone: "Asia/Dhaka", Previous: "/dags/etl/slots?month=2026-10&root=orders", Problem: "This month is not understood.",
		Weeks: [][]templates.CalendarDay{{{}, {N: 1, Name: "Sunday 1 November", Href: "/dags/etl/slots?day=2026-11-01&root=orders#day", Chosen: true, Fired: 3, Skipped: 2, Heat: 2}, {}, {}, {}, {}, {}}},
		Day:   "Sunday 1 November 2026", DayMore: true,
		Ledger: []templates.LedgerRow{{From: now, To: now, Count: 1, Outcome: "fired", Reason: "by its schedule", Run: "a-w1-orders", Status: "failed"}},
	}
	return map[string]templ.Component{
		"dags": templates.DefinitionsPage(templates.Definitions{Kind: templates.KindDAG,
			Page: list, Problem: "The order is unknown and was ignored.", Filter: templates.ListFilter{Text: hostile, State: "failing", Order: "next", States: states}, First: 200, Live: "/dags",
			Rows: []templates.DefinitionRow{
				{Name: "etl", Description: hostile, Labels: []string{"team=quay"}, Schedule: "3 tasks", Note: "orders: every hour", Next: now.Add(time.Hour), Paused: true, Failures: 2,
					Strip: waveMarks(), Rate: "50%", RateOf: 2, Trend: templates.Spark{Points: []float64{1, 2}, Words: "duration of the last 2 waves"}, Took: "2.0 s"},
				{Name: "new", Schedule: "1 task", Note: "manual only"},
			},
			Pager: templates.Pager{Next: "/dags?cursor=x"},
		}),
		"dags-empty": templates.DefinitionsPage(templates.Definitions{Kind: templates.KindDAG, Page: list, Filter: templates.ListFilter{States: states}, Live: "/dags"}),
		"dag": templates.DAGPage(templates.DAG{
			Shown: templates.Shown{
				Page: etl, Head: dagHead(templates.TabNow), Strip: waveMarks(), Rate: "50%", RateOf: 2,
				Facts: []templates.Fact{{Name: "Tasks", Value: "3"}}, Labels: []string{"team=quay"}, Created: now, CreatedBy: "mira", Updated: now, Generation: 3,
				Duration: templates.Chart{Name: "Duration", Words: "how long each took", Top: "4.0 s", P50: "2.0 s", P95: "4.0 s", Dots: []templates.Dot{{Wave: "a-w1", Status: "failed", Words: "4.0 s"}}},
				Live:     "/dags/etl",
			},
			Graph: graph(), Waves: waveRows(), MoreWaves: "/dags/etl/waves",
			Roots: []templates.ScheduleSlots{
				{Root: "orders", Schedule: "every hour", Zone: "Asia/Dhaka", Next: []templates.Slot{{At: now, Local: "Fri 2026-11-20 18:00:00", Note: hostile}}}, {Root: "over", Schedule: "once"},
			},
			MoreRoots: 3,
		}),
		"dag-paused": templates.DAGPage(templates.DAG{
			Shown: templates.Shown{Page: etl, Head: paused, Created: now, Updated: now, Generation: 1, Live: "/dags/etl"}, Graph: graph(),
		}),
		"dag-waves": templates.DAGWavesPage(templates.DAGWaves{Page: etl, Head: dagHead(""), Waves: waveRows(), Pager: templates.Pager{Next: "/dags/etl/waves?cursor=x"}, Live: "/dags/etl/waves"}),
		"dag-grid": templates.GridPage(templates.Grid{
			Page: etl, Head: dagHead(templates.TabGrid), Text: hostile, Live: "/dags/etl/grid", Shown: "1 task", Key: []string{"failed", "upstream_failed"},
			Waves: []templates.GridWave{{ID: "a-w1", Epoch: 1, Status: "failed", Words: "wave 1, failed", Began: now.Add(-25 * time.Hour), Share: 1, NewDay: true}, {ID: "a-w2", Epoch: 2, Status: "running", Words: "wave 2, running"}},
			Rows: []templates.GridRow{{Task: "shops", Cells: []templates.GridCell{
				{State: "failed", Href: "/runs/a-w1-shops", Panel: "/waves/a-w1/task?name=shops", Words: hostile, Count: "8", Share: 0.5}, {State: "waiting", Words: "shops in wave 2: waiting"},
			}}},
		}),
		"dag-slots":    templates.CalendarPage(calendar),
		"dag-no-slots": templates.CalendarPage(templates.Calendar{Page: etl, Head: dagHead(templates.TabSlots), NoRoot: true}),
		"dag-definition": templates.DefinitionTextPage(templates.DefinitionText{
			Page: etl, Head: dagHead(templates.TabDefinition), Definition: hostile,
			Generations: templates.Generations{
				Of: "etl", Path: "/dags/etl", Present: 2, From: 1, To: 2, Compared: true,
				Forms:   []templates.Generation{{N: 2, At: now, By: "mira", Message: hostile}, {N: 1, At: now}},
				Changes: templates.Changes{{Kind: templates.LineAdded, Text: hostile}},
			},
		}),
		"dag-backfill": templates.BackfillPage(templates.Backfill{
			Page: etl, Head: dagHead(templates.TabBackfill), From: "2026-11-19T12:00", To: "2026-11-20T12:00", Zone: "Asia/Dhaka", Planned: true, New: 1, More: 4,
			Slots: []templates.BackfillSlot{{At: now, Local: "Fri", Roots: "orders 12:00:00"}, {At: now, Local: "Fri", Roots: "orders 13:00:00", Href: "/waves/a-w1", Status: "failed"}},
		}),
		"dag-run":    templates.ActPage(templates.Act{Page: etl, Head: dagHead(""), Act: "run", Problem: hostile, Payload: hostile, Variables: hostile}),
		"dag-pause":  templates.ActPage(templates.Act{Page: etl, Head: dagHead(""), Act: "pause", Problem: hostile, Reason: hostile}),
		"dag-delete": templates.ActPage(templates.Act{Page: etl, Head: dagHead(""), Act: "delete", Confirm: hostile}),
		"wave":       templates.WavePage(wave()),
		"wave-task":  templates.WaveTaskPage(waveTask()),
		"wave-task-mapped": templates.WaveTaskPage(templates.WaveTask{
			Page: page("shops", templates.SectionDAGs), Wave: "a-w1", Epoch: 1, DAG: "etl", Name: "shops", State: "failed", Reason: hostile, Took: "2.0 s", Started: now, Finished: now,
			Address: "/waves/a-w1/task?name=shops", Counts: []templates.WaveCount{{State: "failed", N: 1}}, Items: []templates.ItemRow{{N: 0, Run: "a-w1i0-shops", Status: "dead", Reason: hostile, Took: "1.0 s"}}, CanMark: true, CanResume: true,
		}),
		"wave-ended":      templates.WavePage(ended),
		"wave-mark":       templates.WaveMarkPage(templates.WaveMarking{Page: page("Mark tell", templates.SectionDAGs), ID: "a-w2", DAG: "etl", Epoch: 2, Task: "tell", State: "waiting", Mark: "skipped", Problem: hostile, After: 2}),
		"wave-mark-ended": templates.WaveMarkPage(templates.WaveMarking{Page: page("Mark join", templates.SectionDAGs), ID: "a-w1", DAG: "etl", Epoch: 1, Task: "join", State: "failed", Ended: true}),
	}
}

func TestDAGPages(t *testing.T) {
	for name, component := range dagPages() {
		t.Run(name, func(t *testing.T) {
			html := render(t, component)
			checkPage(t, html)
			golden(t, name, own(html))
		})
	}
}
