package memory

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/tidewheel/tidewheel/engine"
)

// CreateJob inserts a job with its first generation; engine.ErrExists if a living job has the name or any job the uid.
func (s *Store) CreateJob(ctx context.Context, job engine.Job) error {
	if err := s.write(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	_, named := s.names[job.Key()]
	if named || s.jobs[job.UID] != nil {
		return fmt.Errorf("memory: create job %s: %w", job.Key(), engine.ErrExists)
	}
	s.putJob(&job)
	return nil
}

// ReplaceJob writes a job on condition of its revision; engine.ErrConflict, or engine.ErrNotFound.
func (s *Store) ReplaceJob(ctx context.Context, job engine.Job) error {
	if err := s.write(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	stored := s.jobs[job.UID]
	switch {
	case stored == nil:
		return fmt.Errorf("memory: replace job %s: %w", job.Key(), engine.ErrNotFound)
	case stored.Revision != job.Revision-1:
		return fmt.Errorf("memory: replace job %s: %w", job.Key(), engine.ErrConflict)
	}
	s.putJob(&job)
	return nil
}

func (s *Store) putJob(job *engine.Job) {
	kept := copyJob(job)
	s.jobs[job.UID] = &kept
	if job.Deleted {
		if s.names[job.Key()] == job.UID {
			delete(s.names, job.Key())
		}
	} else {
		s.names[job.Key()] = job.UID
	}
	if job.Pending {
		s.pending[job.UID] = struct{}{}
	} else {
		delete(s.pending, job.UID)
	}
	generations := s.generations[job.UID]
	if slices.ContainsFunc(generations, func(g engine.Generation) bool { return g.Generation == job.Generation }) {
		return
	}
	s.generations[job.UID] = append(generations, engine.Generation{
		UID: job.UID, Generation: job.Generation, Spec: copySpec(job.Spec), By: job.UpdatedBy, At: job.UpdatedAt, Message: job.Message,
	})
}

// Job gives a living job by name; engine.ErrNotFound.
func (s *Store) Job(ctx context.Context, namespace, name string) (engine.Job, error) {
	if err := s.read(ctx); err != nil {
		return engine.Job{}, err
	}
	defer s.mu.RUnlock()
	uid, found := s.names[namespace+"/"+name]
	if !found {
		return engine.Job{}, fmt.Errorf("memory: job %s/%s: %w", namespace, name, engine.ErrNotFound)
	}
	return copyJob(s.jobs[uid]), nil
}

// Jobs lists living jobs by namespace and name.
func (s *Store) Jobs(ctx context.Context, filter engine.JobFilter) (jobs []engine.Job, next string, err error) {
	cursor, _, err := engine.DecodeCursor("jobs", filter.Cursor)
	if err != nil {
		return nil, "", fmt.Errorf("memory: list jobs: %w", err)
	}
	if err := s.read(ctx); err != nil {
		return nil, "", err
	}
	defer s.mu.RUnlock()
	text := strings.ToLower(filter.Text)
	var keys []string
	for key, uid := range s.names {
		job := s.jobs[uid]
		if key > cursor.ID && (filter.Namespace == "" || job.Namespace == filter.Namespace) && strings.Contains(strings.ToLower(job.Name), text) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	keys, next = page("jobs", keys, filter.Limit, func(key string) engine.Cursor { return engine.Cursor{ID: key} })
	for _, key := range keys {
		jobs = append(jobs, copyJob(s.jobs[s.names[key]]))
	}
	return jobs, next, nil
}

// Generations lists the kept forms of a job, newest first.
func (s *Store) Generations(ctx context.Context, uid string, limit int) ([]engine.Generation, error) {
	if err := s.read(ctx); err != nil {
		return nil, err
	}
	defer s.mu.RUnlock()
	var generations []engine.Generation
	for _, kept := range s.generations[uid] {
		generations = append(generations, copyGeneration(kept))
	}
	slices.SortFunc(generations, func(a, b engine.Generation) int { return int(b.Generation - a.Generation) })
	return generations[:min(limit, len(generations))], nil
}

// page cuts a list at limit and gives the cursor of what follows, "" where nothing does.
func page[T any](kind string, list []T, limit int, cursor func(T) engine.Cursor) (cut []T, next string) {
	if limit >= len(list) {
		return list, ""
	}
	limit = max(limit, 1)
	return list[:limit], cursor(list[limit-1]).Encode(kind)
}
