package jetstream

import (
	"sync"
	"time"
)

// markerLife is how long the marker of a released lock is expected to be there: its second, and the moment that the
// server takes to remove it.
const markerLife = 1500 * time.Millisecond

// markers remembers which markers this connection has put in the place of its locks. Who locks the same key again
// soon, as a job of every second does, then knows under which condition the lock is free, and need not be refused and
// look. It is a hint: whatever it says, the server decides.
//
// It holds what was released in the last two lives of a marker at most.
type markers struct {
	mu            sync.Mutex
	turned        time.Time
	young, former map[string]marker
}

type marker struct {
	sequence uint64
	at       time.Time
}

// put remembers a marker.
func (m *markers) put(key string, sequence uint64, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.young == nil || now.Sub(m.turned) > markerLife {
		m.former, m.young, m.turned = m.young, make(map[string]marker), now
	}
	m.young[key] = marker{sequence, now}
}

// take returns the sequence of the key's marker, 0 if there should be none by now, and forgets it.
func (m *markers) take(key string, now time.Time) uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, known := range []map[string]marker{m.young, m.former} {
		if found, ok := known[key]; ok {
			delete(known, key)
			if now.Sub(found.at) < markerLife {
				return found.sequence
			}
			return 0
		}
	}
	return 0
}
