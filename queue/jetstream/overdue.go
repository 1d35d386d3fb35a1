package jetstream

import (
	"sync"
	"time"
)

// overdueAfter is how much longer than its life a lock must stand unchanged before the bucket is not believed any more.
const overdueAfter = 2 * time.Second

// overdue knows locks that stand in the bucket longer than they may. A NATS server that was killed may bring back entries
// that it had removed, and not remove them a second time (server.go): who waits for such a lock waits for ever.
//
// It compares no clocks of different machines. An entry that this process has seen unchanged for longer than its life
// was not refreshed in that time; its holder has given it up, as it must before the life ends. So it is free. The process
// that takes it names the entry's revision, so that the server refuses it if another process was quicker.
type overdue struct {
	after time.Duration

	mu     sync.Mutex
	turned time.Time
	young  map[string]sighting
	former map[string]sighting
}

// sighting is when a revision of a lock was seen first.
type sighting struct {
	revision uint64
	at       time.Time
}

// sightingLife is how long what was not seen again is remembered at least.
const sightingLife = 10 * time.Minute

// is reports whether a lock that was found now with this revision and life has stood there for too long.
func (o *overdue) is(key string, revision uint64, life time.Duration, now time.Time) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.young == nil || now.Sub(o.turned) > sightingLife {
		o.former, o.young, o.turned = o.young, make(map[string]sighting), now
	}
	seen, known := o.young[key]
	if !known {
		seen, known = o.former[key]
	}
	if !known || seen.revision != revision {
		o.young[key] = sighting{revision, now}
		return false
	}
	o.young[key] = seen
	return now.Sub(seen.at) > life+o.after
}
