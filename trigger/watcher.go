package trigger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

const (
	// young is for how long after a definition begins to follow another one the history is looked at, too: not every engine knows of
	// it yet. It is far above refreshEvery and stale.
	young = 15 * time.Second
	// kept is for how long a success is kept whose commit has not come.
	kept = time.Hour
	// unused is for how long a follower is kept that follows nothing any more: its definition may be about to be saved.
	unused = 10 * time.Minute
	// tries is for how long a start is tried that the server has no room for.
	tries = 24 * time.Hour
)

// History reads runs and waves.
type History interface {
	// RunsByID returns those runs that exist, in no order, and WavesByID waves.
	RunsByID(ctx context.Context, ids []string) ([]engine.Run, error)
	WavesByID(ctx context.Context, ids []string) ([]engine.Wave, error)
	// Runs and Waves list them, newest first.
	Runs(ctx context.Context, filter engine.RunFilter) ([]engine.Run, string, error)
	Waves(ctx context.Context, filter engine.WaveFilter) ([]engine.Wave, string, error)
}

// Definition is what a watcher has to know of a job or DAG.
type Definition struct {
	UID      string
	DAG      bool
	Triggers *spec.Triggers
}

// Service does what events lead to.
type Service interface {
	// Triggered returns a job or DAG; engine.ErrNotFound.
	Triggered(ctx context.Context, namespace, name string) (Definition, error)
	// Start starts a run or wave. nil means that the event is dealt with, also where it was refused for good; after an error the
	// caller tries again.
	Start(ctx context.Context, namespace, name string, event Event) error
	// Refuse records why an event starts nothing.
	Refuse(ctx context.Context, namespace, name string, event Event, reason string) error
}

// Watcher starts what comes after successes. Any number of nodes may run one: each event starts one run, however many see it.
type Watcher struct {
	outbox  *Outbox
	history History
	service Service
	log     *slog.Logger
}

// NewWatcher makes a watcher of what an outbox writes.
func NewWatcher(outbox *Outbox, history History, service Service, log *slog.Logger) *Watcher {
	return &Watcher{outbox, history, service, log}
}

// Run watches until ctx ends.
func (w *Watcher) Run(ctx context.Context) error {
	var work sync.WaitGroup
	defer work.Wait()
	work.Go(func() { w.every(ctx, nil, "reading which definitions follow others", w.refresh) })
	w.every(ctx, w.outbox.hint, "starting what comes after a success", w.look)
	return nil
}

// every calls at once, each second, and by a hint.
func (w *Watcher) every(ctx context.Context, hint <-chan struct{}, what string, do func(context.Context) error) {
	ticker := time.NewTicker(refreshEvery)
	defer ticker.Stop()
	for {
		if err := do(ctx); err != nil && ctx.Err() == nil {
			w.log.Warn(what+" failed; trying again", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-hint:
		case <-ticker.C:
		}
	}
}

// refresh reads who follows whom, and looks for successes that came before all engines knew.
func (w *Watcher) refresh(ctx context.Context) error {
	now := w.outbox.book.now()
	followers, err := w.outbox.book.followers(ctx)
	if err != nil {
		return err
	}
	w.outbox.follow(followers, now)
	var errs []error
	for i := range followers {
		f := &followers[i]
		if now.Sub(f.age) > unused {
			errs = append(errs, w.forget(ctx, f))
		}
		for upstream, since := range f.since {
			if now.Sub(since) < young {
				errs = append(errs, w.lookBack(ctx, upstream, since))
			}
		}
	}
	return errors.Join(errs...)
}

// forget removes a follower whose definition follows nothing any more.
func (w *Watcher) forget(ctx context.Context, f *follower) error {
	definition, err := w.service.Triggered(ctx, f.namespace, f.name)
	switch {
	case errors.Is(err, engine.ErrNotFound):
	case err != nil:
		return err
	case len(definition.Triggers.Upstreams(f.namespace)) > 0:
		return nil
	}
	return w.outbox.book.forget(ctx, &engine.Record{Kind: kindFollower, Key: f.key, Revision: f.revision}, f.age)
}

// lookBack writes down successes of an upstream since an instant, as its engine may not have known yet that they are waited for.
func (w *Watcher) lookBack(ctx context.Context, upstream string, since time.Time) error {
	of := spec.ParseUpstream("", upstream)
	definition, err := w.service.Triggered(ctx, of.Namespace, of.Name)
	if errors.Is(err, engine.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	const most = 1000
	var found []success
	succeeded, created := []engine.Status{engine.StatusSucceeded}, since.Add(-24*time.Hour)
	if definition.DAG {
		waves, _, err := w.history.Waves(ctx, engine.WaveFilter{Namespace: of.Namespace, DAGUID: definition.UID, Statuses: succeeded, Since: created, Limit: most})
		if err != nil {
			return fmt.Errorf("list waves of %s: %w", upstream, err)
		}
		for i := range waves {
			if !waves[i].FinishedAt.Before(since) {
				found = append(found, success{of.Namespace, of.Name, waves[i].ID, true})
			}
		}
	} else {
		runs, _, err := w.history.Runs(ctx, engine.RunFilter{Namespace: of.Namespace, JobUID: definition.UID, Statuses: succeeded, Since: created, Limit: most})
		if err != nil {
			return fmt.Errorf("list runs of %s: %w", upstream, err)
		}
		for i := range runs {
			if !runs[i].FinishedAt.Before(since) {
				found = append(found, success{of.Namespace, of.Name, runs[i].ID, false})
			}
		}
	}
	if len(found) == 0 {
		return nil
	}
	return w.outbox.note(ctx, found)
}

// look deals with the successes that are written down.
func (w *Watcher) look(ctx context.Context) error {
	var records []engine.Record
	err := w.outbox.book.each(ctx, kindSuccess, func(record *engine.Record) error {
		records = append(records, *record)
		return nil
	})
	if err != nil || len(records) == 0 {
		return err
	}
	followers, err := w.outbox.book.followers(ctx) // after the successes: who began to follow before is among them
	if err != nil {
		return err
	}
	var errs []error
	for i := range records {
		errs = append(errs, w.settle(ctx, &records[i], followers))
	}
	return errors.Join(errs...)
}

// settle deals with the successes of one record, and keeps those that are not dealt with yet.
func (w *Watcher) settle(ctx context.Context, record *engine.Record, followers []follower) error {
	var data noted
	if err := json.Unmarshal(record.Data, &data); err != nil {
		return fmt.Errorf("read %s: %w", record.Key, err)
	}
	var (
		left []success
		errs []error
	)
	for _, one := range data.Successes {
		done, err := w.deal(ctx, one, data.At, followers)
		if err != nil {
			errs = append(errs, err)
		}
		if !done {
			left = append(left, one)
		}
	}
	var err error
	switch {
	case len(left) == 0:
		err = w.outbox.book.records.DeleteRecord(ctx, kindSuccess, record.Key, record.Revision)
	case len(left) < len(data.Successes):
		data.Successes = left
		err = w.outbox.book.write(ctx, *record, &data)
	}
	if errors.Is(err, engine.ErrConflict) || errors.Is(err, engine.ErrNotFound) {
		err = nil // it was written again, or another node was first: what was done is not done twice
	}
	return errors.Join(append(errs, err)...)
}

// deal starts what comes after a success, and reports whether nothing is left to do.
func (w *Watcher) deal(ctx context.Context, one success, at time.Time, followers []follower) (done bool, err error) {
	var waiting []*follower
	for i := range followers {
		if _, follows := followers[i].since[name(one.Namespace, one.Name)]; follows {
			waiting = append(waiting, &followers[i])
		}
	}
	if len(waiting) == 0 {
		return true, nil
	}
	now := w.outbox.book.now()
	payload, state, err := w.read(ctx, one)
	switch {
	case err != nil:
		return false, err
	case state == pending:
		return false, nil
	case state == vain:
		return now.Sub(at) > kept, nil // its commit may still come
	}
	done = true
	for _, f := range waiting {
		if err = w.start(ctx, f, one, payload); err != nil {
			if now.Sub(at) > tries {
				w.log.Error("a success starts nothing: it was tried for a day", "upstream", name(one.Namespace, one.Name), "definition", f.key, "error", err)
				continue
			}
			w.log.Warn("what comes after a success cannot start yet; trying again", "upstream", name(one.Namespace, one.Name), "definition", f.key, "error", err)
			done = false
		}
	}
	return done, nil
}

// state is how a success that was written down stands in the store.
type state int

const (
	pending   state = iota // it has not ended
	vain                   // it is not there, or has ended otherwise
	succeeded              // it has succeeded
)

// after is the payload of an event of AfterSuccess.
type after struct {
	Event      Source     `json:"event"`
	Namespace  string     `json:"namespace"`
	Job        string     `json:"job,omitempty"`
	Run        string     `json:"run,omitempty"`
	DAG        string     `json:"dag,omitempty"`
	Wave       string     `json:"wave,omitempty"`
	Slot       *time.Time `json:"slot,omitempty"`
	FinishedAt time.Time  `json:"finished_at"`
}

// read looks at the run or wave itself.
func (w *Watcher) read(ctx context.Context, one success) (json.RawMessage, state, error) {
	event := after{Event: AfterSuccess, Namespace: one.Namespace}
	var (
		status engine.Status
		slot   time.Time
	)
	if one.Wave {
		waves, err := w.history.WavesByID(ctx, []string{one.ID})
		if err != nil || len(waves) == 0 {
			return nil, vain, err
		}
		status, slot = waves[0].Status, waves[0].Slot
		event.DAG, event.Wave, event.FinishedAt = one.Name, one.ID, waves[0].FinishedAt.UTC()
	} else {
		runs, err := w.history.RunsByID(ctx, []string{one.ID})
		if err != nil || len(runs) == 0 {
			return nil, vain, err
		}
		status, slot = runs[0].Status, runs[0].Slot
		event.Job, event.Run, event.FinishedAt = one.Name, one.ID, runs[0].FinishedAt.UTC()
	}
	switch {
	case !status.Terminal():
		return nil, pending, nil
	case status != engine.StatusSucceeded:
		return nil, vain, nil
	}
	if !slot.IsZero() {
		slot = slot.UTC()
		event.Slot = &slot
	}
	payload, err := json.Marshal(&event)
	return payload, succeeded, err
}

// start starts a follower, if its definition still says so and the upstream's allows it.
func (w *Watcher) start(ctx context.Context, f *follower, one success, payload json.RawMessage) error {
	definition, err := w.service.Triggered(ctx, f.namespace, f.name)
	switch {
	case errors.Is(err, engine.ErrNotFound):
		return nil
	case err != nil:
		return err
	}
	follows := false
	for _, upstream := range definition.Triggers.Upstreams(f.namespace) {
		follows = follows || upstream == spec.Upstream{Namespace: one.Namespace, Name: one.Name}
	}
	if !follows {
		return nil
	}
	event := Event{Source: AfterSuccess, ID: one.ID, By: "after " + one.Name, Payload: payload}
	if one.Namespace != f.namespace {
		event.By = "after " + name(one.Namespace, one.Name)
		upstream, err := w.service.Triggered(ctx, one.Namespace, one.Name)
		if err != nil && !errors.Is(err, engine.ErrNotFound) {
			return err
		}
		if err != nil || !upstream.Triggers.MayFollow(one.Namespace, f.namespace) {
			return w.service.Refuse(ctx, f.namespace, f.name, event, NotAllowed(one.Namespace, one.Name, f.namespace))
		}
	}
	return w.service.Start(ctx, f.namespace, f.name, event)
}

// NotAllowed returns why a definition of a namespace may not start after one of another namespace. It is the same words for one that is
// not there, so that users do not learn what other namespaces have.
func NotAllowed(namespace, upstream, follower string) string {
	return fmt.Sprintf("%s does not allow the namespace %s to start after it, or is not there: an editor of %s adds %s to its triggers.allow_after",
		name(namespace, upstream), follower, namespace, follower)
}
