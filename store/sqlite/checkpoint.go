package sqlite

import (
	"database/sql/driver"
	"errors"
	"log/slog"
	"os"
	"sync/atomic"
	"time"
)

const (
	// checkpointWeight is after how many statements the log is written back into the file, beside the writer, also where
	// it is short yet.
	checkpointWeight = 30_000
	// logLeast and logMost bound how long the log may grow, in bytes, before the writer empties it: as long as the database
	// itself, but not less than the one, so that small files are not synced again and again, nor more than the other.
	logLeast = 8 << 20
	logMost  = 64 << 20
	// logKept is how much of an emptied log stays on the disk to be written over.
	logKept = 4 << 20
	// logReads is how long the log may grow, in bytes, because reads of an earlier moment keep it: a backup, say. These reads
	// are ended then. A longer database has more.
	logReads = 1 << 30
	// emptyWait is how long the writer waits for reads when it empties the log, and emptyAgain how seldom it does.
	emptyWait  = "PRAGMA busy_timeout = 200"
	usualWait  = "PRAGMA busy_timeout = 5000"
	emptyAgain = time.Second
	// idleEvery is how often an unused log is checked, to be truncated.
	idleEvery = 10 * time.Second
)

// errLogLong ends reads that keep the log from being emptied.
var errLogLong = errors.New("the read was ended: it took so long that the database's log could not be emptied; try again")

// checkpointer keeps the log short. Beside the writer it is written back into the file again and again; but as long as the
// writer continues, it is never restarted by that. So the writer empties it, once it is long: new reads do not hold that up,
// since they find everything in the file.
type checkpointer struct {
	connection *connection
	path       string // of the log
	logger     *slog.Logger
	due        chan struct{}
	endReads   func(error) // ends the reads that are under way
	least      int64       // logLeast
	reads      int64       // logReads

	// The writer's.
	weight int   // since the last signal
	most   int64 // how long the log may become now
	next   time.Time
	quiet  bool // nothing was written since the last look

	endedReads atomic.Int64 // how often
}

func newCheckpointer(conn *connection, path string, endReads func(error), logger *slog.Logger) *checkpointer {
	return &checkpointer{
		connection: conn, path: path + "-wal", logger: logger, due: make(chan struct{}, 1), endReads: endReads,
		least: logLeast, reads: logReads, most: logLeast,
	}
}

func (c *checkpointer) stop() { close(c.due) }

func (c *checkpointer) run() {
	for range c.due {
		if err := checkpoint(c.connection); err != nil {
			c.failed(err)
		}
	}
}

func (c *checkpointer) failed(err error) {
	c.logger.Warn("the log could not be written back into the database; it is tried again", "error", err)
}

// length is how long the log is on the disk; 0 if that is not known.
func (c *checkpointer) length() int64 {
	info, err := os.Stat(c.path)
	if err != nil {
		return 0
	}
	return info.Size()
}

// wrote is called by the writer between two transactions. noSpace says that the last one found none: what the log takes
// may be what is missing.
func (c *checkpointer) wrote(conn *connection, weight int, noSpace bool) {
	c.quiet = false
	length := c.length()
	c.weight += weight
	if c.weight >= checkpointWeight || length > c.most/2 {
		select {
		case c.due <- struct{}{}:
			c.weight = 0
		default: // one is under way
		}
	}
	if length <= c.most && (!noSpace || length == 0) || time.Now().Before(c.next) {
		return
	}
	c.next = time.Now().Add(emptyAgain)
	c.empty(conn)
	size, err := databaseSize(conn)
	if err != nil {
		c.failed(err)
		return
	}
	c.most = min(max(size, c.least), max(c.least, logMost))
	if length = c.length(); length > max(c.reads, size) || noSpace && length > logKept {
		c.endReads(errLogLong)
		c.endedReads.Add(1)
	}
}

// idle is called by the writer when it has waited for a while. It empties the log that is left.
func (c *checkpointer) idle(conn *connection) {
	if c.quiet && c.length() > 0 {
		c.empty(conn)
	}
	c.quiet = true
}

// empty writes all of the log back and cuts it, unless reads of an earlier moment take too long.
func (c *checkpointer) empty(conn *connection) {
	if _, err := conn.exec(emptyWait); err != nil {
		c.failed(err)
		return
	}
	err := conn.query("PRAGMA wal_checkpoint(TRUNCATE)", nil, func([]driver.Value) error { return nil })
	if err != nil {
		c.failed(err)
	}
	if _, err := conn.exec(usualWait); err != nil {
		c.failed(err)
	}
}

// checkpoint writes back what it can without waiting for anybody.
func checkpoint(conn *connection) error {
	return conn.query("PRAGMA wal_checkpoint(PASSIVE)", nil, func([]driver.Value) error { return nil })
}

func databaseSize(conn *connection) (int64, error) {
	pages, err := conn.number("PRAGMA page_count")
	if err != nil {
		return 0, err
	}
	page, err := conn.number("PRAGMA page_size")
	return pages * page, err
}
