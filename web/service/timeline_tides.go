package service

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/tidewheel/tidewheel/cron"
	"github.com/tidewheel/tidewheel/engine"
)

const (
	// TallyLimit is how far the runs of a bucket are counted.
	TallyLimit = 2_000

	// How long a bucket's counts are kept. Once every run of a bucket has ended, its counts change only when a user
	// retries a run, or when retention removes it.
	settledKept = 5 * time.Minute
	openKept    = time.Minute
	freshKept   = 2 * time.Second

	tideCaches  = 16    // windows of which counts are kept, by namespace and length of the buckets
	tideBuckets = 2_000 // counted buckets that are kept of each

	plannedJobs    = 500     // of how many schedules slots are foreseen: those that fire first
	plannedPerStep = 200     // slots of one schedule that are counted in a bucket
	plannedWork    = 100_000 // slots that are stepped through for one answer; the rest is made up for by the next
	plannedNames   = 3       // jobs that are named of a bucket
)

// Tides is how much ran in a span of time, and how much is to come in it.
type Tides struct {
	Now    time.Time
	Past   []PastBucket   // the oldest first; one that holds Now ends there
	Future []FutureBucket // the first begins no earlier than Now
	// Beyond is from when on there may be slots that are not in Future; zero if all are.
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

// tides keeps what is costly to count.
type tides struct {
	mu sync.Mutex
	of map[tideKey]*tideCache
}

type tideKey struct {
	namespace string
	bucket    time.Duration
}

type tideCache struct {
	mu      sync.Mutex
	used    time.Time
	past    map[int64]pastEntry // by the beginnings of buckets, in seconds
	planned map[string]plan     // by the id of the scheduled task
}

type pastEntry struct {
	runs engine.Tallies
	till time.Time
}

// plan is what a schedule foresees, by the beginnings of buckets in seconds.
type plan struct {
	generation  int64
	from, until time.Time      // what of time has been looked at: where buckets begin
	schedule    *cron.Schedule // nil where only the next slot is known
	slots       map[int64]engine.Tally
}

// cache returns what is kept for a namespace and a length of buckets; the least used of others is forgotten for it.
func (t *tides) cache(key tideKey, now time.Time) *tideCache {
	t.mu.Lock()
	defer t.mu.Unlock()
	kept := t.of[key]
	if kept == nil {
		if t.of == nil {
			t.of = map[tideKey]*tideCache{}
		}
		if len(t.of) >= tideCaches {
			var oldest tideKey
			for other, cache := range t.of {
				if oldest == (tideKey{}) || cache.used.Before(t.of[oldest].used) {
					oldest = other
				}
			}
			delete(t.of, oldest)
		}
		kept = &tideCache{past: map[int64]pastEntry{}}
		t.of[key] = kept
	}
	kept.used = now
	return kept
}

// Tides reports what ran and what comes in a window, by buckets of a length. Its cost does not grow with history: each
// bucket is counted up to TallyLimit by an index, and kept once its runs have ended.
func (s *Service) Tides(ctx context.Context, namespace string, window engine.Window, bucket time.Duration) (Tides, error) {
	now := s.now()
	cache := s.tides.cache(tideKey{namespace, bucket}, now)
	cache.mu.Lock()
	defer cache.mu.Unlock()
	tides := Tides{Now: now}
	var err error
	if tides.Past, err = s.pastBuckets(ctx, cache, namespace, window, bucket, now); err != nil {
		return Tides{}, err
	}
	tides.Future, tides.Beyond, err = s.futureBuckets(ctx, cache, namespace, window, bucket, now)
	return tides, err
}

func (s *Service) pastBuckets(
	ctx context.Context, cache *tideCache, namespace string, window engine.Window, bucket time.Duration, now time.Time,
) ([]PastBucket, error) {
	end := window.Until
	if now.Before(end) {
		end = now
	}
	if len(cache.past) > tideBuckets {
		clear(cache.past)
	}
	var buckets []PastBucket
	var stale []engine.Window
	for from := window.From.Truncate(bucket); from.Before(end); from = from.Add(bucket) {
		span := engine.Window{From: from, Until: from.Add(bucket)}
		buckets = append(buckets, PastBucket{Window: span})
		if !cache.past[from.Unix()].till.After(now) {
			stale = append(stale, span)
		}
	}
	if len(stale) > 0 {
		counted, err := s.store.Tallies(ctx, namespace, stale, TallyLimit)
		if err != nil {
			return nil, fmt.Errorf("count the runs of a timeline: %w", err)
		}
		for i, span := range stale {
			cache.past[span.From.Unix()] = pastEntry{runs: counted[i], till: now.Add(keep(span, &counted[i], now))}
		}
	}
	for i := range buckets {
		buckets[i].Runs = cache.past[buckets[i].From.Unix()].runs
		if buckets[i].Until.After(now) {
			buckets[i].Until = now
		}
	}
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

// futureBuckets foresees the slots of the jobs, and of the roots of DAGs, that fire first.
func (s *Service) futureBuckets(
	ctx context.Context, cache *tideCache, namespace string, window engine.Window, bucket time.Duration, now time.Time,
) (buckets []FutureBucket, beyond time.Time, err error) {
	if !window.Until.After(now) {
		return nil, beyond, nil
	}
	tasks, beyond, err := s.upcomingBefore(ctx, namespace, window.Until)
	if err != nil {
		return nil, beyond, err
	}
	begin := now
	if window.From.After(now) {
		begin = window.From
	}
	short, err := s.foresee(ctx, cache, tasks, begin.Truncate(bucket), window.Until, bucket)
	if err != nil {
		return nil, beyond, err
	}
	if !short.IsZero() && (beyond.IsZero() || short.Before(beyond)) {
		beyond = short
	}
	for from := begin.Truncate(bucket); from.Before(window.Until); from = from.Add(bucket) {
		one := FutureBucket{Window: engine.Window{From: from, Until: from.Add(bucket)}}
		var most []named
		for i := range tasks {
			known := cache.planned[tasks[i].ID]
			slots := known.slots[from.Unix()]
			if !from.After(now) && known.schedule != nil {
				slots = fires(known.schedule, now, from.Add(bucket)) // of the bucket that now is in, what is left
			}
			if slots.N == 0 {
				continue
			}
			one.Jobs++
			one.Slots.N += slots.N
			one.Slots.More = one.Slots.More || slots.More
			most = append(most, named{tasks[i].Job, slots.N})
		}
		slices.SortStableFunc(most, func(a, b named) int { return b.n - a.n })
		for _, job := range most[:min(len(most), plannedNames)] {
			one.Names = append(one.Names, job.name)
		}
		one.Slots.More = one.Slots.More || !beyond.IsZero() && beyond.Before(one.Until)
		if from.Before(now) {
			one.From = now
		}
		buckets = append(buckets, one)
	}
	return buckets, beyond, nil
}

type named struct {
	name string
	n    int
}

// upcomingBefore lists what is planned first and before an instant, plannedJobs of it. beyond is from when on there may be
// others; zero if there are none.
func (s *Service) upcomingBefore(ctx context.Context, namespace string, until time.Time) (tasks []engine.ScheduledTask, beyond time.Time, err error) {
	tasks, err = s.store.Upcoming(ctx, namespace, plannedJobs)
	if err != nil {
		return nil, beyond, fmt.Errorf("list what comes next: %w", err)
	}
	if len(tasks) == plannedJobs && tasks[len(tasks)-1].RunAt.Before(until) {
		beyond = tasks[len(tasks)-1].RunAt
	}
	return slices.DeleteFunc(tasks, func(task engine.ScheduledTask) bool { return !task.RunAt.Before(until) }), beyond, nil
}

// foresee fills the plans of tasks. What a schedule says of a bucket does not change, so only what is new is stepped
// through: buckets that came into reach, and jobs that were edited. It returns from when on the plans are not whole, zero
// where they are.
func (s *Service) foresee(
	ctx context.Context, cache *tideCache, tasks []engine.ScheduledTask, from, until time.Time, bucket time.Duration,
) (short time.Time, err error) {
	before := cache.planned
	cache.planned = make(map[string]plan, len(tasks))
	var missing []string
	for i := range tasks {
		known := before[tasks[i].ID]
		if known.generation == tasks[i].Generation && !from.Before(known.from) && !known.until.Before(until) {
			cache.planned[tasks[i].ID] = known
		} else {
			missing = append(missing, tasks[i].ID)
		}
	}
	if len(missing) == 0 {
		return short, nil
	}
	owners, err := s.ownersOf(ctx, missing)
	if err != nil {
		return short, err
	}
	work := plannedWork
	for i := range tasks {
		task := &tasks[i]
		if _, known := cache.planned[task.ID]; known {
			continue
		}
		made := before[task.ID]
		if made.generation != task.Generation || from.Before(made.from) || from.After(made.until) || made.slots == nil {
			made = plan{generation: task.Generation, from: from, until: from, slots: map[int64]engine.Tally{}}
		}
		if owner, known := owners[task.ID]; known {
			made.extend(owner.cron, task, until, bucket, &work)
			if made.until.Before(until) && (short.IsZero() || made.until.Before(short)) {
				short = made.until
			}
		}
		cache.planned[task.ID] = made
	}
	return short, nil
}

// extend looks on from where the plan ends. Where the work is used up it stops, to be gone on with next time.
func (p *plan) extend(definition cron.Definition, task *engine.ScheduledTask, until time.Time, bucket time.Duration, work *int) {
	schedule, err := cron.Compile(definition)
	if err != nil {
		p.until = until
		return // it was compiled when it was saved; the engine says what is wrong now
	}
	if !fixed(schedule) {
		p.slots[task.RunAt.Truncate(bucket).Unix()] = engine.Tally{N: 1} // what follows depends on how that goes
		p.until = until
		return
	}
	p.schedule = schedule
	for p.until.Before(until) && *work > 0 {
		end := p.until.Add(bucket)
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

// taskOwner is what a timeline knows of the definition of a scheduled task.
type taskOwner struct {
	cron  cron.Definition
	job   *engine.Job // one of both
	dag   *engine.DAG
	root  string // of a DAG
	label string // a job's name, or DAG/ROOT
}

// ownersOf returns the definitions of scheduled tasks, by the ids of these: of jobs, and of roots of DAGs.
func (s *Service) ownersOf(ctx context.Context, tasks []string) (map[string]taskOwner, error) {
	owners := make(map[string]taskOwner, len(tasks))
	if len(tasks) == 0 {
		return owners, nil
	}
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
	for i := range jobs {
		addOwner(owners, &jobs[i], nil)
	}
	for i := range dags {
		addOwner(owners, nil, &dags[i])
	}
	return owners, nil
}

// addOwner adds the schedules of a job, or of a DAG.
func addOwner(owners map[string]taskOwner, job *engine.Job, dag *engine.DAG) {
	if job != nil {
		for _, schedule := range jobSchedules(job) {
			owners[schedule.task] = taskOwner{cron: schedule.cron, job: job, label: job.Name}
		}
	}
	if dag != nil {
		for _, schedule := range dagSchedules(dag) {
			owners[schedule.task] = taskOwner{cron: schedule.cron, dag: dag, root: schedule.root, label: dag.Name + "/" + schedule.root}
		}
	}
}
