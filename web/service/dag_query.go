package service

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// dagsRanked is how many DAGs, the first by name, are looked at for an order or a state that no index answers, and
// wavesRanked how many waves of each.
const (
	dagsRanked  = 200
	wavesRanked = 20
)

func dagMatches(q *ListQuery, dag *spec.DAG) bool { return labelled(dag.Labels, q.Label) }

// rankDAGs lists DAGs in an order, or a state, that their names say nothing of.
func (s *Service) rankDAGs(ctx context.Context, q *ListQuery) (of found[spec.DAG], err error) {
	first, err := rankedFrom(q.Cursor)
	if err != nil {
		return of, err
	}
	byName := *q
	byName.Cursor, byName.Limit = "", dagsRanked
	if of, err = s.DAGs.walk(ctx, &byName, s.DAGs.byName); err != nil {
		return of, err
	}
	if of.Next != "" {
		of.Next, of.Partial, of.First = "", false, dagsRanked
	}
	if of.health, of.next, err = s.dagHealth(ctx, of.definitions); err != nil {
		return of, err
	}
	of.definitions = slices.DeleteFunc(of.definitions, func(dag engine.DAG) bool {
		health := of.health[dag.UID]
		return q.State == StateFailing && !health.Failing() || q.State == StateRunning && !health.running()
	})
	of.sort(q.Order, func(uid string) int { return of.health[uid].Ended - of.health[uid].Succeeded })
	of.cut(first, q.Limit)
	return of, nil
}

// dagHealth returns how DAGs do, by their uids, and when they fire next.
func (s *Service) dagHealth(ctx context.Context, dags []engine.DAG) (health map[string]Health, next map[string]time.Time, err error) {
	histories, err := s.Histories(ctx, dags, wavesRanked)
	if err != nil {
		return nil, nil, err
	}
	health = make(map[string]Health, len(dags))
	for i := range dags {
		health[dags[i].UID] = histories[i].Health
	}
	next, err = s.DAGs.NextSlots(ctx, dags...)
	return health, next, err
}

// dagLedger finds the CRON root of a DAG whose slots are meant; root may be "" where there is only one.
func dagLedger(dag *engine.DAG, root string) (ledgerOf, error) {
	var names []string
	for _, i := range ScheduledRoots(dag) {
		names = append(names, dag.Spec.Tasks[i].Name)
	}
	switch {
	case root == "" && len(names) == 1:
		root = names[0]
	case root == "" && len(names) == 0:
		return ledgerOf{}, conflict("no_slots", "DAG %q has no schedule: its waves start manually", dag.Name)
	case root == "":
		return ledgerOf{}, field("root_missing", "query.root", "DAG %q has %d roots with a schedule: say which, one of %s", dag.Name, len(names), someOf(names))
	case !slices.ContainsFunc(dag.Spec.Tasks, func(t spec.Task) bool { return t.Name == root }): // one that lost its schedule has a past
		return ledgerOf{}, field("root_not_found", "query.root", "DAG %q has no root %q: its roots with a schedule are %s", dag.Name, root, someOf(names))
	}
	return ledgerOf{
		uid: engine.RootID(dag.UID, root), words: "DAG " + dag.Name + ", root " + root,
		runs: engine.RunFilter{Namespace: dag.Namespace, DAGUID: dag.UID, Task: root},
	}, nil
}

// someOf lists the first of many names.
func someOf(names []string) string {
	const shown = 10
	if len(names) > shown {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:shown], ", "), len(names)-shown)
	}
	return strings.Join(names, ", ")
}
