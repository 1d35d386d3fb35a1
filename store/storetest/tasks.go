package storetest

import (
	"crypto/rand"
	"strings"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

func (h *harness) putTasks(tasks ...engine.ScheduledTask) {
	h.Helper()
	h.commit(engine.Batch{Tasks: tasks})
}

func (h *harness) task(uid string) (engine.ScheduledTask, bool) {
	h.Helper()
	tasks, err := h.store.TasksByID(h.ctx, []string{uid})
	h.must("read task", err)
	if len(tasks) == 0 {
		return engine.ScheduledTask{}, false
	}
	return tasks[0], true
}

func (h *harness) due(shards []int, after, until time.Time, want ...string) {
	h.Helper()
	tasks, err := h.store.DueTasks(h.ctx, shards, after, until)
	h.must("list due tasks", err)
	var got []string
	for _, task := range tasks {
		got = append(got, task.Job)
	}
	same(h.T, "due tasks", got, want)
}

var taskPromises = []promise{
	{"a task comes back as it was written", func(h *harness) {
		task := fullTask(aJob("report"))
		h.putTasks(task)
		got, _ := h.task(task.ID)
		same(h.T, "task", got, task)
		tasks, err := h.store.TasksByID(h.ctx, []string{"nobody", task.ID})
		h.must("read", err)
		same(h.T, "tasks", tasks, []engine.ScheduledTask{task})
		tasks, err = h.store.TasksByID(h.ctx, nil)
		h.must("read none", err)
		same(h.T, "tasks", len(tasks), 0)
		task.Accounted, task.Since, task.Taken = time.Time{}, time.Time{}, nil
		task.PausedUntil, task.Waiting = time.Time{}, nil
		h.putTasks(task)
		got, _ = h.task(task.ID)
		same(h.T, "task without them", got, task)
	}},
	{"what is given of a task and what is got belong to the caller", func(h *harness) {
		given, want := fullTask(aJob("report")), fullTask(aJob("report"))
		h.putTasks(given)
		given.Taken[0], given.Waiting[0] = noon.Add(time.Hour), noon.Add(time.Hour)
		got, _ := h.task(want.ID)
		same(h.T, "task after its giver changed it", got, want)
		got.Taken[0], got.Waiting[0] = noon.Add(2*time.Hour), noon.Add(2*time.Hour)
		got, _ = h.task(want.ID)
		same(h.T, "task after its reader changed it", got, want)
	}},
	{"due tasks are those after one instant and until another, earliest first", func(h *harness) {
		var names []string
		var tasks []engine.ScheduledTask
		for i := range 40 {
			job := aJob(numbered("job", i))
			names = append(names, job.Name)
			tasks = append([]engine.ScheduledTask{aTask(job, noon.Add(time.Duration(i)*time.Second))}, tasks...)
		}
		parked := aTask(aJob("parked"), engine.Parked)
		h.putTasks(append(tasks, parked)...)
		at := func(seconds int) time.Time { return noon.Add(time.Duration(seconds) * time.Second) }
		h.due(allShards(), time.Time{}, at(100), names...)
		h.due(allShards(), at(4), at(9), names[5:10]...)
		h.due(allShards(), at(9), at(9))
		h.due(allShards(), at(9), at(4))
		h.due(nil, time.Time{}, at(100))
		for _, shard := range allShards() {
			var want []string
			for i := len(tasks) - 1; i >= 0; i-- {
				if tasks[i].Shard == shard {
					want = append(want, tasks[i].Job)
				}
			}
			h.due([]int{shard}, time.Time{}, at(100), want...)
		}
	}},
	{"all due tasks come, however many", func(h *harness) {
		const many = 2500
		var batch engine.Batch
		for i := range many {
			job := aJob("job")
			job.UID = strings.ToLower(rand.Text()[:16])
			job.Shard = engine.ShardOf(job.UID)
			batch.Tasks = append(batch.Tasks, aTask(job, noon.Add(time.Duration(i/100)*time.Second)))
		}
		h.commit(batch)
		tasks, err := h.store.DueTasks(h.ctx, allShards(), time.Time{}, noon.Add(time.Hour))
		h.must("list", err)
		same(h.T, "tasks", len(tasks), many)
		for i := range many - 1 {
			if tasks[i+1].RunAt.Before(tasks[i].RunAt) {
				h.Fatalf("task %d is earlier than the one before", i+1)
			}
		}
	}},
	{"a task is removed whatever its revision", func(h *harness) {
		task := aTask(aJob("report"), noon)
		task.Revision = 9
		h.putTasks(task)
		for range 2 {
			h.commit(engine.Batch{DropTasks: []string{task.ID}})
			if got, found := h.task(task.ID); found {
				h.Fatalf("it is still there: %+v", got)
			}
		}
		h.due(allShards(), time.Time{}, noon.Add(time.Hour))
	}},
	{"upcoming slots are listed by namespace, without what is parked", func(h *harness) {
		for i, name := range []string{"c", "a", "b"} {
			h.putTasks(aTask(aJob(name), noon.Add(time.Duration(i)*time.Minute)))
		}
		parked := aTask(aJob("parked"), noon)
		parked.RunAt = engine.Parked
		elsewhere := aJob("elsewhere")
		elsewhere.Namespace = "other"
		h.putTasks(parked, aTask(elsewhere, noon))
		for limit, want := range map[int][]string{1: {"c"}, 2: {"c", "a"}, 10: {"c", "a", "b"}} {
			tasks, err := h.store.Upcoming(h.ctx, namespace, limit)
			h.must("list", err)
			var got []string
			for _, task := range tasks {
				got = append(got, task.Job)
			}
			same(h.T, "upcoming", got, want)
		}
	}},
}
