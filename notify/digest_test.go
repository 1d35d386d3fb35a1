package notify

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestDigestCollectsWhatComesInItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		mustSet(t, o.book, Target{Namespace: "default", Name: "ops", Kind: TargetWebhook, Digest: time.Hour})
		o.start()
		o.start()
		i := anIncident("a", "ops")
		o.notify(i)
		o.notify(anIncident("b", "ops"))
		pass(10 * time.Minute)
		o.notify(over(i))
		o.notify(anIncident("c", "dev"))
		pass(time.Minute)
		o.want("taken before", o.target.took(""), []string{"incident.opened Job c (default) failed"})
		var refuse atomic.Bool
		refuse.Store(true)
		o.target.answers(func(*Letter) error {
			if refuse.Load() {
				return errors.New("connection refused")
			}
			return nil
		})
		pass(time.Hour)
		o.notify(anIncident("d", "ops")) // too late for the first digest, though that is still being tried
		refuse.Store(false)
		pass(30 * time.Minute)
		ids := map[string]bool{}
		var first received
		for _, r := range o.target.got {
			if r.target == "ops" {
				ids[r.id], first = true, r
				if len(r.message.Data.Messages) != 3 {
					t.Errorf("a digest of %d", len(r.message.Data.Messages))
				}
			}
		}
		if len(ids) != 1 || first.message.Type != MessageDigest || first.message.Data.Title != "Namespace default: 2 incidents began, 1 are over" {
			t.Fatalf("ids %v, title %q", ids, first.message.Data.Title)
		}
		var titles []string
		for _, m := range first.message.Data.Messages {
			titles = append(titles, m.Type+" "+m.Data.Job)
		}
		if slices.Index(titles, MessageOpened+" a") > slices.Index(titles, MessageOver+" a") {
			t.Errorf("the order is %q", titles)
		}
		o.want("states", o.states(), []string{"dev delivered", "ops delivered", "ops delivered", "ops delivered", "ops held"})
		pass(time.Hour)
		last := o.target.got[len(o.target.got)-1]
		if last.message.Type != MessageOpened || last.message.Data.Job != "d" {
			t.Errorf("what came alone was sent as %+v", last.message)
		}
		o.want("states", o.states(), []string{"dev delivered", "ops delivered", "ops delivered", "ops delivered", "ops delivered"})
	})
}

// While another node makes up a digest, what is due beside it waits to be part of it, and is not put off.
func TestDigestThatAnotherNodeMakesIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		o.digests("ops", time.Hour)
		i := anIncident("a", "ops")
		o.notify(i)
		pass(time.Second)
		ended := over(i)
		o.notify(ended)
		o.notify(anIncident("b", "ops"))
		pass(time.Until(time.Now().Truncate(time.Hour).Add(time.Hour)))
		leader, end := o.delivery(deliveryID(&i, "ops", false)), o.delivery(deliveryID(&ended, "ops", true))
		o.claimElsewhere(&leader)
		o.start()
		pass(claimLife / 2)
		if got := o.target.took(""); len(got) > 0 {
			t.Errorf("sent beside the digest: %q", got)
		}
		if now := o.delivery(end.ID); now.revision != end.revision {
			t.Errorf("the end was put off to %s, and is not taken along", now.NextAt)
		}
		pass(claimLife)
		if got := o.target.jobsOf("ops"); len(got) != 1 || !slices.Equal(got[0], []string{"a", "a", "b"}) {
			t.Errorf("sent %q", got)
		}
	})
}

// What a digest is made of is in the store before it is sent, with a claim that lasts until it is recorded.
func TestDigestIsSettledBeforeItIsSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		o.digests("ops", time.Hour)
		o.start()
		o.target.answers(func(letter *Letter) error {
			leader := o.delivery(letter.ID)
			if want := len(letter.Message.Data.Messages); len(leader.Members) != want || !leader.ClaimedUntil.After(time.Now().Add(sendLimit)) {
				t.Errorf("a digest of %d is sent, and the store has %q, claimed until %s", want, leader.Members, leader.ClaimedUntil)
			}
			return nil
		})
		for n := range 3 {
			o.notify(anIncident(fmt.Sprint("job-", n), "ops"))
		}
		pass(2 * time.Hour)
		o.want("states", o.states(), []string{"ops delivered", "ops delivered", "ops delivered"})
	})
}

// A digest is of what was due when it was first tried, also one of a single incident. What comes up while it is retried is another.
func TestDigestThatIsSentAgainIsTheSame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		o.digests("ops", time.Minute)
		o.start()
		began := time.Now()
		o.target.answers(func(*Letter) error {
			if time.Since(began) < 10*time.Minute {
				return errors.New("connection refused")
			}
			return nil
		})
		for n := range 5 {
			o.notify(anIncident(fmt.Sprint("job-", n), "ops"))
			if n > 0 { // the first one comes alone, the others in pairs
				o.notify(anIncident(fmt.Sprint("pair-", n), "ops"))
			}
			pass(70 * time.Second)
		}
		pass(time.Hour)
		bodies, took := map[string]string{}, map[string]int{}
		for _, r := range o.target.got {
			text := fmt.Sprintf("%+v", r.message)
			if before, again := bodies[r.id]; again && before != text {
				t.Errorf("%s was sent as\n%s\nand as\n%s", r.id, before, text)
			}
			bodies[r.id] = text
		}
		for _, d := range o.deliveries(DeliveryFilter{}) {
			took[d.State]++
		}
		if len(bodies) != 5 || took[StateDelivered] != 9 {
			t.Errorf("%d messages, states %v", len(bodies), took)
		}
	})
}

// A digest has a hundred incidents at most. The next one is sent after it.
func TestLargeDigestIsSplit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		o.digests("ops", time.Hour)
		o.start()
		o.target.answers(func(*Letter) error {
			<-time.After(5 * time.Second)
			return nil
		})
		for n := range mostDigest + 50 {
			o.notify(anIncident(fmt.Sprintf("job-%03d", n), "ops"))
		}
		pass(2 * time.Hour)
		got := o.target.jobsOf("ops")
		if len(got) != 2 || len(got[0]) != mostDigest || len(got[1]) != 50 {
			t.Fatalf("%d digests", len(got))
		}
		if o.target.most["ops"] != 1 {
			t.Errorf("%d digests were sent to one target at once", o.target.most["ops"])
		}
	})
}

// The end of an incident whose beginning has not arrived is in no digest before that.
func TestDigestHasNoEndWithoutItsBeginning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		o.start()
		began := time.Now()
		o.target.answers(func(*Letter) error {
			if time.Since(began) < 5*time.Minute {
				return errors.New("connection refused")
			}
			return nil
		})
		i := anIncident("a", "ops")
		o.notify(i) // at once, and refused
		pass(10 * time.Second)
		o.digests("ops", time.Minute)
		o.notify(anIncident("b", "ops"))
		ended := over(i)
		o.notify(ended)
		pass(time.Hour)
		for _, r := range o.target.got {
			for _, m := range append(r.message.Data.Messages, r.message) {
				if m.Type == MessageOver && r.at.Sub(began) < 5*time.Minute {
					t.Errorf("the end was sent before the beginning was delivered, at %s", r.at)
				}
			}
		}
		o.want("states", o.states(), []string{"ops delivered", "ops delivered", "ops delivered"})
	})
}

// Sent again manually, a digest that failed is the same message, and all that it is made of is delivered by it.
func TestDigestThatFailedIsSentAgainWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		o.digests("ops", time.Hour)
		o.start()
		o.target.answers(func(*Letter) error { return &SendError{Permanent: true, Err: errors.New("410 Gone")} })
		for _, job := range []string{"a", "b", "c"} {
			o.notify(anIncident(job, "ops"))
		}
		pass(2 * time.Hour)
		o.want("states", o.states(), []string{"ops failed", "ops failed", "ops failed"})
		o.target.answers(nil)
		failed := o.deliveries(DeliveryFilter{})
		member := failed[slices.IndexFunc(failed, func(d Delivery) bool { return d.Digest != "" })]
		if err := o.book.Redeliver(t.Context(), "default", member.ID); err != nil {
			t.Fatal(err)
		}
		pass(time.Minute)
		o.want("states", o.states(), []string{"ops delivered", "ops delivered", "ops delivered"})
		if got := o.target.got; len(got) != 2 || got[0].id != got[1].id || len(got[1].message.Data.Messages) != 3 {
			t.Errorf("sent %+v", got)
		}
	})
}

// A digest is tried for a day from when it is sent first, not from the first incident that it holds.
func TestDigestIsTriedForADay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		o.digests("ops", 24*time.Hour)
		o.start()
		o.target.answers(func(*Letter) error { return errors.New("connection refused") })
		pass(time.Until(time.Now().Truncate(24 * time.Hour).Add(24*time.Hour + time.Minute)))
		o.notify(anIncident("a", "ops"))
		pass(46 * time.Hour)
		o.want("before the day is over", o.states(), []string{"ops held"})
		pass(4 * time.Hour)
		o.want("after it", o.states(), []string{"ops failed"})
	})
}

// What another node had taken into a digest and then left out of it is sent by itself.
func TestDeliveryThatADigestLeftOutIsSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		o.digests("ops", time.Hour)
		o.notify(anIncident("a", "ops"))
		o.notify(anIncident("b", "ops"))
		all := o.deliveries(DeliveryFilter{})
		leader, member := all[0], all[1]
		member.Digest = leader.ID
		leader.State, leader.EndedAt, leader.Members = StateDelivered, time.Now(), []string{leader.ID}
		for _, d := range []*Delivery{&leader, &member} {
			if err := o.book.writeDelivery(t.Context(), d); err != nil {
				t.Fatal(err)
			}
		}
		o.start()
		pass(2 * time.Hour)
		if now := o.delivery(member.ID); now.State != StateDelivered || now.Digest != "" || len(o.target.got) != 1 {
			t.Errorf("it is %s, part of %q, after %d messages", now.State, now.Digest, len(o.target.got))
		}
	})
}

// What is part of a digest that is still tried is not taken into another one.
func TestMemberOfADigestIsInNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		o.digests("ops", time.Minute)
		for _, job := range []string{"a", "b", "c"} {
			o.notify(anIncident(job, "ops"))
			pass(time.Second)
		}
		all := o.deliveries(DeliveryFilter{}) // the newest first
		leader, member := all[0], all[1]
		leader.Members, leader.NextAt, member.Digest = []string{leader.ID, member.ID}, time.Now().UTC().Add(time.Hour), leader.ID
		for _, d := range []*Delivery{&leader, &member} {
			if err := o.book.writeDelivery(t.Context(), d); err != nil {
				t.Fatal(err)
			}
		}
		o.start()
		pass(2 * time.Hour)
		if got := o.target.jobsOf("ops"); len(got) != 2 || !slices.Equal(got[0], []string{"a"}) || !slices.Equal(got[1], []string{"b", "c"}) {
			t.Errorf("sent %q", got)
		}
	})
}
