// Package sparse keeps a log readable while something is away: the same trouble befalls hundreds of runs in each second
// then, and one line a second says as much as all of them.
package sparse

import (
	"sync"
	"time"
)

// Every is how often the same is said.
const Every = time.Second

// Sayings remembers what was said lately. The zero value is ready to use, from any goroutine.
type Sayings struct {
	mu   sync.Mutex
	said map[string]saying
}

type saying struct {
	at     time.Time
	passed int
}

// Say reports whether to say something again now, and how often it was suppressed since the last time. The caller must
// use few different texts.
func (s *Sayings) Say(what string, now time.Time) (passed int, say bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	last, known := s.said[what]
	if known && now.Sub(last.at) < Every {
		last.passed++
		s.said[what] = last
		return 0, false
	}
	if s.said == nil {
		s.said = make(map[string]saying)
	}
	s.said[what] = saying{at: now}
	return last.passed, true
}
