package service

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tidewheel/tidewheel/engine"
)

const (
	timelinePages = 8   // pages of history that are read for one timeline, at most
	timelineOpen  = 500 // runs, and waves, that began before what is looked at and go on
	timelineEach  = 20  // runs that are read of each of many chosen jobs, at least
	chosenAtOnce  = 8
)

// readAll takes what ran in the window, whatever it is of.
func (l *lanes) readAll(ctx context.Context) error {
	q := l.q
	runs := engine.RunFilter{Namespace: q.Namespace, OfJobs: true, Tier: q.Tier, Statuses: q.Statuses, Since: q.back(), Until: q.Until, Limit: 1000}
	reached, err := newestFirst(timelineRuns(ctx, l.s, runs), "runs", TimelineRuns, l.addRun)
	if err != nil {
		return fmt.Errorf("read the runs of a timeline: %w", err)
	}
	l.reach(reached)
	if open := q.open(); len(open) > 0 { // what has gone on for longer than is looked back
		runs.Statuses, runs.Since, runs.Until, runs.Limit = open, time.Time{}, q.back(), timelineOpen
		if _, err := newestFirst(timelineRuns(ctx, l.s, runs), "runs", timelineOpen, l.addRun); err != nil {
			return fmt.Errorf("read what goes on: %w", err)
		}
	}
	return l.readWaves(ctx)
}

func (l *lanes) readWaves(ctx context.Context) error {
	q := l.q
	var found []engine.Wave
	take := func(wave *engine.Wave) { found = append(found, *wave) }
	waves := engine.WaveFilter{Namespace: q.Namespace, Statuses: q.Statuses, Since: q.back(), Until: q.Until, Limit: 1000}
	reached, err := newestFirst(timelineWaves(ctx, l.s, waves), "waves", TimelineRuns, take)
	if err != nil {
		return fmt.Errorf("read the waves of a timeline: %w", err)
	}
	l.reach(reached)
	if open := q.open(); len(open) > 0 {
		waves.Statuses, waves.Since, waves.Until, waves.Limit = open, time.Time{}, q.back(), timelineOpen
		if _, err := newestFirst(timelineWaves(ctx, l.s, waves), "waves", timelineOpen, take); err != nil {
			return fmt.Errorf("read the waves that go on: %w", err)
		}
	}
	left, err := l.otherTier(ctx, found)
	if err != nil {
		return err
	}
	for i := range found {
		if !left[found[i].DAGUID] {
			l.addWave(&found[i])
		}
	}
	return nil
}

// otherTier returns the DAGs of waves that have no task of the tier that is asked for.
func (l *lanes) otherTier(ctx context.Context, waves []engine.Wave) (left map[string]bool, err error) {
	left = map[string]bool{}
	if l.q.Tier == "" {
		return left, nil
	}
	var uids []string
	for i := range waves {
		if uid := waves[i].DAGUID; !left[uid] {
			left[uid] = true
			uids = append(uids, uid)
		}
	}
	dags, err := l.s.store.DAGsByUID(ctx, uids)
	if err != nil {
		return nil, fmt.Errorf("read the DAGs of a timeline: %w", err)
	}
	for i := range dags {
		left[dags[i].UID] = !dagOfTier(&dags[i], l.q.Tier)
	}
	return left, nil
}

// readChosen finds the jobs and DAGs that are asked for, and takes what each ran in the window.
func (l *lanes) readChosen(ctx context.Context) error {
	q := l.q
	list := ListQuery{Namespace: q.Namespace, Text: q.Text, Label: q.Label, Tier: q.Tier, Limit: TimelineLanes}
	jobs, err := l.s.Jobs.Page(ctx, list)
	if err != nil {
		return err
	}
	list.Tier = ""
	dags, err := l.s.DAGs.Page(ctx, list)
	if err != nil {
		return err
	}
	l.more = jobs.Next != "" || dags.Next != ""
	l.owners = map[string]taskOwner{}
	each := min(max(TimelineRuns/max(len(jobs.Entries)+len(dags.Entries), 1), timelineEach), 1000)
	var mu sync.Mutex
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(chosenAtOnce)
	for i := range jobs.Entries {
		job := &jobs.Entries[i].Definition
		addOwner(l.owners, job, nil)
		group.Go(func() error {
			filter := engine.RunFilter{JobUID: job.UID, Statuses: q.Statuses, Since: q.back(), Until: q.Until, Limit: each}
			take := locked(&mu, l.addRun)
			return l.readLane(&mu, false, job.Name, func() (time.Time, error) {
				reached, err := newestFirst(timelineRuns(within, l.s, filter), "runs", each, take)
				if filter.Statuses = q.open(); err == nil && len(filter.Statuses) > 0 {
					filter.Since, filter.Until, filter.Limit = time.Time{}, q.back(), timelineEach
					_, err = newestFirst(timelineRuns(within, l.s, filter), "runs", timelineEach, take)
				}
				return reached, err
			})
		})
	}
	for i := range dags.Entries {
		dag := &dags.Entries[i].Definition
		if !dagOfTier(dag, q.Tier) {
			continue
		}
		addOwner(l.owners, nil, dag)
		group.Go(func() error {
			filter := engine.WaveFilter{DAGUID: dag.UID, Statuses: q.Statuses, Since: q.back(), Until: q.Until, Limit: each}
			return l.readLane(&mu, true, dag.Name, func() (time.Time, error) {
				return newestFirst(timelineWaves(within, l.s, filter), "waves", each, locked(&mu, l.addWave))
			})
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	ids := make([]string, 0, len(l.owners))
	for id := range l.owners {
		ids = append(ids, id)
	}
	tasks, err := l.s.store.TasksByID(ctx, ids)
	if err != nil {
		return fmt.Errorf("read what is planned: %w", err)
	}
	for i := range tasks {
		if tasks[i].RunAt.Before(q.Until) && tasks[i].RunAt.Before(engine.Parked) {
			l.tasks = append(l.tasks, tasks[i])
		}
	}
	return nil
}

// readLane makes a lane, which stays although it is empty, and notes how far its runs are known.
func (l *lanes) readLane(mu *sync.Mutex, dag bool, name string, read func() (time.Time, error)) error {
	mu.Lock()
	lane := l.lane(dag, name)
	mu.Unlock()
	reached, err := read()
	if err != nil {
		return fmt.Errorf("read what %s ran: %w", name, err)
	}
	if reached.After(l.q.From) {
		mu.Lock()
		lane.Reached = reached
		l.reach(reached)
		mu.Unlock()
	}
	return nil
}

func locked[T any](mu *sync.Mutex, take func(*T)) func(*T) {
	return func(one *T) {
		mu.Lock()
		defer mu.Unlock()
		take(one)
	}
}

// pages reads a list that has the newest first.
type pages[T any] func(cursor string) (some []T, next string, err error)

func timelineRuns(ctx context.Context, s *Service, filter engine.RunFilter) pages[engine.Run] {
	return func(cursor string) ([]engine.Run, string, error) {
		filter.Cursor = cursor
		return s.store.Runs(ctx, filter)
	}
}

func timelineWaves(ctx context.Context, s *Service, filter engine.WaveFilter) pages[engine.Wave] {
	return func(cursor string) ([]engine.Wave, string, error) {
		filter.Cursor = cursor
		return s.store.Waves(ctx, filter)
	}
}

// newestFirst takes so many of a list, and returns from when on they are all; zero if there are no others.
func newestFirst[T any](read pages[T], kind string, most int, take func(*T)) (reached time.Time, err error) {
	cursor, taken := "", 0
	for range timelinePages {
		some, next, err := read(cursor)
		if err != nil {
			return reached, err
		}
		for i := range some {
			take(&some[i])
		}
		if taken += len(some); next == "" {
			return reached, nil
		}
		if cursor = next; taken >= most {
			break
		}
	}
	at, _, err := engine.DecodeCursor(kind, cursor)
	return at.At, err
}

func (l *lanes) addRun(run *engine.Run) {
	bar := Bar{
		ID: run.ID, Status: run.Status, Trigger: run.Trigger, Slot: run.Slot, Started: run.StartedAt, Attempts: run.Attempt,
		Due: latestOf(run.Slot, run.NotBefore, run.CreatedAt),
	}
	if run.Status.Terminal() {
		bar.Finished = run.FinishedAt
	}
	queued := run.QueuedAt
	if len(run.Attempts) > 0 {
		queued = run.Attempts[0].QueuedAt
	}
	if !queued.IsZero() && queued.Before(bar.Due) {
		bar.Due = queued
	}
	if n := len(run.Attempts); bar.Started.IsZero() && n > 0 {
		bar.Started = run.Attempts[n-1].ClaimedAt // the start of a process is reported with its end
	}
	bar.Parts = runParts(run, bar.Due)
	l.add(false, run.Job, bar)
}

// runParts are the times in which the attempts of a run waited and ran.
func runParts(run *engine.Run, due time.Time) (parts []BarPart) {
	from := due
	for i := range run.Attempts {
		attempt := &run.Attempts[i]
		if i > 0 {
			from = attempt.QueuedAt
		}
		begun := attempt.StartedAt
		if begun.IsZero() {
			begun = attempt.ClaimedAt
		}
		waited := begun
		if waited.IsZero() {
			waited = attempt.FinishedAt
		}
		if waited.IsZero() || waited.After(from) {
			parts = append(parts, BarPart{From: from, Until: waited, Waiting: true})
		}
		if !begun.IsZero() {
			parts = append(parts, BarPart{From: begun, Until: attempt.FinishedAt})
		}
	}
	if len(run.Attempts) == 0 {
		parts = append(parts, BarPart{From: due, Until: run.FinishedAt, Waiting: true})
	}
	return parts
}

func (l *lanes) addWave(wave *engine.Wave) {
	bar := Bar{
		ID: wave.ID, Epoch: wave.Epoch, Status: wave.Status, Trigger: wave.Trigger, Slot: wave.Slot, Started: wave.StartedAt, Attempts: 1 + wave.Resumed,
		Due: latestOf(wave.Slot, wave.NotBefore, wave.CreatedAt),
	}
	if !wave.StartedAt.IsZero() && wave.StartedAt.Before(bar.Due) {
		bar.Due = wave.StartedAt // it opens a little before its slot
	}
	if wave.Status.Terminal() {
		bar.Finished = wave.FinishedAt
	}
	end := wave.StartedAt
	if end.IsZero() {
		end = bar.Finished
	}
	if end.IsZero() || end.After(bar.Due) {
		bar.Parts = append(bar.Parts, BarPart{From: bar.Due, Until: end, Waiting: true})
	}
	if from := wave.StartedAt; !from.IsZero() {
		for _, rest := range wave.Rests {
			bar.Parts = append(bar.Parts, BarPart{From: from, Until: rest.From})
			from = rest.To
		}
		bar.Parts = append(bar.Parts, BarPart{From: from, Until: bar.Finished})
	}
	l.add(true, wave.DAG, bar)
}

// latestOf is the last of some instants.
func latestOf(instants ...time.Time) (last time.Time) {
	for _, at := range instants {
		if at.After(last) {
			last = at
		}
	}
	return last
}
