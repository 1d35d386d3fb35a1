package engine_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// A commit holds what was decided first, and no more than it may: what is left comes with the next ones.
func TestACommitHoldsABoundedNumberOfRuns(t *testing.T) {
	const jobs, most = 25, 10
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	config := engine.DefaultConfig()
	config.CommitRuns = most
	core := engine.NewCore(config, now, rand.New(rand.NewPCG(1, 1)))
	var loaded engine.JobsLoaded
	for i := range jobs {
		uid := fmt.Sprintf("job%02d", i)
		definition := spec.Job{Name: uid, Binary: "sha256:" + fmt.Sprintf("%064x", 1), Every: spec.Duration(10 * time.Second)}
		definition.ApplyDefaults()
		loaded.Jobs = append(loaded.Jobs, engine.JobSnapshot{
			UID: uid,
			Job: &engine.Job{UID: uid, Namespace: "default", Name: uid, Shard: 1, Spec: definition, Generation: 1, Revision: 1, CreatedAt: now, UpdatedAt: now},
			Task: &engine.ScheduledTask{
				ID: uid, Shard: 1, Slot: now.Add(10 * time.Second), RunAt: now.Add(10 * time.Second), Generation: 1, Revision: 1, Namespace: "default", Job: uid,
			},
		})
	}
	core.Step(now, engine.HorizonMoved{Until: now.Add(time.Minute)})
	core.Step(now, loaded)
	now = now.Add(10 * time.Second)
	core.Step(now, engine.Tick{})
	mark := core.Mark()
	if stats := core.Stats(); stats.Unwritten != jobs || !stats.Since.Equal(now) {
		t.Errorf("%d jobs wait for the store, since %s", stats.Unwritten, stats.Since)
	}
	seen := map[string]bool{}
	published := 0
	for ready := core.Ready(); ready != nil; ready = core.Ready() {
		if len(ready.Batch.Runs) > most || len(ready.Batch.Tasks) > most {
			t.Errorf("a commit has %d runs and %d tasks", len(ready.Batch.Runs), len(ready.Batch.Tasks))
		}
		for i := range ready.Batch.Runs {
			seen[ready.Batch.Runs[i].Run.JobUID] = true
		}
		for _, effect := range ready.After {
			published++
			if publish := effect.(engine.Publish); !seen[publish.Task.JobUID] {
				t.Errorf("run %s is to be published, and is not written", publish.Task.Run)
			}
		}
		if published != len(seen) {
			t.Errorf("%d jobs are written and %d runs published", len(seen), published)
		}
		if all := len(seen) == jobs; all != (ready.Upto >= mark) {
			t.Errorf("after %d jobs all that was decided is durable: %v", len(seen), !all)
		}
		core.Committed(ready)
	}
	if len(seen) != jobs {
		t.Errorf("%d of %d jobs were written", len(seen), jobs)
	}
}

// A DAG may have more tasks at one instant than a commit holds: they are written one part after the other, those last that
// follow from others, and what comes after runs after all of them.
func TestPartsOfABatchHoldABoundedNumberOfRuns(t *testing.T) {
	batch := &engine.Batch{Commands: []string{"done"}}
	const runs = 2*engine.CommitRuns + 2
	for i := range runs {
		run := engine.Run{ID: fmt.Sprint(i), Task: "item", Revision: 1}
		if i == runs-1 {
			run.Revision = 2 // on which they follow
		}
		batch.Runs = append(batch.Runs, engine.RunWrite{Run: run})
	}
	parts := batch.Parts()
	if len(parts) != 3 {
		t.Fatalf("%d parts", len(parts))
	}
	all := 0
	for i, part := range parts {
		all += len(part.Runs)
		if len(part.Runs) > engine.CommitRuns {
			t.Errorf("part %d has %d runs", i, len(part.Runs))
		}
		if last := i == len(parts)-1; (len(part.Commands) > 0) != last {
			t.Errorf("part %d has commands %v", i, part.Commands)
		}
	}
	if all != runs {
		t.Errorf("%d of %d runs are written", all, runs)
	}
	if first := parts[0].Runs[0].Run; first.Revision != 2 {
		t.Errorf("run %s is written first, on which nothing follows", first.ID)
	}
}
