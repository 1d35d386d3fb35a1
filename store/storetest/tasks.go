package storetest

import (
	"crypto/rand"
	"strings"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

func (h *harness) putTasks(tasks ...engine.ScheduledTask) {
	h.Helper()
	var batch engine.Batch
	for _, task := range tasks {
		batch.Tasks = append(batch.Tasks, engine.TaskWrite{Task: task})
	}
	h.commit(batch)
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
		task := aTask(aJob("report"), noon)
		task.RunAt, task.Writer = engine.Parked, 1<<62+1
		h.putTasks(task)
		got, _ := h.task(task.ID)
		same(h.T, "task", got, task)
		tasks, err := h.store.TasksByID(h.ctx, []string{"nobody", task.ID})
		h.must("read", err)
		same(h.T, "tasks", tasks, []engine.ScheduledTask{task})
		tasks, err = h.store.TasksByID(h.ctx, nil)
		h.must("read none", err)
		same(h.T, "tasks", len(tasks), 0)
	}},
	{"what a task has passed over comes back as it was written, until it is written without", func(h *harness) {
		job := aJob("report")
		task := aTask(job, noon)
		task.Noting = &engine.Noting{
			Slots: []engine.SlotRange{aSlotRange(job, noon.Add(-time.Hour), 7), aSlotRange(job, noon.Add(-time.Minute), 1)}, RunAt: engine.Parked,
		}
		h.putTasks(task)
		h.putTasks(task)
		got, _ := h.task(task.ID)
		same(h.T, "task", got, task)
		due, err := h.store.DueTasks(h.ctx, allShards(), time.Time{}, noon)
		h.must("list due tasks", err)
		same(h.T, "due tasks", due, []engine.ScheduledTask{task})
		other := task
		other.Noting = &engine.Noting{Slots: task.Noting.Slots[:1], RunAt: engine.Parked}
		h.refused(engine.Batch{Tasks: []engine.TaskWrite{{Task: other}}}, engine.Conflict{Kind: "task", ID: task.ID})
		task.Revision, task.Noting = 2, nil
		h.putTasks(task)
		got, _ = h.task(task.ID)
		same(h.T, "task", got, task)
	}},
	{"of two engines that write the same of a task one is refused", func(h *harness) {
		task := aTask(aJob("report"), noon)
		for task.Revision = 1; task.Revision < 3; task.Revision++ {
			task.Writer = 1
			h.putTasks(task)
			h.putTasks(task) // its answer was lost
			task.Writer = 2
			h.refused(engine.Batch{Tasks: []engine.TaskWrite{{Task: task}}}, engine.Conflict{Kind: "task", ID: task.ID})
		}
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
			batch.Tasks = append(batch.Tasks, engine.TaskWrite{Task: aTask(job, noon.Add(time.Duration(i/100)*time.Second))})
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
	{"stale write of a task is refused", func(h *harness) {
		task := aTask(aJob("report"), noon)
		h.putTasks(task)
		h.putTasks(task)
		conflict := engine.Conflict{Kind: "task", ID: task.ID}
		other := task
		other.Slot = noon.Add(time.Minute)
		h.refused(engine.Batch{Tasks: []engine.TaskWrite{{Task: other}}}, conflict)
		moved := aTask(aJob("report"), noon.Add(time.Hour))
		moved.Revision = 2
		h.putTasks(moved)
		h.putTasks(moved)
		other.Revision = 2
		h.refused(engine.Batch{Tasks: []engine.TaskWrite{{Task: other}}}, conflict)
		h.refused(engine.Batch{Tasks: []engine.TaskWrite{{Task: task}}}, conflict)
		other.Revision = 4
		h.refused(engine.Batch{Tasks: []engine.TaskWrite{{Task: other}}}, conflict)
		got, _ := h.task(task.ID)
		same(h.T, "task", got, moved)
		absent := aTask(aJob("absent"), noon)
		absent.Revision = 3
		h.refused(engine.Batch{Tasks: []engine.TaskWrite{{Task: absent}}}, engine.Conflict{Kind: "task", ID: absent.ID})
	}},
	{"a task is removed whatever its revision", func(h *harness) {
		task := aTask(aJob("report"), noon)
		h.putTasks(task)
		task.Revision = 2
		h.putTasks(task)
		task.Revision = 9
		gone := engine.Batch{Tasks: []engine.TaskWrite{{Task: task, Delete: true}}}
		h.commit(gone)
		h.commit(gone)
		if got, found := h.task(task.ID); found {
			h.Fatalf("it is still there: %+v", got)
		}
		h.due(allShards(), time.Time{}, noon.Add(time.Hour))
	}},
	{"what comes next is told by namespace, without what is parked", func(h *harness) {
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
