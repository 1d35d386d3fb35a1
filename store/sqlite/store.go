package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"
)

// Config holds what may be chosen.
type Config struct {
	// Logger receives failures that no caller waits for, such as a failed checkpoint. Required.
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
	path       string
	logger     *slog.Logger
	writer     *writer
	active     *activeRuns
	others     *readers // those for everybody
	engines    *readers // those for the engine
	checks     *readers // one that looks through the file
	damaged    atomic.Pointer[DamagedError]
	endWatch   context.CancelFunc
	watched    sync.WaitGroup
	closing    sync.Once
	closed     chan struct{} // once all goroutines and connections have ended
	closeError error
}

// ForEngine returns the same store with read connections of its own: however many pages are read, and
// however long, the engine does not wait for one of them.
func (s *Store) ForEngine() *Store { return &Store{file: s.file, readers: s.engines} }

// Open opens the database file at path, and makes it if there is none; its folder must exist. One process may have a
// file open at a time. The caller closes the store.
//
// A file that is found to be damaged is refused, with engine.ErrDamaged. A large one is looked through to its end after
// Open has returned, and every file again twice a day: once damage is found all methods answer with engine.ErrDamaged.
func Open(ctx context.Context, path string, config Config) (*Store, error) {
	return open(ctx, path, config, usualChecks)
}

func open(ctx context.Context, path string, config Config, times checkTimes) (*Store, error) {
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
		"wal_autocheckpoint(0)", fmt.Sprintf("journal_size_limit(%d)", logKept)))
	if err != nil {
		return nil, explain(path, err)
	}
	if err := migrate(conn, path, config.Logger); err != nil {
		return nil, errors.Join(err, conn.close())
	}
	whole, err := checkFor(ctx, path, times.atStart)
	if err != nil {
		return nil, errors.Join(err, conn.close())
	}
	log, tenures := newRunsLog(), &tenures{}
	if err := errors.Join(log.load(conn), tenures.load(conn)); errors.Is(err, errDocument) {
		return nil, errors.Join(&DamagedError{Path: path, What: err.Error()}, conn.close())
	} else if err != nil {
		return nil, errors.Join(explain(path, err), conn.close())
	}
	checkpoints, err := connect(source(path, "busy_timeout(5000)", "synchronous(full)", "cache_size(-1024)"))
	if err != nil {
		return nil, errors.Join(explain(path, err), conn.close())
	}
	reading := func(cache string) string {
		return source(path, "busy_timeout(5000)", "query_only(1)", cache, "temp_store(memory)")
	}
	f := &file{path: path, logger: config.Logger, active: log.active, closed: make(chan struct{})}
	for _, pool := range []struct {
		readers **readers
		cache   string
		size    int
	}{{&f.others, "cache_size(-16384)", config.Readers}, {&f.engines, "cache_size(-16384)", engineReaders}, {&f.checks, checkCache, 1}} {
		if *pool.readers, err = openReaders(reading(pool.cache), pool.size); err != nil {
			return nil, errors.Join(explain(path, err), f.closeReaders(), checkpoints.close(), conn.close())
		}
	}
	f.writer = startWriter(conn, newCheckpointer(checkpoints, path, f.endReads, config.Logger), log, tenures)
	watching, end := context.WithCancel(context.WithoutCancel(ctx))
	f.endWatch = end
	f.watched.Go(func() { f.watch(watching, times, whole) })
	return &Store{file: f, readers: f.others}, nil
}

// endReads ends the reads that are under way.
func (f *file) endReads(why error) {
	for _, pool := range []*readers{f.others, f.engines, f.checks} {
		pool.endAll(why)
	}
}

func (f *file) closeReaders() (err error) {
	for _, pool := range []*readers{f.others, f.engines, f.checks} {
		if pool != nil {
			err = errors.Join(err, pool.close())
		}
	}
	return err
}

// Ping reports whether the store answers.
func (s *Store) Ping(ctx context.Context) error {
	return wrap("ping", s.list(ctx, "SELECT 1", nil, func(*sql.Rows) error { return nil }))
}

// Close refuses new writes, waits for those under way, and closes the file. If ctx ends first, the rest continues by
// itself. Closing it again does nothing more.
func (s *Store) Close(ctx context.Context) error {
	s.closing.Do(func() {
		go func() {
			defer close(s.closed)
			s.writer.stop()
			s.endWatch()
			s.watched.Wait()
			s.closeError = errors.Join(s.closeReaders(), s.writer.close())
		}()
	})
	select {
	case <-s.closed:
		return wrap("close", s.closeError)
	case <-ctx.Done():
		return wrap("close", context.Cause(ctx))
	}
}
