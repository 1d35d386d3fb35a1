package service

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/tidewheel/tidewheel/cron"
	"github.com/tidewheel/tidewheel/engine"
)

const (
	// Bucket is the length of a timeline's buckets.
	Bucket = 30 * time.Minute
	// Reach is how far a timeline goes each way.
	Reach = 24 * time.Hour
	// TallyLimit is how far the runs of a bucket are counted.
	TallyLimit = 2_000

	// How long a bucket's counts are kept. Once every run of a bucket has ended, its counts change only when a user
	// retries a run, or when retention removes it.
	settledKept = 5 * time.Minute
	openKept    = time.Minute
	freshKept   = 2 * time.Second

	plannedJobs    = 200    // of how many jobs slots are foreseen: those that fire first
	plannedPerStep = 200    // slots of one job that are counted in a bucket
	plannedWork    = 30_000 // slots that are stepped through for one timeline; the rest is made up for by the next
	plannedNames   = 3      // jobs that are named of a bucket
)

// Timeline is what ran in the last day, and what is to come in the next.
type Timeline struct {
	Now    time.Time
	Past   []PastBucket   // the oldest first; the last ends at Now
	Future []FutureBucket // the first begins at Now
	// Beyond is from when on further jobs may fire that are not in Future; zero if all are.
	Beyond time.Time
}

// PastBucket is what was made in a span of time.
type PastBucket struct {
	engine.Window
	Runs engine.Tallies
}

// FutureBucket is what fires in a span of time.
type FutureBucket struct {
	engine.Window
	Slots engine.Tally
	Jobs  int      // how many jobs and roots of DAGs fire
	Names []string // of those that fire most often, three at most; a root is DAG/ROOT
}

// timelines keeps what is costly to count.
type timelines struct {
	mu      sync.Mutex
	past    map[int64]pastEntry // by namespace-free bucket; see key
	planned map[string]plan     // by a job's uid
	of      string              // the namespace that past is of
}

type pastEntry struct {
	runs engine.Tallies
	till time.Time
}

// plan is what a job's schedule foresees, by the beginnings of buckets in seconds.
type plan struct {
	generation int64
	until      time.Time      // how far it has been looked: where a bucket begins
	schedule   *cron.Schedule // nil where only the next slot is known
	slots      map[int64]engine.Tally
}

// Timeline reports what ran and what comes. Its cost does not grow with history: each bucket is counted up to TallyLimit
// by an index, and kept once its runs have ended.
func (s *Service) Timeline(ctx context.Context, namespace string) (Timeline, error) {
	now := s.now()
	s.timelines.mu.Lock()
	defer s.timelines.mu.Unlock()
	past, err := s.past(ctx, namespace, now)
	if err != nil {
		return Timeline{}, err
	}
	future, beyond, err := s.future(ctx, namespace, now)
	if err != nil {
		return Timeline{}, err
	}
	return Timeline{Now: now, Past: past, Future: future, Beyond: beyond}, nil
}

func (s *Service) past(ctx context.Context, namespace string, now time.Time) ([]PastBucket, error) {
	t := &s.timelines
	if t.of != namespace || t.past == nil {
		t.of, t.past = namespace, map[int64]pastEntry{}
	}
	var buckets []PastBucket
	var stale []engine.Window
	for from := now.Add(-Reach).Truncate(Bucket); from.Before(now); from = from.Add(Bucket) {
		window := engine.Window{From: from, Until: from.Add(Bucket)}
		buckets = append(buckets, PastBucket{Window: window})
		if !t.past[from.Unix()].till.After(now) {
			stale = append(stale, window)
		}
	}
	counted, err := s.store.Tallies(ctx, namespace, stale, TallyLimit)
	if err != nil {
		return nil, fmt.Errorf("count the runs of the last day: %w", err)
	}
	for i, window := range stale {
		t.past[window.From.Unix()] = pastEntry{runs: counted[i], till: now.Add(keep(window, &counted[i], now))}
	}
	maps.DeleteFunc(t.past, func(from int64, _ pastEntry) bool { return from < buckets[0].From.Unix() })
	for i := range buckets {
		buckets[i].Runs = t.past[buckets[i].From.Unix()].runs
	}
	buckets[len(buckets)-1].Until = now
	return buckets, nil
}

// keep returns for how long a bucket's counts are kept.
func keep(window engine.Window, runs *engine.Tallies, now time.Time) time.Duration {
	open := runs.Sum(engine.StatusScheduled, engine.StatusQueued, engine.StatusRunning, engine.StatusRetrying)
	switch {
	case now.Before(window.Until.Add(time.Minute)):
		return freshKept
	case open.N > 0 || open.More:
		return openKept
	}
	return settledKept
}

// future foresees the slots of the jobs, and of the roots of DAGs, that fire first.
func (s *Service) future(ctx context.Context, namespace string, now time.Time) (buckets []FutureBucket, beyond time.Time, err error) {
	tasks, err := s.store.Upcoming(ctx, namespace, plannedJobs)
	if err != nil {
		return nil, beyond, fmt.Errorf("list what comes next: %w", err)
	}
	until := now.Add(Reach).Truncate(Bucket).Add(Bucket)
	if len(tasks) == plannedJobs && tasks[len(tasks)-1].RunAt.Before(until) {
		beyond = tasks[len(tasks)-1].RunAt
	}
	tasks = slices.DeleteFunc(tasks, func(task engine.ScheduledTask) bool { return !task.RunAt.Before(until) })
	if err := s.foresee(ctx, tasks, now, until); err != nil {
		return nil, beyond, err
	}
	for from := now.Truncate(Bucket); from.Before(until); from = from.Add(Bucket) {
		bucket := FutureBucket{Window: engine.Window{From: from, Until: from.Add(Bucket)}}
		var most []named
		for i := range tasks {
			known := s.timelines.planned[tasks[i].ID]
			slots := known.slots[from.Unix()]
			if from.Before(now) && known.schedule != nil {
				slots = fires(known.schedule, now, from.Add(Bucket)) // of the bucket that now is in, what is left
			}
			if slots.N == 0 {
				continue
			}
			bucket.Jobs++
			bucket.Slots.N += slots.N
			bucket.Slots.More = bucket.Slots.More || slots.More
			most = append(most, named{tasks[i].Job, slots.N})
		}
		slices.SortStableFunc(most, func(a, b named) int { return b.n - a.n })
		for _, job := range most[:min(len(most), plannedNames)] {
			bucket.Names = append(bucket.Names, job.name)
		}
		bucket.Slots.More = bucket.Slots.More || !beyond.IsZero() && beyond.Before(bucket.Until)
		buckets = append(buckets, bucket)
	}
	buckets[0].From = now
	return buckets, beyond, nil
}

type named struct {
	name string
	n    int
}

// foresee fills the plans of tasks. What a schedule says of a bucket does not change, so only what is new is stepped
// through: buckets that came into reach, the one that time passes through, and jobs that were edited.
func (s *Service) foresee(ctx context.Context, tasks []engine.ScheduledTask, now, until time.Time) error {
	before := s.timelines.planned
	s.timelines.planned = make(map[string]plan, len(tasks))
	var missing []string
	for i := range tasks {
		known := before[tasks[i].ID]
		if known.generation == tasks[i].Generation && !known.until.Before(until) {
			s.timelines.planned[tasks[i].ID] = known
		} else {
			missing = append(missing, tasks[i].ID)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	schedules, err := s.schedulesOf(ctx, missing)
	if err != nil {
		return err
	}
	work := plannedWork
	for i := range tasks {
		task := &tasks[i]
		if _, known := s.timelines.planned[task.ID]; known {
			continue
		}
		made := plan{generation: task.Generation, slots: map[int64]engine.Tally{}}
		if known := before[task.ID]; known.generation == task.Generation {
			made = known
		}
		if definition, known := schedules[task.ID]; known {
			made.extend(definition, task, now, until, &work)
		}
		s.timelines.planned[task.ID] = made
	}
	return nil
}

// schedulesOf returns the schedules of scheduled tasks, by their ids: of jobs, and of roots of DAGs.
func (s *Service) schedulesOf(ctx context.Context, tasks []string) (map[string]cron.Definition, error) {
	var uids []string // of DAGs
	for _, id := range tasks {
		if uid := engine.RunJob(id); engine.RootOf(id) != "" && !slices.Contains(uids, uid) {
			uids = append(uids, uid)
		}
	}
	jobs, err := s.store.JobsByUID(ctx, tasks)
	if err != nil {
		return nil, fmt.Errorf("read the jobs that come next: %w", err)
	}
	dags, err := s.store.DAGsByUID(ctx, uids)
	if err != nil {
		return nil, fmt.Errorf("read the DAGs that come next: %w", err)
	}
	schedules := make(map[string]cron.Definition, len(tasks))
	for i := range jobs {
		for _, schedule := range jobSchedules(&jobs[i]) {
			schedules[schedule.task] = schedule.cron
		}
	}
	for i := range dags {
		for _, schedule := range dagSchedules(&dags[i]) {
			schedules[schedule.task] = schedule.cron
		}
	}
	return schedules, nil
}

// extend looks on from where the plan ends. Where the work is used up it stops, to be gone on with next time.
func (p *plan) extend(definition cron.Definition, task *engine.ScheduledTask, now, until time.Time, work *int) {
	schedule, err := cron.Compile(definition)
	if err != nil {
		return // it was compiled when it was saved; the engine says what is wrong now
	}
	if p.until.Before(now.Truncate(Bucket)) {
		p.until = now.Truncate(Bucket)
	}
	if !fixed(schedule) {
		p.slots[task.RunAt.Truncate(Bucket).Unix()] = engine.Tally{N: 1} // what follows depends on how that goes
		p.until = until
		return
	}
	p.schedule = schedule
	for p.until.Before(until) && *work > 0 {
		end := p.until.Add(Bucket)
		tally := fires(schedule, p.until.Add(-time.Millisecond), end)
		*work -= tally.N + 1
		if tally.N > 0 {
			p.slots[p.until.Unix()] = tally
		}
		p.until = end
	}
}

// fires counts the slots after an instant and before an end.
func fires(schedule *cron.Schedule, after, end time.Time) (tally engine.Tally) {
	for {
		slot, ok := schedule.NextFire(after)
		switch {
		case !ok || !slot.Before(end):
			return tally
		case tally.N == plannedPerStep:
			tally.More = true
			return tally
		}
		tally.N++
		after = slot
	}
}
