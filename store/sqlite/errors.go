package sqlite

import (
	"errors"
	"fmt"

	driver "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/tidewheel/tidewheel/engine"
)

var errClosed = errors.New("the store is closed")

// NewerError reports that a database was written by a later version of Tidewheel.
type NewerError struct {
	Path  string
	Found int // version of the schema in the file
	Known int // the latest that this program knows
}

// Error reports what to do.
func (e *NewerError) Error() string {
	return fmt.Sprintf("%s was written by a newer Tidewheel (schema %d, this one knows %d): start that version, or restore a backup", e.Path, e.Found, e.Known)
}

// failed reports whether err comes from SQLite, and not from a condition that did not hold.
func failed(err error) bool {
	_, ok := errors.AsType[*driver.Error](err)
	return ok
}

// code returns the primary result code of SQLite, 0 for any other error.
func code(err error) int {
	if e, ok := errors.AsType[*driver.Error](err); ok {
		return e.Code() & 0xff
	}
	return 0
}

// full reports whether err says that there is no space. The index of the log, which is mapped into memory, says so by a code
// of its own.
func full(err error) bool {
	e, ok := errors.AsType[*driver.Error](err)
	return ok && (code(err) == lib.SQLITE_FULL || e.Code() == lib.SQLITE_IOERR_SHMSIZE)
}

// wrap adds the operation, and the sentinel that callers ask for.
func wrap(operation string, err error) error {
	switch {
	case err == nil:
		return nil
	case full(err):
		return fmt.Errorf("sqlite: %s: %w: %w", operation, engine.ErrFull, err)
	default:
		return fmt.Errorf("sqlite: %s: %w", operation, err)
	}
}

// explain says of a file that cannot be opened what is the matter with it.
func explain(path string, err error) error {
	switch code(err) {
	case lib.SQLITE_NOTADB:
		return fmt.Errorf("%s is not a database: move it away, or restore a backup: %w", path, err)
	case lib.SQLITE_CORRUPT:
		return damage(path, err)
	case lib.SQLITE_CANTOPEN, lib.SQLITE_READONLY, lib.SQLITE_PERM:
		return fmt.Errorf("%s cannot be written: check that its folder exists and belongs to this user: %w", path, err)
	case lib.SQLITE_BUSY, lib.SQLITE_LOCKED:
		return fmt.Errorf("%s is in use by another program: end that first: %w", path, err)
	default:
		return wrap("open "+path, err)
	}
}
