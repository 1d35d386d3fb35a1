package lease_test

import (
	"slices"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/lease"
)

// one is a keeper of the engine "self", driven step by step.
type one struct {
	t      *testing.T
	now    time.Time
	keeper *lease.Keeper
}

func newOne(t *testing.T) *one {
	keeper, err := lease.NewKeeper(lease.DefaultConfig(ttl), "self")
	if err != nil {
		t.Fatal(err)
	}
	return &one{t: t, now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), keeper: keeper}
}

// step passes on an input a moment later, and returns the actions.
func (o *one) step(in lease.Input) []lease.Action {
	o.now = o.now.Add(time.Millisecond)
	return o.keeper.Step(o.now, in)
}

// alone is a keeper that owns all there is, at revisions 100 and so on.
func alone(t *testing.T) *one {
	o := newOne(t)
	o.step(lease.Synced{})
	for _, action := range o.step(lease.SeenMember{Member: lease.Member{ID: "self"}}) {
		if a, ok := action.(lease.Acquire); ok {
			o.step(lease.Answered{To: a, Sent: o.now, Revision: 100 + uint64(a.Shard), Outcome: lease.Done})
		}
	}
	o.now = o.now.Add(100 * time.Millisecond)
	o.step(lease.Tick{})
	if !slices.Contains(o.keeper.Owned(), 5) {
		t.Fatalf("alone it owns %v", o.keeper.Owned())
	}
	return o
}

func of[A lease.Action](actions []lease.Action) (found []A) {
	for _, action := range actions {
		if a, ok := action.(A); ok {
			found = append(found, a)
		}
	}
	return found
}

func TestAnEchoOfTheTableChangesNothing(t *testing.T) {
	o := alone(t)
	o.step(lease.Seen{Entry: lease.Entry{Shard: 5, Engine: "before", Revision: 99}})
	if owner := o.keeper.Owners()[5]; owner != "self" || !slices.Contains(o.keeper.Owned(), 5) {
		t.Errorf("the entry before its own was believed: %q", owner)
	}
}

func TestAShardThatPassedOnIsLeftAtOnce(t *testing.T) {
	o := alone(t)
	own := of[lease.Own](o.step(lease.Seen{Entry: lease.Entry{Shard: 5, Engine: "other", Revision: 200}}))
	if len(own) != 1 || slices.Contains(own[0].Shards, 5) {
		t.Errorf("another engine has shard 5, and this engine is to work on %v", own)
	}
}

func TestAnAcquisitionThatHasPassedOnSinceIsNone(t *testing.T) {
	o := newOne(t)
	o.step(lease.Synced{})
	acquire := of[lease.Acquire](o.step(lease.SeenMember{Member: lease.Member{ID: "self"}}))[5]
	o.step(lease.Seen{Entry: lease.Entry{Shard: acquire.Shard, Engine: "other", Revision: 200}})
	o.step(lease.Answered{To: acquire, Sent: o.now, Revision: 100, Outcome: lease.Done})
	if token := o.keeper.Token(acquire.Shard); token != 0 {
		t.Errorf("it holds shard %d under %d, after another one's 200", acquire.Shard, token)
	}
}

func TestNothingIsAcquiredBeforeOthersCanSeeTheEngine(t *testing.T) {
	o := newOne(t)
	if got := of[lease.Acquire](o.step(lease.SeenMember{Member: lease.Member{ID: "self"}})); len(got) > 0 {
		t.Errorf("%d shards were acquired before the table was known", len(got))
	}
	o = newOne(t)
	if got := of[lease.Acquire](o.step(lease.Synced{})); len(got) > 0 {
		t.Errorf("%d shards were acquired before the engine's own entry was seen", len(got))
	}
}

// An acquisition whose answer was lost is in the table all the same. It is taken up, or given back once it is not wanted.
func TestAnAcquisitionWithoutAnAnswerIsNotForgotten(t *testing.T) {
	o := newOne(t)
	o.step(lease.Synced{})
	acquire := of[lease.Acquire](o.step(lease.SeenMember{Member: lease.Member{ID: "self"}}))[5]
	o.step(lease.Answered{To: acquire, Sent: o.now, Outcome: lease.Unknown})
	o.step(lease.Seen{Entry: lease.Entry{Shard: acquire.Shard, Engine: "self", Revision: 100}})
	o.now = o.now.Add(time.Second)
	again := of[lease.Acquire](o.step(lease.Tick{}))
	if !slices.Contains(again, lease.Acquire{Shard: acquire.Shard, Revision: 100}) {
		t.Fatalf("it was not taken up: %v", again)
	}
	o.step(lease.Answered{To: lease.Acquire{Shard: acquire.Shard, Revision: 100}, Sent: o.now, Outcome: lease.Unknown})
	o.now = o.now.Add(time.Second)
	if got := of[lease.Release](o.step(lease.Leave{})); !slices.Contains(got, lease.Release{Shard: acquire.Shard, Revision: 100}) {
		t.Errorf("it was not given back: %v", got)
	}
}

func TestAShardIsReleasedOnlyOnceTheWorkHasStopped(t *testing.T) {
	o := alone(t)
	actions := o.step(lease.Leave{})
	own := of[lease.Own](actions)
	if len(own) != 1 || len(own[0].Shards) > 0 || len(of[lease.Release](actions)) > 0 {
		t.Fatalf("leaving begins with %v", actions)
	}
	if got := of[lease.Release](o.step(lease.Stopped{Own: own[0]})); !slices.Contains(got, lease.Release{Shard: 5, Revision: 105}) {
		t.Errorf("once the work has stopped come %v", got)
	}
}

func TestConfigThatCannotHoldIsRefused(t *testing.T) {
	config := lease.DefaultConfig(ttl)
	config.RenewEvery = ttl
	if _, err := lease.NewKeeper(config, "self"); err == nil {
		t.Error("a lease that ends before it is renewed was accepted")
	}
}

// An engine that takes a free shard planned for another engine does not give it back, nor another one in its place, until
// that engine is seen again: it may be dead, and its own entry may expire later than those of its shards.
func TestNothingIsHandedToOneThatLeavesItsPart(t *testing.T) {
	o := newOne(t)
	o.step(lease.SeenMember{Member: lease.Member{ID: "other"}})
	o.step(lease.SeenMember{Member: lease.Member{ID: "self"}})
	for shard := range engine.Shards / 2 {
		o.step(lease.Seen{Entry: lease.Entry{Shard: shard, Engine: "other", Revision: uint64(1 + shard)}})
	}
	for _, a := range of[lease.Acquire](o.step(lease.Synced{})) {
		o.step(lease.Answered{To: a, Sent: o.now, Revision: 100 + uint64(a.Shard), Outcome: lease.Done})
	}
	o.now = o.now.Add(ttl / 3)
	o.step(lease.SeenMember{Member: lease.Member{ID: "other"}})
	o.step(lease.Seen{Entry: lease.Entry{Shard: 5, Revision: 200}})
	o.now = o.now.Add(400 * time.Millisecond)
	taken := of[lease.Acquire](o.step(lease.Tick{}))
	if want := (lease.Acquire{Shard: 5, Revision: 200}); len(taken) != 1 || taken[0] != want {
		t.Fatalf("after its patience it takes %v", taken)
	}
	actions := o.step(lease.Answered{To: taken[0], Sent: o.now, Revision: 201, Outcome: lease.Done})
	o.now = o.now.Add(100 * time.Millisecond)
	o.step(lease.Tick{})
	if handed := of[lease.Own](actions); len(handed) > 0 || len(o.keeper.Owned()) != engine.Shards/2+1 {
		t.Fatalf("it works on %d shards, after %v", len(o.keeper.Owned()), handed)
	}
	o.step(lease.SeenMember{Member: lease.Member{ID: "other"}})
	if n := len(o.keeper.Owned()); n != engine.Shards/2 {
		t.Errorf("the other engine is alive after all, and this one continues with %d shards", n)
	}
}

// An entry that a killed NATS brought back never ends by itself: what counts is when it was seen first, however often the
// watch is restarted.
func TestAnEntryReadAgainAfterReconnectingIsNotARenewal(t *testing.T) {
	o := newOne(t)
	entry := lease.Seen{Entry: lease.Entry{Shard: 5, Engine: "dead", Revision: 7}}
	resync := func() []lease.Action {
		o.step(lease.Lost{})
		o.step(entry)
		o.step(lease.SeenMember{Member: lease.Member{ID: "self"}})
		return o.step(lease.Synced{})
	}
	resync()
	for range 3 {
		o.now = o.now.Add(ttl / 4)
		resync()
	}
	if actions := of[lease.Acquire](resync()); slices.ContainsFunc(actions, func(a lease.Acquire) bool { return a.Shard == 5 }) {
		t.Error("the shard is taken before its owner must have stopped")
	}
	o.now = o.now.Add(ttl / 4)
	if actions := of[lease.Acquire](resync()); !slices.Contains(actions, lease.Acquire{Shard: 5, Revision: 7}) {
		t.Errorf("a TTL after it was first read the shard is not taken: %v", actions)
	}
}

// A bucket that has lost its latest writes gives out their revisions again, while answers to some are still on their way.
func TestAnAnswerOfBeforeTheTableWasLostHidesNothing(t *testing.T) {
	o := alone(t)
	o.now = o.now.Add(ttl / 2)
	if renewed := of[lease.Renew](o.step(lease.Tick{})); !slices.Contains(renewed, lease.Renew{Shard: 5, Revision: 105}) {
		t.Fatalf("these are renewed: %v", renewed)
	}
	sent := o.now
	o.step(lease.Lost{})
	o.step(lease.Answered{To: lease.Renew{Shard: 5, Revision: 105}, Sent: sent, Revision: 1000, Outcome: lease.Done})
	o.step(lease.SeenMember{Member: lease.Member{ID: "self"}})
	o.step(lease.Synced{})
	o.step(lease.Answered{To: lease.Renew{Shard: 5, Revision: 1000}, Sent: o.now, Outcome: lease.Refused})
	o.step(lease.Answered{To: lease.Acquire{Shard: 5}, Sent: o.now, Revision: 7, Outcome: lease.Done})
	if token := o.keeper.Token(5); token != 7 {
		t.Errorf("it has shard 5 under %d, and not under 7", token)
	}
}

// Clocks of machines run at the same speed within a few per cent, and an engine needs a moment to stop: it does before others may begin,
// by a margin that counts from before the renewal was sent.
func TestWorkEndsAMarginBeforeTheLeaseDoes(t *testing.T) {
	config := lease.DefaultConfig(ttl)
	o := alone(t)
	o.now = o.now.Add(config.RenewEvery)
	sent := o.now
	for _, renew := range of[lease.Renew](o.step(lease.Tick{})) {
		if renew.Shard == 5 {
			o.now = o.now.Add(400 * time.Millisecond)
			o.step(lease.Answered{To: renew, Sent: sent, Revision: 1000, Outcome: lease.Done})
		}
	}
	o.now = sent.Add(config.TTL - config.Margin - 2*time.Millisecond)
	o.step(lease.Tick{})
	if owned := o.keeper.Owned(); !slices.Equal(owned, []int{5}) {
		t.Fatalf("of all only shard 5 was renewed, and it owns %v", owned)
	}
	o.step(lease.Tick{})
	if owned := o.keeper.Owned(); len(owned) > 0 {
		t.Errorf("%s before its lease ends it owns %v", config.Margin, owned)
	}
}
