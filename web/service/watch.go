package service

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

// Hint reports that something has changed since it was last read. A hint does not hold the change: the caller that shows the
// thing reads it again.
type Hint struct {
	Kind      HintKind
	Namespace string // of a run or wave; "" for all
	ID        string // of a run or wave
	Job       string
	DAG       string // of a wave, or of a task's run
	Wave      string // of a task's run
	Task      string
	Status    engine.Status
}

// HintKind is what has changed.
type HintKind string

// The kinds.
const (
	HintRun       HintKind = "run"       // one run
	HintWave      HintKind = "wave"      // one wave opened, ended, or was asked for
	HintRuns      HintKind = "runs"      // more runs than can be named: read the list again
	HintExecutors HintKind = "executors" // one came or went, or took or ended a run
	HintQueues    HintKind = "queues"    // what waits
)

const (
	// watchEvery is how often the service looks at the store while a client watches, however many clients do.
	watchEvery = time.Second
	// watchedRuns is how many runs are followed one by one; beyond it there are HintRuns only.
	watchedRuns = 500
	// hintsKept is how many hints wait for a slow watcher before they shrink to one HintRuns.
	hintsKept = 256
	// watchedWaves is how many waves that have not ended are followed.
	watchedWaves = 500
)

// Watch calls handle with hints until ctx ends or handle fails. All watchers share one look at the store each second,
// and none is taken while no client watches. A watcher that is slow gets fewer and coarser hints, and never holds up
// the others.
func (s *Service) Watch(ctx context.Context, handle func(Hint) error) error {
	hints := s.watchers.join(s)
	defer s.watchers.leave(hints)
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case hint := <-hints:
			if err := handle(hint); err != nil {
				return err
			}
		}
	}
}

// watchers are all who watch, and the one who looks for them. The last to leave waits for the looking to end.
type watchers struct {
	mu      sync.Mutex
	members []chan Hint
	stop    context.CancelFunc
	stopped chan struct{}
}

func (w *watchers) join(s *Service) chan Hint {
	w.mu.Lock()
	defer w.mu.Unlock()
	hints := make(chan Hint, hintsKept)
	w.members = append(w.members, hints)
	if len(w.members) == 1 {
		// Not the first watcher's context: the others continue when it leaves.
		ctx, stop := context.WithCancel(context.Background())
		before, stopped := w.stopped, make(chan struct{})
		w.stop, w.stopped = stop, stopped
		go func() {
			defer close(stopped)
			if before != nil {
				<-before
			}
			s.look(ctx)
		}()
	}
	return hints
}

func (w *watchers) leave(hints chan Hint) {
	w.mu.Lock()
	w.members = slices.DeleteFunc(w.members, func(member chan Hint) bool { return member == hints })
	if len(w.members) > 0 {
		w.mu.Unlock()
		return
	}
	w.stop()
	stopped := w.stopped
	w.mu.Unlock()
	<-stopped
}

func (w *watchers) tell(hint Hint) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, member := range w.members {
		select {
		case member <- hint:
		default:
			// One coarse hint takes the place of the oldest.
			select {
			case <-member:
			default:
			}
			select {
			case member <- Hint{Kind: HintRuns}:
			default:
			}
		}
	}
}

// look compares what there is with what there was, once a watchEvery.
func (s *Service) look(ctx context.Context) {
	ticker := time.NewTicker(watchEvery)
	defer ticker.Stop()
	var seen sight
	for round := 0; ; round++ {
		now, err := s.see(ctx, &seen)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			s.log.Warn("looking for changes failed: open pages are not refreshed until it succeeds", "error", err)
		default:
			if round > 0 {
				for _, hint := range now.since(&seen) {
					s.watchers.tell(hint)
				}
			}
			seen = now
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// sight is what is compared from one look to the next.
type sight struct {
	runs      map[string]engine.Run
	waves     map[string]engine.Wave
	more      bool // there are runs beyond those
	executors string
	queues    string
}

func (s *Service) see(ctx context.Context, before *sight) (sight, error) {
	now := sight{runs: map[string]engine.Run{}, waves: map[string]engine.Wave{}}
	// Runs that have not ended, and the newest, which may have ended since.
	unfinished := []engine.Status{engine.StatusScheduled, engine.StatusQueued, engine.StatusRunning, engine.StatusRetrying}
	for _, filter := range []engine.RunFilter{{Statuses: unfinished, Limit: watchedRuns}, {Limit: 200}} {
		runs, next, err := s.store.Runs(ctx, filter)
		if err != nil {
			return sight{}, fmt.Errorf("list runs: %w", err)
		}
		now.more = now.more || next != "" && len(filter.Statuses) > 0
		for i := range runs {
			now.runs[runs[i].ID] = slim(&runs[i])
		}
	}
	// What was unfinished and is not listed any more has ended, or was withdrawn.
	var gone []string
	for id, run := range before.runs {
		if _, listed := now.runs[id]; !listed && !run.Status.Terminal() {
			gone = append(gone, id)
		}
	}
	if len(gone) > 0 {
		slices.Sort(gone)
		runs, err := s.store.RunsByID(ctx, gone)
		if err != nil {
			return sight{}, fmt.Errorf("read runs: %w", err)
		}
		for i := range runs {
			now.runs[runs[i].ID] = slim(&runs[i])
		}
	}
	if err := s.seeWaves(ctx, &now, before); err != nil {
		return sight{}, err
	}
	executors, err := s.queue.Executors(ctx)
	if err != nil {
		return sight{}, fmt.Errorf("list executors: %w", err)
	}
	for _, e := range executors {
		now.executors += fmt.Sprint(e.ID, e.Draining, e.Slots, e.Running, "\n")
	}
	depths, err := s.Depths(ctx)
	if err != nil {
		return sight{}, fmt.Errorf("read the queues' depths: %w", err)
	}
	for _, d := range depths {
		now.queues += fmt.Sprint(d.Tier, d.Class, d.Waiting, "\n")
	}
	return now, nil
}

// seeWaves looks at the waves that have not ended, the newest, and those that had not ended before.
func (s *Service) seeWaves(ctx context.Context, now, before *sight) error {
	unfinished := []engine.Status{engine.StatusScheduled, engine.StatusRunning}
	for _, filter := range []engine.WaveFilter{{Statuses: unfinished, Limit: watchedWaves}, {Limit: 50}} {
		waves, _, err := s.store.Waves(ctx, filter)
		if err != nil {
			return fmt.Errorf("list waves: %w", err)
		}
		for i := range waves {
			now.waves[waves[i].ID] = waves[i]
		}
	}
	var gone []string
	for id := range before.waves {
		if _, listed := now.waves[id]; !listed && !before.waves[id].Status.Terminal() {
			gone = append(gone, id)
		}
	}
	if len(gone) == 0 {
		return nil
	}
	slices.Sort(gone)
	waves, err := s.store.WavesByID(ctx, gone)
	if err != nil {
		return fmt.Errorf("read waves: %w", err)
	}
	for i := range waves {
		now.waves[waves[i].ID] = waves[i]
	}
	return nil
}

// slim keeps of a run what is compared and sent.
func slim(run *engine.Run) engine.Run {
	return engine.Run{ID: run.ID, Revision: run.Revision, Namespace: run.Namespace, Job: run.Job, DAG: run.DAG, Wave: run.Wave, Task: run.Task, Status: run.Status, CreatedAt: run.CreatedAt}
}

// since lists what is different, the oldest run first.
func (now *sight) since(before *sight) []Hint {
	var hints []Hint
	var changed []engine.Run
	for id, run := range now.runs {
		if old, known := before.runs[id]; !known || old.Revision != run.Revision {
			changed = append(changed, run)
		}
	}
	for id, run := range before.runs {
		if _, listed := now.runs[id]; !listed && !run.Status.Terminal() {
			changed = append(changed, run) // withdrawn before it began
		}
	}
	slices.SortFunc(changed, func(a, b engine.Run) int { return a.CreatedAt.Compare(b.CreatedAt) })
	for i := range changed {
		run := &changed[i]
		hints = append(hints, Hint{
			Kind: HintRun, Namespace: run.Namespace, ID: run.ID, Job: run.Job, DAG: run.DAG, Wave: run.Wave, Task: run.Task, Status: run.Status,
		})
	}
	for _, id := range slices.Sorted(maps.Keys(now.waves)) {
		wave := now.waves[id]
		if old, known := before.waves[id]; !known || old.Revision != wave.Revision {
			hints = append(hints, Hint{Kind: HintWave, Namespace: wave.Namespace, ID: id, DAG: wave.DAG, Status: wave.Status})
		}
	}
	if now.more || len(changed) >= 200 {
		hints = append(hints, Hint{Kind: HintRuns})
	}
	if now.executors != before.executors {
		hints = append(hints, Hint{Kind: HintExecutors})
	}
	if now.queues != before.queues {
		hints = append(hints, Hint{Kind: HintQueues})
	}
	return hints
}
