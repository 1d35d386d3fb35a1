package sqlite

import (
	"database/sql/driver"
	"log/slog"
)

const (
	// checkpointWeight is after how many statements the log is written back into the file, beside the writer.
	checkpointWeight = 30_000
	// logPages is how long the log may grow before the writer itself writes back what is left, so that the next write
	// begins the log anew: 64 MiB.
	logPages = 16384
)

// checkpointer writes the log back into the file beside the writer. Alone it would never be done while the writer
// goes on, and the log would grow for ever; so the writer does the last bit, once the log is long.
type checkpointer struct {
	connection *connection
	logger     *slog.Logger
	due        chan struct{}
	long       chan struct{}
	logPages   int64
	weight     int // since the last signal; the writer's
}

func newCheckpointer(conn *connection, logger *slog.Logger) *checkpointer {
	return &checkpointer{connection: conn, logger: logger, logPages: logPages, due: make(chan struct{}, 1), long: make(chan struct{}, 1)}
}

func (c *checkpointer) stop() { close(c.due) }

func (c *checkpointer) run() {
	for range c.due {
		pages, err := checkpoint(c.connection)
		if err != nil {
			c.logger.Warn("the log could not be written back into the database; it is tried again", "error", err)
			continue
		}
		if pages >= c.logPages {
			select {
			case c.long <- struct{}{}:
			default:
			}
		}
	}
}

// wrote is called by the writer between two transactions.
func (c *checkpointer) wrote(conn *connection, weight int) {
	select {
	case <-c.long:
		if _, err := checkpoint(conn); err != nil {
			c.logger.Warn("the log could not be written back into the database; it is tried again", "error", err)
		}
	default:
	}
	if c.weight += weight; c.weight < checkpointWeight {
		return
	}
	select {
	case c.due <- struct{}{}:
		c.weight = 0
	default: // one is under way
	}
}

// checkpoint writes back what it can without waiting for anybody, and tells how many pages the log has.
func checkpoint(conn *connection) (pages int64, err error) {
	err = conn.query("PRAGMA wal_checkpoint(PASSIVE)", nil, func(values []driver.Value) error {
		pages, _ = values[1].(int64)
		return nil
	})
	return pages, err
}
