package storetest

import (
	"slices"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

var dagTaskPromises = []promise{
	{"the scheduled tasks of a DAG are those of all its roots, and of no other's", func(h *harness) {
		root := func(uid, root string) engine.ScheduledTask {
			return engine.ScheduledTask{
				ID: engine.RootID(uid, root), Shard: engine.ShardOf(uid), Slot: noon, RunAt: noon.Add(time.Minute), Generation: 1, Revision: 1,
				Epoch: 7, Namespace: namespace, Job: "etl/" + root,
			}
		}
		one, other := "aaaaaaaaaaaaaaaa", "aaaaaaaaaaaaaaab"
		want := []engine.ScheduledTask{root(one, "Orders"), root(one, "rates-2"), root(one, "_z")}
		h.putTasks(append(slices.Clone(want), root(other, "rates"), aTask(aJob("a-job"), noon))...)
		got, err := h.store.TasksOfDAGs(h.ctx, []string{one, "nobody"})
		h.must("read", err)
		slices.SortFunc(got, func(a, b engine.ScheduledTask) int {
			return slices.Index([]string{want[0].ID, want[1].ID, want[2].ID}, a.ID) - slices.Index([]string{want[0].ID, want[1].ID, want[2].ID}, b.ID)
		})
		same(h.T, "tasks", got, want)
		got, err = h.store.TasksOfDAGs(h.ctx, []string{one, other})
		h.must("read", err)
		same(h.T, "tasks of two", len(got), 4)
		got, err = h.store.TasksOfDAGs(h.ctx, nil)
		h.must("read none", err)
		same(h.T, "tasks of none", len(got), 0)
	}},
}
