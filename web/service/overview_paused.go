package service

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

const (
	// pausedFor is how long the overview remembers what is paused: to find it all definitions are looked at. What this
	// process pauses, resumes or deletes is known at once.
	pausedFor = 10 * time.Second
	// namedPauses is how many pauses of one kind are listed one by one.
	namedPauses = 3
)

// pauses are the concerns about what is paused, by namespace.
type pauses struct {
	mu sync.Mutex
	of map[string]knownPauses
}

type knownPauses struct {
	at       time.Time
	concerns []Concern
}

func (p *pauses) forget(namespace string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.of, namespace)
}

// lookAtPaused finds the jobs and DAGs that are paused.
func (s *Service) lookAtPaused(ctx context.Context, namespace string, view *Overview) error {
	s.pauses.mu.Lock()
	known, there := s.pauses.of[namespace]
	s.pauses.mu.Unlock()
	if age := view.At.Sub(known.at); !there || age < 0 || age > pausedFor {
		jobs, err := pausedOf(ctx, s.Jobs, namespace, false)
		if err != nil {
			return fmt.Errorf("list paused jobs: %w", err)
		}
		dags, err := pausedOf(ctx, s.DAGs, namespace, true)
		if err != nil {
			return fmt.Errorf("list paused DAGs: %w", err)
		}
		known = knownPauses{at: view.At, concerns: append(jobs, dags...)}
		s.pauses.mu.Lock()
		if s.pauses.of == nil {
			s.pauses.of = map[string]knownPauses{}
		}
		s.pauses.of[namespace] = known
		s.pauses.mu.Unlock()
	}
	view.Concerns = append(view.Concerns, known.concerns...)
	return nil
}

// pausedOf names what is paused of a kind: each by itself while these are few, all in one otherwise.
func pausedOf[S spec.Job | spec.DAG](ctx context.Context, definitions *Definitions[S], namespace string, dag bool) ([]Concern, error) {
	page, err := definitions.Page(ctx, ListQuery{Namespace: namespace, State: StatePaused, Limit: attended})
	if err != nil {
		return nil, err
	}
	var concerns []Concern
	for i := range page.Entries {
		d := &page.Entries[i].Definition
		concerns = append(concerns, Concern{Kind: ConcernPaused, Job: d.Name, DAG: dag, By: d.PausedBy, Reason: d.PausedReason, Count: 1, At: d.PausedAt})
	}
	if len(concerns) <= namedPauses {
		return concerns, nil
	}
	latest := concerns[0].At
	for i := range concerns {
		if concerns[i].At.After(latest) {
			latest = concerns[i].At
		}
	}
	return []Concern{{Kind: ConcernPaused, DAG: dag, Count: len(concerns), More: page.Next != "", At: latest}}, nil
}

// drained finds the executors that an operator drains. Those that stop by themselves are not among them.
func drained(executors []Executor) (concerns []Concern) {
	for i := range executors {
		e := &executors[i]
		if e.Silent || e.Drain == nil || !e.Drain.Draining {
			continue
		}
		concerns = append(concerns, Concern{Kind: ConcernDrained, Executor: e.ID, Host: e.Host, By: e.Drain.By, Count: len(e.Running), At: e.Drain.At})
	}
	return concerns
}

// resumed drops the concerns about missed slots of which a later run has succeeded: the job has recovered.
func (s *Service) resumed(ctx context.Context, concerns map[string]*Concern, uids map[string]string) error {
	if len(concerns) == 0 {
		return nil
	}
	var of []string
	for job := range concerns {
		of = append(of, uids[job])
	}
	marks, err := s.store.LatestMarks(ctx, of, lastRuns, lastRuns)
	if err != nil {
		return fmt.Errorf("read the last runs of jobs that missed slots: %w", err)
	}
	for job, c := range concerns {
		for _, mark := range marks[uids[job]] {
			if mark.Status == engine.StatusSucceeded && mark.CreatedAt.After(c.At) {
				delete(concerns, job)
				break
			}
		}
	}
	return nil
}
