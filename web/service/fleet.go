package service

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

const (
	// quietAfter is how long an executor that announces itself every 3 seconds may say nothing before it counts as silent.
	quietAfter = 7 * time.Second
	// remembered is how long an executor that vanished without notice is shown as silent.
	remembered = time.Hour
	// fleetKept bounds how many are remembered.
	fleetKept = 1_000
)

// Executor is one that is alive, or was lately.
type Executor struct {
	engine.Presence
	// Silent reports that the executor has not announced itself for longer than it should, without having said that it
	// stops. Its runs count as lost when its locks expire.
	Silent bool
}

// fleet remembers who was seen, so that one that falls silent is missed. It knows what this process has looked at.
type fleet struct {
	mu   sync.Mutex
	seen map[string]engine.Presence
}

// look takes what is present and returns it with those that are missed, in the order of their ids. One that said that it
// drains has gone as it meant to.
func (f *fleet) look(present []engine.Presence, now time.Time) []Executor {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.seen == nil {
		f.seen = map[string]engine.Presence{}
	}
	all := make([]Executor, 0, len(present))
	here := map[string]bool{}
	for _, p := range present {
		here[p.ID] = true
		if len(f.seen) < fleetKept {
			f.seen[p.ID] = p
		}
		all = append(all, Executor{Presence: p, Silent: now.Sub(p.Seen) > quietAfter})
	}
	for id, p := range f.seen {
		if here[id] {
			continue
		}
		if p.Draining || now.Sub(p.Seen) > remembered {
			delete(f.seen, id)
			continue
		}
		p.Running = nil
		all = append(all, Executor{Presence: p, Silent: true})
	}
	slices.SortFunc(all, func(a, b Executor) int { return cmp.Compare(a.ID, b.ID) })
	return all
}

// Fleet lists the executors that are alive, and those that fell silent within the last hour while this process looked.
func (s *Service) Fleet(ctx context.Context) ([]Executor, error) {
	present, err := s.Executors(ctx)
	if err != nil {
		return nil, err
	}
	return s.fleet.look(present, s.now()), nil
}
