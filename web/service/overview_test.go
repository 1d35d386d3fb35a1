package service_test

import (
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/web/service"
	"github.com/tidewheel/tidewheel/web/webtest"
)

// kinds are the concerns of the overview about a job, but that its runs are late.
func kinds(t *testing.T, w *webtest.World, job string) (kinds []service.ConcernKind) {
	t.Helper()
	view, err := w.Overview(t.Context(), engine.DefaultNamespace)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range view.Concerns {
		if c.Job == job && c.Kind != service.ConcernLate {
			kinds = append(kinds, c.Kind)
		}
	}
	return kinds
}

func TestSkippedSlotsAreExplainedByWhatTheRunBeforeDid(t *testing.T) {
	type run struct {
		status       engine.Status
		begun, ended time.Duration // after the slot, 0: not
	}
	for name, test := range map[string]struct {
		run  run
		want service.ConcernKind
	}{
		"it went on for long":                  {run{status: engine.StatusRunning, begun: time.Second}, service.ConcernOutlasts},
		"it went on for long, and ended":       {run{status: engine.StatusSucceeded, begun: time.Second, ended: 9 * time.Minute}, service.ConcernOutlasts},
		"it waits for an executor":             {run{status: engine.StatusQueued}, service.ConcernHeldUp},
		"its first attempt was lost, it waits": {run{status: engine.StatusQueued, begun: time.Second}, service.ConcernHeldUp},
		"it waited, and ended":                 {run{status: engine.StatusSucceeded, begun: 8 * time.Minute, ended: 9 * time.Minute}, service.ConcernHeldUp},
		"it waited, and was cancelled":         {run{status: engine.StatusCancelled, ended: 9 * time.Minute}, service.ConcernHeldUp},
		"it waited for a while":                {run{status: engine.StatusRunning, begun: 2 * time.Minute}, service.ConcernOutlasts},
		"it ended before":                      {run{status: engine.StatusSucceeded, begun: time.Second, ended: 2 * time.Second}, service.ConcernOverlap},
	} {
		t.Run(name, func(t *testing.T) {
			w := webtest.New(t)
			w.PutBinary(t, "report", "stable")
			job := w.PutJob(t, `{"name": "report", "binary": "report", "schedule": "* * * * *"}`)
			slot := w.Now.Add(-10 * time.Minute).Truncate(time.Minute)
			r := w.Running(job, slot)
			r.Status, r.StartedAt = test.run.status, time.Time{}
			if test.run.begun > 0 {
				r.StartedAt = slot.Add(test.run.begun)
			}
			if test.run.ended > 0 {
				r.FinishedAt = slot.Add(test.run.ended)
			}
			w.PutRun(t, r)
			from, to := slot.Add(time.Minute), slot.Add(8*time.Minute)
			w.Write(t, engine.Batch{Slots: []engine.SlotRange{{
				ID: engine.SlotRangeID(job.UID, from), JobUID: job.UID, Namespace: job.Namespace, Job: job.Name, From: from, To: to, Count: 8,
				Outcome: engine.OutcomeSkipped, Reason: engine.ReasonOverlap,
			}}})
			if got := kinds(t, w, "report"); len(got) != 1 || got[0] != test.want {
				t.Errorf("the overview says %v, want %v", got, test.want)
			}
		})
	}
}

func TestRecoveredJobNeedsNoAttention(t *testing.T) {
	w := webtest.New(t)
	w.PutBinary(t, "report", "stable")
	job := w.PutJob(t, `{"name": "report", "binary": "report", "schedule": "* * * * *"}`)
	end := func(run engine.Run, status engine.Status) {
		w.PutRun(t, run)
		w.PutRun(t, webtest.Ended(run, status, ""))
		if status == engine.StatusDead {
			w.Write(t, engine.Batch{DeadLetters: []engine.DeadLetter{{RunID: run.ID, Namespace: job.Namespace, JobUID: job.UID, Job: job.Name, Error: "exit 1", Attempts: 1, At: w.Now}}})
		}
	}
	at := w.Now.Add(-time.Hour).Truncate(time.Minute)
	for i, status := range []engine.Status{engine.StatusFailed, engine.StatusTimedOut, engine.StatusFailed, engine.StatusDead} {
		end(w.Running(job, at.Add(time.Duration(i)*time.Minute)), status)
	}
	if got := kinds(t, w, "report"); len(got) != 2 {
		t.Errorf("a job that failed says %v, want that it fails and that a run is dead", got)
	}
	end(w.Running(job, at.Add(10*time.Minute)), engine.StatusSucceeded)
	if got := kinds(t, w, "report"); len(got) != 0 {
		t.Errorf("a job that has recovered says %v", got)
	}
	manual := w.Running(job, at.Add(5*time.Minute))
	manual.ID, manual.Trigger, manual.Slot = engine.ManualRunID(job.UID, "mine"), engine.TriggerManual, time.Time{}
	end(manual, engine.StatusDead)
	if got := kinds(t, w, "report"); len(got) != 1 || got[0] != service.ConcernDead {
		t.Errorf("with a dead manual run it says %v: no other run does its work", got)
	}
}

// A dead task is part of its wave's failure, and a wave that succeeded since makes up for both.
func TestRecoveredDAGNeedsNoAttention(t *testing.T) {
	w := webtest.New(t)
	w.PutBinary(t, "report")
	d := w.PutDAG(t, "kind: DAG\nname: etl\ndefaults: {binary: report}\ntasks: {fetch: {}}\n")
	put := func(epoch int64, before time.Duration, status engine.Status) engine.Wave {
		wave := w.OpenWave(d, epoch, w.Now.Add(-before))
		w.PutWave(t, wave)
		w.PutWave(t, webtest.EndWave(wave, status))
		return wave
	}
	attention := func() (about []string) {
		t.Helper()
		view, err := w.Overview(t.Context(), engine.DefaultNamespace)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range view.Concerns {
			if c.Job != "" {
				about = append(about, string(c.Kind)+" "+c.Job)
			}
		}
		return about
	}
	failed := put(1, 2*time.Hour, engine.StatusFailed)
	w.Write(t, engine.Batch{DeadLetters: []engine.DeadLetter{{
		RunID: engine.TaskRunID(failed.ID, "fetch"), Namespace: d.Namespace, JobUID: d.UID, Job: "etl/fetch", Error: "exit 1", Attempts: 1, At: w.Now,
	}}})
	if got := attention(); len(got) != 1 || got[0] != "wave etl" {
		t.Errorf("after a failed wave: %q, want the wave and nothing of its task", got)
	}
	put(2, time.Hour, engine.StatusSucceeded)
	if got := attention(); len(got) != 0 {
		t.Errorf("after a wave that succeeded: %q", got)
	}
}
