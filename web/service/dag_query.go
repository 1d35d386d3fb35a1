package service

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tidewheel/tidewheel/cron"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// DAG gives one DAG.
func (s *Service) DAG(ctx context.Context, namespace, name string) (engine.DAG, error) {
	dag, err := s.store.DAG(ctx, namespace, name)
	return dag, explain(err, "DAG", name)
}

// DAGQuery selects DAGs for a list, by name.
type DAGQuery struct {
	Namespace string
	Text      string // in the name; case is ignored
	Label     string // "key" or "key=value"
	Paused    bool   // only those
	Cursor    string
	Limit     int // 1 … 1000
}

// DAGPage is a page of a list of DAGs.
type DAGPage struct {
	DAGs []engine.DAG
	// NextSlots are those of the DAGs' roots that come first, by uid; one that is paused or has nothing planned is not in it.
	NextSlots map[string]time.Time
	Next      string // cursor
	// Partial says that the page is short because what matches is rare: there may be more behind Next.
	Partial bool
}

// dagsLookedAt is how many DAGs are looked at for one page.
const dagsLookedAt = 5_000

// ListDAGs lists DAGs by name. Its cost is bounded: where what matches is rare, a page is cut short.
func (s *Service) ListDAGs(ctx context.Context, q DAGQuery) (DAGPage, error) {
	q.Limit = min(max(q.Limit, 1), 1000)
	page := DAGPage{Next: q.Cursor}
	for looked := 0; ; {
		some, next, err := s.store.DAGs(ctx, engine.DAGFilter{Namespace: q.Namespace, Text: q.Text, Cursor: page.Next, Limit: q.Limit - len(page.DAGs)})
		if err != nil {
			return DAGPage{}, err
		}
		for i := range some {
			if q.matches(&some[i]) {
				page.DAGs = append(page.DAGs, some[i])
			}
		}
		looked += len(some)
		page.Next = next
		if next == "" || len(page.DAGs) == q.Limit {
			break
		}
		if looked >= dagsLookedAt {
			page.Partial = true
			break
		}
	}
	var err error
	page.NextSlots, err = s.NextWavesOf(ctx, page.DAGs...)
	return page, err
}

func (q *DAGQuery) matches(dag *engine.DAG) bool {
	if q.Paused && !dag.Paused {
		return false
	}
	if q.Label == "" {
		return true
	}
	key, value, valued := strings.Cut(q.Label, "=")
	have, labelled := dag.Spec.Labels[strings.TrimSpace(key)]
	return labelled && (!valued || have == strings.TrimSpace(value))
}

// rootsLookedAt is how many roots of a DAG are asked for their next slot.
const rootsLookedAt = 200

// NextWavesOf tells the first slot that is planned of any root of a DAG, by uid; of a DAG that is paused or has nothing
// planned, none. Of a DAG with very many roots only the first ones are looked at.
func (s *Service) NextWavesOf(ctx context.Context, dags ...engine.DAG) (map[string]time.Time, error) {
	var ids []string
	owner := map[string]string{}
	for i := range dags {
		if dags[i].Paused {
			continue
		}
		roots := scheduledRoots(&dags[i])
		for _, root := range roots[:min(rootsLookedAt, len(roots))] {
			id := engine.RootID(dags[i].UID, dags[i].Spec.Tasks[root].Name)
			owner[id] = dags[i].UID
			ids = append(ids, id)
		}
	}
	next := map[string]time.Time{}
	if len(ids) == 0 {
		return next, nil
	}
	tasks, err := s.store.TasksByID(ctx, ids)
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

// scheduledRoots gives the indexes of the CRON roots.
func scheduledRoots(dag *engine.DAG) []int {
	var roots []int
	for i := range dag.Spec.Tasks {
		if t := &dag.Spec.Tasks[i]; t.Root() && (len(t.Schedule) > 0 || len(dag.Spec.Schedule) > 0) {
			roots = append(roots, i)
		}
	}
	return roots
}

// RootSlot is a slot of a CRON root.
type RootSlot struct {
	Root string
	cron.Slot
}

// RootSchedule is the schedule of a CRON root in words.
type RootSchedule struct {
	Root        string
	Description string
}

// NextDAGSlots tells when the roots of a DAG fire next, together the count first slots after an instant (zero: now), and
// describes their schedules. A paused DAG's slots are what would fire if it were resumed. Which of them begin a wave and
// which are passed over depends on how long waves take.
func (s *Service) NextDAGSlots(ctx context.Context, namespace, name string, after time.Time, count int) ([]RootSlot, []RootSchedule, error) {
	dag, err := s.DAG(ctx, namespace, name)
	if err != nil {
		return nil, nil, err
	}
	if after.IsZero() {
		after = s.now()
	}
	var slots []RootSlot
	var schedules []RootSchedule
	for _, root := range scheduledRoots(&dag) {
		task := dag.Spec.Tasks[root].Name
		some, description, err := Preview(dag.Spec.Definition(root, dag.Key()+"/"+task, dag.CreatedAt), after, count)
		if err != nil {
			return nil, nil, err
		}
		schedules = append(schedules, RootSchedule{task, description})
		for _, slot := range some {
			slots = append(slots, RootSlot{task, slot})
		}
		if len(slots) > 10*count {
			slots = firstSlots(slots, count)
		}
	}
	return firstSlots(slots, count), schedules, nil
}

func firstSlots(slots []RootSlot, count int) []RootSlot {
	slices.SortStableFunc(slots, func(a, b RootSlot) int { return a.Slot.Slot.Compare(b.Slot.Slot) })
	return slots[:min(count, len(slots))]
}

// DAGLedgerPage tells what became of the slots of a DAG's CRON root, as LedgerPage does for a job. root may be "" where
// there is only one.
func (s *Service) DAGLedgerPage(ctx context.Context, namespace, name, root string, since, until time.Time, cursor string, limit int) (entries []LedgerEntry, next string, err error) {
	dag, err := s.DAG(ctx, namespace, name)
	if err != nil {
		return nil, "", err
	}
	var names []string
	for _, i := range scheduledRoots(&dag) {
		names = append(names, dag.Spec.Tasks[i].Name)
	}
	switch {
	case root == "" && len(names) == 1:
		root = names[0]
	case root == "" && len(names) == 0:
		return nil, "", conflict("no_slots", "DAG %q has no schedule: its waves start by hand", name)
	case root == "":
		return nil, "", field("root_missing", "query.root", "DAG %q has %d roots with a schedule: say which, one of %s", name, len(names), someOf(names))
	case !slices.ContainsFunc(dag.Spec.Tasks, func(t spec.Task) bool { return t.Name == root }): // one that lost its schedule has a past
		return nil, "", field("root_not_found", "query.root", "DAG %q has no root %q: its roots with a schedule are %s", name, root, someOf(names))
	}
	of := ledgerOf{
		uid: engine.RootID(dag.UID, root), runs: engine.RunFilter{Namespace: namespace, DAGUID: dag.UID, Task: root}, words: "DAG " + name + ", root " + root,
	}
	return s.ledgerPage(ctx, of, since, until, cursor, limit)
}

// someOf lists the first of many names.
func someOf(names []string) string {
	const shown = 10
	if len(names) > shown {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:shown], ", "), len(names)-shown)
	}
	return strings.Join(names, ", ")
}
