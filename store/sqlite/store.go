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
	// Readers is the number of connections for reading; 4 if it is 0.
	Readers int
}

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
	writer     *writer
	active     *activeRuns
	readers    *sql.DB
	statements sync.Map // query → *sql.Stmt on readers
	closing    sync.Once
	closed     chan struct{} // once all goroutines and connections have ended
	closeError error
}

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
	readers, err := sql.Open("sqlite", source(path, "busy_timeout(5000)", "query_only(1)", "cache_size(-16384)", "temp_store(memory)"))
	if err != nil {
		return nil, errors.Join(explain(path, err), checkpoints.close(), conn.close())
	}
	readers.SetMaxOpenConns(config.Readers)
	readers.SetMaxIdleConns(config.Readers)
	return &Store{
		writer: startWriter(conn, checkpoints, log, config.Logger), active: log.active, readers: readers, closed: make(chan struct{}),
	}, nil
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
			s.statements.Range(func(_, statement any) bool {
				s.closeError = errors.Join(s.closeError, statement.(*sql.Stmt).Close())
				return true
			})
			s.closeError = errors.Join(s.closeError, s.readers.Close(), s.writer.close())
		}()
	})
	select {
	case <-s.closed:
		return wrap("close", s.closeError)
	case <-ctx.Done():
		return wrap("close", context.Cause(ctx))
	}
}

// statement gives a kept prepared statement.
func (s *Store) statement(ctx context.Context, query string) (*sql.Stmt, error) {
	if statement, found := s.statements.Load(query); found {
		return statement.(*sql.Stmt), nil
	}
	statement, err := s.readers.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	kept, raced := s.statements.LoadOrStore(query, statement)
	if raced {
		if err := statement.Close(); err != nil {
			return nil, err
		}
	}
	return kept.(*sql.Stmt), nil
}

func (s *Store) query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if s.writer.ended() {
		return nil, errClosed
	}
	statement, err := s.statement(ctx, query)
	if err != nil {
		return nil, err
	}
	return statement.QueryContext(ctx, args...)
}

// list calls row for each row of the answer; what it scans into RawBytes is good until it returns.
func (s *Store) list(ctx context.Context, query string, args []any, row func(*sql.Rows) error) error {
	rows, err := s.query(ctx, query, args...)
	if err != nil {
		return err
	}
	return each(rows, row)
}

func each(rows *sql.Rows, row func(*sql.Rows) error) error {
	for rows.Next() {
		if err := row(rows); err != nil {
			return errors.Join(err, rows.Close())
		}
	}
	return errors.Join(rows.Err(), rows.Close())
}
