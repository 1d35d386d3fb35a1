package storetest

import (
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

// startCommands returns a command that makes a run and one that makes a wave, with every field. Blanks in a payload are not kept.
func startCommands() []engine.Command {
	job, dag := aJob("report"), aDAG("etl")
	run, wave := fullRun(job), fullWave(dag)
	run.Payload = json.RawMessage(`{"html":"<b>&</b>","number":12345678901234567890.50,"list":[1,2,3]}`)
	wave.Payload = json.RawMessage(`[null]`)
	return []engine.Command{{
		ID: engine.StartCommand(run.ID), Shard: job.Shard, Kind: engine.CommandStart, JobUID: job.UID, RunID: run.ID,
		By: "ada", At: noon, Run: &run,
	}, {
		ID: engine.StartCommand(wave.ID), Shard: dag.Shard, Kind: engine.CommandStartWave, JobUID: dag.UID, RunID: wave.ID,
		At: noon.Add(time.Second), Wave: &wave,
	}}
}

// scribble changes what startCommands hold.
func scribble(commands ...engine.Command) {
	for _, command := range commands {
		if run := command.Run; run != nil {
			run.Reason, run.Payload[2], run.Args["KEY"] = "changed", 'X', "changed"
		}
		if wave := command.Wave; wave != nil {
			wave.Reason, wave.Payload[2], wave.Slots["orders"] = "changed", 'X', time.Time{}
		}
	}
}

var commandPromises = []promise{
	{"a command waits until the engine has acted", func(h *harness) {
		full := aCommand(aJob("report"), "backfill-1", noon)
		bare := engine.Command{ID: "cancel-1", Shard: full.Shard, Kind: engine.CommandCancel, JobUID: full.JobUID, RunID: full.JobUID + "-s1", At: noon.Add(time.Second)}
		h.must("put", h.store.PutCommand(h.ctx, bare))
		h.must("put", h.store.PutCommand(h.ctx, full))
		commands, err := h.store.Commands(h.ctx, []int{full.Shard}, 10)
		h.must("list", err)
		same(h.T, "commands", commands, []engine.Command{full, bare})
		h.commit(engine.Batch{Done: []engine.CommandDone{{ID: full.ID, At: full.At}, {ID: "nobody", At: noon}}})
		commands, err = h.store.Commands(h.ctx, []int{full.Shard}, 10)
		h.must("list", err)
		same(h.T, "commands", commands, []engine.Command{bare})
	}},
	{"a command brings what it makes as it was left", func(h *harness) {
		want := startCommands()
		for _, command := range startCommands() {
			h.must("put", h.store.PutCommand(h.ctx, command))
			scribble(command)
		}
		for _, command := range want {
			read, err := h.store.Command(h.ctx, command.ID)
			h.must("read", err)
			same(h.T, "command", read, command)
			scribble(read)
		}
		for range 2 {
			commands, err := h.store.Commands(h.ctx, allShards(), 10)
			h.must("list", err)
			same(h.T, "commands", commands, want)
			scribble(commands...)
		}
		h.commit(engine.Batch{Done: []engine.CommandDone{{ID: want[0].ID, At: want[0].At}}})
		for _, id := range []string{want[0].ID, want[0].RunID, "nobody-start"} {
			if _, err := h.store.Command(h.ctx, id); !errors.Is(err, engine.ErrNotFound) {
				h.Fatalf("command %s: got %v, want %v", id, err, engine.ErrNotFound)
			}
		}
	}},
	{"asking twice is asking once", func(h *harness) {
		command := aCommand(aJob("report"), "backfill-1", noon)
		h.must("put", h.store.PutCommand(h.ctx, command))
		again := command
		again.At = noon.Add(time.Hour)
		h.must("put again", h.store.PutCommand(h.ctx, again))
		commands, err := h.store.Commands(h.ctx, allShards(), 10)
		h.must("list", err)
		same(h.T, "commands", commands, []engine.Command{command})
	}},
	{"commands are chosen by shard, oldest first", func(h *harness) {
		byShard := map[int][]string{}
		var all []string
		for i := range 30 {
			command := aCommand(aJob(numbered("job", i)), numbered("command", i), noon.Add(time.Duration(i)*time.Second))
			all = append(all, command.ID)
			byShard[command.Shard] = append(byShard[command.Shard], command.ID)
			h.must("put", h.store.PutCommand(h.ctx, command))
		}
		list := func(shards []int, limit int) (ids []string) {
			commands, err := h.store.Commands(h.ctx, shards, limit)
			h.must("list", err)
			for _, command := range commands {
				ids = append(ids, command.ID)
			}
			return ids
		}
		same(h.T, "all", list(allShards(), 1000), all)
		same(h.T, "the first", list(allShards(), 5), all[:5])
		same(h.T, "none", list(nil, 5), nil)
		for shard, want := range byShard {
			if got := list([]int{shard}, 1000); !slices.Equal(got, want) {
				h.Fatalf("shard %d: got %v, want %v", shard, got, want)
			}
		}
	}},
}
