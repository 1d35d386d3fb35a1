package service_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/web/service"
	"github.com/tidewheel/tidewheel/web/webtest"
)

func timelineOf(t *testing.T, w *webtest.World, q service.TimelineQuery) service.Timeline {
	t.Helper()
	q.Namespace = "default"
	found, err := w.Timeline(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func around(w *webtest.World, before, after time.Duration) engine.Window {
	return engine.Window{From: w.Now.Add(-before), Until: w.Now.Add(after)}
}

// lanesOf writes lanes as "name:runs+planned".
func lanesOf(t service.Timeline) string {
	var all []string
	for _, lane := range t.Lanes {
		all = append(all, fmt.Sprintf("%s:%d+%d", lane.Name, len(lane.Bars), len(lane.Planned)))
	}
	return strings.Join(all, " ")
}

func TestTimelineShowsWhatRanAndWhatIsToComeByJobs(t *testing.T) {
	w := fleet(t)
	found := timelineOf(t, w, service.TimelineQuery{Window: around(w, 24*time.Hour, 2*time.Hour)})
	const want = "job-0:2+1 job-1:2+1 job-2:2+1 job-3:2+1 job-4:3+1 job-5:2+1 job-6:3+1 job-7:0+1 job-8:2+1 job-9:2+1"
	if got := lanesOf(found); got != want {
		t.Errorf("lanes are\n%s, want\n%s", got, want)
	}
	if !found.Reached.IsZero() || found.Next != "" {
		t.Errorf("something is left out: %v, %q", found.Reached, found.Next)
	}
	runs, slots := 0, 0
	for i := range found.Past {
		runs += found.Past[i].Runs.Sum().N
	}
	for i := range found.Future {
		slots += found.Future[i].Slots.N
	}
	if runs != 20 || slots != 10 {
		t.Errorf("%d runs and %d slots are counted, want 20 and 10", runs, slots)
	}
}

func TestTimelineIsNarrowedByNameLabelTierAndStatus(t *testing.T) {
	w := fleet(t)
	for _, test := range []struct {
		query service.TimelineQuery
		want  string
	}{
		{service.TimelineQuery{Text: "OB-3"}, "job-3:2+1"},
		{service.TimelineQuery{Label: "team=t1"}, "job-1:2+1 job-3:2+1 job-5:2+1 job-7:0+1 job-9:2+1"},
		{service.TimelineQuery{Tier: "heavy"}, "job-8:2+1 job-9:2+1"},
		{service.TimelineQuery{Label: "team=t0", Tier: "heavy"}, "job-8:2+1"},
		{service.TimelineQuery{Statuses: []engine.Status{engine.StatusFailed}}, "job-3:1+0 job-5:1+0"},
		{service.TimelineQuery{Label: "team=t1", Statuses: []engine.Status{engine.StatusFailed}}, "job-3:1+0 job-5:1+0"},
		{service.TimelineQuery{Text: "job-6", Statuses: []engine.Status{engine.StatusQueued}}, "job-6:1+0"},
		{service.TimelineQuery{Text: "no such job"}, ""},
	} {
		test.query.Window = around(w, 24*time.Hour, 2*time.Hour)
		if got := lanesOf(timelineOf(t, w, test.query)); got != test.want {
			t.Errorf("%+v has lanes\n%s, want\n%s", test.query, got, test.want)
		}
	}
}

func TestTimelineHasPagesOfLanes(t *testing.T) {
	w := fleet(t)
	var all []string
	query := service.TimelineQuery{Window: around(w, 24*time.Hour, 0), Lanes: 4}
	for range 5 {
		page := timelineOf(t, w, query)
		if page.All != 9 || len(page.Lanes) > 4 {
			t.Fatalf("%d lanes of %d", len(page.Lanes), page.All)
		}
		for _, lane := range page.Lanes {
			all = append(all, strings.TrimPrefix(lane.Name, "job-"))
		}
		if query.After = page.Next; page.Next == "" {
			break
		}
	}
	if got := strings.Join(all, ""); got != "012345689" {
		t.Errorf("pages hold %s", got)
	}
}

func TestTimelineSaysWhatItLeavesOut(t *testing.T) {
	w := webtest.New(t)
	w.PutBinary(t, "report")
	job := w.PutJob(t, `{"name":"often","binary":"report"}`)
	for i := range service.TimelineRuns + 500 {
		run := w.Running(job, w.Now.Add(-time.Duration(i)*time.Second))
		run.CreatedAt = run.Slot
		w.PutRun(t, webtest.Ended(run, engine.StatusSucceeded, ""))
	}
	found := timelineOf(t, w, service.TimelineQuery{Window: around(w, time.Hour, 0)})
	want := w.Now.Add(-service.TimelineRuns * time.Second)
	if len(found.Lanes) != 1 || !found.Reached.Equal(want) {
		t.Errorf("of %d lanes everything since %v is known, want %v", len(found.Lanes), found.Reached, want)
	}
	near := timelineOf(t, w, service.TimelineQuery{Window: around(w, 10*time.Minute, 0)})
	if !near.Reached.IsZero() {
		t.Errorf("of ten minutes with 600 runs those before %v are left out", near.Reached)
	}
}

// A run is shown where it waits or runs, not where it was made.
func TestTimelineShowsRunsThatReachIntoItsWindow(t *testing.T) {
	w := webtest.New(t)
	w.PutBinary(t, "report")
	long := w.PutJob(t, `{"name":"long","binary":"report"}`)
	run := w.Running(long, w.Now.Add(-30*24*time.Hour))
	run.CreatedAt = run.Slot
	w.PutRun(t, run)
	ended := w.PutJob(t, `{"name":"ended","binary":"report"}`)
	earlier := w.Running(ended, w.Now.Add(-3*time.Hour))
	earlier.CreatedAt = earlier.Slot
	earlier = webtest.Ended(earlier, engine.StatusSucceeded, "")
	earlier.FinishedAt = w.Now.Add(-30 * time.Minute)
	w.PutRun(t, earlier)
	for _, query := range []service.TimelineQuery{{}, {Text: "n"}} {
		query.Window = around(w, time.Hour, 0)
		if got := lanesOf(timelineOf(t, w, query)); got != "ended:1+0 long:1+0" {
			t.Errorf("%+v has lanes %s", query, got)
		}
	}
	if got := lanesOf(timelineOf(t, w, service.TimelineQuery{Window: around(w, 20*time.Minute, 0)})); got != "long:1+0" {
		t.Errorf("after its end the lanes are %s", got)
	}
}

func TestTimelineTellsWaitingFromRunning(t *testing.T) {
	w := webtest.New(t)
	w.PutBinary(t, "report")
	job := w.PutJob(t, `{"name":"tried","binary":"report"}`)
	due := w.Now.Add(-10 * time.Minute)
	run := w.Running(job, due)
	run.CreatedAt, run.QueuedAt = due, due.Add(6*time.Minute)
	run.StartedAt, run.Attempt = due.Add(time.Minute), 2
	run.Attempts = []engine.Attempt{
		{N: 1, Status: engine.StatusFailed, QueuedAt: due, StartedAt: due.Add(time.Minute), FinishedAt: due.Add(3 * time.Minute)},
		{N: 2, Status: engine.StatusRunning, QueuedAt: due.Add(6 * time.Minute), StartedAt: due.Add(8 * time.Minute)},
	}
	w.PutRun(t, run)
	bar := timelineOf(t, w, service.TimelineQuery{Window: around(w, time.Hour, 0)}).Lanes[0].Bars[0]
	if bar.Waited(w.Now) != time.Minute || bar.Took(w.Now) != 4*time.Minute {
		t.Errorf("it waited %s and took %s, want 1m and 4m: the wait between attempts is neither", bar.Waited(w.Now), bar.Took(w.Now))
	}
	var parts []string
	for _, part := range bar.Parts {
		parts = append(parts, fmt.Sprint(part.From.Sub(due), part.Waiting))
	}
	if got := strings.Join(parts, ", "); got != "0s true, 1m0s false, 6m0s true, 8m0s false" {
		t.Errorf("its parts are %s", got)
	}
}

func TestTimelineShowsWavesOfADAGAndNotItsTasks(t *testing.T) {
	w := webtest.New(t)
	w.PutBinary(t, "report")
	dag := w.PutDAG(t, diamond)
	wave := w.OpenWave(dag, 1, w.Now.Add(-time.Hour))
	w.PutWave(t, wave)
	w.PutRun(t, w.TaskRun(wave, "orders", engine.StatusSucceeded))
	for _, query := range []service.TimelineQuery{{}, {Text: dag.Name}, {Tier: dag.Spec.TaskJob(0).Tier}} {
		query.Window = around(w, 2*time.Hour, 0)
		found := timelineOf(t, w, query)
		if len(found.Lanes) != 1 || !found.Lanes[0].DAG || len(found.Lanes[0].Bars) != 1 || found.Lanes[0].Bars[0].ID != wave.ID {
			t.Errorf("%+v has %+v", query, found.Lanes)
		}
	}
	if found := timelineOf(t, w, service.TimelineQuery{Window: around(w, 2*time.Hour, 0), Tier: "none"}); len(found.Lanes) != 0 {
		t.Errorf("of another tier there is %+v", found.Lanes)
	}
}

func TestTimelineOfNoTimeOrOfAYearIsRefused(t *testing.T) {
	w := webtest.New(t)
	for _, window := range []engine.Window{around(w, 0, 0), around(w, -time.Hour, 0), around(w, 400*24*time.Hour, 0)} {
		if _, err := w.Timeline(t.Context(), service.TimelineQuery{Namespace: "default", Window: window}); err == nil {
			t.Errorf("%v is shown", window)
		}
	}
}
