package core_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/core"
	"github.com/tidewheel/tidewheel/spec"
)

// newAlertBench is a bench with a notifier, and a job that has an alert.
func newAlertBench(t *testing.T, alerts spec.Alerts, define ...string) *bench {
	t.Helper()
	b := newBench(t)
	b.config.Incidents = true
	b.core = core.NewCore(b.config, b.now, b.random())
	b.quiet = true
	b.do(append([]string{"define"}, define...))
	b.quiet = false
	b.asks(alerts)
	return b
}

// asks edits the alerts.
func (b *bench) asks(alerts spec.Alerts) {
	b.change(func(job *engine.Job) {
		job.Spec.Alerts, job.UpdatedAt = &alerts, b.now
		job.Generation++
	})
}

func (b *bench) incidents() []engine.Incident {
	b.t.Helper()
	list, err := b.store.Incidents(b.t.Context(), slices.Collect(shards()), "", 100)
	if err != nil {
		b.t.Fatal(err)
	}
	return list
}

func shards() func(func(int) bool) {
	return func(yield func(int) bool) {
		for shard := range engine.Shards {
			if !yield(shard) {
				return
			}
		}
	}
}

// takeOver begins with another core, which reads what the store has.
func (b *bench) takeOver(rules core.AlertRules) {
	b.t.Helper()
	b.hold, b.tells = false, nil
	b.core = core.NewCore(b.config, b.now, b.random())
	b.step(rules)
	b.step(core.IncidentsLoaded{Incidents: b.incidents()})
	b.load()
}

// told returns the notifications that the core sends, and answers them.
func (b *bench) told(failed bool) string {
	b.t.Helper()
	var all []string
	for len(b.tells) > 0 {
		notify := b.tells[0]
		b.tells = b.tells[1:]
		what := "begins"
		if !notify.Over.IsZero() {
			what = "ends"
		}
		all = append(all, fmt.Sprintf("%s %s", notify.Alert, what))
		b.step(core.IncidentNotified{ID: notify.ID, Since: notify.Since, Over: !notify.Over.IsZero(), Failed: failed})
		if failed {
			break
		}
	}
	return strings.Join(all, ", ")
}

func (b *bench) wantTold(want string) {
	b.t.Helper()
	if got := b.told(false); got != want {
		b.t.Fatalf("at %s: told %q, want %q", offset(b.now), got, want)
	}
}

// all does one line of a transcript after the other.
func (b *bench) all(lines ...string) {
	for _, line := range lines {
		b.do(strings.Fields(line))
	}
}

func asking(on ...spec.Alert) spec.Alerts { return spec.Alerts{On: on, To: []string{"ops"}} }

// lasting is a time of a definition.
func lasting(d time.Duration) spec.Duration { return spec.Duration(d) }

func TestFailureAndItsRecoveryAreToldOnce(t *testing.T) {
	b := newAlertBench(t, asking(spec.AlertFailed, spec.AlertRecovered), "every=5s")
	b.all("at 4.75s", "at 5s", "started 5s/1", "finished 5s/1 3")
	first := b.tells
	if b.wantTold("failed begins"); !strings.HasPrefix(first[0].Reason, "exit 3") || first[0].Run != b.runID("5s") || first[0].To[0] != "ops" {
		t.Errorf("it says %+v", first[0])
	}
	b.all("at 9.75s", "at 10s", "started 10s/1", "finished 10s/1 4")
	b.wantTold("")
	if i := b.incidents()[0]; i.Count != 2 || i.Run != b.runID("10s") || !i.Since.Equal(b.seconds("5s")) || !i.Notified {
		t.Errorf("after another failure: %+v", i)
	}
	b.all("at 14.75s", "at 15s", "started 15s/1", "finished 15s/1 0")
	if len(b.tells) != 1 || b.tells[0].OverRun != b.runID("15s") || !b.tells[0].Over.Equal(b.seconds("15s")) {
		t.Errorf("its end says %+v", b.tells)
	}
	b.wantTold("failed ends")
	if left := b.incidents(); len(left) != 0 {
		t.Errorf("left: %+v", left)
	}
}

func TestEndThatNobodyAsksForIsNotTold(t *testing.T) {
	b := newAlertBench(t, asking(spec.AlertFailed), "every=5s")
	b.all("at 4.75s", "at 5s", "started 5s/1", "finished 5s/1 3")
	b.all("at 9.75s", "at 10s", "started 10s/1", "finished 10s/1 0") // before the notifier has the beginning
	b.wantTold("failed begins")
	if left := b.incidents(); len(left) != 0 {
		t.Errorf("left: %+v", left)
	}
}

func TestIncidentIsToldOnceItIsDurable(t *testing.T) {
	b := newAlertBench(t, asking(spec.AlertFailed), "every=5s")
	b.all("at 4.75s", "at 5s", "started 5s/1", "hold", "finished 5s/1 3")
	if len(b.tells) != 0 {
		t.Error("it was told before the commit")
	}
	b.all("commit")
	b.wantTold("failed begins")
}

func TestNobodyIsToldWhatNobodyAsksFor(t *testing.T) {
	for name, alerts := range map[string]spec.Alerts{
		"nothing": {}, "to nobody": {On: []spec.Alert{spec.AlertFailed}}, "another": asking(spec.AlertDead), "none": asking(spec.AlertNone),
	} {
		b := newAlertBench(t, alerts, "every=5s")
		b.all("at 4.75s", "at 5s", "started 5s/1", "finished 5s/1 3")
		if got := b.told(false); got != "" || len(b.incidents()) != 0 {
			t.Errorf("%s: %s", name, got)
		}
	}
	b := newAlertBench(t, asking(spec.AlertFailed), "every=5s")
	b.config.Incidents = false
	b.takeOver(core.AlertRules{})
	b.all("at 4.75s", "at 5s", "started 5s/1", "finished 5s/1 3")
	if got := b.told(false); got != "" || len(b.incidents()) != 0 {
		t.Errorf("without a notifier: %s", got)
	}
}

func TestIncidentIsToldUntilTheNotifierHasIt(t *testing.T) {
	b := newAlertBench(t, asking(spec.AlertFailed), "every=100s")
	b.all("at 99.75s", "at 100s", "started 100s/1", "finished 100s/1 3")
	at := b.now
	for _, wait := range []time.Duration{1, 2, 4, 8, 16, 30, 30} {
		if got := b.told(true); got != "failed begins" {
			t.Fatalf("%s after %s: %q", b.now.Sub(at), wait*time.Second, got)
		}
		b.now = b.now.Add(wait*time.Second - time.Millisecond)
		b.step(core.Tick{})
		if len(b.tells) > 0 {
			t.Fatalf("told again within %s", wait*time.Second)
		}
		b.now = b.now.Add(time.Millisecond)
		b.step(core.Tick{})
	}
	b.wantTold("failed begins")
}

func TestTakeOverTellsWhatIsNotTold(t *testing.T) {
	b := newAlertBench(t, asking(spec.AlertFailed, spec.AlertRecovered), "every=5s", "tries=1")
	b.all("at 4.75s", "at 5s", "started 5s/1", "finished 5s/1 3")
	key := b.tells[0].Key()
	b.takeOver(core.AlertRules{})
	if len(b.tells) != 1 || b.tells[0].Key() != key {
		t.Fatalf("after a take-over: %+v", b.tells)
	}
	b.wantTold("failed begins")
	b.takeOver(core.AlertRules{})
	b.wantTold("")
	b.all("at 9.75s", "at 10s", "started 10s/1", "finished 10s/1 0")
	b.takeOver(core.AlertRules{})
	b.wantTold("failed ends")
	b.takeOver(core.AlertRules{})
	b.wantTold("")
}

// An incident that begins before the notifier has the end of the one before waits for that, and neither is lost.
func TestIncidentBeginsWhileTheEndOfTheOneBeforeIsNotTold(t *testing.T) {
	b := newAlertBench(t, asking(spec.AlertFailed, spec.AlertRecovered), "every=5s", "overlap=allow")
	b.all("at 4.75s", "at 5s", "started 5s/1", "finished 5s/1 3")
	b.wantTold("failed begins")
	b.all("at 9.75s", "at 10s", "started 10s/1", "finished 10s/1 0", "at 14.75s", "at 15s", "started 15s/1", "finished 15s/1 4")
	if i := b.incidents()[0]; len(b.tells) != 1 || i.Next == nil || i.Next.Run != b.runID("15s") || i.Next.Key() == i.Key() {
		t.Fatalf("%d tells, and the store has %+v", len(b.tells), i)
	}
	b.all("at 19.75s", "at 20s", "started 20s/1", "finished 20s/1 0", "at 24.75s", "at 25s", "started 25s/1", "finished 25s/1 5")
	if i := b.incidents()[0]; i.Next.Count != 2 || !i.Next.Over.IsZero() {
		t.Errorf("what nobody knows of goes on: %+v", i.Next)
	}
	b.takeOver(core.AlertRules{})
	b.wantTold("failed ends, failed begins")
	b.all("at 29.75s", "at 30s", "started 30s/1", "finished 30s/1 0")
	b.wantTold("failed ends")
}

// Two runs of one instant: the second begins an incident with a key of its own.
func TestKeysOfOneInstantDiffer(t *testing.T) {
	b := newAlertBench(t, asking(spec.AlertFailed, spec.AlertRecovered), "every=5s", "overlap=allow")
	b.all("at 4.75s", "at 5s", "at 9.75s", "at 10s", "at 14.75s", "at 15s", "started 5s/1", "started 10s/1", "started 15s/1")
	b.all("finished 5s/1 3", "finished 10s/1 0", "finished 15s/1 3")
	if i := b.incidents()[0]; i.Next == nil || i.Next.Key() == i.Key() {
		t.Errorf("%+v", i)
	}
	b.wantTold("failed begins, failed ends, failed begins")
}

func TestDeadLetterIsToldUntilItsRunIsTriedAgain(t *testing.T) {
	b := newAlertBench(t, asking(spec.AlertDead, spec.AlertRecovered), "at=5s", "tries=2")
	b.all("at 4.75s", "at 5s", "started 5s/1", "finished 5s/1 1", "at 7s")
	b.wantTold("")
	b.all("started 5s/2", "finished 5s/2 1")
	b.wantTold("dead begins")
	b.all("retry 5s")
	b.wantTold("dead ends")
}

func TestMissedSlotsAreToldUntilOneFires(t *testing.T) {
	b := newAlertBench(t, asking(spec.AlertMissed, spec.AlertRecovered), "every=10s", "catchup=none")
	b.config.Grace = time.Second
	b.now = b.seconds("55s")
	b.takeOver(core.AlertRules{})
	i := b.incidents()[0]
	if b.wantTold("missed begins"); i.Count < 2 || !i.Slot.Equal(b.seconds("50s")) {
		t.Errorf("%+v", i)
	}
	b.all("at 59.75s")
	b.wantTold("") // prepared
	b.all("at 60s")
	b.wantTold("missed ends")
}

func TestSkippedSlotsAreToldUntilOneFires(t *testing.T) {
	b := newAlertBench(t, asking(spec.AlertSkipped, spec.AlertRecovered), "every=5s", "overlap=skip", "exclude=19s-21s")
	b.all("at 4.75s", "at 5s", "started 5s/1", "at 9.75s", "at 10s")
	b.wantTold("skipped begins")
	b.all("finished 5s/1 0", "at 14.75s", "at 15s", "started 15s/1", "finished 15s/1 0")
	b.wantTold("skipped ends")
	b.all("at 19.75s", "at 20s") // a blackout is no fault
	b.wantTold("")
	b.all("pause", "at 31s", "resume")
	b.wantTold("")
}

func TestLateRunIsToldWhileItWaits(t *testing.T) {
	late := spec.Alerts{On: []spec.Alert{spec.AlertRecovered}, Lag: lasting(2 * time.Second), To: []string{"ops"}}
	b := newAlertBench(t, late, "every=5s", "overlap=queue")
	b.all("at 4.75s", "at 5s", "at 6.9s")
	b.wantTold("")
	b.all("at 7s")
	b.wantTold("late begins")
	b.takeOver(core.AlertRules{})
	b.all("at 8s", "started 5s/1", "finished 5s/1 0") // it is known that it began late
	b.wantTold("")
	b.all("at 9.75s", "at 10s", "at 11s", "started 10s/1")
	b.wantTold("late ends")
	if i := b.incidents(); len(i) != 0 {
		t.Errorf("left: %+v", i)
	}
	b.all("finished 10s/1 0", "at 14.75s", "at 15s", "hold", "at 18s", "commit", "started 15s/1")
	b.wantTold("late begins")
	b.all("run x", "at 30s")
	b.wantTold("") // what is asked for by hand has no slot
}

func TestSlowRunIsToldWhileItRuns(t *testing.T) {
	slow := spec.Alerts{On: []spec.Alert{spec.AlertRecovered}, Duration: lasting(2 * time.Second), To: []string{"ops"}}
	b := newAlertBench(t, slow, "every=10s", "tries=3")
	b.all("at 9.75s", "at 10s", "at 11s", "started 10s/1", "at 12.9s")
	b.wantTold("")
	b.all("at 13s")
	b.wantTold("slow begins")
	b.all("at 14s", "finished 10s/1 0")
	b.wantTold("") // it was slow
	b.all("at 19.75s", "at 20s", "started 20s/1", "at 21s", "finished 20s/1 0")
	b.wantTold("slow ends")
	b.all("at 29.75s", "at 30s", "started 30s/1", "at 31s", "finished 30s/1 1", "at 31.9s")
	b.wantTold("")
	b.all("at 32.1s") // it counts from the first attempt
	b.wantTold("slow begins")
}

func TestEndOfASlowRunIsEnough(t *testing.T) {
	b := newAlertBench(t, spec.Alerts{Duration: lasting(2 * time.Second), To: []string{"ops"}}, "every=100s")
	b.all("at 99.75s", "at 100s", "started 100s/1")
	b.now = b.seconds("103s")
	b.takeOver(core.AlertRules{}) // news of its end may be on the way
	b.wantTold("")
	b.all("finished 100s/1 0")
	b.wantTold("slow begins")
}

func silentAfter(d time.Duration) spec.Alerts {
	return spec.Alerts{On: []spec.Alert{spec.AlertRecovered}, SilentFor: lasting(d), To: []string{"ops"}}
}

func TestSilenceIsToldUntilSomethingSucceeds(t *testing.T) {
	b := newAlertBench(t, silentAfter(10*time.Second), "after=1000s", "tries=1")
	b.all("at 9.9s", "run a")
	b.wantTold("")
	b.all("at 10s")
	if b.tells[0].Reason == "" || !b.tells[0].Since.Equal(b.seconds("10s")) {
		t.Errorf("it says %+v", b.tells[0])
	}
	b.wantTold("silent begins")
	b.all("started a/1", "finished a/1 1", "at 12s", "run b", "started b/1")
	b.wantTold("") // a failure is no end
	b.all("finished b/1 0")
	b.wantTold("silent ends")
	if i := b.incidents()[0]; i.Count != 0 || !i.Since.Equal(b.seconds("22s")) {
		t.Errorf("the next: %+v", i)
	}
	b.all("at 21s", "run c", "started c/1", "finished c/1 0") // puts it off
	b.takeOver(core.AlertRules{})
	b.all("at 30.9s")
	b.wantTold("")
	b.all("at 31s")
	b.wantTold("silent begins")
}

func TestSilenceOfWhatIsPausedDoesNotCount(t *testing.T) {
	b := newAlertBench(t, silentAfter(10*time.Second), "every=1000s")
	b.all("at 5s", "run a", "started a/1", "pause", "at 6s", "finished a/1 0", "at 60s")
	b.wantTold("")
	if left := b.incidents(); len(left) != 0 {
		t.Errorf("while it is paused: %+v", left)
	}
	b.all("resume", "at 69s")
	b.wantTold("")
	b.all("at 70s")
	b.wantTold("silent begins")
	b.all("pause", "at 90s", "resume", "at 95s")
	b.wantTold("") // it goes on
	b.all("run b", "started b/1", "finished b/1 0")
	b.wantTold("silent ends")
}

func TestSilenceFollowsAnEdit(t *testing.T) {
	b := newAlertBench(t, silentAfter(time.Hour), "every=1000s")
	b.all("at 5s")
	b.asks(silentAfter(10 * time.Second))
	b.all("at 9s")
	b.wantTold("")
	b.all("at 10s")
	b.wantTold("silent begins")
}

func TestWhatIsNotAskedForAnyMoreGoesSilently(t *testing.T) {
	for name, change := range map[string]func(b *bench){
		"edit":   func(b *bench) { b.asks(asking(spec.AlertDead)) },
		"delete": func(b *bench) { b.all("delete") },
	} {
		b := newAlertBench(t, asking(spec.AlertFailed, spec.AlertRecovered), "every=5s")
		b.all("at 4.75s", "at 5s", "started 5s/1", "finished 5s/1 3")
		b.wantTold("failed begins")
		if change(b); len(b.incidents()) != 0 || len(b.tells) != 0 {
			t.Errorf("%s: %+v, told %v", name, b.incidents(), b.tells)
		}
	}
	b := newAlertBench(t, asking(spec.AlertFailed, spec.AlertRecovered), "every=5s") // before it is durable, too
	b.all("at 4.75s", "at 5s", "started 5s/1", "hold", "finished 5s/1 3")
	b.asks(asking(spec.AlertDead))
	b.all("commit")
	if len(b.incidents()) != 0 || len(b.tells) != 0 {
		t.Errorf("%+v, told %v", b.incidents(), b.tells)
	}
	b.asks(asking(spec.AlertFailed)) // a pause or an edit ends none
	b.all("at 9.75s", "at 10s", "started 10s/1", "finished 10s/1 3", "pause", "resume")
	b.asks(asking(spec.AlertFailed, spec.AlertMissed))
	if b.wantTold("failed begins"); len(b.incidents()) != 1 {
		t.Errorf("%+v", b.incidents())
	}
}

func TestNamespaceAsksWhereADefinitionDoesNot(t *testing.T) {
	rules := func(alerts spec.Alerts) core.AlertRules {
		return core.AlertRules{Namespaces: map[string]spec.Alerts{"default": alerts}}
	}
	b := newAlertBench(t, spec.Alerts{}, "every=5s")
	b.change(func(job *engine.Job) { job.Spec.Alerts = nil })
	b.takeOver(rules(asking(spec.AlertFailed, spec.AlertRecovered)))
	b.all("at 4.75s", "at 5s", "started 5s/1", "finished 5s/1 3")
	b.wantTold("failed begins")
	b.step(rules(asking(spec.AlertFailed, spec.AlertRecovered)))
	if len(b.incidents()) != 1 {
		t.Error("rules that are the same end it")
	}
	b.step(core.AlertRules{})
	if len(b.incidents()) != 0 || len(b.tells) != 0 {
		t.Errorf("rules that are gone: %+v", b.incidents())
	}
	b.step(rules(spec.Alerts{Lag: lasting(time.Second), To: []string{"ops"}})) // of a run that is prepared already
	b.all("at 9.75s", "at 10s", "at 10.9s")
	b.step(rules(spec.Alerts{Lag: lasting(500 * time.Millisecond), To: []string{"ops"}}))
	b.wantTold("late begins")
}

// The wall clock goes back by an hour: neither a silence nor a repeated notification waits that much longer.
func TestIncidentsDoNotWaitForTheClock(t *testing.T) {
	b := newAlertBench(t, silentAfter(10*time.Second), "after=1000s")
	b.now = b.now.Add(4 * time.Second)
	b.all("back 3600s")
	b.now = b.now.Add(6 * time.Second)
	b.step(core.Tick{})
	if got := b.told(true); got != "silent begins" {
		t.Fatalf("told %q", got)
	}
	b.all("back 3600s")
	b.now = b.now.Add(time.Second)
	b.step(core.Tick{})
	b.wantTold("silent begins")
}

func TestAnswerAboutAnEarlierIncidentChangesNothing(t *testing.T) {
	b := newAlertBench(t, asking(spec.AlertFailed), "every=5s")
	b.all("at 4.75s", "at 5s", "started 5s/1", "finished 5s/1 3")
	early := b.tells[0]
	b.asks(asking(spec.AlertDead)) // drops it while the notifier is being called
	b.asks(asking(spec.AlertFailed))
	b.all("at 9.75s", "at 10s", "started 10s/1", "finished 10s/1 3")
	b.step(core.IncidentNotified{ID: early.ID, Since: early.Since})
	if i := b.incidents()[0]; i.Notified || i.Key() == early.Key() {
		t.Errorf("%+v", i)
	}
	b.step(core.IncidentNotified{ID: "job-failed"})
	b.step(core.IncidentNotified{ID: "nothing-failed"})
	b.tells = b.tells[1:]
	b.wantTold("failed begins")
}
