package engine

import (
	"fmt"
	"time"
)

// Stream is the size of one of the queue's streams or buckets.
type Stream struct {
	Name     string // TASKS, RESULTS, LOCKS, LEASES or TRIGGERS
	Messages uint64
	Bytes    uint64
	Oldest   time.Time // of its messages; zero if there is none
	// Limit is how many bytes it may hold before executors take nothing new; 0: it has no such limit.
	Limit uint64
	// Keeps is how old its oldest message may be where all is well; 0: that says nothing about this stream.
	Keeps time.Duration
	// Watched is since when it was within reach: what it kept before, it may have kept because nothing could trim it. Zero: always.
	Watched time.Time
}

// Age returns how old the oldest message is at now.
func (s *Stream) Age(now time.Time) time.Duration {
	if s.Oldest.IsZero() {
		return 0
	}
	return max(now.Sub(s.Oldest), 0)
}

// Full reports whether executors take nothing new because of this stream.
func (s *Stream) Full() bool { return s.Limit > 0 && s.Bytes > s.Limit }

// Problem says in words what is wrong at now; it is empty if nothing is.
func (s *Stream) Problem(now time.Time) string {
	const mebi = 1 << 20
	untrimmed := min(s.Age(now), now.Sub(s.Watched))
	switch {
	case s.Full():
		return fmt.Sprintf("%s holds %d MiB, more than its limit of %d MiB: executors take nothing new until engines have dealt with the results", s.Name, s.Bytes/mebi, s.Limit/mebi)
	case s.Keeps > 0 && untrimmed > s.Keeps:
		return fmt.Sprintf("%s has not been trimmed for %s: it holds %d messages, %d MiB; a shard may have no engine, or an engine cannot write to the store",
			s.Name, untrimmed.Round(time.Second), s.Messages, s.Bytes/mebi)
	case s.Limit > 0 && s.Bytes > s.Limit/2:
		return fmt.Sprintf("%s holds %d MiB, more than half of its limit of %d MiB", s.Name, s.Bytes/mebi, s.Limit/mebi)
	}
	return ""
}
