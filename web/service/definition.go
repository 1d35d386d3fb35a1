package service

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tidewheel/tidewheel/cron"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// Definitions is what users do with jobs and with DAGs alike: Service.Jobs and Service.DAGs.
type Definitions[S engine.Spec] struct {
	kind[S]
	s *Service
}

// kind is what makes jobs and DAGs differ here.
type kind[S engine.Spec] struct {
	name string // spec.KindJob
	noun string // "job", in sentences and codes
	// generations is the kind of the cursors of lists of generations.
	generations string
	wake        engine.WakeKind
	store       engine.Definitions[S]

	nameOf func(*S) string
	// triggers are those that it has, nil for none.
	triggers func(*S) *spec.Triggers
	equal    func(a, b *S) bool
	clone    func(*S) *S
	labels   func(*S) *map[string]string
	text     func(definition *S, source string) ([]byte, error)
	// check refuses a definition that cannot be saved, and edit a change of one; old is nil for a new one.
	check func(ctx context.Context, namespace string, definition *S) error
	edit  func(old, definition *S) error
	// schedules are those that it has, each with the root of a DAG that it starts.
	schedules func(*engine.Definition[S]) []rootSchedule
	// ledger says whose slots are meant by a root, which is "" for a job.
	ledger func(definition *engine.Definition[S], root string) (ledgerOf, error)
	// matches reports whether a definition is one that a query asks for beyond what all have, ranked lists those in an order
	// or a state that names say nothing of, and health says how some do, by their uids, and when they fire next.
	matches func(*ListQuery, *S) bool
	ranked  func(context.Context, *ListQuery) (found[S], error)
	health  func(context.Context, []engine.Definition[S]) (map[string]Health, map[string]time.Time, error)
	// fillRuns counts the runs of the days of a calendar, and ranLater finds those of a day's slots that were made later.
	fillRuns func(context.Context, *engine.Definition[S], ledgerOf, *cron.Schedule, *Calendar) error
	ranLater func(ctx context.Context, definition *engine.Definition[S], day Day, known []LedgerEntry) ([]engine.Run, error)
}

func newJobs(s *Service) *Definitions[spec.Job] {
	return &Definitions[spec.Job]{s: s, kind: kind[spec.Job]{
		name: spec.KindJob, noun: "job", generations: "generations", wake: engine.WakeJob,
		store:  s.store.Jobs(),
		nameOf: func(job *spec.Job) string { return job.Name }, triggers: func(job *spec.Job) *spec.Triggers { return job.Triggers },
		equal: (*spec.Job).Equal, clone: (*spec.Job).Clone, text: spec.Text,
		labels: func(job *spec.Job) *map[string]string { return &job.Labels },
		check:  s.checkJob, edit: s.editJob, schedules: jobSchedules, ledger: jobLedger,
		matches: jobMatches, ranked: s.rankJobs, health: s.HealthOf, fillRuns: s.fillJobRuns, ranLater: s.jobRanLater,
	}}
}

func newDAGs(s *Service) *Definitions[spec.DAG] {
	return &Definitions[spec.DAG]{s: s, kind: kind[spec.DAG]{
		name: spec.KindDAG, noun: "DAG", generations: "dag-generations", wake: engine.WakeDAG,
		store:  s.store.DAGs(),
		nameOf: func(dag *spec.DAG) string { return dag.Name }, triggers: func(dag *spec.DAG) *spec.Triggers { return dag.Triggers },
		equal: (*spec.DAG).Equal, clone: (*spec.DAG).Clone, text: spec.TextDAG,
		labels: func(dag *spec.DAG) *map[string]string { return &dag.Labels },
		check:  s.checkDAG, edit: func(_, _ *spec.DAG) error { return nil }, schedules: dagSchedules, ledger: dagLedger,
		matches: dagMatches, ranked: s.rankDAGs, health: s.dagHealth, fillRuns: s.fillRootRuns, ranLater: rootRanLater,
	}}
}

// Get returns one definition.
func (d *Definitions[S]) Get(ctx context.Context, namespace, name string) (engine.Definition[S], error) {
	definition, err := d.store.Get(ctx, namespace, name)
	return definition, explain(err, d.noun, name)
}

// List lists definitions by name, with the cursor of the next page.
func (d *Definitions[S]) List(ctx context.Context, filter engine.DefinitionFilter) ([]engine.Definition[S], string, error) {
	if err := checkCursor(filter.Namespace, filter.Cursor); err != nil {
		return nil, "", err
	}
	return d.store.List(ctx, filter)
}

// MaxReason is the longest reason for a pause, in bytes.
const MaxReason = 500

// Pause stops a definition's schedules; what runs continues, as does an open wave. The reason is for people and may be "".
// Pausing what is paused changes nothing, unless the reason is another one.
func (d *Definitions[S]) Pause(ctx context.Context, namespace, name, by, reason string) (engine.Definition[S], error) {
	reason = strings.TrimSpace(reason)
	if len(reason) > MaxReason {
		return engine.Definition[S]{}, field("reason_too_long", "body.reason", "the reason is %d bytes long: at most %d are kept", len(reason), MaxReason)
	}
	return d.change(ctx, namespace, name, func(definition *engine.Definition[S]) bool {
		if definition.Paused && (reason == "" || reason == definition.PausedReason) {
			return false
		}
		if !definition.Paused {
			definition.PausedAt = d.s.now()
		}
		definition.Paused, definition.PausedBy, definition.PausedReason = true, by, reason
		return true
	})
}

// Resume starts the schedules of a definition again; the catch-up policy decides about the slots of the pause.
func (d *Definitions[S]) Resume(ctx context.Context, namespace, name, by string) (engine.Definition[S], error) {
	return d.change(ctx, namespace, name, func(definition *engine.Definition[S]) bool {
		if !definition.Paused {
			return false
		}
		definition.Paused, definition.PausedAt, definition.PausedBy, definition.PausedReason = false, d.s.now(), by, ""
		return true
	})
}

// Delete removes a definition and what is planned of it. Runs of a job continue, an open wave of a DAG is cancelled, history
// stays. ifRevision 0 means any.
func (d *Definitions[S]) Delete(ctx context.Context, namespace, name, by string, ifRevision int64) error {
	changed := false
	_, err := d.change(ctx, namespace, name, func(definition *engine.Definition[S]) bool {
		if changed = ifRevision != 0 && definition.Revision != ifRevision; changed {
			return false
		}
		definition.Deleted, definition.UpdatedBy = true, by
		return true
	})
	if err == nil && changed {
		return explain(engine.ErrConflict, d.noun, name)
	}
	return err
}

// change reads a definition, changes it and writes it, again where another writer was faster.
func (d *Definitions[S]) change(
	ctx context.Context, namespace, name string, change func(*engine.Definition[S]) bool,
) (engine.Definition[S], error) {
	for range 10 {
		definition, err := d.Get(ctx, namespace, name)
		if err != nil {
			return engine.Definition[S]{}, err
		}
		before := definition
		if !change(&definition) {
			return definition, nil
		}
		changed, err := d.replace(ctx, definition)
		if errors.Is(err, engine.ErrConflict) {
			continue
		}
		if err == nil {
			d.describe(ctx, &before, &changed)
		}
		return changed, explain(err, d.noun, name)
	}
	return engine.Definition[S]{}, fmt.Errorf("change %s %s: %w", d.noun, name, explain(engine.ErrConflict, d.noun, name))
}

// replace writes the next revision, and wakes the engine.
func (d *Definitions[S]) replace(ctx context.Context, definition engine.Definition[S]) (engine.Definition[S], error) {
	definition.Revision++
	definition.Pending = true
	if err := d.store.Replace(ctx, definition); err != nil {
		return engine.Definition[S]{}, err
	}
	d.s.pauses.forget(definition.Namespace)
	d.s.wake(ctx, engine.Wake{Shard: definition.Shard, Kind: d.wake, Key: definition.UID})
	return definition, nil
}

// CheckLabel refuses a query for a label that no definition can have.
func CheckLabel(want string) error {
	key, _, _ := strings.Cut(want, "=")
	if key = strings.TrimSpace(key); want == "" || spec.IsLabelKey(key) {
		return nil
	}
	return field("invalid_label", "query.label", "%q is not a name for a label: write key or key=value, such as team=finance", key)
}

// labelled reports whether labels have one, "key" or "key=value"; all have "".
func labelled(labels map[string]string, want string) bool {
	if want == "" {
		return true
	}
	key, value, valued := strings.Cut(want, "=")
	have, there := labels[strings.TrimSpace(key)]
	return there && (!valued || have == strings.TrimSpace(value))
}

// rootSchedule is a schedule of a definition.
type rootSchedule struct {
	root string // of a DAG; "" for a job
	task string // the id of its scheduled task
	cron cron.Definition
}

// rootsLookedAt is how many roots of a DAG are asked for their next slot.
const rootsLookedAt = 200

// NextSlots returns the first slot that is planned of each definition, by uid; what is paused or has nothing planned is
// not in it. Of a DAG with very many roots only the first ones are looked at.
func (d *Definitions[S]) NextSlots(ctx context.Context, definitions ...engine.Definition[S]) (map[string]time.Time, error) {
	var ids []string
	owner := map[string]string{}
	for i := range definitions {
		if definitions[i].Paused {
			continue
		}
		schedules := d.schedules(&definitions[i])
		for _, schedule := range schedules[:min(rootsLookedAt, len(schedules))] {
			owner[schedule.task] = definitions[i].UID
			ids = append(ids, schedule.task)
		}
	}
	next := map[string]time.Time{}
	if len(ids) == 0 {
		return next, nil
	}
	tasks, err := d.s.store.TasksByID(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("read what is planned: %w", err)
	}
	for i := range tasks {
		uid := owner[tasks[i].ID]
		if first, known := next[uid]; tasks[i].RunAt.Before(engine.Parked) && (!known || tasks[i].Slot.Before(first)) {
			next[uid] = tasks[i].Slot
		}
	}
	return next, nil
}

// RootSlot is a slot of a job, or of a CRON root of a DAG.
type RootSlot struct {
	Root string // "" for a job
	cron.Slot
}

// RootSchedule is the schedule of a job, or of a CRON root of a DAG, in words.
type RootSchedule struct {
	Root        string // "" for a job
	Description string
}

// Preview returns when a definition fires next, the count first slots of all its schedules after an instant (zero: now),
// and describes these. The slots of what is paused are those that would fire if it were resumed. Which slots of a DAG begin
// a wave, and which are passed over, depends on how long waves take.
func (d *Definitions[S]) Preview(
	ctx context.Context, namespace, name string, after time.Time, count int,
) (slots []RootSlot, schedules []RootSchedule, err error) {
	definition, err := d.Get(ctx, namespace, name)
	if err != nil {
		return nil, nil, err
	}
	if after.IsZero() {
		after = d.s.now()
	}
	for _, schedule := range d.schedules(&definition) {
		some, description, err := Preview(schedule.cron, after, count)
		if err != nil {
			return nil, nil, err
		}
		schedules = append(schedules, RootSchedule{schedule.root, description})
		for _, slot := range some {
			slots = append(slots, RootSlot{schedule.root, slot})
		}
		if len(slots) > 10*count {
			slots = firstSlots(slots, count)
		}
	}
	return firstSlots(slots, count), schedules, nil
}

// Forecast is what comes next of one schedule of a definition.
type Forecast struct {
	RootSchedule

	Slots []cron.Slot
}

// Forecast returns the first slots of the first few schedules of a definition, as if it was written at since (zero: when it was
// created), and how many schedules it has beyond these. One without a schedule has an empty forecast.
func (d *Definitions[S]) Forecast(
	definition *engine.Definition[S], since time.Time, schedules, slots int,
) (forecasts []Forecast, more int, err error) {
	all := slices.DeleteFunc(d.schedules(definition), func(schedule rootSchedule) bool { return manual(&schedule.cron) })
	for _, schedule := range all[:min(schedules, len(all))] {
		schedule.cron.Since = since
		some, description, err := Preview(schedule.cron, d.s.now(), slots)
		if err != nil {
			return nil, 0, err
		}
		forecasts = append(forecasts, Forecast{RootSchedule{schedule.root, description}, some})
	}
	return forecasts, len(all) - len(forecasts), nil
}

// manual reports whether a schedule never fires by itself.
func manual(schedule *cron.Definition) bool {
	return len(schedule.Cron) == 0 && schedule.Every == 0 && schedule.After == 0 && schedule.At.IsZero()
}

func firstSlots(slots []RootSlot, count int) []RootSlot {
	slices.SortStableFunc(slots, func(a, b RootSlot) int { return a.Slot.Slot.Compare(b.Slot.Slot) })
	return slots[:min(count, len(slots))]
}

// jobSchedules returns the one schedule of a job, which may be manual.
func jobSchedules(job *engine.Job) []rootSchedule {
	return []rootSchedule{{task: job.UID, cron: job.Spec.Definition(job.Key(), job.CreatedAt)}}
}

// dagSchedules are those of a DAG's CRON roots.
func dagSchedules(dag *engine.DAG) []rootSchedule {
	roots := ScheduledRoots(dag)
	schedules := make([]rootSchedule, len(roots))
	for i, root := range roots {
		name := dag.Spec.Tasks[root].Name
		schedules[i] = rootSchedule{root: name, task: engine.RootID(dag.UID, name), cron: dag.Spec.Definition(root, dag.Key()+"/"+name, dag.CreatedAt)}
	}
	return schedules
}

// ScheduledRoots returns the indexes of the tasks of a DAG that its waves begin with and that have a schedule, in order.
func ScheduledRoots(dag *engine.DAG) []int {
	var roots []int
	for i := range dag.Spec.Tasks {
		if t := &dag.Spec.Tasks[i]; t.Root() && (len(t.Schedule) > 0 || len(dag.Spec.Schedule) > 0) {
			roots = append(roots, i)
		}
	}
	return roots
}
