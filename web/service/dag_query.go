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
		some, next, err := s.store.DAGs().List(ctx, engine.DefinitionFilter{Namespace: q.Namespace, Text: q.Text, Cursor: page.Next, Limit: q.Limit - len(page.DAGs)})
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
	page.NextSlots, err = s.DAGs.NextSlots(ctx, page.DAGs...)
	return page, err
}

func (q *DAGQuery) matches(dag *engine.DAG) bool {
	if q.Paused && !dag.Paused {
		return false
	}
	return labelled(dag.Spec.Labels, q.Label)
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
