package storetest

import (
	"slices"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

var commandPromises = []promise{
	{"a command waits until the engine has acted", func(h *harness) {
		full := aCommand(aJob("report"), "backfill-1", noon)
		bare := engine.Command{ID: "cancel-1", Shard: full.Shard, Kind: engine.CommandCancel, JobUID: full.JobUID, RunID: full.JobUID + "-s1", At: noon.Add(time.Second)}
		h.must("put", h.store.PutCommand(h.ctx, bare))
		h.must("put", h.store.PutCommand(h.ctx, full))
		commands, err := h.store.Commands(h.ctx, []int{full.Shard}, 10)
		h.must("list", err)
		same(h.T, "commands", commands, []engine.Command{full, bare})
		h.commit(engine.Batch{Commands: []string{full.ID, "nobody"}})
		commands, err = h.store.Commands(h.ctx, []int{full.Shard}, 10)
		h.must("list", err)
		same(h.T, "commands", commands, []engine.Command{bare})
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
