package service

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tidewheel/tidewheel/dag"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/wave"
	"github.com/tidewheel/tidewheel/spec"
)

// Wave returns one wave of a namespace, also while the engine has not acted on the request for it. All that users read and change
// by the id of a wave goes through it: a wave of another namespace is not found.
func (s *Service) Wave(ctx context.Context, namespace, id string) (engine.Wave, error) {
	wave, err := s.waves().get(ctx, id)
	if err == nil && wave.Namespace != namespace {
		return engine.Wave{}, notIn(ctx, namespace, "wave", id, wave.Namespace)
	}
	return wave, explain(err, "wave", id)
}

// WaveQuery selects waves of a DAG, the latest created first.
type WaveQuery struct {
	Namespace string
	DAG       string // "" is all DAGs
	Statuses  []engine.Status
	Since     time.Time // created at or after
	Until     time.Time // created before
	Cursor    string
	Limit     int // 1 … 1000
}

// Waves lists waves, with the cursor of the next page.
func (s *Service) Waves(ctx context.Context, q WaveQuery) ([]engine.Wave, string, error) {
	filter := engine.WaveFilter{
		Namespace: q.Namespace, Statuses: q.Statuses, Since: q.Since, Until: q.Until, Cursor: q.Cursor, Limit: min(max(q.Limit, 1), 1000),
	}
	if q.DAG != "" {
		dag, err := s.DAGs.Get(ctx, q.Namespace, q.DAG)
		if err != nil {
			return nil, "", err
		}
		filter.DAGUID = dag.UID
	}
	return s.store.Waves(ctx, filter)
}

// WaveDetail is a wave with how far its tasks have come.
type WaveDetail struct {
	Wave  engine.Wave
	Spec  spec.DAG   // the generation that it runs on; where that is not kept any more, the tasks that have runs
	Graph *dag.Graph // of Spec
	Tasks []WaveTask // in the order of Spec
	// Critical is the way through the tasks that have begun which takes longest, by their indexes, and CriticalTime how
	// long, so far where the wave has not ended; it is at most what the wave took.
	Critical     []int
	CriticalTime time.Duration
}

// WaveTask is a task of a wave.
type WaveTask struct {
	Name   string
	State  dag.State // 0 where its run is not kept any more
	Reason string    // in words, where there is something to say
	Run    string    // "" before there is one, and of a mapped task that has begun
	Status engine.Status
	// Attempt is the current one of its run.
	Attempt int
	// Started is when its first process began, Finished when the last ended; of a mapped task over all items.
	Started  time.Time
	Finished time.Time
	Items    *wave.Items      // of a mapped task that has begun
	Attempts []engine.Attempt // of its run; read-only

	wave *engine.Wave // that it is of
}

// Took reports how long the task has taken, up to now where it has not ended. Where its wave had ended and was resumed,
// the time in between is left out.
func (t *WaveTask) Took(now time.Time) time.Duration {
	switch {
	case t.Started.IsZero():
		return 0
	case t.Finished.IsZero():
		return t.wave.Worked(t.Started, now)
	}
	return t.wave.Worked(t.Started, t.Finished)
}

// Task finds a task by its name.
func (d *WaveDetail) Task(name string) (*WaveTask, bool) {
	for i := range d.Tasks {
		if d.Tasks[i].Name == name {
			return &d.Tasks[i], true
		}
	}
	return nil, false
}

// Counts counts the tasks by their states; those whose runs are not kept are in none.
func (d *WaveDetail) Counts() map[dag.State]int {
	counts := map[dag.State]int{}
	for i := range d.Tasks {
		if d.Tasks[i].State.Valid() {
			counts[d.Tasks[i].State]++
		}
	}
	return counts
}

// runsAtOnce is how many runs of a wave are read at a time.
const runsAtOnce = 1000

// WaveDetail derives from its runs how far the tasks of a wave have come. It reads each of them, page by page.
func (s *Service) WaveDetail(ctx context.Context, namespace, id string) (*WaveDetail, error) {
	stored, err := s.Wave(ctx, namespace, id)
	if err != nil {
		return nil, err
	}
	d := &WaveDetail{Wave: stored}
	if err := s.specOf(ctx, d); err != nil {
		return nil, err
	}
	standing, err := wave.NewStanding(&d.Wave, &d.Spec)
	if err != nil {
		return nil, err
	}
	d.Graph = standing.Graph()
	d.Tasks = make([]WaveTask, d.Graph.Len())
	for i := range d.Tasks {
		d.Tasks[i].Name, d.Tasks[i].wave = d.Graph.Name(i), &d.Wave
	}
	err = s.eachRun(ctx, id, func(run *engine.Run) {
		standing.Add(run)
		if task, known := d.Graph.Index(run.Task); known {
			d.Tasks[task].add(run)
		}
	})
	if err != nil {
		return nil, err
	}
	for task, state := range standing.States() {
		d.Tasks[task].settle(&d.Wave, state, standing, task)
	}
	d.critical(s.now())
	return d, nil
}

// add takes in what a run of the task says.
func (t *WaveTask) add(run *engine.Run) {
	if !run.StartedAt.IsZero() && (t.Started.IsZero() || run.StartedAt.Before(t.Started)) {
		t.Started = run.StartedAt
	}
	if run.FinishedAt.After(t.Finished) {
		t.Finished = run.FinishedAt
	}
	if run.Item != nil {
		if t.Reason == "" && run.Status.Terminal() && run.Status != engine.StatusSucceeded && run.Reason != "" {
			t.Reason = fmt.Sprintf("item %d: %s", *run.Item, run.Reason)
		}
		return
	}
	t.Run, t.Status, t.Attempt, t.Reason, t.Attempts = run.ID, run.Status, run.Attempt, run.Reason, run.Attempts
}

func (t *WaveTask) settle(wave *engine.Wave, state dag.State, standing *wave.Standing, task int) {
	t.State = state
	if items, mapped := standing.Items(task); mapped {
		t.Items, t.Run, t.Status, t.Attempt, t.Attempts = &items, "", engine.StatusInvalid, 0, nil
	}
	if !state.Ended() {
		t.Finished = time.Time{}
		if wave.Status.Terminal() {
			t.State, t.Reason = 0, "its run is not kept any more"
		}
		return
	}
	if t.Reason == "" {
		t.Reason = standing.Why(task)
	}
}

// specOf finds the definition that a wave runs on: that of its generation, before it has one the present, and where
// neither is kept the tasks that its runs name.
func (s *Service) specOf(ctx context.Context, d *WaveDetail) error {
	generation := d.Wave.Generation
	if generation == 0 {
		present, err := s.store.DAGs().Generations(ctx, d.Wave.DAGUID, 0, 1)
		if err != nil {
			return fmt.Errorf("read DAG %s: %w", d.Wave.DAG, err)
		}
		if len(present) == 1 {
			d.Spec = present[0].Spec
			return nil
		}
	} else {
		form, err := s.store.DAGs().Generation(ctx, d.Wave.DAGUID, generation)
		if err == nil {
			d.Spec = form.Spec
			return nil
		}
		if !errors.Is(err, engine.ErrNotFound) {
			return fmt.Errorf("read generation %d of DAG %s: %w", generation, d.Wave.DAG, err)
		}
	}
	names := map[string]bool{}
	err := s.eachRun(ctx, d.Wave.ID, func(run *engine.Run) {
		if !names[run.Task] {
			names[run.Task] = true
			d.Spec.Tasks = append(d.Spec.Tasks, spec.Task{Name: run.Task})
		}
	})
	d.Spec.Name = d.Wave.DAG
	if len(d.Spec.Tasks) == 0 && err == nil {
		return &Error{Kind: KindNotFound, Code: "wave_not_kept", Detail: fmt.Sprintf("neither the definition nor the runs of wave %s are kept any more", d.Wave.ID)}
	}
	return err
}

// eachRun gives every run of a wave, page by page.
func (s *Service) eachRun(ctx context.Context, wave string, visit func(*engine.Run)) error {
	for after := ""; ; {
		runs, err := s.store.RunsOfWave(ctx, wave, after, runsAtOnce)
		if err != nil {
			return fmt.Errorf("read the runs of wave %s: %w", wave, err)
		}
		for i := range runs {
			visit(&runs[i])
			after = runs[i].ID
		}
		if len(runs) < runsAtOnce {
			return nil
		}
	}
}

// critical finds what the wave waited for from task to task.
func (d *WaveDetail) critical(now time.Time) {
	spans := make([]dag.Span, len(d.Tasks))
	for i := range d.Tasks {
		if task := &d.Tasks[i]; !task.Started.IsZero() {
			if spans[i] = (dag.Span{From: task.Started, To: task.Finished}); task.Finished.IsZero() {
				spans[i].To = now
			}
		}
	}
	d.Critical = d.Graph.CriticalPath(spans)
	// Tasks of the path may overlap: by the clocks of executors, or where one was run again after a resume. What they
	// share counts once, so that the path is never longer than the wave.
	var until time.Time
	for _, task := range d.Critical {
		from, to := spans[task].From, spans[task].To
		if from.Before(until) {
			from = until
		}
		if to.After(from) {
			d.CriticalTime += d.Wave.Worked(from, to)
			until = to
		}
	}
	if took := d.Wave.Took(now); took > 0 {
		d.CriticalTime = min(d.CriticalTime, took)
	}
}
