package sqlite

import (
	"context"
	"sync"
	"time"
)

// A group is one transaction: at most this many requests and about this many statements.
const (
	groupRequests = 512
	groupWeight   = 8192
)

// request is a write that waits for the writer. do may be called twice, when a group fails and each of its requests is
// tried alone; an error that does not come from SQLite means that it has written nothing.
type request struct {
	ctx    context.Context
	weight int // about the number of statements
	do     func(w *writer) error
	done   chan error
}

// writer owns the only connection that writes.
type writer struct {
	*connection
	log      *runsLog
	tenures  *tenures
	requests chan request
	idle     chan request // what is done only while nothing else waits, each alone
	loops    sync.WaitGroup

	showing sync.RWMutex // held from a COMMIT until what it did is in memory, too

	mu      sync.RWMutex // held for reading while a request is handed over
	stopped bool

	checkpoints *checkpointer
	names       map[runName]struct{} // of run_names, as far as is known
	namespaces  map[string]struct{}  // of run_namespaces
}

func startWriter(conn *connection, checkpoints *checkpointer, log *runsLog, tenures *tenures) *writer {
	w := &writer{
		connection: conn, log: log, tenures: tenures, requests: make(chan request, groupRequests), idle: make(chan request),
		names: map[runName]struct{}{}, namespaces: map[string]struct{}{}, checkpoints: checkpoints,
	}
	w.loops.Go(w.checkpoints.run)
	w.loops.Go(func() {
		defer w.checkpoints.stop()
		w.run()
	})
	return w
}

func (w *writer) ended() bool {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.stopped
}

// stop refuses new requests and waits until those under way are answered.
func (w *writer) stop() {
	w.mu.Lock()
	if !w.stopped {
		w.stopped = true
		close(w.requests)
	}
	w.mu.Unlock()
	w.loops.Wait()
}

func (w *writer) close() error {
	// The last connection to close writes the whole log back into the file and removes it.
	if err := w.checkpoints.connection.close(); err != nil {
		return err
	}
	return w.connection.close()
}

// write hands a request to the writer and waits until it is on the disk. When ctx ends while it waits, nothing is
// known about what was done.
func (s *Store) write(ctx context.Context, weight int, do func(w *writer) error) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	return s.await(ctx, s.writer.requests, weight, do)
}

// writeIdle is write for what can wait: whatever else is to be written goes first. What it does must be short, as
// nothing else is done meanwhile.
func (s *Store) writeIdle(ctx context.Context, weight int, do func(w *writer) error) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	return s.await(ctx, s.writer.idle, weight, do)
}

func (s *Store) await(ctx context.Context, to chan<- request, weight int, do func(w *writer) error) error {
	if err := s.refused(); err != nil {
		return err
	}
	r := request{ctx: ctx, weight: weight, do: do, done: make(chan error, 1)}
	if err := s.writer.hand(to, r); err != nil {
		return err
	}
	select {
	case err := <-r.done:
		return s.noticed(err)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (w *writer) hand(to chan<- request, r request) error {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if w.stopped {
		return errClosed
	}
	select {
	case to <- r:
		return nil
	case <-r.ctx.Done():
		return context.Cause(r.ctx)
	}
}

// run does requests in groups until there will be no more.
func (w *writer) run() {
	group := make([]request, 0, groupRequests)
	pause := time.NewTicker(idleEvery)
	defer pause.Stop()
	for {
		first, ok := w.next(group[:0], pause)
		if !ok {
			return
		}
		group = append(group[:0], first)
		weight := first.weight
	take:
		for len(group) < groupRequests && weight < groupWeight {
			select {
			case next, ok := <-w.requests:
				if !ok {
					break take
				}
				group = append(group, next)
				weight += next.weight
			default:
				break take
			}
		}
		noSpace := w.doGroup(group)
		clear(group)
		w.checkpoints.wrote(w.connection, weight, noSpace)
	}
}

// next waits for a request. What can wait is done by itself, and only if there is no other.
func (w *writer) next(group []request, pause *time.Ticker) (first request, ok bool) {
	for {
		select {
		case first, ok = <-w.requests:
			return first, ok
		default:
		}
		select {
		case first, ok = <-w.requests:
			return first, ok
		case idle := <-w.idle:
			noSpace := w.doGroup(append(group, idle))
			w.checkpoints.wrote(w.connection, idle.weight, noSpace)
		case <-pause.C:
			w.checkpoints.idle(w.connection)
		}
	}
}

// doGroup does a group in one transaction. If that fails, each request is done in its own, so that none fails because
// of another. noSpace says that there was none for one of them.
func (w *writer) doGroup(group []request) (noSpace bool) {
	answers := make([]error, len(group))
	err := w.transaction(func() error {
		for i, r := range group {
			if answers[i] = context.Cause(r.ctx); answers[i] != nil {
				continue
			}
			if answers[i] = r.do(w); failed(answers[i]) {
				return answers[i]
			}
		}
		return nil
	})
	noSpace = full(err)
	for i, r := range group {
		switch {
		case err == nil:
			r.done <- answers[i]
		case len(group) == 1:
			r.done <- err
		default:
			w.doGroup(group[i : i+1])
		}
	}
	return noSpace
}

func (w *writer) transaction(do func() error) error {
	if _, err := w.exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	err := do()
	if err == nil {
		err = w.log.write(w.connection)
	}
	if err == nil {
		err = w.tenures.write(w.connection)
	}
	if err == nil {
		if err = w.commit(); err == nil {
			return nil
		}
	}
	w.log.forget()
	w.tenures.forget()
	// SQLite itself rolls back after some errors; then there is nothing left to roll back, which is no news.
	_, _ = w.exec("ROLLBACK")
	clear(w.names)
	clear(w.namespaces)
	return err
}

// commit makes a transaction durable and shows what it did.
func (w *writer) commit() error {
	w.showing.Lock()
	defer w.showing.Unlock()
	if _, err := w.exec("COMMIT"); err != nil {
		return err
	}
	w.log.committed()
	w.tenures.committed()
	return nil
}

// awaitShown waits until what is in the database is shown.
func (w *writer) awaitShown() {
	w.showing.RLock()
	defer w.showing.RUnlock()
}
