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
	b.hold, b.notifies = false, nil
	b.core = core.NewCore(b.config, b.now, b.random())
	b.step(rules)
	b.step(core.IncidentsLoaded{Incidents: b.incidents()})
	b.load()
}

// notified returns the notifications that the core sends, and answers them.
func (b *bench) notified(failed bool) string {
	b.t.Helper()
	var all []string
	for len(b.notifies) > 0 {
		notify := b.notifies[0]
		b.notifies = b.notifies[1:]
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

func (b *bench) wantNotified(want string) {
	b.t.Helper()
	if got := b.notified(false); got != want {
		b.t.Fatalf("at %s: notified %q, want %q", offset(b.now), got, want)
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

func TestFailureAndItsRecoveryAreNotifiedOnce(t *testing.T) {
	b := newAlertBench(t, asking(spec.AlertFailed, spec.AlertRecovered), "every=5s")
	b.all("at 4.75s", "at 5s", "started 5s/1", "finished 5s/1 3")
	first := b.notifies
	if b.wantNotified("failed begins"); !strings.HasPrefix(first[0].Reason, "exit 3") || first[0].Run != b.runID("5s") || first[0].To[0] != "ops" {
		t.Errorf("it says %+v", first[0])
	}
	b.all("at 9.75s", "at 10s", "started 10s/1", "finished 10s/1 4")
	b.wantNotified("")
	if i := b.incidents()[0]; i.Count != 2 || i.Run != b.runID("10s") || !i.Since.Equal(b.seconds("5s")) || !i.Notified {
		t.Errorf("after another failure: %+v", i)
	}
	b.all("at 14.75s", "at 15s", "started 15s/1", "finished 15s/1 0")
	if len(b.notifies) != 1 || b.notifies[0].OverRun != b.runID("15s") || !b.notifies[0].Over.Equal(b.seconds("15s")) {
		t.Errorf("its end says %+v", b.notifies)
	}
	b.wantNotified("failed ends")
	if left := b.incidents(); len(left) != 0 {
		t.Errorf("left: %+v", left)
	}
}

func TestRecoveryIsNotNotifiedUnlessTheRulesAskForIt(t *testing.T) {
	b := newAlertBench(t, asking(spec.AlertFailed), "every=5s")
	b.all("at 4.75s", "at 5s", "started 5s/1", "finished 5s/1 3")
	b.all("at 9.75s", "at 10s", "started 10s/1", "finished 10s/1 0") // before the notifier has the beginning
	b.wantNotified("failed begins")
	if left := b.incidents(); len(left) != 0 {
		t.Errorf("left: %+v", left)
	}
}

func TestUsersAreNotifiedOnceAnIncidentIsDurable(t *testing.T) {
	b := newAlertBench(t, asking(spec.AlertFailed), "every=5s")
	b.all("at 4.75s", "at 5s", "started 5s/1", "hold", "finished 5s/1 3")
	if len(b.notifies) != 0 {
		t.Error("it was notified before the commit")
	}
	b.all("commit")
	b.wantNotified("failed begins")
}

func TestNothingIsNotifiedThatTheRulesDoNotAskFor(t *testing.T) {
	for name, alerts := range map[string]spec.Alerts{
		"nothing": {}, "to nobody": {On: []spec.Alert{spec.AlertFailed}}, "another": asking(spec.AlertDead), "none": asking(spec.AlertNone),
	} {
		b := newAlertBench(t, alerts, "every=5s")
		b.all("at 4.75s", "at 5s", "started 5s/1", "finished 5s/1 3")
		if got := b.notified(false); got != "" || len(b.incidents()) != 0 {
			t.Errorf("%s: %s", name, got)
		}
	}
	b := newAlertBench(t, asking(spec.AlertFailed), "every=5s")
	b.config.Incidents = false
	b.takeOver(core.AlertRules{})
	b.all("at 4.75s", "at 5s", "started 5s/1", "finished 5s/1 3")
	if got := b.notified(false); got != "" || len(b.incidents()) != 0 {
		t.Errorf("without a notifier: %s", got)
	}
}

func TestNotificationIsRepeatedUntilTheNotifierAcceptsIt(t *testing.T) {
	b := newAlertBench(t, asking(spec.AlertFailed), "every=100s")
	b.all("at 99.75s", "at 100s", "started 100s/1", "finished 100s/1 3")
	at := b.now
	for _, wait := range []time.Duration{1, 2, 4, 8, 16, 30, 30} {
		if got := b.notified(true); got != "failed begins" {
			t.Fatalf("%s after %s: %q", b.now.Sub(at), wait*time.Second, got)
		}
		b.now = b.now.Add(wait*time.Second - time.Millisecond)
		b.step(core.Tick{})
		if len(b.notifies) > 0 {
			t.Fatalf("notified again within %s", wait*time.Second)
		}
		b.now = b.now.Add(time.Millisecond)
		b.step(core.Tick{})
	}
	b.wantNotified("failed begins")
}

func TestTakeOverNotifiesPendingIncidents(t *testing.T) {
	b := newAlertBench(t, asking(spec.AlertFailed, spec.AlertRecovered), "every=5s", "tries=1")
	b.all("at 4.75s", "at 5s", "started 5s/1", "finished 5s/1 3")
	key := b.notifies[0].Key()
	b.takeOver(core.AlertRules{})
	if len(b.notifies) != 1 || b.notifies[0].Key() != key {
		t.Fatalf("after a take-over: %+v", b.notifies)
	}
	b.wantNotified("failed begins")
	b.takeOver(core.AlertRules{})
	b.wantNotified("")
	b.all("at 9.75s", "at 10s", "started 10s/1", "finished 10s/1 0")
	b.takeOver(core.AlertRules{})
	b.wantNotified("failed ends")
	b.takeOver(core.AlertRules{})
	b.wantNotified("")
}

// An incident that begins before the notifier has the end of the previous one waits for that, and neither is lost.
func TestIncidentWaitsUntilTheEndOfThePreviousOneIsNotified(t *testing.T) {
	b := newAlertBench(t, asking(spec.AlertFailed, spec.AlertRecovered), "every=5s", "overlap=allow")
	b.all("at 4.75s", "at 5s", "started 5s/1", "finished 5s/1 3")
	b.wantNotified("failed begins")
	b.all("at 9.75s", "at 10s", "started 10s/1", "finished 10s/1 0", "at 14.75s", "at 15s", "started 15s/1", "finished 15s/1 4")
	if i := b.incidents()[0]; len(b.notifies) != 1 || i.Next == nil || i.Next.Run != b.runID("15s") || i.Next.Key() == i.Key() {
		t.Fatalf("%d notifications, and the store has %+v", len(b.notifies), i)
	}
	b.all("at 19.75s", "at 20s", "started 20s/1", "finished 20s/1 0", "at 24.75s", "at 25s", "started 25s/1", "finished 25s/1 5")
	if i := b.incidents()[0]; i.Next.Count != 2 || !i.Next.Over.IsZero() {
		t.Errorf("an incident that was never notified continues: %+v", i.Next)
	}
	b.takeOver(core.AlertRules{})
	b.wantNotified("failed ends, failed begins")
	b.all("at 29.75s", "at 30s", "started 30s/1", "finished 30s/1 0")
	b.wantNotified("failed ends")
}

// Two runs of one instant: the second begins an incident with a key of its own.
func TestKeysOfOneInstantDiffer(t *testing.T) {
	b := newAlertBench(t, asking(spec.AlertFailed, spec.AlertRecovered), "every=5s", "overlap=allow")
	b.all("at 4.75s", "at 5s", "at 9.75s", "at 10s", "at 14.75s", "at 15s", "started 5s/1", "started 10s/1", "started 15s/1")
	b.all("finished 5s/1 3", "finished 10s/1 0", "finished 15s/1 3")
	if i := b.incidents()[0]; i.Next == nil || i.Next.Key() == i.Key() {
		t.Errorf("%+v", i)
	}
	b.wantNotified("failed begins, failed ends, failed begins")
}

func TestDeadLetterIncidentEndsWhenItsRunIsRetried(t *testing.T) {
	b := newAlertBench(t, asking(spec.AlertDead, spec.AlertRecovered), "at=5s", "tries=2")
	b.all("at 4.75s", "at 5s", "started 5s/1", "finished 5s/1 1", "at 7s")
	b.wantNotified("")
	b.all("started 5s/2", "finished 5s/2 1")
	b.wantNotified("dead begins")
	b.all("retry 5s")
	b.wantNotified("dead ends")
}

func TestMissedIncidentEndsWhenASlotFires(t *testing.T) {
	b := newAlertBench(t, asking(spec.AlertMissed, spec.AlertRecovered), "every=10s", "catchup=none")
	b.config.Grace = time.Second
	b.now = b.seconds("55s")
	b.takeOver(core.AlertRules{})
	i := b.incidents()[0]
	if b.wantNotified("missed begins"); i.Count < 2 || !i.Slot.Equal(b.seconds("50s")) {
		t.Errorf("%+v", i)
	}
	b.all("at 59.75s")
	b.wantNotified("") // prepared
	b.all("at 60s")
	b.wantNotified("missed ends")
}

func TestSkippedIncidentEndsWhenASlotFires(t *testing.T) {
	b := newAlertBench(t, asking(spec.AlertSkipped, spec.AlertRecovered), "every=5s", "overlap=skip", "exclude=19s-21s")
	b.all("at 4.75s", "at 5s", "started 5s/1", "at 9.75s", "at 10s")
	b.wantNotified("skipped begins")
	b.all("finished 5s/1 0", "at 14.75s", "at 15s", "started 15s/1", "finished 15s/1 0")
	b.wantNotified("skipped ends")
	b.all("at 19.75s", "at 20s") // a blackout is no fault
	b.wantNotified("")
	b.all("pause", "at 31s", "resume")
	b.wantNotified("")
}

func TestLateIncidentLastsWhileTheRunWaits(t *testing.T) {
	late := spec.Alerts{On: []spec.Alert{spec.AlertRecovered}, Lag: lasting(2 * time.Second), To: []string{"ops"}}
	b := newAlertBench(t, late, "every=5s", "overlap=queue")
	b.all("at 4.75s", "at 5s", "at 6.9s")
	b.wantNotified("")
	b.all("at 7s")
	b.wantNotified("late begins")
	b.takeOver(core.AlertRules{})
	b.all("at 8s", "started 5s/1", "finished 5s/1 0") // it is known that it began late
	b.wantNotified("")
	b.all("at 9.75s", "at 10s", "at 11s", "started 10s/1")
	b.wantNotified("late ends")
	if i := b.incidents(); len(i) != 0 {
		t.Errorf("left: %+v", i)
	}
	b.all("finished 10s/1 0", "at 14.75s", "at 15s", "hold", "at 18s", "commit", "started 15s/1")
	b.wantNotified("late begins")
	b.all("run x", "at 30s")
	b.wantNotified("") // what is triggered manually has no slot
}

func TestSlowIncidentLastsWhileTheRunRuns(t *testing.T) {
	slow := spec.Alerts{On: []spec.Alert{spec.AlertRecovered}, Duration: lasting(2 * time.Second), To: []string{"ops"}}
	b := newAlertBench(t, slow, "every=10s", "tries=3")
	b.all("at 9.75s", "at 10s", "at 11s", "started 10s/1", "at 12.9s")
	b.wantNotified("")
	b.all("at 13s")
	b.wantNotified("slow begins")
	b.all("at 14s", "finished 10s/1 0")
	b.wantNotified("") // it was slow
	b.all("at 19.75s", "at 20s", "started 20s/1", "at 21s", "finished 20s/1 0")
	b.wantNotified("slow ends")
	b.all("at 29.75s", "at 30s", "started 30s/1", "at 31s", "finished 30s/1 1", "at 31.9s")
	b.wantNotified("")
	b.all("at 32.1s") // it counts from the first attempt
	b.wantNotified("slow begins")
}

func TestEndOfASlowRunIsEnough(t *testing.T) {
	b := newAlertBench(t, spec.Alerts{Duration: lasting(2 * time.Second), To: []string{"ops"}}, "every=100s")
	b.all("at 99.75s", "at 100s", "started 100s/1")
	b.now = b.seconds("103s")
	b.takeOver(core.AlertRules{}) // news of its end may be on the way
	b.wantNotified("")
	b.all("finished 100s/1 0")
	b.wantNotified("slow begins")
}

func silentAfter(d time.Duration) spec.Alerts {
	return spec.Alerts{On: []spec.Alert{spec.AlertRecovered}, SilentFor: lasting(d), To: []string{"ops"}}
}

func TestSilentIncidentEndsWithTheNextSuccess(t *testing.T) {
	b := newAlertBench(t, silentAfter(10*time.Second), "after=1000s", "tries=1")
	b.all("at 9.9s", "run a")
	b.wantNotified("")
	b.all("at 10s")
	if b.notifies[0].Reason == "" || !b.notifies[0].Since.Equal(b.seconds("10s")) {
		t.Errorf("it says %+v", b.notifies[0])
	}
	b.wantNotified("silent begins")
	b.all("started a/1", "finished a/1 1", "at 12s", "run b", "started b/1")
	b.wantNotified("") // a failure is no end
	b.all("finished b/1 0")
	b.wantNotified("silent ends")
	if i := b.incidents()[0]; i.Count != 0 || !i.Since.Equal(b.seconds("22s")) {
		t.Errorf("the next: %+v", i)
	}
	b.all("at 21s", "run c", "started c/1", "finished c/1 0") // puts it off
	b.takeOver(core.AlertRules{})
	b.all("at 30.9s")
	b.wantNotified("")
	b.all("at 31s")
	b.wantNotified("silent begins")
}

func TestSilenceOfWhatIsPausedDoesNotCount(t *testing.T) {
	b := newAlertBench(t, silentAfter(10*time.Second), "every=1000s")
	b.all("at 5s", "run a", "started a/1", "pause", "at 6s", "finished a/1 0", "at 60s")
	b.wantNotified("")
	if left := b.incidents(); len(left) != 0 {
		t.Errorf("while it is paused: %+v", left)
	}
	b.all("resume", "at 69s")
	b.wantNotified("")
	b.all("at 70s")
	b.wantNotified("silent begins")
	b.all("pause", "at 90s", "resume", "at 95s")
	b.wantNotified("") // it is active
	b.all("run b", "started b/1", "finished b/1 0")
	b.wantNotified("silent ends")
}

func TestSilenceFollowsAnEdit(t *testing.T) {
	b := newAlertBench(t, silentAfter(time.Hour), "every=1000s")
	b.all("at 5s")
	b.asks(silentAfter(10 * time.Second))
	b.all("at 9s")
	b.wantNotified("")
	b.all("at 10s")
	b.wantNotified("silent begins")
}

func TestIncidentIsDroppedSilentlyWhenItsRuleIsRemoved(t *testing.T) {
	for name, change := range map[string]func(b *bench){
		"edit":   func(b *bench) { b.asks(asking(spec.AlertDead)) },
		"delete": func(b *bench) { b.all("delete") },
	} {
		b := newAlertBench(t, asking(spec.AlertFailed, spec.AlertRecovered), "every=5s")
		b.all("at 4.75s", "at 5s", "started 5s/1", "finished 5s/1 3")
		b.wantNotified("failed begins")
		if change(b); len(b.incidents()) != 0 || len(b.notifies) != 0 {
			t.Errorf("%s: %+v, notified %v", name, b.incidents(), b.notifies)
		}
	}
	b := newAlertBench(t, asking(spec.AlertFailed, spec.AlertRecovered), "every=5s") // before it is durable, too
	b.all("at 4.75s", "at 5s", "started 5s/1", "hold", "finished 5s/1 3")
	b.asks(asking(spec.AlertDead))
	b.all("commit")
	if len(b.incidents()) != 0 || len(b.notifies) != 0 {
		t.Errorf("%+v, notified %v", b.incidents(), b.notifies)
	}
	b.asks(asking(spec.AlertFailed)) // a pause or an edit ends none
	b.all("at 9.75s", "at 10s", "started 10s/1", "finished 10s/1 3", "pause", "resume")
	b.asks(asking(spec.AlertFailed, spec.AlertMissed))
	if b.wantNotified("failed begins"); len(b.incidents()) != 1 {
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
	b.wantNotified("failed begins")
	b.step(rules(asking(spec.AlertFailed, spec.AlertRecovered)))
	if len(b.incidents()) != 1 {
		t.Error("rules that are the same end it")
	}
	b.step(core.AlertRules{})
	if len(b.incidents()) != 0 || len(b.notifies) != 0 {
		t.Errorf("rules that are gone: %+v", b.incidents())
	}
	b.step(rules(spec.Alerts{Lag: lasting(time.Second), To: []string{"ops"}})) // of a run that is prepared already
	b.all("at 9.75s", "at 10s", "at 10.9s")
	b.step(rules(spec.Alerts{Lag: lasting(500 * time.Millisecond), To: []string{"ops"}}))
	b.wantNotified("late begins")
}

// The wall clock goes back by an hour: neither a silence nor a repeated notification waits that much longer.
func TestIncidentsDoNotWaitForTheClock(t *testing.T) {
	b := newAlertBench(t, silentAfter(10*time.Second), "after=1000s")
	b.now = b.now.Add(4 * time.Second)
	b.all("back 3600s")
	b.now = b.now.Add(6 * time.Second)
	b.step(core.Tick{})
	if got := b.notified(true); got != "silent begins" {
		t.Fatalf("notified %q", got)
	}
	b.all("back 3600s")
	b.now = b.now.Add(time.Second)
	b.step(core.Tick{})
	b.wantNotified("silent begins")
}

func TestAnswerAboutAnEarlierIncidentChangesNothing(t *testing.T) {
	b := newAlertBench(t, asking(spec.AlertFailed), "every=5s")
	b.all("at 4.75s", "at 5s", "started 5s/1", "finished 5s/1 3")
	early := b.notifies[0]
	b.asks(asking(spec.AlertDead)) // drops it while the notifier is being called
	b.asks(asking(spec.AlertFailed))
	b.all("at 9.75s", "at 10s", "started 10s/1", "finished 10s/1 3")
	b.step(core.IncidentNotified{ID: early.ID, Since: early.Since})
	if i := b.incidents()[0]; i.Notified || i.Key() == early.Key() {
		t.Errorf("%+v", i)
	}
	b.step(core.IncidentNotified{ID: "job-failed"})
	b.step(core.IncidentNotified{ID: "nothing-failed"})
	b.notifies = b.notifies[1:]
	b.wantNotified("failed begins")
}
