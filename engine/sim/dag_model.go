package sim

import (
	"fmt"
	"strings"
	"time"

	"github.com/tidewheel/tidewheel/cron"
	"github.com/tidewheel/tidewheel/dag"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// dagModel is what users did to one DAG. Of each of its tasks that ever was a root it keeps a model as of a job: slots are
// accounted for by root.
type dagModel struct {
	uid       string
	dag       engine.DAG // as last written
	forms     map[int64]*dagForm
	roots     []*jobModel
	behaviour dagBehaviour
}

// dagForm is one generation.
type dagForm struct {
	spec  *spec.DAG
	graph *dag.Graph
	jobs  map[string]*spec.Job // of its tasks, as they are asked for; only looked up
}

// root returns the model of a task as a root, nil if it never was one.
func (m *dagModel) root(name string) *jobModel {
	for _, root := range m.roots {
		if root.uid == engine.RootID(m.uid, name) {
			return root
		}
	}
	return nil
}

// wrote remembers a write.
func (m *dagModel) wrote(w *world, d *engine.DAG, stamp time.Time) {
	m.dag = *d
	written := writtenAlerts{revision: d.Revision, deleted: d.Deleted, paused: d.Paused, own: d.Spec.Alerts, tasks: map[string]*spec.Alerts{}}
	for i := range d.Spec.Tasks {
		written.tasks[d.Spec.Tasks[i].Name] = d.Spec.Tasks[i].Alerts
	}
	w.notifier.wrote(d.UID, written)
	f := m.forms[d.Generation]
	if f == nil {
		graph, err := d.Spec.Graph()
		if err != nil {
			w.fail("the simulator draws graphs", "%s: %s", d.UID, err)
			return
		}
		f = &dagForm{spec: d.Spec.Clone(), graph: graph, jobs: map[string]*spec.Job{}}
		m.forms[d.Generation] = f
		for _, root := range graph.Roots() {
			if name := graph.Name(root); m.root(name) == nil {
				m.roots = append(m.roots, &jobModel{uid: engine.RootID(m.uid, name), of: m})
			}
		}
	}
	for _, root := range m.roots {
		name := engine.RootOf(root.uid)
		definition := cron.Definition{}
		if task, known := f.graph.Index(name); known && f.graph.Root(task) {
			definition = f.spec.Definition(task, d.Key()+"/"+name, d.CreatedAt)
		}
		schedule, err := cron.Compile(definition)
		if err != nil {
			w.fail("the simulator draws schedules", "%s: %s", root.uid, err)
			return
		}
		root.job = engine.Job{
			UID: root.uid, Generation: d.Generation, Revision: d.Revision, Paused: d.Paused, PausedAt: d.PausedAt, Deleted: d.Deleted,
			Spec: spec.Job{CatchUp: d.Spec.CatchUp},
		}
		root.wrote(w, &root.job, schedule, stamp)
	}
}

// handledDAG notes that the engine has acted on a revision.
func (u *users) handledDAG(handled engine.JobHandled) {
	m := u.dagByUID[handled.UID]
	for _, root := range m.roots {
		root.acted(u.w, handled)
	}
	u.w.note("handled", handled.UID, "", handled.Revision)
}

// planner returns the model whose slots the ledger names by this id.
func (u *users) planner(id string) *jobModel {
	if m := u.byUID[id]; m != nil {
		return m
	}
	if m := u.dagByUID[engine.RunJob(id)]; m != nil {
		return m.root(engine.RootOf(id))
	}
	return nil
}

// planners are all that has slots to account for: jobs, and roots of DAGs.
func (u *users) planners() []*jobModel {
	all := append([]*jobModel(nil), u.jobs...)
	for _, m := range u.dags {
		all = append(all, m.roots...)
	}
	return all
}

func describeDAG(d *spec.DAG) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v %s %s catch-up %s/%v tries %d at most %d:", d.Schedule, d.Timezone, d.Overlap, d.CatchUp.Policy, d.CatchUp.Window,
		d.Defaults.Retry.MaxAttempts, d.MaxParallel)
	for i := range d.Tasks {
		t := &d.Tasks[i]
		fmt.Fprintf(&b, " %s", t.Name)
		if len(t.Needs) > 0 {
			fmt.Fprintf(&b, "<%s", strings.Join(t.Needs, ","))
		}
		for _, word := range []string{strings.Join(t.Schedule, ","), string(t.Trigger), t.When, t.ForEach} {
			if word != "" {
				fmt.Fprintf(&b, " (%s)", word)
			}
		}
	}
	return b.String()
}
