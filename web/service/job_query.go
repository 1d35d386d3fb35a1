package service

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// JobState narrows a list of jobs to those of which something is to be said.
type JobState string

// The states. A job may be in several.
const (
	JobsPaused  JobState = "paused"
	JobsFailing JobState = "failing" // the last run that ended was a bad one
	JobsLate    JobState = "late"    // something is overdue
)

// JobOrder is what a list of jobs is ordered by.
type JobOrder string

// The orders. Only ByName lists every job: what has no slot to come, no run, or no failure is not in the others.
const (
	ByName     JobOrder = "name"
	ByNext     JobOrder = "next"     // the next slot, the earliest first
	ByLast     JobOrder = "last"     // the last run, the newest first
	ByFailures JobOrder = "failures" // bad ends of the last 7 days, most of them first
)

// JobQuery selects jobs for a list.
type JobQuery struct {
	Namespace string
	Text      string // in the name; case is ignored
	Label     string // "key" or "key=value"
	Tier      spec.Tier
	State     JobState
	Order     JobOrder // "" is ByName
	Cursor    string
	Limit     int // 1 … 1000
}

// JobEntry is a job in a list, with how it does.
type JobEntry struct {
	Job    engine.Job
	Next   time.Time // zero if nothing is planned
	Health Health
}

// JobPage is a page of a list of jobs.
type JobPage struct {
	Entries []JobEntry
	Next    string // cursor
	// Partial says that the page is short because what matches is rare: there may be more behind Next.
	Partial bool
}

const (
	// jobsLookedAt is how many jobs or runs are looked at for one page.
	jobsLookedAt = 5_000
	jobsAtOnce   = 500
	// rankedRuns is how many runs a ranking is made of.
	rankedRuns = 1_000
	failedFor  = 7 * 24 * time.Hour
)

// ListJobs lists jobs with how they do. Its cost is bounded: where what matches is rare, a page is cut short.
func (s *Service) ListJobs(ctx context.Context, q JobQuery) (JobPage, error) {
	q.Limit = min(max(q.Limit, 1), 1000)
	var jobs []engine.Job
	var page JobPage
	var err error
	switch {
	case q.State == JobsFailing || q.State == JobsLate || q.Order == ByFailures:
		jobs, page.Next, err = s.rankedJobs(ctx, &q)
	case q.Order == ByNext:
		jobs, page, err = s.walkJobs(ctx, &q, s.jobsByNext)
	case q.Order == ByLast:
		jobs, page, err = s.walkJobs(ctx, &q, s.jobsByLast)
	default:
		jobs, page, err = s.walkJobs(ctx, &q, s.jobsByName)
	}
	if err != nil {
		return JobPage{}, err
	}
	health, next, err := s.HealthOf(ctx, jobs)
	if err != nil {
		return JobPage{}, err
	}
	for i := range jobs {
		page.Entries = append(page.Entries, JobEntry{Job: jobs[i], Next: next[jobs[i].UID], Health: health[jobs[i].UID]})
	}
	return page, nil
}

// plain tells that the store's own list is what is asked for.
func (q *JobQuery) plain() bool { return q.Label == "" && q.Tier == "" && q.State == "" }

func (q *JobQuery) matches(job *engine.Job) bool {
	if job.Deleted || job.Namespace != q.Namespace || q.Tier != "" && job.Spec.Tier != q.Tier || q.State == JobsPaused && !job.Paused {
		return false
	}
	if q.Text != "" && !strings.Contains(strings.ToLower(job.Name), strings.ToLower(q.Text)) {
		return false
	}
	return labelled(job.Spec.Labels, q.Label)
}

// jobSource gives jobs in an order, those behind a cursor, how many jobs or runs it has looked at, and the next cursor.
type jobSource func(ctx context.Context, q *JobQuery, cursor string, size int) (jobs []engine.Job, looked int, next string, err error)

// walkJobs takes what matches of a source until a page is full or enough has been looked at. The cursor of a page that
// ends amid what the source gave at once says where that began, and the last job shown.
func (s *Service) walkJobs(ctx context.Context, q *JobQuery, source jobSource) (jobs []engine.Job, page JobPage, err error) {
	cursor, shown, err := splitJobCursor(q.Cursor)
	if err != nil {
		return nil, page, err
	}
	size := q.Limit
	if !q.plain() || q.Order == ByLast {
		size = jobsAtOnce
	}
	for looked := 0; ; {
		some, count, next, err := source(ctx, q, cursor, size)
		if err != nil {
			return nil, page, err
		}
		// One that is not there any more cannot say where to go on: rather show some jobs again than leave some out.
		if at := slices.IndexFunc(some, func(job engine.Job) bool { return job.UID == shown }); at >= 0 {
			some = some[at+1:]
		}
		for i := range some {
			if !q.matches(&some[i]) {
				continue
			}
			if len(jobs) == q.Limit {
				page.Next = joinJobCursor(cursor, jobs[len(jobs)-1].UID)
				return jobs, page, nil
			}
			jobs = append(jobs, some[i])
		}
		looked += count
		if next == "" {
			return jobs, page, nil
		}
		cursor, shown = next, ""
		if len(jobs) == q.Limit || looked >= jobsLookedAt {
			page.Next, page.Partial = joinJobCursor(cursor, ""), len(jobs) < q.Limit
			return jobs, page, nil
		}
	}
}

func (s *Service) jobsByName(ctx context.Context, q *JobQuery, cursor string, size int) (jobs []engine.Job, looked int, next string, err error) {
	jobs, next, err = s.store.Jobs().List(ctx, engine.DefinitionFilter{Namespace: q.Namespace, Text: q.Text, Cursor: cursor, Limit: size})
	return jobs, len(jobs), next, err
}

func (s *Service) jobsByNext(ctx context.Context, q *JobQuery, cursor string, size int) (jobs []engine.Job, looked int, next string, err error) {
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
func (s *Service) jobsByLast(ctx context.Context, q *JobQuery, cursor string, size int) (jobs []engine.Job, looked int, next string, err error) {
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

// jobsOf gives the uids of the jobs of runs, each once, in the order of the runs.
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
func (s *Service) rankedJobs(ctx context.Context, q *JobQuery) (jobs []engine.Job, next string, err error) {
	cursor, given, err := engine.DecodeCursor("ranked-jobs", q.Cursor)
	first := 0
	if err == nil && given {
		first, err = strconv.Atoi(cursor.ID)
	}
	if err != nil || first < 0 {
		return nil, "", engine.ErrCursor
	}
	uids, failures, err := s.troubled(ctx, q)
	if err != nil {
		return nil, "", err
	}
	found, err := s.jobsInOrder(ctx, uids)
	if err != nil {
		return nil, "", err
	}
	jobs = slices.DeleteFunc(found, func(job engine.Job) bool { return !q.matches(&job) })
	if err := s.orderJobs(ctx, q.Order, jobs, failures); err != nil {
		return nil, "", err
	}
	jobs = jobs[min(first, len(jobs)):]
	if len(jobs) > q.Limit {
		jobs = jobs[:q.Limit]
		next = engine.Cursor{ID: strconv.Itoa(first + q.Limit)}.Encode("ranked-jobs")
	}
	return jobs, next, nil
}

// troubled gives the jobs that are failing, late, or have failed lately, and how often they failed.
func (s *Service) troubled(ctx context.Context, q *JobQuery) (uids []string, failures map[string]int, err error) {
	failures = map[string]int{}
	filter := engine.RunFilter{Namespace: q.Namespace, Statuses: badStatuses, Limit: rankedRuns}
	if q.State != JobsFailing {
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
	case JobsLate:
		uids, err = s.lateJobs(ctx, q.Namespace)
		return uids, failures, err
	case JobsFailing:
		latest, err := s.store.LatestMarks(ctx, uids, HealthTimed, 0)
		if err != nil {
			return nil, nil, fmt.Errorf("read the latest runs: %w", err)
		}
		uids = slices.DeleteFunc(uids, func(uid string) bool {
			health := healthOf(&engine.Job{}, latest[uid], nil, time.Time{})
			return !health.Failing()
		})
	case JobsPaused: // asks nothing of the runs
	}
	return uids, failures, nil
}

// lateJobs gives the jobs that the engine is behind with, or of which a run waits for an executor.
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

func (s *Service) orderJobs(ctx context.Context, order JobOrder, jobs []engine.Job, failures map[string]int) error {
	var health map[string]Health
	var next map[string]time.Time
	if order == ByNext || order == ByLast {
		var err error
		if health, next, err = s.HealthOf(ctx, jobs); err != nil {
			return err
		}
	}
	last := func(job *engine.Job) time.Time {
		if marks := health[job.UID].Marks; len(marks) > 0 {
			return marks[0].CreatedAt
		}
		return time.Time{}
	}
	soon := func(job *engine.Job) time.Time {
		if at, ok := next[job.UID]; ok {
			return at
		}
		return engine.Parked
	}
	slices.SortFunc(jobs, func(a, b engine.Job) int {
		var first int
		switch order {
		case ByNext:
			first = soon(&a).Compare(soon(&b))
		case ByLast:
			first = last(&b).Compare(last(&a))
		case ByFailures:
			first = cmp.Compare(failures[b.UID], failures[a.UID])
		case ByName:
		}
		return cmp.Or(first, cmp.Compare(a.Name, b.Name))
	})
	return nil
}

func joinJobCursor(cursor, shown string) string {
	return base64.RawURLEncoding.EncodeToString([]byte("job-list\n" + cursor + "\n" + shown))
}

func splitJobCursor(word string) (cursor, shown string, err error) {
	if word == "" {
		return "", "", nil
	}
	text, err := base64.RawURLEncoding.DecodeString(word)
	parts := strings.Split(string(text), "\n")
	if err != nil || len(parts) != 3 || parts[0] != "job-list" {
		return "", "", engine.ErrCursor
	}
	return parts[1], parts[2], nil
}
