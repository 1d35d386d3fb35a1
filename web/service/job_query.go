package service

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

const (
	// rankedRuns is how many runs a ranking of jobs is made of.
	rankedRuns = 1_000
	failedFor  = 7 * 24 * time.Hour
)

// jobMatches reports whether a job has the label and the tier of a query.
func jobMatches(q *ListQuery, job *spec.Job) bool {
	return (q.Tier == "" || job.Tier == q.Tier) && labelled(job.Labels, q.Label)
}

// rankJobs lists jobs in an order, or a state, that their names say nothing of.
func (s *Service) rankJobs(ctx context.Context, q *ListQuery) (found[spec.Job], error) {
	switch {
	case q.State == StateFailing || q.State == StateLate || q.Order == ByFailures:
		return s.rankedJobs(ctx, q)
	case q.Order == ByNext:
		return s.Jobs.walk(ctx, q, s.jobsByNext)
	default:
		return s.Jobs.walk(ctx, q, s.jobsByLast)
	}
}

func (s *Service) jobsByNext(ctx context.Context, q *ListQuery, cursor string, size int) (jobs []engine.Job, looked int, next string, err error) {
	tasks, next, err := s.store.UpcomingPage(ctx, q.Namespace, cursor, size)
	if err != nil {
		return nil, 0, "", fmt.Errorf("read what is planned: %w", err)
	}
	uids := make([]string, len(tasks))
	for i := range tasks {
		uids[i] = tasks[i].ID
	}
	jobs, err = s.jobsInOrder(ctx, uids)
	return jobs, len(tasks), next, err
}

// jobsByLast takes each job at its newest run only.
func (s *Service) jobsByLast(ctx context.Context, q *ListQuery, cursor string, size int) (jobs []engine.Job, looked int, next string, err error) {
	runs, next, err := s.store.Runs(ctx, engine.RunFilter{Namespace: q.Namespace, Cursor: cursor, Limit: size})
	if err != nil {
		return nil, 0, "", fmt.Errorf("list runs: %w", err)
	}
	latest, err := s.store.LatestMarks(ctx, jobsOf(runs), 1, 0)
	if err != nil {
		return nil, 0, "", fmt.Errorf("read the latest runs: %w", err)
	}
	var uids []string
	for i := range runs {
		if newest := latest[runs[i].JobUID]; len(newest) > 0 && newest[0].ID == runs[i].ID {
			uids = append(uids, runs[i].JobUID)
		}
	}
	jobs, err = s.jobsInOrder(ctx, uids)
	return jobs, size, next, err
}

// jobsOf returns the uids of the jobs of runs, each once, in the order of the runs.
func jobsOf(runs []engine.Run) (uids []string) {
	seen := map[string]bool{}
	for i := range runs {
		if uid := runs[i].JobUID; !seen[uid] {
			seen[uid] = true
			uids = append(uids, uid)
		}
	}
	return uids
}

// jobsInOrder reads jobs in the order of their uids; those that are gone are left out.
func (s *Service) jobsInOrder(ctx context.Context, uids []string) ([]engine.Job, error) {
	if len(uids) == 0 {
		return nil, nil
	}
	found, err := s.store.JobsByUID(ctx, uids)
	if err != nil {
		return nil, fmt.Errorf("read jobs: %w", err)
	}
	place := make(map[string]int, len(uids))
	for i, uid := range uids {
		place[uid] = i
	}
	slices.SortFunc(found, func(a, b engine.Job) int { return cmp.Compare(place[a.UID], place[b.UID]) })
	return found, nil
}

// rankedJobs orders the jobs that rankedRuns runs speak of: their number is bounded, so a page of them is found by
// counting.
func (s *Service) rankedJobs(ctx context.Context, q *ListQuery) (of found[spec.Job], err error) {
	first, err := rankedFrom(q.Cursor)
	if err != nil {
		return of, err
	}
	uids, failures, err := s.troubled(ctx, q)
	if err != nil {
		return of, err
	}
	if of.definitions, err = s.jobsInOrder(ctx, uids); err != nil {
		return of, err
	}
	of.definitions = slices.DeleteFunc(of.definitions, func(job engine.Job) bool { return !s.Jobs.selects(q, &job) })
	if q.Order == ByNext || q.Order == ByLast {
		if of.health, of.next, err = s.HealthOf(ctx, of.definitions); err != nil {
			return of, err
		}
	}
	of.sort(q.Order, func(uid string) int { return failures[uid] })
	of.cut(first, q.Limit)
	return of, nil
}

// troubled returns the jobs that are failing, late, or have failed lately, and how often they failed.
func (s *Service) troubled(ctx context.Context, q *ListQuery) (uids []string, failures map[string]int, err error) {
	failures = map[string]int{}
	filter := engine.RunFilter{Namespace: q.Namespace, Statuses: badStatuses, Limit: rankedRuns}
	if q.State != StateFailing {
		filter.Since = s.now().Add(-failedFor)
	}
	runs, _, err := s.store.Runs(ctx, filter)
	if err != nil {
		return nil, nil, fmt.Errorf("list what failed: %w", err)
	}
	for i := range runs {
		failures[runs[i].JobUID]++
	}
	uids = jobsOf(runs)
	switch q.State {
	case StateLate:
		uids, err = s.lateJobs(ctx, q.Namespace)
		return uids, failures, err
	case StateFailing:
		latest, err := s.store.LatestMarks(ctx, uids, HealthTimed, 0)
		if err != nil {
			return nil, nil, fmt.Errorf("read the latest runs: %w", err)
		}
		uids = slices.DeleteFunc(uids, func(uid string) bool {
			health := healthOf(&engine.Job{}, latest[uid], nil, time.Time{})
			return !health.Failing()
		})
	case StatePaused, StateRunning: // ask nothing of the runs
	}
	return uids, failures, nil
}

// lateJobs returns the jobs that the engine is behind with, or of which a run waits for an executor.
func (s *Service) lateJobs(ctx context.Context, namespace string) ([]string, error) {
	now := s.now()
	tasks, _, err := s.store.UpcomingPage(ctx, namespace, "", rankedRuns)
	if err != nil {
		return nil, fmt.Errorf("read what is planned: %w", err)
	}
	var uids []string
	for i := range tasks {
		if now.Sub(tasks[i].RunAt) > engineBehind {
			uids = append(uids, tasks[i].ID)
		}
	}
	runs, _, err := s.store.Runs(ctx, engine.RunFilter{Namespace: namespace, Statuses: []engine.Status{engine.StatusQueued}, Limit: rankedRuns})
	if err != nil {
		return nil, fmt.Errorf("list what waits: %w", err)
	}
	jobs, err := s.jobsInOrder(ctx, jobsOf(runs))
	if err != nil {
		return nil, err
	}
	waiting := map[string][]engine.RunMark{}
	for i := range runs {
		waiting[runs[i].JobUID] = append(waiting[runs[i].JobUID], runs[i].Mark())
	}
	for i := range jobs {
		if health := healthOf(&jobs[i], waiting[jobs[i].UID], nil, now); health.Late > 0 {
			uids = append(uids, jobs[i].UID)
		}
	}
	return slices.Compact(slices.Sorted(slices.Values(uids))), nil
}
