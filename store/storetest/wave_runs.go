package storetest

import (
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

func runID(run engine.Run) string { return run.ID }

// tasksOfWaves writes runs of tasks of two waves of each of two DAGs and of a job, and returns those of tasks.
func tasksOfWaves(h *harness) (all []engine.Run) {
	first, second := aDAG("etl"), aDAG("other")
	job := aJob("etl") // of the name of a DAG
	job.UID = uidOf("job")
	job.Shard = engine.ShardOf(job.UID)
	for hour := range 2 {
		for _, d := range []engine.DAG{first, second} {
			wave := aWave(d, int64(hour*10+1), noon.Add(time.Duration(hour)*time.Hour))
			for i, task := range []string{"fetch", "join", "join-all"} {
				run := h.live(finishedTask(taskRun(wave, task, -1), engine.StatusSucceeded)[:1+(i+hour*2)%4])
				all = append(all, run)
			}
		}
		h.live(finished(job, noon.Add(time.Duration(hour)*time.Hour), engine.StatusSucceeded))
	}
	return all
}

// finishedTask returns the four writes of the whole life of a task's run.
func finishedTask(first engine.Run, status engine.Status) []engine.Run {
	second := queued(first)
	third := running(second)
	last := ended(third, status, time.Minute)
	if status == engine.StatusSucceeded {
		last.Outputs = json.RawMessage(`{"rows": 12345678901234567890, "html":"<b>&</b>"}`)
		last.Artifacts = []engine.Artifact{{Name: "a/b.csv", Size: 1 << 40, SHA256: "0f"}, {Name: "ü"}}
	}
	return []engine.Run{first, second, third, last}
}

var waveRunPromises = []promise{
	{"the run of a task comes back as it was written", func(h *harness) {
		wave := aWave(aDAG("etl"), 12, noon)
		for _, first := range []engine.Run{taskRun(wave, "join", -1), taskRun(wave, "join-all", 0), taskRun(wave, "join-all", 117)} {
			for _, run := range finishedTask(first, engine.StatusSucceeded) {
				h.commitRuns(run)
				h.commitRuns(run)
				same(h.T, "run", h.run(run.ID), run)
			}
			last := finishedTask(first, engine.StatusSucceeded)[3]
			got := h.run(last.ID)
			got.Outputs[2], got.Artifacts[0].Name = 'X', "changed"
			same(h.T, "after its reader changed it", h.run(last.ID), last)
		}
	}},
	{"the scheduled task of a root knows its epoch", func(h *harness) {
		task := aTask(aJob("etl"), noon)
		task.ID, task.Job, task.Epoch = engine.RootID(task.ID, "fetch"), "etl/fetch", 41
		h.putTasks(task)
		other := task
		other.Epoch, other.Revision = 42, 2
		h.putTasks(other)
		got, _ := h.task(task.ID)
		same(h.T, "task", got, other)
		due, err := h.store.DueTasks(h.ctx, allShards(), time.Time{}, noon)
		h.must("list due tasks", err)
		same(h.T, "due", due, []engine.ScheduledTask{other})
	}},
	{"the runs of a wave are all of it, in the order of their ids, whatever their status", func(h *harness) {
		d := aDAG("etl")
		wave := aWave(d, 1, noon)
		var want []engine.Run
		for i, status := range engine.Statuses() {
			run := taskRun(wave, numbered("task", (i*7)%100), -1)
			if run.Status = status; status.Terminal() {
				run.FinishedAt = noon
			}
			want = append(want, run)
		}
		for item := range 25 {
			run := taskRun(wave, "mapped", item)
			if item%3 == 0 {
				run = ended(run, engine.StatusSucceeded, time.Minute)
				run.Revision = 1
			}
			want = append(want, run)
		}
		h.commitRuns(want...)
		manual := askedWave(d, "key", noon)
		byHand := []engine.Run{taskRun(manual, "fetch", -1), taskRun(manual, "mapped", 3)}
		h.commitRuns(byHand...)
		for _, epoch := range []int64{10, 11, 2} { // the first two begin like the wave
			h.commitRuns(taskRun(aWave(d, epoch, noon), "fetch", -1), taskRun(aWave(d, epoch, noon), "mapped", 1))
		}
		h.commitRuns(slotRun(aJob("etl"), noon), manualRun(aJob("etl"), "key", noon))
		want = sorted(want, runID)
		for _, limit := range []int{1, 7, 1000} {
			same(h.T, "runs of the wave", h.runsOf(wave.ID, limit), want)
		}
		same(h.T, "runs of a manual wave", h.runsOf(manual.ID, 10), sorted(byHand, runID))
		same(h.T, "runs of no wave", len(h.runsOf(engine.WaveID(d.UID, 3), 10)), 0)
		same(h.T, "runs of nothing", len(h.runsOf("", 10)), 0)
	}},
	{"a run of a wave is read once while it ends and is resumed", func(h *harness) {
		wave := aWave(aDAG("etl"), 1, noon)
		lives := finishedTask(taskRun(wave, "fetch", -1), engine.StatusFailed)
		again := queued(lives[3])
		again.FinishedAt = time.Time{}
		over := ended(running(again), engine.StatusSucceeded, time.Hour)
		for _, run := range append(lives, again, running(again), over) {
			h.commitRuns(run)
			same(h.T, "runs", h.runsOf(wave.ID, 10), []engine.Run{run})
		}
		h.commit(engine.Batch{Runs: []engine.Run{taskRun(wave, "join", -1)}})
		h.commit(engine.Batch{DropRuns: []string{taskRun(wave, "join", -1).ID}})
		same(h.T, "after another was dropped", h.runsOf(wave.ID, 10), []engine.Run{over})
	}},
	{"active runs of a DAG are those of its tasks", func(h *harness) {
		wave := aWave(aDAG("etl"), 1, noon)
		active, over := taskRun(wave, "join", -1), ended(taskRun(wave, "fetch", -1), engine.StatusSucceeded, time.Minute)
		over.Revision = 1
		item := taskRun(wave, "mapped", 4)
		h.commitRuns(active, over, item, taskRun(aWave(aDAG("other"), 1, noon), "join", -1))
		h.activeOf(wave.DAGUID, active.ID, item.ID)
	}},
	{"history is found by DAG and by task, through the waves", func(h *harness) {
		all := tasksOfWaves(h)
		uid := aDAG("etl").UID
		for name, test := range map[string]struct {
			filter engine.RunFilter
			choose func(engine.Run) bool
		}{
			"DAG":               {engine.RunFilter{Namespace: namespace, DAG: "etl"}, func(r engine.Run) bool { return r.DAG == "etl" }},
			"DAG of no name":    {engine.RunFilter{Namespace: namespace, DAG: "Etl"}, func(engine.Run) bool { return false }},
			"uid":               {engine.RunFilter{DAGUID: uid}, func(r engine.Run) bool { return r.JobUID == uid }},
			"uid and name":      {engine.RunFilter{DAGUID: uid, DAG: "etl"}, func(r engine.Run) bool { return r.JobUID == uid }},
			"uid, other name":   {engine.RunFilter{DAGUID: uid, DAG: "other"}, func(engine.Run) bool { return false }},
			"two uids":          {engine.RunFilter{DAGUID: uid, JobUID: uidOf("job")}, func(engine.Run) bool { return false }},
			"a job's uid twice": {engine.RunFilter{DAGUID: uid, JobUID: uid}, func(r engine.Run) bool { return r.JobUID == uid }},
			"task":              {engine.RunFilter{DAGUID: uid, Task: "join"}, func(r engine.Run) bool { return r.JobUID == uid && r.Task == "join" }},
			"task of a name":    {engine.RunFilter{Namespace: namespace, DAG: "etl", Task: "join-all"}, func(r engine.Run) bool { return r.DAG == "etl" && r.Task == "join-all" }},
			"task of all DAGs":  {engine.RunFilter{Namespace: namespace, Task: "join"}, func(r engine.Run) bool { return r.Task == "join" }},
			"no task":           {engine.RunFilter{DAGUID: uid, Task: "none"}, func(engine.Run) bool { return false }},
			"ended of a task": {engine.RunFilter{DAGUID: uid, Task: "join", Statuses: []engine.Status{engine.StatusSucceeded}}, func(r engine.Run) bool {
				return r.JobUID == uid && r.Task == "join" && r.Status == engine.StatusSucceeded
			}},
			"task in a window": {engine.RunFilter{DAGUID: uid, Task: "join", Since: noon.Add(time.Minute)}, func(r engine.Run) bool {
				return r.JobUID == uid && r.Task == "join" && r.CreatedAt.After(noon)
			}},
			"a job's name":       {engine.RunFilter{JobUID: uid, Job: "etl"}, func(engine.Run) bool { return false }},
			"both names at once": {engine.RunFilter{Job: "etl", DAG: "etl"}, func(engine.Run) bool { return false }},
			"text":               {engine.RunFilter{Namespace: namespace, DAG: "etl", Text: "ETL"}, func(r engine.Run) bool { return r.DAG == "etl" }},
		} {
			var want []engine.Run
			for _, run := range all {
				if test.choose(run) {
					want = append(want, run)
				}
			}
			slices.SortFunc(want, newestFirst)
			for _, limit := range []int{1, 3, 1000} {
				test.filter.Limit = limit
				same(h.T, name, h.history(test.filter), want)
			}
		}
		for _, run := range h.history(engine.RunFilter{Namespace: namespace, Job: "etl"}) {
			same(h.T, "the uid of a run of the job of that name", run.JobUID, uidOf("job"))
		}
	}},
	{"history is narrowed to the runs of jobs, with every other filter", func(h *harness) {
		tasks := tasksOfWaves(h)
		all := h.history(engine.RunFilter{Limit: 1000})
		for _, filter := range []engine.RunFilter{
			{}, {Namespace: namespace}, {Statuses: []engine.Status{engine.StatusSucceeded}}, {Statuses: []engine.Status{engine.StatusQueued, engine.StatusRunning}},
			{Tier: tasks[0].Tier}, {JobUID: uidOf("job")}, {Text: "etl"}, {Since: noon.Add(time.Minute)}, {Until: noon.Add(time.Minute)},
		} {
			whole := filter
			whole.Limit = 1000
			var these []string
			for _, run := range h.history(whole) {
				these = append(these, run.ID)
			}
			filter.OfJobs = true
			h.lists(all, filter, func(run engine.Run) bool { return run.Task == "" && slices.Contains(these, run.ID) })
		}
		if len(all) == len(tasks) {
			h.Errorf("there is no run of a job among %d", len(all))
		}
	}},
	{"runs of tasks expire as other runs do", func(h *harness) {
		wave := aWave(aDAG("etl"), 1, noon)
		over := h.live(finishedTask(taskRun(wave, "fetch", -1), engine.StatusSucceeded))
		open := h.live(finishedTask(taskRun(wave, "join", -1), engine.StatusSucceeded)[:2])
		same(h.T, "deleted", h.expireRuns(allShards(), noon.Add(time.Hour), 10), 1)
		same(h.T, "left", h.runsOf(wave.ID, 10), []engine.Run{open})
		if _, err := h.store.Run(h.ctx, over.ID); !errors.Is(err, engine.ErrNotFound) {
			h.Fatalf("a deleted run: %v", err)
		}
	}},
}
