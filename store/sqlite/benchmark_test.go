package sqlite_test

import (
	"crypto/rand"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/store/sqlite"
	"github.com/tidewheel/tidewheel/store/storetest"
)

var benchStart = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

type benchJob struct {
	uid, name string
	shard     int
}

func benchJobs(n int) []benchJob {
	jobs := make([]benchJob, n)
	for i := range jobs {
		uid := strings.ToLower(rand.Text()[:16])
		jobs[i] = benchJob{uid: uid, name: fmt.Sprintf("job-%06d", i), shard: engine.ShardOf(uid)}
	}
	return jobs
}

// life returns the four writes of a run's life.
func life(job benchJob, slot time.Time, status engine.Status) [4]engine.Run {
	run := engine.Run{
		ID: engine.SlotRunID(job.uid, slot), Revision: 1, Namespace: "default", JobUID: job.uid, Job: job.name, Shard: job.shard, Generation: 1,
		Trigger: engine.TriggerSchedule, Slot: slot, Status: engine.StatusScheduled, Tier: spec.TierLight, Class: spec.ClassStandard,
		Binary: "report@stable", Version: 3, Digest: "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", Kind: "elf", Size: 1 << 20,
		CreatedAt: slot.Add(-time.Second),
	}
	lives := [4]engine.Run{run}
	run.Revision, run.Status, run.QueuedAt, run.Attempt = 2, engine.StatusQueued, slot, 1
	run.Attempts = []engine.Attempt{{N: 1, Status: engine.StatusQueued, QueuedAt: slot}}
	lives[1] = run
	run = run.Clone()
	run.Revision, run.Status, run.StartedAt = 3, engine.StatusRunning, slot.Add(time.Millisecond)
	attempt := run.Current()
	attempt.Status, attempt.Executor, attempt.Token, attempt.ClaimedAt, attempt.FetchedAt, attempt.StartedAt =
		engine.StatusRunning, "host-1.example", 42, slot.Add(time.Millisecond), slot.Add(time.Millisecond), slot.Add(time.Millisecond)
	lives[2] = run
	run = run.Clone()
	run.Revision, run.Status, run.FinishedAt = 4, status, slot.Add(time.Second)
	attempt = run.Current()
	attempt.Status, attempt.FinishedAt, attempt.ExitCode = status, run.FinishedAt, new(int)
	attempt.Usage, attempt.Output = &engine.Usage{CPU: 1234567, MaxRSS: 1 << 20}, &engine.Output{Size: 6, Lines: 1, Tail: []byte("hello\n")}
	lives[3] = run
	return lives
}

// cpu returns the CPU time that this process has used.
func cpu() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func reportCPU(b *testing.B, begin time.Duration, things int, unit string) {
	b.ReportMetric(float64((cpu()-begin).Microseconds())/float64(things), "cpu-µs/"+unit)
	b.ReportMetric(float64(things)/b.Elapsed().Seconds(), unit+"s/s")
}

func commit(b *testing.B, store *sqlite.Store, batch *engine.Batch) {
	if err := storetest.Write(b.Context(), store, *batch); err != nil {
		b.Fatalf("commit: %v", err)
	}
}

// BenchmarkLifecycles does what an engine under load does: each batch makes 200 runs and moves 200 others to each of
// their three later statuses, with a new slot for each job. CPU is of the whole process.
func BenchmarkLifecycles(b *testing.B) {
	for _, jobs := range []int{200, 20_000} {
		b.Run(fmt.Sprintf("jobs=%d", jobs), func(b *testing.B) { lifecycles(b, jobs) })
	}
}

// byShards takes all shards and returns a function that commits a batch as one decision for each.
func byShards(b *testing.B, store *sqlite.Store) func(*engine.Batch) {
	commits := make([]engine.ShardCommit, engine.Shards)
	for shard := range commits {
		term, err := store.Take(b.Context(), shard, "bench")
		if err != nil {
			b.Fatal(err)
		}
		commits[shard] = engine.ShardCommit{Shard: shard, Term: term.Number, Position: term.Position, Batch: &engine.Batch{}}
	}
	return func(batch *engine.Batch) {
		for shard := range commits {
			commits[shard].Position++
			decision := commits[shard].Batch
			decision.Runs, decision.Tasks = decision.Runs[:0], decision.Tasks[:0] // the store keeps none of them
		}
		for i := range batch.Runs {
			decision := commits[batch.Runs[i].Shard].Batch
			decision.Runs = append(decision.Runs, batch.Runs[i])
		}
		for i := range batch.Tasks {
			decision := commits[batch.Tasks[i].Shard].Batch
			decision.Tasks = append(decision.Tasks, batch.Tasks[i])
		}
		if err := errors.Join(store.Commit(b.Context(), commits)...); err != nil {
			b.Fatal(err)
		}
	}
}

func lifecycles(b *testing.B, jobs int) {
	const size = 200
	store := open(b, filepath.Join(b.TempDir(), "bench.db"))
	defer closeStore(b, store)
	all := benchJobs(jobs)
	lives := func(round int) (lives [size][4]engine.Run) {
		for i := range size {
			job := all[(round*size+i)%jobs]
			lives[i] = life(job, benchStart.Add(time.Duration(round)*time.Second), engine.StatusSucceeded)
		}
		return lives
	}
	var ring [4][size][4]engine.Run
	round := 0
	write := byShards(b, store)
	begin := cpu()
	for b.Loop() {
		ring[round%4] = lives(round)
		batch := &engine.Batch{}
		for stage := 0; stage < 4 && stage <= round; stage++ {
			for i := range size {
				batch.Runs = append(batch.Runs, ring[(round-stage)%4][i][stage])
			}
		}
		for i := range size {
			n := round*size + i
			task := engine.ScheduledTask{ID: all[n%jobs].uid, Shard: all[n%jobs].shard, Generation: 1, Revision: int64(n/jobs) + 1, Namespace: "default", Job: all[n%jobs].name}
			task.Slot = benchStart.Add(time.Duration(n/jobs) * time.Minute)
			task.RunAt = task.Slot
			batch.Tasks = append(batch.Tasks, task)
		}
		write(batch)
		round++
	}
	reportCPU(b, begin, round*size, "run")
}

// BenchmarkSmallCommits is one write and one wait for the disk at a time, and many at once.
func BenchmarkSmallCommits(b *testing.B) {
	job := benchJobs(1)[0]
	b.Run("alone", func(b *testing.B) {
		store := open(b, filepath.Join(b.TempDir(), "bench.db"))
		defer closeStore(b, store)
		begin, n := cpu(), 0
		for b.Loop() {
			n++
			commit(b, store, &engine.Batch{Runs: []engine.Run{life(job, benchStart.Add(time.Duration(n)*time.Second), engine.StatusSucceeded)[0]}})
		}
		reportCPU(b, begin, n, "commit")
	})
	b.Run("together", func(b *testing.B) {
		store := open(b, filepath.Join(b.TempDir(), "bench.db"))
		defer closeStore(b, store)
		numbers := make(chan int)
		go func() {
			defer close(numbers)
			for n := range b.N {
				numbers <- n
			}
		}()
		begin := cpu()
		b.SetParallelism(64)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				n := <-numbers
				commit(b, store, &engine.Batch{Runs: []engine.Run{life(job, benchStart.Add(time.Duration(n)*time.Second), engine.StatusSucceeded)[0]}})
			}
		})
		reportCPU(b, begin, b.N, "commit")
	})
}

func closeStore(b *testing.B, store *sqlite.Store) {
	b.Helper()
	b.StopTimer()
	if err := store.Close(b.Context()); err != nil {
		b.Fatalf("close: %v", err)
	}
}

const historySize = 1_000_000

// BenchmarkHistory reads pages of 50 with a million runs that have ended and 20,000 that have not.
func BenchmarkHistory(b *testing.B) {
	store := open(b, filepath.Join(b.TempDir(), "bench.db"))
	defer closeStore(b, store)
	jobs := benchJobs(1000)
	statuses := []engine.Status{engine.StatusFailed, engine.StatusTimedOut, engine.StatusDead, engine.StatusCancelled}
	begin := time.Now()
	for at := 0; at < historySize+20_000; at += 2000 {
		batch := &engine.Batch{}
		for n := at; n < at+2000; n++ {
			status := engine.StatusSucceeded
			if n%50 == 0 {
				status = statuses[n/50%len(statuses)]
			}
			lives := life(jobs[n*7919%1000], benchStart.Add(time.Duration(n)*10*time.Millisecond), status)
			run := lives[3]
			if n >= historySize {
				run = lives[1]
				if n%100 == 0 {
					run = lives[2]
				}
			}
			run.Revision = 1
			if n%1000 == 1 {
				run.Tier = spec.TierHeavy
			}
			if n%500 == 2 {
				run.By = "ada"
			}
			batch.Runs = append(batch.Runs, run)
		}
		commit(b, store, batch)
	}
	b.Logf("%d runs loaded in %v", historySize+20_000, time.Since(begin).Round(time.Second))
	middle := benchStart.Add(historySize / 2 * 10 * time.Millisecond)
	for _, test := range []struct {
		name   string
		filter engine.RunFilter
	}{
		{"all", engine.RunFilter{}},
		{"namespace", engine.RunFilter{Namespace: "default"}},
		{"job", engine.RunFilter{Namespace: "default", Job: jobs[5].name}},
		{"job-uid", engine.RunFilter{JobUID: jobs[5].uid}},
		{"job+failed", engine.RunFilter{Job: jobs[0].name, Statuses: []engine.Status{engine.StatusFailed}}},
		{"failed", engine.RunFilter{Namespace: "default", Statuses: []engine.Status{engine.StatusFailed, engine.StatusDead}}},
		{"lost(none)", engine.RunFilter{Namespace: "default", Statuses: []engine.Status{engine.StatusLost}}},
		{"succeeded", engine.RunFilter{Namespace: "default", Statuses: []engine.Status{engine.StatusSucceeded}}},
		{"running", engine.RunFilter{Namespace: "default", Statuses: []engine.Status{engine.StatusRunning}}},
		{"queued", engine.RunFilter{Namespace: "default", Statuses: []engine.Status{engine.StatusQueued}}},
		{"tier-heavy", engine.RunFilter{Namespace: "default", Tier: spec.TierHeavy}},
		{"tier-light", engine.RunFilter{Namespace: "default", Tier: spec.TierLight}},
		{"by", engine.RunFilter{Namespace: "default", By: "ada"}},
		{"window", engine.RunFilter{Namespace: "default", Since: middle, Until: middle.Add(time.Hour)}},
		{"until", engine.RunFilter{Namespace: "default", Until: middle}},
		{"window+heavy+failed", engine.RunFilter{Namespace: "default", Since: middle, Tier: spec.TierHeavy, Statuses: []engine.Status{engine.StatusFailed}}},
		{"text", engine.RunFilter{Namespace: "default", Text: "JOB-000007"}},
		{"text(none)", engine.RunFilter{Namespace: "default", Text: "nowhere"}},
		{"text(none,unicode)", engine.RunFilter{Namespace: "default", Text: "nirgendwö"}},
	} {
		b.Run(test.name, func(b *testing.B) {
			filter := test.filter
			filter.Limit = 50
			var took []time.Duration
			found := 0
			for b.Loop() {
				begin := time.Now()
				runs, next, err := store.Runs(b.Context(), filter)
				if err != nil {
					b.Fatal(err)
				}
				took = append(took, time.Since(begin))
				found += len(runs)
				filter.Cursor = next // and around
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)*95/100].Microseconds())/1000, "p95-ms")
			b.ReportMetric(float64(found)/float64(len(took)), "runs/page")
		})
	}
}

// allShards are those of the one engine on SQLite.
var allShards = func() (shards []int) {
	for shard := range engine.Shards {
		shards = append(shards, shard)
	}
	return shards
}()

// BenchmarkDueTasks asks for what is due in one of 3,600 seconds with a million jobs registered.
func BenchmarkDueTasks(b *testing.B) {
	store := open(b, filepath.Join(b.TempDir(), "bench.db"))
	defer closeStore(b, store)
	for at := 0; at < 1_000_000; at += 5000 {
		batch := &engine.Batch{}
		for i, job := range benchJobs(5000) {
			runAt := benchStart.Add(time.Duration((at+i)*7919%3_600_000) * time.Millisecond)
			batch.Tasks = append(batch.Tasks, engine.ScheduledTask{
				ID: job.uid, Shard: job.shard, Slot: runAt, RunAt: runAt, Generation: 1, Revision: 1, Namespace: "default", Job: job.name,
			})
		}
		commit(b, store, batch)
	}
	b.Run("second", func(b *testing.B) {
		begin, found, n := cpu(), 0, 0
		for b.Loop() {
			from := benchStart.Add(time.Duration(n%3600) * time.Second)
			tasks, err := store.DueTasks(b.Context(), allShards, from, from.Add(time.Second))
			if err != nil {
				b.Fatal(err)
			}
			found += len(tasks)
			n++
		}
		reportCPU(b, begin, max(found, 1), "task")
	})
	b.Run("upcoming", func(b *testing.B) {
		for b.Loop() {
			if _, err := store.Upcoming(b.Context(), "default", 50); err != nil {
				b.Fatal(err)
			}
		}
	})
}
