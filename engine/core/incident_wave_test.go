package core_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/core"
	"github.com/tidewheel/tidewheel/spec"
)

// alertDAG has two tasks, one after the other, with alerts of the DAG and of the second task.
func alertDAG(whole, second *spec.Alerts) *spec.DAG {
	d := &spec.DAG{Name: "etl", Defaults: spec.TaskDefaults{Binary: "work"}, Alerts: whole, Tasks: spec.Tasks{
		{Name: "a", Schedule: spec.Strings{"* * * * *"}}, {Name: "b", Needs: []string{"a"}, Alerts: second},
	}}
	d.ApplyDefaults()
	return d
}

func newAlertWaves(t *testing.T, whole, second *spec.Alerts) *waveBench {
	b := newWaveBench(t, "kind: DAG\nname: etl\ndefaults: {binary: work}\ntasks: {a: {}}\n")
	b.defineDAG(alertDAG(whole, second))
	return b
}

// notified returns the notifications that the core sends, and answers them.
func (b *waveBench) notified() string {
	var all []string
	for len(b.notifies) > 0 {
		notify := b.notifies[0]
		b.notifies = b.notifies[1:]
		what := "begins"
		if !notify.Over.IsZero() {
			what = "ends"
		}
		all = append(all, strings.TrimSpace(fmt.Sprintf("%s %s %s", notify.Alert, what, notify.Task)))
		b.step(core.IncidentNotified{ID: notify.ID, Since: notify.Since, Over: !notify.Over.IsZero()})
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

func (b *waveBench) wantNotified(want string) {
	b.t.Helper()
	if got := b.notified(); got != want {
		b.t.Fatalf("notified %q, want %q", got, want)
	}
}

// failing lets some tasks end with this exit code.
func (b *waveBench) failing(code int, tasks ...string) {
	b.ends = func(task *engine.Task) engine.Finish {
		if slices.Contains(tasks, task.Task) {
			return engine.Finish{Status: engine.StatusFailed, ExitCode: &code}
		}
		return engine.Finish{Status: engine.StatusSucceeded}
	}
}

func recovering(on ...spec.Alert) *spec.Alerts {
	alerts := asking(append(on, spec.AlertRecovered)...)
	return &alerts
}

func TestWaveAndTaskHaveSeparateIncidents(t *testing.T) {
	b := newAlertWaves(t, recovering(spec.AlertFailed, spec.AlertDead), recovering(spec.AlertFailed))
	b.failing(64, "a")
	b.until(time.Minute + time.Second)
	if i := b.incidents[engine.IncidentID(waveUID, "", spec.AlertFailed)]; i.Wave != engine.WaveID(waveUID, 1) || !strings.Contains(i.Reason, "exit 64") {
		t.Errorf("%+v", i)
	}
	b.wantNotified("failed begins") // b did not run
	b.failing(64, "b")
	b.until(2*time.Minute + time.Second)
	b.wantNotified("failed begins b")
	b.failing(0)
	b.until(3*time.Minute + time.Second)
	b.wantNotified("failed ends, failed ends b")
	if len(b.incidents) != 0 {
		t.Errorf("left: %v", slices.Collect(maps.Keys(b.incidents)))
	}
}

func TestDeadLetterOfATaskIsAnIncidentOfItsDAG(t *testing.T) {
	b := newAlertWaves(t, recovering(spec.AlertDead), nil)
	d := alertDAG(recovering(spec.AlertDead), nil)
	d.Tasks[1].Retry = spec.Retry{MaxAttempts: 2, Delay: lasting(time.Second), MaxDelay: lasting(time.Second)}
	b.defineDAG(d)
	b.failing(1, "b")
	b.until(time.Minute + 5*time.Second)
	b.wantNotified("dead begins")
	b.failing(0)
	b.until(2*time.Minute + 5*time.Second)
	b.wantNotified("dead ends")
}

// The items of a mapped task are of one wave: one that succeeds after another has failed is no end.
func TestItemsOfOneWaveDoNotEndWhatOneOfThemBegan(t *testing.T) {
	b := newWaveBench(t, "kind: DAG\nname: etl\ndefaults: {binary: work}\npayload: [1, 2]\ntasks: {each: {for_each: payload}}\n")
	d := b.dag.Spec.Clone()
	d.Tasks[0].Alerts = recovering(spec.AlertFailed)
	b.defineDAG(d)
	code := 64
	b.ends = func(task *engine.Task) engine.Finish {
		if *task.Item == 0 {
			return engine.Finish{Status: engine.StatusFailed, ExitCode: &code}
		}
		return engine.Finish{Status: engine.StatusSucceeded}
	}
	b.ask("one", nil, nil)
	b.drain()
	b.wantNotified("failed begins each")
	b.failing(0)
	b.ask("two", nil, nil)
	b.drain()
	b.wantNotified("failed ends each")
}

func TestSlowIncidentLastsWhileTheWaveIsOpen(t *testing.T) {
	b := newAlertWaves(t, &spec.Alerts{On: []spec.Alert{spec.AlertRecovered}, Duration: lasting(10 * time.Second), To: []string{"ops"}}, nil)
	wait := func(d time.Duration) {
		b.now = b.now.Add(d)
		b.step(core.Tick{})
	}
	b.ask("one", nil, nil)
	wait(9 * time.Second)
	b.wantNotified("")
	b.restart() // which reads no incidents: there are none
	wait(time.Second)
	b.wantNotified("slow begins")
	b.drain()
	b.wantNotified("")
	b.ask("two", nil, nil)
	b.drain()
	b.wantNotified("slow ends")
}

func TestSilentDAG(t *testing.T) {
	b := newAlertWaves(t, &spec.Alerts{On: []spec.Alert{spec.AlertRecovered}, SilentFor: lasting(90 * time.Second), To: []string{"ops"}}, nil)
	b.until(time.Minute + 30*time.Second)
	b.wantNotified("")
	b.failing(64, "a")
	b.until(2*time.Minute + 35*time.Second)
	b.wantNotified("silent begins")
	b.failing(0)
	b.until(3*time.Minute + time.Second)
	b.wantNotified("silent ends")
	b.dag.Deleted = true
	b.save()
	if len(b.incidents) != 0 {
		t.Errorf("left: %v", slices.Collect(maps.Keys(b.incidents)))
	}
}

func TestTaskThatIsGoneHasNoIncident(t *testing.T) {
	b := newAlertWaves(t, nil, recovering(spec.AlertFailed))
	b.failing(64, "b")
	b.until(time.Minute + time.Second)
	b.wantNotified("failed begins b")
	d := alertDAG(nil, nil)
	d.Tasks = d.Tasks[:1]
	b.defineDAG(d)
	b.wantNotified("")
	if len(b.incidents) != 0 {
		t.Errorf("left: %v", slices.Collect(maps.Keys(b.incidents)))
	}
}

// Slots of a root that an outage has passed over are an incident of the DAG, until a slot of it fires again.
func TestMissedSlotsOfARootEndWhenASlotFires(t *testing.T) {
	b := newAlertWaves(t, nil, nil)
	d := alertDAG(recovering(spec.AlertMissed), nil)
	d.CatchUp = spec.CatchUp{Policy: spec.CatchUpNone}
	b.defineDAG(d)
	b.until(time.Minute + 5*time.Second)
	b.wantNotified("")
	b.away(10*time.Minute + 30*time.Second)
	i := b.incidents[engine.IncidentID(waveUID, "", spec.AlertMissed)]
	if b.wantNotified("missed begins"); i.Count < 2 || !i.Slot.Equal(b.dag.CreatedAt.Add(10*time.Minute)) {
		t.Errorf("%+v", i)
	}
	b.until(11*time.Minute + 5*time.Second)
	b.wantNotified("missed ends")
	if len(b.incidents) != 0 {
		t.Errorf("left: %v", slices.Collect(maps.Keys(b.incidents)))
	}
}
