package shard

import (
	"errors"
	"fmt"
	"sync"
	"time"
)

const (
	// pulseEvery is how long the runner waits at most until it goes round again, also with nothing to do.
	pulseEvery = 5 * time.Second
	// pulseLost is how long the runner may take for one round before the engine counts as stalled.
	pulseLost = 30 * time.Second
	// answerLost is how long the store may take for one answer that the engine waits for. A store that is unavailable answers with
	// an error, and much sooner: the engine asks it again, and is not stalled.
	answerLost = 2 * time.Minute
	// recoverLost is answerLost for reading all that a crash has left.
	recoverLost = 10 * time.Minute
)

// pulse knows whether a runner makes progress: whether its loop goes round, and since when it waits for which answers. A
// loop that goes round while an answer never comes fires what it holds in memory and then nothing more. It goes by the
// monotonic clock, and its methods may be called by any goroutine.
type pulse struct {
	mu       sync.Mutex
	beat     time.Time // when the loop went round last; zero while it does not run
	awaiting map[*awaited]struct{}
}

type awaited struct {
	what  string
	since time.Time
	lost  time.Duration
}

func newPulse() *pulse { return &pulse{awaiting: map[*awaited]struct{}{}} }

func (p *pulse) step() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.beat = time.Now()
}

// stop records that the loop has ended: it was stopped, or it failed with an error that its caller reports.
func (p *pulse) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.beat = time.Time{}
}

// await records that something is begun whose answer the engine needs; the caller calls answered when it has come.
func (p *pulse) await(what string, lost time.Duration) (answered func()) {
	a := &awaited{what: what, since: time.Now(), lost: lost}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.awaiting[a] = struct{}{}
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.awaiting, a)
	}
}

// stalled reports why there is no progress, nil if there is.
func (p *pulse) stalled() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.beat.IsZero() {
		return nil
	}
	if quiet := time.Since(p.beat); quiet > pulseLost {
		return fmt.Errorf("the engine is stalled: it has not stepped for %s", quiet.Round(time.Second))
	}
	var oldest *awaited
	for a := range p.awaiting {
		if time.Since(a.since) > a.lost && (oldest == nil || a.since.Before(oldest.since)) {
			oldest = a
		}
	}
	if oldest == nil {
		return nil
	}
	return errors.New("the engine is stalled: the store has not answered for " + time.Since(oldest.since).Round(time.Second).String() +
		" when asked to " + oldest.what)
}

// Stalled returns why the engine makes no progress although it should run; nil if it does. A store or queue that is unavailable and
// says so is no reason.
func (r *Runner) Stalled() error { return r.pulse.stalled() }

// needs does in a goroutine what the machine waits for.
func (r *Runner) needs(what string, lost time.Duration, f func()) {
	answered := r.pulse.await(what, lost)
	r.goDo(func() {
		defer answered()
		f()
	})
}
