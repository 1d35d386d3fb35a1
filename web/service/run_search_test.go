package service_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/web/service"
	"github.com/tidewheel/tidewheel/web/webtest"
)

// endedRuns makes ended runs of a job, a minute apart, the oldest first; the output of every third has the word "reef".
func endedRuns(t *testing.T, w *webtest.World, job engine.Job, many int) (runs []engine.Run) {
	t.Helper()
	for i := range many {
		run := w.Running(job, w.Now.Add(time.Duration(i-many)*time.Minute))
		run.CreatedAt = w.Now.Add(time.Duration(i-many) * time.Minute)
		w.PutRun(t, run)
		output := fmt.Sprintf("begin %d\n", i)
		if i%3 == 0 {
			output += strings.Repeat("a Reef ahead\n", i+1)
		}
		run = webtest.Ended(run, engine.StatusSucceeded, output)
		w.PutRun(t, run)
		runs = append(runs, run)
	}
	return runs
}

func TestOutputsOfRunsAreSearched(t *testing.T) {
	w := webtest.New(t)
	w.PutBinary(t, "talk")
	runs := endedRuns(t, w, w.PutJob(t, `{"name": "talk", "binary": "talk"}`), 200)
	filter := engine.RunFilter{Namespace: engine.DefaultNamespace, Job: "talk"}
	ask := func(search service.RunSearch) service.FoundRuns {
		t.Helper()
		found, err := w.Service.SearchRuns(t.Context(), search)
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	var all []string
	search, answers := service.RunSearch{Filter: filter, Text: "reef"}, 0
	for {
		found := ask(search)
		answers++
		for i := range found.Items {
			item := &found.Items[i]
			all = append(all, item.Run.ID)
			if n := len(item.Lines); n > service.MaxRunMatches || n == 0 || string(item.Lines[0].Text) != "a Reef ahead" || item.Lines[0].Line != 2 {
				t.Fatalf("%d lines of %s: %+v", n, item.Run.ID, item.Lines)
			}
		}
		if (found.Next == "") != (found.Stopped == "") {
			t.Fatalf("it stopped (%q) and continues at %q", found.Stopped, found.Next)
		}
		if search.Filter.Cursor = found.Next; found.Next == "" {
			break
		}
	}
	var want []string
	for i := len(runs) - 1; i >= 0; i-- {
		if i%3 == 0 {
			want = append(want, runs[i].ID)
		}
	}
	if !slices.Equal(all, want) || answers < 2 {
		t.Errorf("found %d runs in %d answers, want %d", len(all), answers, len(want))
	}
	recent := filter
	recent.Since, recent.Until = runs[100].CreatedAt, runs[106].CreatedAt
	if found := ask(service.RunSearch{Filter: recent, Text: "reef"}); len(found.Items) != 2 || found.Runs != 6 || found.Items[0].Run.ID != runs[105].ID || !found.Items[0].More {
		t.Errorf("of six runs: %d with it in %d", len(found.Items), found.Runs)
	}
	for _, wrong := range []service.RunSearch{{Text: "reef"}, {Filter: filter}, {Filter: engine.RunFilter{Job: "talk", DAG: "etl"}, Text: "reef"}} {
		var known *service.Error
		if _, err := w.Service.SearchRuns(t.Context(), wrong); !errors.As(err, &known) {
			t.Errorf("%+v: %v", wrong, err)
		}
	}
	filter.Cursor = "x.0.y"
	if _, err := w.Service.SearchRuns(t.Context(), service.RunSearch{Filter: filter, Text: "reef"}); !errors.Is(err, engine.ErrCursor) {
		t.Errorf("a place that is none: %v", err)
	}
}

// A search that stops inside of a large output continues there.
func TestSearchOfRunsResumesInsideAnOutput(t *testing.T) {
	w := webtest.New(t)
	w.PutBinary(t, "talk")
	run := w.Running(w.PutJob(t, `{"name": "talk", "binary": "talk"}`), w.Now.Add(-time.Minute))
	w.PutRun(t, run)
	large := strings.Repeat(strings.Repeat("~", 1023)+"\n", 80<<10) + "the reef\n"
	w.Blobs.SetLog(run.ID, webtest.TextLog(large))
	search := service.RunSearch{Filter: engine.RunFilter{Namespace: engine.DefaultNamespace, Job: "talk"}, Text: "reef"}
	var looked int64
	for answers := 1; ; answers++ {
		found, err := w.Service.SearchRuns(t.Context(), search)
		if err != nil {
			t.Fatal(err)
		}
		looked += found.Bytes
		if found.Next == "" {
			if len(found.Items) != 1 || found.Items[0].Lines[0].Line != 80<<10+1 || answers < 2 || looked != int64(len(large)) {
				t.Errorf("after %d answers and %d of %d bytes: %+v", answers, looked, len(large), found.Items)
			}
			return
		}
		if len(found.Items) > 0 || found.Stopped == "" {
			t.Fatalf("it stopped (%q) with %d", found.Stopped, len(found.Items))
		}
		search.Filter.Cursor = found.Next
	}
}

func TestRunsBeforeAndAfterARun(t *testing.T) {
	w := webtest.New(t)
	w.PutBinary(t, "talk")
	job := w.PutJob(t, `{"name": "talk", "binary": "talk"}`)
	runs := endedRuns(t, w, job, 120) // more than a page of them within four distances
	lone := w.Running(job, w.Now.Add(-90*24*time.Hour))
	lone.CreatedAt = w.Now.Add(-90 * 24 * time.Hour)
	w.PutRun(t, lone)
	at := func(i int) string {
		switch {
		case i == -1:
			return lone.ID
		case i < 0 || i >= len(runs):
			return ""
		}
		return runs[i].ID
	}
	for _, i := range []int{-1, 0, 1, 60, 118, 119} {
		run := lone
		if i >= 0 {
			run = runs[i]
		}
		before, after, err := w.Service.RunNeighbours(t.Context(), &run)
		if err != nil || before != at(i-1) || after != at(i+1) {
			t.Errorf("run %d: %q and %q, want %q and %q (%v)", i, before, after, at(i-1), at(i+1), err)
		}
	}
}
