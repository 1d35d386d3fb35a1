package storetest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// noon is when everything happens: whole milliseconds, as stores keep what they are asked about.
var noon = time.Date(2026, 3, 1, 12, 0, 0, 7_000_000, time.UTC)

const namespace = engine.DefaultNamespace

// uidOf makes a uid of the right version out of a short word of letters.
func uidOf(word string) string { return (word + strings.Repeat("a", 16))[:16] }

func aJob(name string) engine.Job {
	uid := uidOf(strings.ToLower(strings.NewReplacer("-", "", "_", "", "0", "z", "1", "y", "8", "x", "9", "w").Replace(name)))
	return engine.Job{
		UID: uid, Namespace: namespace, Name: name, Shard: engine.ShardOf(uid),
		Spec:       spec.Job{Kind: spec.KindJob, Name: name, Binary: "report@stable", Schedule: spec.Strings{"*/5 * * * *"}, Timeout: spec.Duration(time.Minute)},
		Generation: 1, Revision: 1, Pending: true,
		CreatedAt: noon, CreatedBy: "ada", UpdatedAt: noon, UpdatedBy: "ada",
	}
}

// slotRun makes the first revision of the run of a job's slot; it is created 30 seconds before.
func slotRun(job engine.Job, slot time.Time) engine.Run {
	return engine.Run{
		ID: engine.SlotRunID(job.UID, slot), Revision: 1, Namespace: job.Namespace, JobUID: job.UID, Job: job.Name, Shard: job.Shard,
		Generation: job.Generation, Trigger: engine.TriggerSchedule, Slot: slot, Status: engine.StatusScheduled,
		Tier: spec.TierLight, Class: spec.ClassStandard, Binary: job.Spec.Binary, Version: 3, Digest: strings.Repeat("ab", 32), Kind: "elf", Size: 1 << 20,
		CreatedAt: slot.Add(-30 * time.Second),
	}
}

func manualRun(job engine.Job, key string, at time.Time) engine.Run {
	run := slotRun(job, at)
	run.ID, run.Slot, run.CreatedAt = engine.ManualRunID(job.UID, key), time.Time{}, at
	run.Trigger, run.By = engine.TriggerManual, "ada"
	return run
}

// queued, running and ended give the next revision of a run.
func queued(run engine.Run) engine.Run {
	run = run.Clone()
	run.Revision++
	run.Status, run.QueuedAt, run.RetryAt = engine.StatusQueued, run.CreatedAt.Add(30*time.Second), time.Time{}
	run.Attempt++
	run.Attempts = append(run.Attempts, engine.Attempt{N: run.Attempt, Status: engine.StatusQueued, QueuedAt: run.QueuedAt})
	return run
}

func running(run engine.Run) engine.Run {
	run = run.Clone()
	run.Revision++
	run.Status, run.StartedAt = engine.StatusRunning, run.QueuedAt.Add(1500*time.Microsecond)
	attempt := run.Current()
	attempt.Status, attempt.Executor, attempt.Token = engine.StatusRunning, "executor-1", 42
	attempt.ClaimedAt, attempt.FetchedAt, attempt.StartedAt = run.QueuedAt.Add(901*time.Microsecond), run.QueuedAt.Add(1203*time.Microsecond), run.StartedAt
	return run
}

func ended(run engine.Run, status engine.Status, after time.Duration) engine.Run {
	run = run.Clone()
	run.Revision++
	run.Status, run.FinishedAt = status, run.CreatedAt.Add(after)
	if attempt := run.Current(); attempt != nil {
		code := 0
		if status != engine.StatusSucceeded {
			code = 1
			run.Failures++
		}
		attempt.Status, attempt.FinishedAt, attempt.ExitCode = status, run.FinishedAt, &code
		attempt.Usage = &engine.Usage{CPU: 1234567, MaxRSS: 1 << 20}
		attempt.Output = &engine.Output{Size: 6, Lines: 1, Tail: []byte("hello\n")}
	}
	return run
}

// finished returns the four writes of a run's whole life.
func finished(job engine.Job, slot time.Time, status engine.Status) []engine.Run {
	first := slotRun(job, slot)
	second := queued(first)
	third := running(second)
	return []engine.Run{first, second, third, ended(third, status, time.Minute)}
}

// fullRun fills every field of a run, with text of many kinds.
func fullRun(job engine.Job) engine.Run {
	run := running(queued(manualRun(job, "every field", noon)))
	run.Reason = "waits: «Grüße», 世界, 🌊, \"quoted\", <b>&amp;</b>, \x00 and \u2028"
	run.Payload = json.RawMessage(`{"html":"<b>&</b>","number":12345678901234567890.50,"list":[1, 2 ,3],"unicode":"é\u00e9"}`)
	run.Args = map[string]string{"KEY": "value", "EMPTY": "", "ÜMLAUT": "ß", "LINES": "a\nb"}
	run.RunsOn = map[string]string{"gpu.kind": "a100", "example.com/disk": "ssd"}
	run.NotBefore, run.RetryAt = noon.Add(time.Hour), noon.Add(2*time.Hour)
	run.CancelBy, run.PendingSkip, run.Losses, run.Waiting = "grace", engine.ReasonPaused, 2, true
	run.Progress = &engine.Progress{Fraction: 0.123456789, Message: "½ done", At: noon.Add(1234 * time.Microsecond)}
	zero := 0
	run.Attempts[0].ExitCode, run.Attempts[0].Token = &zero, 1<<63+1
	run.Attempts[0].Output = &engine.Output{Size: 5, Lines: 1, Tail: []byte{0, 0xff, '\n', 0xc3, '<'}, Chunks: 3, Truncated: 9, Lost: 7, Marks: []byte{0, 0xff, 1}}
	run.Attempts[0].Signal, run.Attempts[0].Error = "SIGKILL", "it was killed"
	run.Attempts = append(run.Attempts, engine.Attempt{N: 2, Status: engine.StatusQueued, Usage: &engine.Usage{}, Output: &engine.Output{}})
	run.Attempt, run.Revision = 2, 1
	return run
}

func aTask(job engine.Job, runAt time.Time) engine.ScheduledTask {
	return engine.ScheduledTask{
		ID: job.UID, Shard: job.Shard, Slot: runAt, RunAt: runAt, Generation: 1, Revision: 1, Namespace: job.Namespace, Job: job.Name,
	}
}

// fullTask fills every field of a scheduled task.
func fullTask(job engine.Job) engine.ScheduledTask {
	task := aTask(job, noon)
	task.ID, task.Job, task.Epoch = engine.RootID(job.UID, "fetch"), "etl/fetch", 41
	task.RunAt, task.Generation, task.Revision = engine.Parked, 3, 7
	task.Accounted, task.Since = noon.Add(-time.Minute), noon.Add(-time.Hour)
	task.Taken = []time.Time{noon, noon.Add(1234 * time.Millisecond), time.UnixMilli(0).UTC()}
	task.PausedUntil, task.Waiting = noon.Add(-time.Second), []time.Time{noon.Add(-time.Minute), noon.Add(-time.Second)}
	return task
}

func aSlotRange(job engine.Job, from time.Time, count int64) engine.SlotRange {
	return engine.SlotRange{
		ID: engine.SlotRangeID(job.UID, from), JobUID: job.UID, Namespace: job.Namespace, Job: job.Name,
		From: from, To: from.Add(time.Duration(count-1) * time.Minute), Count: count, Outcome: engine.OutcomeSkipped, Reason: engine.ReasonPaused,
		Generation: 7,
	}
}

func aLetter(run engine.Run, at time.Time) engine.DeadLetter {
	return engine.DeadLetter{RunID: run.ID, Namespace: run.Namespace, JobUID: run.JobUID, Job: run.Job, Error: "exit status 1: «ende»", Attempts: 3, At: at}
}

func aCommand(job engine.Job, id string, at time.Time) engine.Command {
	return engine.Command{
		ID: id, Shard: job.Shard, Kind: engine.CommandBackfill, JobUID: job.UID, Revision: 7, By: "ada", At: at, From: at.Add(-time.Hour), To: at,
		Item: new(int), Alone: true, Args: map[string]string{"DAY": "7", "a.b": ""}, Payload: json.RawMessage(`{"n":1.0}`),
	}
}

func aBinary(name string) engine.Binary {
	return engine.Binary{
		Namespace: namespace, Name: name, Revision: 1, UpdatedAt: noon,
		Versions:     []engine.BinaryVersion{{N: 1, SHA256: strings.Repeat("0f", 32), Size: 1 << 40, Kind: "elf", Arch: "amd64", UploadedBy: "ada", At: noon}},
		Aliases:      map[string]int{"stable": 1},
		AliasHistory: []engine.AliasMove{{Alias: "stable", From: 0, To: 1, By: "ada", At: noon}},
	}
}

func allShards() []int {
	shards := make([]int, engine.Shards)
	for i := range shards {
		shards[i] = i
	}
	return shards
}

// same fails the test where got is not want. Instants are compared as instants; nil and empty lists are alike.
func same[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("%s: it is not what it should be (-want +got):\n%s", what, diff)
	}
}

func sorted[T any](list []T, key func(T) string) []T {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b T) int { return strings.Compare(key(a), key(b)) })
	return list
}

func runIDs(runs []engine.Run) []string {
	ids := make([]string, len(runs))
	for i, run := range runs {
		ids[i] = run.ID
	}
	return ids
}

func numbered(word string, n int) string { return fmt.Sprintf("%s-%04d", word, n) }
