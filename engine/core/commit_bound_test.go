package core_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/core"
	"github.com/tidewheel/tidewheel/spec"
)

// A commit holds what was decided first, and no more than it may: what is left comes with the next ones.
func TestACommitHoldsABoundedNumberOfRuns(t *testing.T) {
	const jobs, most = 25, 10
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	config := core.DefaultConfig()
	config.CommitRuns = most
	machine := core.NewCore(config, now, rand.New(rand.NewPCG(1, 1)))
	var loaded core.JobsLoaded
	for i := range jobs {
		uid := fmt.Sprintf("job%02d", i)
		definition := spec.Job{Name: uid, Binary: "sha256:" + fmt.Sprintf("%064x", 1), Every: spec.Duration(10 * time.Second)}
		definition.ApplyDefaults()
		loaded.Jobs = append(loaded.Jobs, core.JobSnapshot{
			UID: uid,
			Job: &engine.Job{UID: uid, Namespace: "default", Name: uid, Shard: 1, Spec: definition, Generation: 1, Revision: 1,
				CreatedAt: now, UpdatedAt: now},
			Task: &engine.ScheduledTask{
				ID: uid, Shard: 1, Slot: now.Add(10 * time.Second), RunAt: now.Add(10 * time.Second),
				Generation: 1, Revision: 1, Namespace: "default", Job: uid,
			},
		})
	}
	machine.Step(now, core.HorizonMoved{Until: now.Add(time.Minute)})
	machine.Step(now, loaded)
	now = now.Add(10 * time.Second)
	machine.Step(now, core.Tick{})
	mark := machine.Mark()
	if stats := machine.Stats(); stats.Unwritten != jobs || !stats.Since.Equal(now) {
		t.Errorf("%d jobs wait for the store, since %s", stats.Unwritten, stats.Since)
	}
	seen := map[string]bool{}
	published := 0
	for ready := machine.Ready(); ready != nil; ready = machine.Ready() {
		if len(ready.Batch.Runs) > most || len(ready.Batch.Tasks) > most {
			t.Errorf("a commit has %d runs and %d tasks", len(ready.Batch.Runs), len(ready.Batch.Tasks))
		}
		for i := range ready.Batch.Runs {
			seen[ready.Batch.Runs[i].JobUID] = true
		}
		for _, effect := range ready.After {
			published++
			if publish := effect.(core.Publish); !seen[publish.Task.JobUID] {
				t.Errorf("run %s is to be published, and is not written", publish.Task.Run)
			}
		}
		if published != len(seen) {
			t.Errorf("%d jobs are written and %d runs published", len(seen), published)
		}
		if all := len(seen) == jobs; all != (ready.Upto >= mark) {
			t.Errorf("after %d jobs all that was decided is durable: %v", len(seen), !all)
		}
		machine.Committed(ready)
	}
	if len(seen) != jobs {
		t.Errorf("%d of %d jobs were written", len(seen), jobs)
	}
}
