package notify

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

func TestIncidentIsSentOnceHoweverOftenItIsNotified(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		o.start()
		i := anIncident("nightly", "ops", "dev", "ops")
		for range 3 {
			o.notify(i)
		}
		pass(time.Minute)
		o.want("taken by ops", o.target.took("ops"), []string{"incident.opened Job nightly (default) failed"})
		ended := over(i)
		ended.Over = i.Since.Add(90 * time.Second)
		for range 3 {
			o.notify(ended)
			pass(time.Minute)
		}
		for _, name := range []string{"ops", "dev"} {
			o.want("taken by "+name, o.target.took(name),
				[]string{"incident.opened Job nightly (default) failed", "incident.over Over: Job nightly (default) failed, for 1m30s"})
		}
		if n := o.counted(ResultDelivered); n != 4 {
			t.Errorf("%d are counted as delivered, want 4", n)
		}
		left, err := o.store.Records(t.Context(), engine.RecordFilter{Kind: kindDue, Limit: 10})
		if err != nil || len(left) > 0 {
			t.Errorf("what says that they are due is still there: %v, %v", left, err)
		}
		first := o.target.got[0].message
		if first.Data.URL != "https://tide.example.com/runs/nightly-1" || first.Data.Reason != "exit code 1" || first.Data.Count != 1 {
			t.Errorf("the message says %+v", first.Data)
		}
	})
}

func TestEndIsSentOnlyWhereTheBeginningWas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		o.start()
		i := anIncident("a", "ops")
		o.notify(i)
		unasked := anIncident("b", "ops")
		unasked.Recovered = false
		o.notify(unasked)
		pass(time.Minute)
		i.To = []string{"ops", "dev"} // dev was added in between
		o.notify(over(i))
		o.notify(over(unasked))
		pass(time.Minute)
		o.want("dev", o.target.took("dev"), nil)
		if got := o.target.took("ops"); len(got) != 3 || !strings.HasPrefix(got[2], MessageOver+" Over: Job a") {
			t.Errorf("ops got %q", got)
		}
		// An incident that was over before it was notified is notified as begun and as over, in this order.
		both := over(anIncident("c", "dev"))
		both.Notified, both.Over = false, both.Over.Add(time.Minute)
		o.notify(both)
		pass(time.Minute)
		o.want("dev", o.target.took("dev"), []string{"incident.opened Job c (default) failed", "incident.over Over: Job c (default) failed, for 1m"})
	})
}

func TestSilencedIncidentIsRecordedAndNotSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		o.start()
		silence := Silence{Namespace: "default", Definition: "night*", Until: time.Now().Add(time.Hour), Reason: "move"}
		if _, err := o.book.AddSilence(t.Context(), silence); err != nil {
			t.Fatal(err)
		}
		i, other := anIncident("nightly", "ops"), anIncident("hourly", "ops")
		o.notify(i)
		o.notify(other)
		pass(2 * time.Hour) // the silence ends, and the incident does not come back
		o.notify(i)
		o.notify(over(i))
		pass(time.Minute)
		o.want("taken", o.target.took(""), []string{"incident.opened Job hourly (default) failed"})
		silenced := o.deliveries(DeliveryFilter{State: StateSilenced})
		if len(silenced) != 2 || !silenced[0].Over || !strings.Contains(silenced[1].Reason, "move") {
			t.Errorf("silenced: %+v", silenced)
		}
		if n := o.counted(ResultSilenced); n != 2 {
			t.Errorf("%d are counted as silenced", n)
		}
	})
}

func TestTargetThatIsNotThereIsRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		o.start()
		o.notify(anIncident("nightly", "none"))
		mustSet(t, o.book, Target{Namespace: "default", Name: "self", Kind: TargetJob, Job: "hourly"})
		o.notify(anIncident("hourly", "self"))
		other := anIncident("other", "self")
		o.notify(other)
		pass(time.Minute)
		o.want("states", o.states(), []string{"none failed", "self delivered", "self failed"})
		if failed := o.deliveries(DeliveryFilter{Target: "self", State: StateFailed}); len(failed) != 1 || !strings.Contains(failed[0].Reason, "itself") {
			t.Errorf("failed: %+v", failed)
		}
	})
}

// A notifier that died after it had made a delivery, and before senders could find it, leaves it to the next one.
func TestDeliveryOfANotifierThatDiedIsSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		o.start()
		i := anIncident("nightly", "ops")
		now := o.book.moment()
		half := Delivery{
			ID: deliveryID(&i, "ops", false), Namespace: "default", Target: "ops", Incident: i, State: StateWaiting, CreatedAt: now, NextAt: now, GiveUpAt: now.Add(tried),
		}
		if err := o.book.writeDelivery(t.Context(), &half); err != nil {
			t.Fatal(err)
		}
		o.notify(i)
		pass(time.Minute)
		o.want("states", o.states(), []string{"ops delivered"})
	})
}

func TestDeliveriesHaveIDsOfTheirOwn(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	base := engine.Incident{ID: "uid-failed", Namespace: "default", Since: now, Over: now}
	other, later, elsewhere := base, base, base
	other.ID = "uid-missed"
	later.Since = now.Add(time.Millisecond)
	elsewhere.Namespace = "finance"
	ids := map[string]string{}
	for name, id := range map[string]string{
		"begin": deliveryID(&base, "ops", false), "over": deliveryID(&base, "ops", true), "target": deliveryID(&base, "dev", false),
		"incident": deliveryID(&other, "ops", false), "later": deliveryID(&later, "ops", false), "namespace": deliveryID(&elsewhere, "ops", false),
	} {
		if before, twice := ids[id]; twice {
			t.Errorf("%s and %s have the same id %s", before, name, id)
		}
		ids[id] = name
	}
}
