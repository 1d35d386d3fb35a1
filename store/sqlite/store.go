package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
)

// Config holds what may be chosen.
type Config struct {
	// Logger hears of what nobody waits for, such as a checkpoint that fails. Required.
	Logger *slog.Logger
	// Readers is the number of connections for reading; 4 if it is 0. Those of ForEngine come on top.
	Readers int
}

// engineReaders is the number of connections that read for the engine alone.
const engineReaders = 2

func (c *Config) validate() error {
	if c.Logger == nil {
		return errors.New("sqlite: Config.Logger is required")
	}
	if c.Readers == 0 {
		c.Readers = 4
	}
	if c.Readers < 0 {
		return fmt.Errorf("sqlite: Config.Readers is %d: use a positive number", c.Readers)
	}
	return nil
}

// Store is a database file. Its methods may be called by any number of goroutines.
type Store struct {
	*file
	readers *readers // of this Store's reads
}

// file is what all Stores of a database file share.
type file struct {
	writer     *writer
	active     *activeRuns
	others     *readers // those for everybody
	engines    *readers // those for the engine
	closing    sync.Once
	closed     chan struct{} // once all goroutines and connections have ended
	closeError error
}

// ForEngine gives the same store with connections for reading that nobody else has: however many pages are read, and
// however long, the engine does not wait for one of them.
func (s *Store) ForEngine() *Store { return &Store{file: s.file, readers: s.engines} }

// Open opens the database file at path, and makes it if there is none; its folder must exist. One process may have a
// file open at a time. The caller closes the store.
func Open(ctx context.Context, path string, config Config) (*Store, error) {
	if err := config.validate(); err != nil {
		return nil, err
	}
	if err := context.Cause(ctx); err != nil {
		return nil, fmt.Errorf("sqlite: open %s: %w", path, err)
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("sqlite: open: %w", err)
	}
	if err := registerFunctions(); err != nil {
		return nil, fmt.Errorf("sqlite: open %s: %w", path, err)
	}
	conn, err := connect(source(path,
		"busy_timeout(5000)", "journal_mode(wal)", "synchronous(full)", "cache_size(-65536)", "temp_store(memory)",
		"wal_autocheckpoint(0)", "journal_size_limit(67108864)"))
	if err != nil {
		return nil, explain(path, err)
	}
	if err := migrate(conn, path); err != nil {
		return nil, errors.Join(err, conn.close())
	}
	log := newRunsLog()
	if err := log.load(conn); err != nil {
		return nil, errors.Join(explain(path, err), conn.close())
	}
	checkpoints, err := connect(source(path, "busy_timeout(5000)", "synchronous(full)", "cache_size(-1024)"))
	if err != nil {
		return nil, errors.Join(explain(path, err), conn.close())
	}
	reading := source(path, "busy_timeout(5000)", "query_only(1)", "cache_size(-16384)", "temp_store(memory)")
	others, err := openReaders(reading, config.Readers)
	if err != nil {
		return nil, errors.Join(explain(path, err), checkpoints.close(), conn.close())
	}
	engines, err := openReaders(reading, engineReaders)
	if err != nil {
		return nil, errors.Join(explain(path, err), others.close(), checkpoints.close(), conn.close())
	}
	shared := &file{
		writer: startWriter(conn, checkpoints, log, config.Logger), active: log.active, others: others, engines: engines, closed: make(chan struct{}),
	}
	return &Store{file: shared, readers: others}, nil
}

// Ping tells whether the store answers.
func (s *Store) Ping(ctx context.Context) error {
	if s.writer.ended() {
		return wrap("ping", errClosed)
	}
	return wrap("ping", s.list(ctx, "SELECT 1", nil, func(*sql.Rows) error { return nil }))
}

// Close refuses new writes, waits for those under way, and closes the file. If ctx ends first, the rest goes on by
// itself. Closing it again does nothing more.
func (s *Store) Close(ctx context.Context) error {
	s.closing.Do(func() {
		go func() {
			defer close(s.closed)
			s.writer.stop()
			s.closeError = errors.Join(s.others.close(), s.engines.close(), s.writer.close())
		}()
	})
	select {
	case <-s.closed:
		return wrap("close", s.closeError)
	case <-ctx.Done():
		return wrap("close", context.Cause(ctx))
	}
}
