package memory

import (
	"context"
	"errors"
	"sync"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

var errClosed = errors.New("memory: the store is closed")

// Store is everything in maps under one lock. The zero value is not ready: use New.
type Store struct {
	mu        sync.RWMutex
	closed    bool
	runs      map[string]*engine.Run
	active    map[string]*engine.Run // those of runs that have not ended
	tasks     map[string]engine.ScheduledTask
	waves     map[string]*engine.Wave
	jobs      *definitions[spec.Job]
	dags      *definitions[spec.DAG]
	commands  map[string]engine.Command
	slots     map[string]engine.SlotRange
	letters   map[string]engine.DeadLetter
	incidents map[string]engine.Incident
	binaries  map[string]engine.Binary // by "namespace/name"
	effects   map[effectKey]engine.RunEffect
	keys      map[string][]byte // that the nodes share, by name
	records   map[recordKey]engine.Record
	terms     map[int]term // by shard
}

// New makes an empty store.
func New() *Store {
	s := &Store{
		runs:      map[string]*engine.Run{},
		active:    map[string]*engine.Run{},
		tasks:     map[string]engine.ScheduledTask{},
		waves:     map[string]*engine.Wave{},
		commands:  map[string]engine.Command{},
		slots:     map[string]engine.SlotRange{},
		letters:   map[string]engine.DeadLetter{},
		incidents: map[string]engine.Incident{},
		binaries:  map[string]engine.Binary{},
		effects:   map[effectKey]engine.RunEffect{},
		keys:      map[string][]byte{},
		records:   map[recordKey]engine.Record{},
		terms:     map[int]term{},
	}
	s.jobs, s.dags = newJobs(s), newDAGs(s)
	return s
}

// read takes the lock for reading; the caller gives it back with s.mu.RUnlock unless there is an error.
func (s *Store) read(ctx context.Context) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	s.mu.RLock()
	if s.closed {
		s.mu.RUnlock()
		return errClosed
	}
	return nil
}

// write takes the lock for writing; the caller gives it back with s.mu.Unlock unless there is an error.
func (s *Store) write(ctx context.Context) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return errClosed
	}
	return nil
}

// Ping reports whether the store is open.
func (s *Store) Ping(ctx context.Context) error {
	if err := s.read(ctx); err != nil {
		return err
	}
	s.mu.RUnlock()
	return nil
}

// Close ends the store. Closing it again does nothing.
func (s *Store) Close(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return nil
}
