package notify

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

func TestFailedTryIsRetriedForADayAndNoLonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		o.start()
		o.target.answers(func(letter *Letter) error {
			if letter.Target.Name == "ops" {
				return errors.New("connection refused")
			}
			return nil
		})
		i := anIncident("nightly", "ops", "dev")
		o.notify(i)
		ended := over(i)
		ended.Over = ended.Over.Add(time.Second)
		o.notify(ended)
		pass(23 * time.Hour)
		o.want("states", o.states(), []string{"dev delivered", "dev delivered", "ops waiting", "ops waiting"})
		pass(3 * time.Hour)
		// What waits for a beginning that failed fails, too.
		o.want("states", o.states(), []string{"dev delivered", "dev delivered", "ops failed", "ops failed"})
		tries := 0
		var last time.Time
		ids := map[string]bool{}
		for _, r := range o.target.got {
			if r.target != "ops" {
				continue
			}
			if r.message.Type != MessageOpened {
				t.Errorf("%s was sent before its beginning was delivered", r.message.Type)
			}
			if gap := r.at.Sub(last); !last.IsZero() && (gap < firstRetry || gap > 3*mostRetry/2+pollEvery) {
				t.Errorf("tried again after %s", gap)
			}
			ids[r.id], last = true, r.at
			tries++
		}
		if tries < 20 || tries > 40 || len(ids) != 1 {
			t.Errorf("%d tries with the ids %v", tries, ids)
		}
		failed := o.deliveries(DeliveryFilter{State: StateFailed, Target: "ops"})
		if len(failed) != 2 || failed[1].Tries != tries || len(failed[1].Attempts) != mostTries || failed[1].Attempts[0].Error != "connection refused" {
			t.Fatalf("recorded: %+v, want %d tries", failed, tries)
		}
		// A manual retry sends it.
		o.target.answers(nil)
		for _, d := range slices.Backward(failed) {
			if err := o.book.Redeliver(t.Context(), "default", d.ID); err != nil {
				t.Fatal(err)
			}
			pass(10 * time.Second)
		}
		o.want("states", o.states(), []string{"dev delivered", "dev delivered", "ops delivered", "ops delivered"})
		if err := o.book.Redeliver(t.Context(), "default", failed[0].ID); !errors.Is(err, ErrDelivered) {
			t.Errorf("what was delivered is sent again: %v", err)
		}
		if o.counted(ResultRetried) != tries-1 || o.counted(ResultFailed) != 2 || o.counted(ResultDelivered) != 4 {
			t.Errorf("counted %v, tries %d", o.counts, tries)
		}
	})
}

func TestTargetSaysWhetherAndWhenItIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		o.start()
		began := time.Now()
		o.target.answers(func(letter *Letter) error {
			switch {
			case letter.Target.Name == "ops":
				return &SendError{Answer: "410 Gone", Permanent: true, Err: errors.New("it answered 410 Gone")}
			case time.Since(began) < 2*time.Hour:
				return &SendError{After: 2 * time.Hour, Err: errors.New("it answered 429")}
			}
			return nil
		})
		o.notify(anIncident("nightly", "ops", "dev"))
		pass(time.Hour)
		if got := o.target.took(""); len(got) != 2 {
			t.Errorf("after an hour it was tried %d times", len(got))
		}
		pass(2 * time.Hour)
		got := o.target.took("dev")
		if len(got) != 2 || len(o.target.took("ops")) != 1 {
			t.Errorf("got %q", o.target.took(""))
		}
		o.want("states", o.deliveryStates("ops"), []string{"failed: 410 Gone"})
	})
}

// A target that takes ten seconds for nothing, with many messages waiting for it, does not hold up another one.
func TestSlowTargetHoldsUpNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		o.start()
		o.target.answers(func(letter *Letter) error {
			if letter.Target.Name == "ops" {
				<-time.After(sendLimit)
				return context.DeadlineExceeded
			}
			return nil
		})
		for n := range 200 {
			o.notify(anIncident(fmt.Sprint("job-", n), "ops"))
		}
		began := time.Now()
		o.notify(anIncident("nightly", "dev"))
		pass(sendLimit / 2)
		if got := o.target.got; len(o.target.took("dev")) != 1 || time.Since(began) >= sendLimit {
			t.Errorf("after %s dev got %q of %d", time.Since(began), o.target.took("dev"), len(got))
		}
	})
}

// Many nodes look at the same store, and each message is sent by one of them, once.
func TestSendersOnOneStoreSendEachOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		for range 4 {
			o.start()
		}
		o.target.answers(func(*Letter) error {
			<-time.After(50 * time.Millisecond)
			return nil
		})
		for n := range 100 {
			o.notify(anIncident(fmt.Sprint("job-", n), "ops", "dev"))
		}
		pass(time.Minute)
		if got := o.target.took(""); len(got) != 200 {
			t.Errorf("%d were sent, want 200", len(got))
		}
		if n := len(o.deliveries(DeliveryFilter{State: StateDelivered})); n != 200 {
			t.Errorf("%d are delivered", n)
		}
	})
}

// What a node that died had claimed is sent by another one, with the same id.
func TestClaimOfADeadNodeRunsOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		o.notify(anIncident("nightly", "ops"))
		d := o.deliveries(DeliveryFilter{})[0]
		d.ClaimedUntil = time.Now().UTC().Add(claimLife)
		if err := o.book.writeDelivery(t.Context(), &d); err != nil {
			t.Fatal(err)
		}
		o.start()
		pass(claimLife - time.Second)
		o.want("taken while it is claimed", o.target.took(""), nil)
		pass(10 * time.Second)
		if len(o.target.got) != 1 || o.target.got[0].id != d.ID {
			t.Errorf("taken: %+v", o.target.got)
		}
	})
}

// What a node had claimed when it was killed it sends as soon as it runs again, with the same id; a claim of another node runs out.
func TestNodeSendsWhatItHadClaimedInAnEarlierLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		o.node = "n1"
		for job, by := range map[string]string{"mine": "n1/before", "others": "n10/before", "unnamed": "/before"} {
			i := anIncident(job, "ops")
			o.notify(i)
			d := o.delivery(deliveryID(&i, "ops", false))
			d.ClaimedUntil, d.ClaimedBy = time.Now().UTC().Add(claimLife), by
			if err := o.book.writeDelivery(t.Context(), &d); err != nil {
				t.Fatal(err)
			}
		}
		o.start()
		pass(3 * time.Second)
		o.want("taken at once", o.target.took(""), []string{"incident.opened Job mine (default) failed"})
		pass(claimLife)
		if len(o.target.got) != 3 {
			t.Errorf("taken: %+v", o.target.got)
		}
	})
}

// What this life of a node has claimed is left alone, as it may be on its way.
func TestClaimOfThisLifeHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		o.node = "n1"
		o.start()
		i := anIncident("nightly", "ops")
		d := Delivery{
			ID: deliveryID(&i, "ops", false), Namespace: "default", Target: "ops", Incident: i, State: StateWaiting, NextAt: i.Since, GiveUpAt: i.Since.Add(tried),
			ClaimedUntil: i.Since.Add(claimLife).Truncate(time.Millisecond), ClaimedBy: o.senders[0].life,
		}
		if err := errors.Join(o.book.writeDelivery(t.Context(), &d), o.book.schedule(t.Context(), &d)); err != nil {
			t.Fatal(err)
		}
		pass(claimLife - 3*time.Second)
		o.want("taken while it is claimed", o.target.took(""), nil)
		pass(10 * time.Second)
		if len(o.target.got) != 1 {
			t.Errorf("taken: %+v", o.target.got)
		}
	})
}

// Deliveries are kept for as long as is set, 0 for ever.
func TestDeliveriesAreKeptForASetTime(t *testing.T) {
	for kept, left := range map[time.Duration]int{LeastKept: 0, 90 * 24 * time.Hour: 1, 0: 1} {
		synctest.Test(t, func(t *testing.T) {
			o := newOffice(t)
			o.book.Keep(kept)
			o.start()
			i := anIncident("nightly", "ops")
			i.Recovered = true
			o.notify(i)
			pass(time.Minute)
			if _, err := o.store.ExpireRecords(t.Context(), time.Now().Add(60*24*time.Hour), 100); err != nil {
				t.Fatal(err)
			}
			if found := o.deliveries(DeliveryFilter{}); len(found) != left {
				t.Errorf("kept for %s: %d are left, want %d", kept, len(found), left)
			}
			// The end is sent in any case: who heard of the beginning waits for it.
			pass(40 * 24 * time.Hour)
			i.Notified = true
			o.notify(over(i))
			pass(time.Minute)
			if got := o.target.took(""); len(got) != 2 {
				t.Errorf("kept for %s: taken %q", kept, got)
			}
		})
	}
}

// A node without the key leaves what it cannot open to one that can, and once a day has passed the delivery has failed.
func TestNodeWithoutTheKeyLeavesItToAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		whole := o.book.vault
		o.book.vault = secretless{whole}
		stop := o.start()
		o.notify(anIncident("nightly", "ops"))
		o.notify(anIncident("hourly", "ops"))
		pass(time.Hour)
		o.want("states", o.states(), []string{"ops waiting", "ops waiting"})
		if waits := o.deliveries(DeliveryFilter{})[0]; !strings.Contains(waits.Reason, "waits for another server") || !strings.Contains(waits.Reason, "no key of secrets") {
			t.Errorf("it waits because %q", waits.Reason)
		}
		stop()
		o.book.vault = whole
		stop = o.start()
		pass(time.Minute)
		o.want("states", o.states(), []string{"ops delivered", "ops delivered"})
		if sent := o.deliveries(DeliveryFilter{})[0]; sent.Reason != "" {
			t.Errorf("it was delivered, and says %q", sent.Reason)
		}
		stop()
		o.book.vault = secretless{whole}
		o.notify(anIncident("weekly", "ops"))
		o.start()
		pass(25 * time.Hour)
		if failed := o.deliveries(DeliveryFilter{State: StateFailed}); len(failed) != 1 || !strings.Contains(failed[0].Reason, "no key of secrets") {
			t.Errorf("failed: %+v", failed)
		}
	})
}

func TestTestIsSentAtOnceAndRecordedNowhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		o.start()
		s := o.senders[0]
		if answer, err := s.Test(t.Context(), "default", "ops"); err != nil || answer != "200 OK" {
			t.Errorf("answer %q, %v", answer, err)
		}
		o.want("taken", o.target.took(""), []string{"test A test of notification target ops"})
		if _, err := s.Test(t.Context(), "default", "none"); !errors.Is(err, engine.ErrNotFound) {
			t.Errorf("a target that is not there: %v", err)
		}
		mustSet(t, o.book, Target{Namespace: "default", Name: "mail", Kind: TargetEmail, Addresses: []string{"ops@example.com"}})
		var unable *UnableError
		if _, err := s.Test(t.Context(), "default", "mail"); !errors.As(err, &unable) {
			t.Errorf("a kind that this node cannot send to: %v", err)
		}
		o.target.answers(func(*Letter) error { return errors.New("connection refused") })
		var failed *SendError
		if _, err := s.Test(t.Context(), "default", "ops"); !errors.As(err, &failed) {
			t.Errorf("a target that does not answer: %v", err)
		}
		if all := o.deliveries(DeliveryFilter{}); len(all) > 0 {
			t.Errorf("recorded: %+v", all)
		}
	})
}

// A node sends so many at once, and so many of them to one target.
func TestSendingIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		o.target.answers(func(*Letter) error {
			<-time.After(time.Second)
			return nil
		})
		var to []string
		for n := range 50 {
			to = append(to, fmt.Sprint("to-", n))
			mustSet(t, o.book, Target{Namespace: "default", Name: to[n], Kind: TargetWebhook, URL: "https://hooks.example.com/x"})
		}
		for n := range 5 {
			o.notify(anIncident(fmt.Sprint("job-", n), to...))
		}
		o.start()
		pass(time.Minute)
		if all, one := o.target.most[""], o.target.most["to-1"]; all != mostSending || one != mostPerTarget || len(o.target.got) != 250 {
			t.Errorf("%d at once, %d of them to one target, %d in all", all, one, len(o.target.got))
		}
	})
}

// What was answered is recorded, and not sent again, though the store fails for a while.
func TestAnswerIsRecordedOnceTheStoreIsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		var away time.Time
		o.target.answers(func(*Letter) error {
			away = time.Now().Add(20 * time.Second)
			return nil
		})
		o.book.records = &shaky{o.book.records, func(engine.Record) error {
			if time.Now().Before(away) {
				return errors.New("the store is away")
			}
			return nil
		}}
		o.start()
		o.notify(anIncident("nightly", "ops"))
		pass(5 * time.Minute)
		if len(o.target.got) != 1 {
			t.Errorf("it was sent %d times", len(o.target.got))
		}
		o.want("states", o.states(), []string{"ops delivered"})
	})
}

// Targets that came back are not hit by all that waits at one instant.
func TestRetriesAreSpread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		o.target.answers(func(*Letter) error { return errors.New("connection refused") })
		next := map[time.Time]bool{}
		o.start()
		for n := range 10 {
			o.notify(anIncident(fmt.Sprint("job-", n), "ops"))
		}
		pass(time.Second)
		for _, d := range o.deliveries(DeliveryFilter{}) {
			next[d.NextAt] = true
		}
		if len(next) < 5 {
			t.Errorf("10 messages are tried again at %d instants", len(next))
		}
	})
}

// A message has the last lines of its run as they were at its first try, fit to be shown, and what a target answers is bounded.
func TestMessageHasTheLastLinesOfTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		tail := strings.Repeat("line\n", 20) + "\x1b[31mred\x07\n" + strings.Repeat("é", 400) + "\n\n"
		o.runs["nightly-1"] = engine.Run{ID: "nightly-1", Attempts: []engine.Attempt{{Output: &engine.Output{Tail: []byte(tail)}}, {}}}
		var accepts atomic.Bool
		o.target.answers(func(*Letter) error {
			if !accepts.Load() {
				return errors.New(strings.Repeat("no", 2000))
			}
			return nil
		})
		o.start()
		o.notify(anIncident("nightly", "ops"))
		pass(time.Second)
		o.runs["nightly-1"] = engine.Run{ID: "nightly-1", Attempts: []engine.Attempt{{Output: &engine.Output{Tail: []byte("another")}}}}
		accepts.Store(true)
		pass(time.Minute)
		for _, r := range o.target.got {
			lines := r.message.Data.Output
			if len(lines) != mostLines || lines[mostLines-2] != "[31mred" || lines[mostLines-1] != strings.Repeat("é", 150)+"…" {
				t.Errorf("the last lines are %q", lines)
			}
		}
		d := o.deliveries(DeliveryFilter{})[0]
		if len(o.target.got) != 2 || len(d.Attempts[0].Error) > mostAnswer+len("…") {
			t.Errorf("%d tries, and an error of %d bytes", len(o.target.got), len(d.Attempts[0].Error))
		}
	})
}

// A delivery that is sent again manually while a sender clears up after its end is found by senders all the same.
func TestRedeliveryIsNotForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		o.target.answers(func(*Letter) error { return &SendError{Permanent: true, Err: errors.New("410 Gone")} })
		stop := o.start()
		o.notify(anIncident("nightly", "ops"))
		pass(time.Minute)
		stop()
		o.target.answers(nil)
		failed := o.deliveries(DeliveryFilter{})[0]
		store := o.book.records
		o.book.records = &shaky{store, func(engine.Record) error { // just before it waits, what says so goes
			return store.DeleteRecord(t.Context(), kindDue, dueKey(o.book.moment(), "default", failed.ID), 0)
		}}
		if err := o.book.Redeliver(t.Context(), "default", failed.ID); err != nil {
			t.Fatal(err)
		}
		o.book.records = store
		o.start()
		pass(time.Minute)
		o.want("states", o.states(), []string{"ops delivered"})
	})
}
