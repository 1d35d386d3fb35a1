package mongo

import (
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// DefaultDatabase is used where neither the configuration nor the connection string names one.
const DefaultDatabase = "tidewheel"

// Config holds what may be chosen; the zero value is good.
type Config struct {
	// Database is the name of the database; by default the one that the connection string names, else
	// DefaultDatabase.
	Database string
	// Logger takes what an operator should know and no caller gets as an error, and every command if it is enabled for
	// slog.LevelDebug; by default nothing is logged.
	Logger *slog.Logger
	// Monitor is called after each command that was sent to the server, from any goroutine; it must not block.
	Monitor func(Command)
	// AppName is how the connection presents itself to the server; by default "tidewheel".
	AppName string
	// ServerSelectionTimeout is how long an operation waits for a server that can take it; by default 5 seconds.
	ServerSelectionTimeout time.Duration
	// OperationTimeout bounds an operation whose context has no deadline; by default 30 seconds.
	OperationTimeout time.Duration
	// BulkSize is the most writes in one bulk command, 1 … 1,000; by default 1,000.
	BulkSize int
	// Parallel is how many bulk commands of one part of a batch may be under way at once; by default 4.
	Parallel int
	// Attempts is how often a write whose fate is unknown is looked at and retried; by default 6.
	Attempts int
	// ProjectInterval is how long what was committed waits for more before it goes to the collections; by default 30 ms.
	ProjectInterval time.Duration
	// TrimInterval is the time between two deletions of what was projected from the journal; by default one second.
	TrimInterval time.Duration
	// EntrySize is how large an entry of the journal may be before it is split, in bytes, up to 12 MB; by default 8 MB.
	EntrySize int
	// Backlog is how much may be committed and not projected yet before commits wait, in bytes; by default 64 MB.
	Backlog int
	// PrimaryOnly reads history from the primary too, for users who must see at once what was just written.
	PrimaryOnly bool
	// ScanLimit is how many documents a search by text, tier or user looks at before it returns what it has, with a
	// cursor to continue; by default 100,000.
	ScanLimit int
	// ActiveServersWait is how long an upgrade of the schema waits for other servers to report that they use the database; by default 6
	// seconds, three times the interval at which servers check for the query.
	ActiveServersWait time.Duration
	// ScanTime bounds the same in time; by default one second.
	ScanTime time.Duration
}

// Command is one command that was sent to the server.
type Command struct {
	Name       string // "find", "insert", …
	Collection string // that it names; "" for none
	Documents  int    // that it inserts or replaces
	Bytes      int    // of the whole command
	Took       time.Duration
	Failed     bool // by the server or the network; a refused single write of a bulk does not count
}

func (c Config) validate() (Config, error) {
	var faults []error
	positive := func(name string, value *int, byDefault, most int) {
		if *value == 0 {
			*value = byDefault
		}
		if *value < 1 || *value > most {
			faults = append(faults, fmt.Errorf("%s is %d: use 1 … %d", name, *value, most))
		}
	}
	span := func(name string, value *time.Duration, byDefault time.Duration) {
		if *value == 0 {
			*value = byDefault
		}
		if *value < 0 {
			faults = append(faults, fmt.Errorf("%s is %s: use a positive duration", name, *value))
		}
	}
	positive("bulk size", &c.BulkSize, 1000, 1000)
	positive("parallel", &c.Parallel, 4, 64)
	positive("attempts", &c.Attempts, 6, 100)
	positive("scan limit", &c.ScanLimit, 100_000, 10_000_000)
	span("server selection timeout", &c.ServerSelectionTimeout, 5*time.Second)
	span("operation timeout", &c.OperationTimeout, 30*time.Second)
	span("active servers wait", &c.ActiveServersWait, 6*time.Second)
	span("scan time", &c.ScanTime, time.Second)
	span("project interval", &c.ProjectInterval, 30*time.Millisecond)
	span("trim interval", &c.TrimInterval, time.Second)
	positive("entry size", &c.EntrySize, 8<<20, 12<<20)
	positive("backlog", &c.Backlog, 64<<20, 1<<40)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.AppName == "" {
		c.AppName = "tidewheel"
	}
	return c, errors.Join(faults...)
}
