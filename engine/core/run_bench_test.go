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

// BenchmarkRun is a slot from its preparation to the end of its run, with all commits: a job without alerts.
func BenchmarkRun(b *testing.B) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	definition := spec.Job{Name: "job", Binary: "sha256:" + fmt.Sprintf("%064x", 1), Every: spec.Duration(10 * time.Second)}
	definition.ApplyDefaults()
	job := engine.Job{
		UID: "job", Namespace: "default", Name: "job", Shard: engine.ShardOf("job"), Spec: definition, Generation: 1, Revision: 1, CreatedAt: now, UpdatedAt: now,
	}
	c := core.NewCore(core.DefaultConfig(), now, rand.New(rand.NewPCG(1, 1)))
	commit := func() {
		for ready := c.Ready(); ready != nil; ready = c.Ready() {
			c.Committed(ready)
		}
	}
	c.Step(now, core.HorizonMoved{Until: now.Add(1_000_000 * time.Hour)})
	c.Step(now, core.JobsLoaded{Jobs: []core.JobSnapshot{{UID: "job", Job: &job}}})
	commit()
	b.ReportAllocs()
	for b.Loop() {
		slot := now.Add(10 * time.Second)
		c.Step(slot.Add(-250*time.Millisecond), core.Tick{})
		commit()
		c.Step(slot, core.Tick{})
		result := engine.Result{Kind: engine.ResultStarted, Run: engine.SlotRunID("job", slot), Attempt: 1, Shard: job.Shard, Executor: "x", Token: 1, At: slot}
		c.Step(slot, core.ResultsReceived{Results: []engine.Result{result}})
		commit()
		result.Kind = engine.ResultFinished
		result.Finish = &engine.Finish{Status: engine.StatusSucceeded, StartedAt: slot, FinishedAt: slot}
		c.Step(slot, core.ResultsReceived{Results: []engine.Result{result}})
		commit()
		now = slot
	}
	if runs := c.Stats().Runs; runs > 1 {
		b.Fatalf("%d runs have not ended", runs)
	}
}
