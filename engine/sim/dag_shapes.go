package sim

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/tidewheel/tidewheel/dag"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// shapeDAG draws a definition of tasks: some roots, each with a schedule of its own or none, and tasks that need any of
// those before them.
func (u *users) shapeDAG(name string) *spec.DAG {
	w := u.w
	d := &spec.DAG{
		Name: name, Timezone: pick(w, zones...), Overlap: pick(w, spec.WaveSkip, spec.WaveSkip, spec.WaveQueue),
		CatchUp: spec.CatchUp{
			Policy: pick(w, spec.CatchUpNone, spec.CatchUpLast, spec.CatchUpAll), Window: spec.Duration(pick(w, 15*time.Second, time.Minute, time.Hour)),
		},
		MaxParallel: pick(w, 0, 0, 0, 1, 2, 3),
	}
	d.Defaults = spec.TaskDefaults{
		Tier: pick(w, "", spec.TierLight, spec.TierHeavy), Binary: pick(w, "tool@stable", "tool"), Timeout: spec.Duration(pick(w, 2*time.Second, 10*time.Second)),
		Delivery: pick(w, spec.DeliveryAtLeastOnce, spec.DeliveryAtLeastOnce, spec.DeliveryAtMostOnce),
		Retry: spec.Retry{
			MaxAttempts: pick(w, 1, 1, 2, 3), Delay: spec.Duration(pick(w, 100*time.Millisecond, time.Second)), MaxDelay: spec.Duration(4 * time.Second),
		},
	}
	scheduled := w.odds(0.75)
	if scheduled && w.odds(0.3) {
		d.Schedule = u.rhythm()
	}
	for i := range 1 + w.random.IntN(7) {
		d.Tasks = append(d.Tasks, u.shapeTask(d, i, scheduled))
	}
	if w.odds(0.1) {
		from := w.wall().Add(w.between(-10*time.Second, 40*time.Second)).Truncate(time.Millisecond)
		d.Exclude = append(d.Exclude, spec.Exclusion{From: from, To: from.Add(w.between(time.Second, 20*time.Second)).Truncate(time.Millisecond)})
	}
	d.ApplyDefaults()
	return d
}

// rhythm draws when a root starts.
func (u *users) rhythm() spec.Strings {
	return spec.Strings{pick(u.w, "*/3 * * * * *", "*/5 * * * * *", "*/7 * * * * *", "*/10 * * * * *", "*/20 * * * * *", "* * * * *")}
}

// shapeTask draws the i-th task, which may need and read those before it.
func (u *users) shapeTask(d *spec.DAG, i int, scheduled bool) spec.Task {
	w := u.w
	t := spec.Task{Name: fmt.Sprintf("t%d", i)}
	for need := range i {
		if w.odds(0.35) {
			t.Needs = append(t.Needs, d.Tasks[need].Name)
		}
	}
	if t.Root() {
		if scheduled && (len(d.Schedule) == 0 || w.odds(0.3)) && w.odds(0.9) {
			t.Schedule = u.rhythm()
		}
	} else if w.odds(0.5) {
		t.Trigger = pick(w, dag.Triggers()...)
	}
	if w.odds(0.15) {
		t.Retry.MaxAttempts = 3
	}
	source := ""
	if !t.Root() {
		source = pick(w, t.Needs...)
		t.Args = []string{"--got", "${outputs." + source + ".n}"}
	}
	switch w.random.IntN(10) {
	case 0:
		t.When = pick(w, "false", "epoch > 1", "epoch > 0")
	case 1:
		if source != "" {
			t.When = "outputs." + source + ".n > 1"
		}
	case 2:
		t.ForEach = pick(w, "[]", "[1]", "[1, 2, 3]")
	case 3, 4:
		if source != "" {
			t.ForEach = "outputs." + source + ".list"
		}
	}
	if t.ForEach != "" && w.odds(0.5) {
		t.MaxParallel = 1 + w.random.IntN(2)
	}
	return t
}

// dagBehaviour is how the programs of a DAG's tasks behave.
type dagBehaviour struct {
	lasts  time.Duration // at most
	fails  float64
	hangs  float64
	output float64 // how often a program leaves outputs
}

func (u *users) drawDAGBehaviour() dagBehaviour {
	w := u.w
	return dagBehaviour{
		lasts: pick(w, 0, 50*time.Millisecond, 400*time.Millisecond, 2*time.Second), fails: pick(w, 0, 0, 0.1, 0.4),
		hangs: pick(w, 0, 0, 0.03), output: pick(w, 1, 1, 0.7),
	}
}

// draw returns how long an attempt runs and how it ends.
func (b dagBehaviour) draw(w *world) (time.Duration, int) {
	lasts, code := w.between(0, b.lasts), 0
	if w.odds(b.fails) {
		code = pick(w, 1, 75, 64, engine.ExitTimeout)
	}
	if w.odds(b.hangs) {
		lasts = time.Hour
	}
	return lasts, code
}

// outputs are what a program of a task leaves for those after it.
type outputs struct {
	N    int   `json:"n"`
	List []int `json:"list"`
}

// text is how a program writes them.
func (o *outputs) text() string {
	text, _ := json.Marshal(o) // integers always can be
	return string(text)
}

func (b dagBehaviour) leave(w *world) *outputs {
	if !w.odds(b.output) {
		return nil
	}
	left := &outputs{N: w.random.IntN(4), List: make([]int, w.random.IntN(4))}
	for i := range left.List {
		left.List[i] = w.random.IntN(100)
	}
	return left
}
