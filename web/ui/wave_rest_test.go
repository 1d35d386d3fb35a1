package ui_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/web/webtest"
)

// hours finds durations of hours, as templates.Span writes them: nothing below worked for that long.
var hours = regexp.MustCompile(`\d+ h \d\d min`)

// A wave failed after a minute and was resumed 8 hours later: no page counts the time in between as work.
func TestPagesLeaveOutTheTimeBeforeAResume(t *testing.T) {
	s := newSite(t)
	s.fill(t)
	d := s.PutDAG(t, "kind: DAG\nname: night\ndefaults: {binary: harbour-log}\ntasks:\n  fetch: {}\n  each: {needs: [fetch], for_each: '[1, 2]'}\n  load: {needs: [each]}\n")
	wave := s.OpenWave(d, 1, webtest.Start)
	rest := engine.WaveRest{From: webtest.Start.Add(time.Minute), To: webtest.Start.Add(8*time.Hour + time.Minute)}
	wave.Status, wave.Resumed, wave.Rests, wave.FinishedAt = engine.StatusSucceeded, 1, []engine.WaveRest{rest}, rest.To.Add(3*time.Minute)
	s.PutWave(t, wave)
	put := func(run engine.Run, from, to time.Time) {
		run.StartedAt, run.FinishedAt = from, to
		run.Attempts[0].QueuedAt, run.Attempts[0].StartedAt, run.Attempts[0].FinishedAt = from, from, to
		s.PutRun(t, run)
	}
	put(s.TaskRun(wave, "fetch", engine.StatusSucceeded), webtest.Start.Add(10*time.Second), rest.To.Add(time.Minute))
	for item := range 2 {
		run := s.TaskRun(wave, "each", engine.StatusSucceeded)
		run.ID, run.Item = engine.ItemRunID(wave.ID, item, "each"), &item
		put(run, webtest.Start.Add(20*time.Second), rest.To.Add(2*time.Minute))
	}
	put(s.TaskRun(wave, "load", engine.StatusSucceeded), rest.To.Add(150*time.Second), rest.To.Add(3*time.Minute))
	s.Now = wave.FinishedAt.Add(time.Minute)
	for path, want := range map[string][]string{
		"/waves/" + wave.ID + "?unfold=each": {
			"took 4 min 00 s", `"span":240000`, // the wave, and the chart of its times
			"1 min 50 s", "2 min 40 s", `{"from":210000,"to":240000,"state":"succeeded"}`, // fetch, an item of each, and when load ran
		},
		"/dags/night":       {"4 min 00 s"},
		"/dags/night/waves": {"4 min 00 s"},
		"/dags/night/grid":  {"wave 1, succeeded, took 4 min 00 s", "fetch in wave 1: succeeded, took 1 min 50 s"},
		"/dags":             {"4 min 00 s"},
	} {
		page := s.see(t, path)
		for _, words := range want {
			if !strings.Contains(page, words) {
				t.Errorf("%s does not say %q", path, words)
			}
		}
		if wrong := hours.FindString(page); wrong != "" {
			t.Errorf("%s says %q", path, wrong)
		}
	}
}

// A wave that runs again after a resume counts on from where it stood.
func TestOpenWaveLeavesOutTheTimeBeforeAResume(t *testing.T) {
	s := newSite(t)
	s.fill(t)
	d := s.PutDAG(t, "kind: DAG\nname: night\ndefaults: {binary: harbour-log}\ntasks:\n  fetch: {}\n")
	wave := s.OpenWave(d, 1, webtest.Start)
	rest := engine.WaveRest{From: webtest.Start.Add(time.Minute), To: webtest.Start.Add(8*time.Hour + time.Minute)}
	wave.Resumed, wave.Rests = 1, []engine.WaveRest{rest}
	s.PutWave(t, wave)
	run := s.TaskRun(wave, "fetch", engine.StatusRunning)
	run.StartedAt = webtest.Start.Add(10 * time.Second)
	s.PutRun(t, run)
	s.Now = rest.To.Add(time.Minute)
	page := s.see(t, "/waves/"+wave.ID)
	// The script gets a running duration as the instant from which it counts.
	if since := `datetime="` + wave.StartedAt.Add(8*time.Hour).Format("2006-01-02T15:04:05"); !strings.Contains(page, since) {
		t.Errorf("the wave does not count from %s", since)
	}
	if !strings.Contains(page, "1 min 50 s") {
		t.Error("the task does not say that it has worked for 1 min 50 s")
	}
	if wrong := hours.FindString(page); wrong != "" {
		t.Errorf("it says %q", wrong)
	}
}

// By the clocks of two executors a task began before what it needs had ended: what both share counts once.
func TestCriticalPathIsNeverLongerThanTheWave(t *testing.T) {
	s := newSite(t)
	s.fill(t)
	d := s.PutDAG(t, "kind: DAG\nname: clocks\ndefaults: {binary: harbour-log}\ntasks:\n  fetch: {}\n  load: {needs: [fetch]}\n")
	wave := s.OpenWave(d, 1, webtest.Start)
	wave.Status, wave.FinishedAt = engine.StatusSucceeded, webtest.Start.Add(90*time.Second)
	s.PutWave(t, wave)
	for name, at := range map[string][2]int{"fetch": {0, 60}, "load": {30, 90}} {
		run := s.TaskRun(wave, name, engine.StatusSucceeded)
		run.StartedAt, run.FinishedAt = webtest.Start.Add(time.Duration(at[0])*time.Second), webtest.Start.Add(time.Duration(at[1])*time.Second)
		s.PutRun(t, run)
	}
	s.Now = wave.FinishedAt.Add(time.Minute)
	if page := s.see(t, "/waves/"+wave.ID); !strings.Contains(page, "Critical path: fetch → load, 1 min 30 s") {
		t.Error("the critical path of a wave of 90 seconds does not take 90 seconds")
	}
}
