package mongo

import (
	"maps"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/tidewheel/tidewheel/engine"
)

// A run is prepared before its slot, and written again when it is published, starts and ends, which for most takes moments. What
// says no more than that it is prepared is held back from its collection until heldFor after the slot: nearly always
// something newer takes its place before. It is in the journal meanwhile, which is trimmed only up to it; and a read for the
// engine projects it first, with everything else that waits.
const (
	heldFor  = 500 * time.Millisecond
	heldMost = time.Minute // a run is prepared seconds ahead
)

// holdUntil is until when a document of runs is held back; zero if it is not.
func holdUntil(run bson.Raw) time.Time {
	if status, is := run.Lookup("status").StringValueOK(); !is || status != engine.StatusScheduled.String() {
		return time.Time{}
	}
	slot, is := run.Lookup("slot").DateTimeOK() // a manual run has none: its command is gone once it is projected
	if !is {
		return time.Time{}
	}
	return time.UnixMilli(slot).Add(heldFor)
}

// holds reports whether a document is held back at an instant.
func (n *newest) holds(now time.Time) bool {
	return n.until.After(now) && n.until.Sub(now) < heldMost
}

// ready is how many documents are not held back.
func (m *merged) ready() (n int) {
	now := time.Now()
	for _, documents := range m.documents {
		for _, one := range documents {
			if !one.holds(now) {
				n++
			}
		}
	}
	return n
}

// holdBack takes out what is held back, and leaves the rest, with the positions that are reached without it.
func (m *merged) holdBack(now time.Time) (held *merged) {
	held = newMerged()
	reached := maps.Clone(m.upto)
	for collection, documents := range m.documents {
		for id, one := range documents {
			if !one.holds(now) {
				continue
			}
			delete(documents, id)
			held.put(collection, id, one)
			held.upto[one.shard] = m.upto[one.shard]
			reached[one.shard] = min(reached[one.shard], uint64(one.position)-1)
		}
	}
	m.upto, m.bytes = reached, m.bytes-held.bytes
	return held
}

// due is when the first of what is held back is to be projected.
func (m *merged) due() (first time.Time) {
	for _, documents := range m.documents {
		for _, one := range documents {
			if first.IsZero() || one.until.Before(first) {
				first = one.until
			}
		}
	}
	return first
}
