package storetest

import (
	"encoding/json"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// fullJob fills every field of a definition that a store might treat in its own way.
func fullJob() engine.Job {
	job := aJob("full")
	at, until := noon.Add(time.Hour), noon.Add(48*time.Hour)
	job.Spec = spec.Job{
		Kind: spec.KindJob, Name: "full", Description: "«Bericht» 世界 🌊 <b>&</b>\nsecond line", Binary: "report@7", Interpreter: "python3",
		Args: []string{"--a", "", "b c"}, Env: map[string]string{"A.B": "1", "$C": "", "ä": "ö"}, Secrets: map[string]string{"PASSWORD": "db"},
		Payload:  json.RawMessage(`{"html":"<b>&</b>","big":12345678901234567890,"list":[1,2,{"$set":{"a.b":null}}]}`),
		Schedule: spec.Strings{"0 2 * * *", "30 3 * * 1"}, Every: spec.Duration(90 * time.Second), After: spec.Duration(time.Nanosecond), At: &at,
		Timezone: "Europe/Berlin", Active: &spec.Window{From: &at, Until: &until}, Tier: spec.TierHeavy, Class: spec.ClassPremium,
		RunsOn:  map[string]string{"gpu.kind": "a100", "arch": "arm64"},
		Timeout: spec.Duration(26 * time.Hour), Grace: spec.Duration(1500 * time.Millisecond),
		Retry:   spec.Retry{MaxAttempts: 5, Delay: spec.Duration(time.Second), MaxDelay: spec.Duration(time.Hour), On: []int{1, 2}, NotOn: []int{3}},
		Overlap: spec.OverlapQueue, CatchUp: spec.CatchUp{Policy: spec.CatchUpAll, Window: spec.Duration(time.Hour)}, Delivery: spec.DeliveryAtMostOnce,
		Limits:  spec.Limits{Memory: 256 * spec.Mebibyte, CPU: 0.5, Output: spec.Gibibyte, OpenFiles: 64},
		Exclude: []spec.Exclusion{{Cron: "* * 24 12 *"}, {From: at, To: until}},
		Alerts:  &spec.Alerts{Lag: spec.Duration(time.Minute), On: []spec.Alert{"failed"}}, Labels: map[string]string{"team.name": "data", "$where": "1"},
	}
	job.OneOff = true
	job.Paused, job.PausedAt, job.PausedBy, job.PausedReason, job.Message = true, noon, "grace", "too «loud»", "why: «so»"
	return job
}

var jobKind = definitionKind[spec.Job]{
	noun: "job", of: Store.Jobs, byUID: Store.JobsByUID, pending: Store.PendingJobs, generation: Store.Generation,
	plain: aJob, full: fullJob, describe: func(job *spec.Job, words string) { job.Description = words },
	scribble: func(job *spec.Job) { job.Args[0], job.Env["A.B"], job.Payload[2] = "changed", "changed", 'X' },
	batch: func(handled engine.JobHandled) engine.Batch {
		return engine.Batch{Handled: []engine.JobHandled{handled}}
	},
}

func edit(job engine.Job, description string) engine.Job { return jobKind.edit(job, description) }

func remove(job engine.Job) engine.Job { return jobKind.remove(job) }

func handled(job engine.Job) engine.Batch { return jobKind.handled(job) }

func (h *harness) job(name string) engine.Job {
	h.Helper()
	return jobKind.read(h, name)
}

func (h *harness) replaceJob(job engine.Job) engine.Job {
	h.Helper()
	return jobKind.replace(h, job)
}

func (h *harness) pending(want ...engine.Job) {
	h.Helper()
	jobKind.isPending(h, want...)
}
