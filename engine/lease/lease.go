// Package lease decides which engine owns which shard. It is pure: what is seen of the table that all engines share goes
// in, what this engine is to do comes out, and the clock is an argument. So the simulator runs the very decisions that
// production runs; engine/shard puts them over a network.
//
// The table has an entry for each shard that an engine owns, which expires a TTL after the owner's last renewal,
// and one for each engine that is alive. Every engine computes the same plan from it (Assign) and does its own part:
// it takes free shards that the plan gives to it, and hands over what the plan gives to others. Nothing is taken from an
// owner that lives. What a write of the table expects is the revision of the entry that it replaces, so of two engines
// that want a shard one gets it; the revision of its entry is the owner's fencing token.
//
// An engine stops work on a shard before its entry can end (Config.Margin), by its own clock: as long as clocks run at
// about the same speed, no two engines own a shard at one time. Where they do all the same, because a process stood
// still in the middle of its work, every write of the store is conditional, and the late one is refused.
package lease

import (
	"errors"
	"fmt"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

// Entry is what the table says of a shard.
type Entry struct {
	Shard int
	// Engine owns the shard; "" if no engine does.
	Engine string
	// Revision is the entry's, or that of the marker which it left; 0 if there is neither.
	Revision uint64
}

// Member is what the table says of an engine.
type Member struct {
	ID string
	// Leaving means that it gives up its shards and takes no more.
	Leaving bool
	// Gone means that it has ended, or is not known to live any more.
	Gone bool
}

// Config holds the times of a Keeper.
type Config struct {
	// TTL is how long an entry lives that is not renewed: what a crash delays the shards of an engine by.
	TTL time.Duration
	// RenewEvery is how long after its last renewal an entry is renewed again.
	RenewEvery time.Duration
	// Margin is how long before the end of an entry its owner stops.
	Margin time.Duration
	// Settle is how long an engine has to be alive before others hand over shards to it.
	Settle time.Duration
	// Patience is how long a free shard waits for the engine that the plan gives it to, before others take it; Stagger
	// is what the second of these waits longer than the first, and so on, so that they do not all come at once.
	Patience, Stagger time.Duration
	// Gather is how long new shards wait for more of them, to be read together.
	Gather time.Duration
	// Retry is how long to wait after a write of the table that failed.
	Retry time.Duration
}

// DefaultConfig returns what production uses, for a TTL.
func DefaultConfig(ttl time.Duration) Config {
	return Config{
		TTL: ttl, RenewEvery: ttl / 3, Margin: ttl / 6, Settle: time.Second, Patience: 300 * time.Millisecond,
		Stagger: 20 * time.Millisecond, Gather: 5 * time.Millisecond, Retry: min(250*time.Millisecond, ttl/10),
	}
}

func (c *Config) validate() error {
	switch {
	case c.TTL <= 0, c.RenewEvery <= 0, c.Margin <= 0, c.Patience <= 0, c.Retry <= 0:
		return errors.New("lease: TTL, RenewEvery, Margin, Patience and Retry must be positive")
	case c.RenewEvery+c.Margin >= c.TTL:
		return fmt.Errorf("lease: with a TTL of %v there is no time to renew every %v and stop %v before the end", c.TTL, c.RenewEvery, c.Margin)
	}
	return nil
}

// ErrRefused means that the entry which a write was to replace had another revision.
var ErrRefused = errors.New("the entry has another revision")

// Input is an event for a Keeper.
type Input interface{ input() }

// Action is what a Keeper wants done. Acquire, Renew, Release and Announce are answered by Answered.
type Action interface{ action() }

type (
	// Seen is a change of a shard's entry: its new state.
	Seen struct{ Entry Entry }
	// SeenMember is a change of an engine's entry.
	SeenMember struct{ Member Member }
	// Lost means that changes of the table may have been missed. The Keeper gets it again from its beginning, up to Synced.
	Lost struct{}
	// Synced means that the Keeper has got everything that the table held at the beginning.
	Synced struct{}
	// Answered is how a write of the table went.
	Answered struct {
		To Action
		// Sent is when the write was begun, by the clock of Step.
		Sent time.Time
		// Revision is that of the new entry or marker, if Outcome is Done.
		Revision uint64
		Outcome  Outcome
	}
	// Stopped means that the engine works on no other shards any more than those of an Own.
	Stopped struct{ Own Own }
	// Leave begins the end: shards are handed over, and then the engine says that it has gone.
	Leave struct{}
	// Tick lets time pass.
	Tick struct{}
)

// Outcome is how a write of the table went.
type Outcome uint8

// The outcomes.
const (
	Done    Outcome = iota + 1
	Refused         // the entry had another revision
	Unknown         // an error: it may or may not have been done
)

type (
	// Acquire writes an entry for this engine, on condition that the shard is free or its entry has this revision.
	Acquire struct {
		Shard    int
		Revision uint64
	}
	// Renew rewrites the entry, on condition that it has this revision.
	Renew struct {
		Shard    int
		Revision uint64
	}
	// Release removes the entry, on the same condition.
	Release struct {
		Shard    int
		Revision uint64
	}
	// Announce writes this engine's own entry, for a TTL; Gone removes it.
	Announce struct{ Leaving, Gone bool }
	// Own says on which shards the engine is to work from now on. It is answered by Stopped once it works on no others.
	Own struct {
		Number uint64 // each has a higher one
		Shards []int  // ascending
	}
)

func (Seen) input()       {}
func (SeenMember) input() {}
func (Lost) input()       {}
func (Synced) input()     {}
func (Answered) input()   {}
func (Stopped) input()    {}
func (Leave) input()      {}
func (Tick) input()       {}

func (Acquire) action()  {}
func (Renew) action()    {}
func (Release) action()  {}
func (Announce) action() {}
func (Own) action()      {}

// shards is how many entries the table has at most.
const shards = engine.Shards
