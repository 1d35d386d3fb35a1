package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	lib "modernc.org/sqlite/lib"

	"github.com/tidewheel/tidewheel/engine"
)

// checkTimes says when a file is looked through.
type checkTimes struct {
	atStart time.Duration // how long opening may look through it
	first   time.Duration // when it is looked through after that, if opening did not get to its end
	every   time.Duration
	again   time.Duration // after a check that could not be done
}

var usualChecks = checkTimes{atStart: 300 * time.Millisecond, first: time.Second, every: 12 * time.Hour, again: 10 * time.Minute}

// checkCache keeps a check, which reads each page once, from filling memory.
const checkCache = "cache_size(-2048)"

// DamagedError reports that a file is damaged: the store neither reads nor writes it any more. It is engine.ErrDamaged.
type DamagedError struct {
	Path string
	What string // in SQLite's words
}

// Error reports what to do.
func (e *DamagedError) Error() string {
	return fmt.Sprintf("%s is damaged: restore a backup, or try to save what is left with `sqlite3 FILE .recover` (%s)", e.Path, e.What)
}

// Is makes it engine.ErrDamaged.
func (e *DamagedError) Is(target error) bool { return target == engine.ErrDamaged }

// damage returns err as a DamagedError if that is what it says of the file, else nil.
func damage(path string, err error) *DamagedError {
	if known, ok := errors.AsType[*DamagedError](err); ok {
		return known
	}
	if code(err) == lib.SQLITE_CORRUPT {
		return &DamagedError{Path: path, What: err.Error()}
	}
	return nil
}

// Check looks through a file that no server uses and changes nothing in it. The error reports whether it is damaged
// (engine.ErrDamaged), or why it could not be looked through: ctx's if that ended first.
func Check(ctx context.Context, path string) (err error) {
	if _, err := os.Stat(path); err != nil {
		return fmt.Errorf("sqlite: check: %w", err)
	}
	pool, err := openReaders(source(path, "busy_timeout(5000)", "query_only(1)", checkCache)+"&mode=ro", 1)
	if err != nil {
		return explain(path, err)
	}
	defer func() { err = errors.Join(err, pool.close()) }()
	return pool.check(ctx, path)
}

// checkFor looks through a file that is being opened, for so long. whole says that it got through it.
func checkFor(ctx context.Context, path string, limit time.Duration) (whole bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	switch err := Check(ctx, path); {
	case errors.Is(err, engine.ErrDamaged):
		return false, err
	case err != nil:
		return false, nil //nolint:nilerr // it took too long, or could not be done now: it is done again later, and logged
	}
	return true, nil
}

// check looks through the whole file: its pages, trees and the order of their keys, but not whether indexes agree with
// their tables, which takes many times as long.
func (p *readers) check(ctx context.Context, path string) error {
	var found []string
	err := p.with(ctx, func(ctx context.Context, r *reader) error {
		return r.list(ctx, "PRAGMA quick_check(3)", nil, func(rows *sql.Rows) error {
			var line string
			err := rows.Scan(&line)
			found = append(found, line)
			return err
		})
	})
	switch {
	case context.Cause(ctx) != nil:
		return context.Cause(ctx)
	case err != nil:
		return explain(path, err)
	case len(found) == 1 && found[0] == "ok":
		return nil
	}
	return &DamagedError{Path: path, What: strings.ReplaceAll(strings.Join(found, "; "), "\n", " ")}
}

// refused reports why the file is not used any more, nil if it is.
func (f *file) refused() error {
	if f.writer.ended() {
		return errClosed
	}
	if damaged := f.damaged.Load(); damaged != nil {
		return damaged
	}
	return nil
}

// noticed looks at an error of the file, and returns the one to answer with. Once the file is known to be damaged nothing is
// read or written any more: what would be read might be wrong, and what would be written might be lost or spoil more.
func (f *file) noticed(err error) error {
	damaged := damage(f.path, err)
	if damaged == nil {
		return err
	}
	if f.damaged.CompareAndSwap(nil, damaged) {
		f.logger.Error("the database is damaged and is not used any more: nothing starts until it is restored", "error", damaged)
	}
	return damaged
}

// watch looks through the file now and then, until ctx ends or the file is found to be damaged.
func (f *file) watch(ctx context.Context, times checkTimes, whole bool) {
	wait := times.every
	if !whole {
		wait = times.first
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		wait = times.every
		switch err := f.checks.check(ctx, f.path); {
		case ctx.Err() != nil:
			return
		case errors.Is(err, engine.ErrDamaged):
			_ = f.noticed(err)
			return
		case err != nil:
			f.logger.Warn("the database could not be looked through; it is tried again", "error", err)
			wait = times.again
		}
	}
}
