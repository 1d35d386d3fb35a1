package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/web/service"
)

// errBeginAnew ends a server that is to be started again in the same process.
var errBeginAnew = errors.New("the server restarts")

// diskFull is the message for the user.
func diskFull(err error) error {
	problem := &service.Error{
		Kind: service.KindUnavailable, Code: "disk_full", Err: err,
		Detail: "the server's disk is full, and nothing was done: free some space there and repeat",
	}
	if errors.Is(err, errDiskFull) { // it says where, and how much
		problem.Detail = err.Error()
	}
	return problem
}

// storeOfUsers is the store as web/service wants it: a full disk is something that a user can understand.
type storeOfUsers struct{ store }

var _ service.Store = storeOfUsers{}

func explainFull(err error) error {
	if errors.Is(err, engine.ErrFull) {
		return diskFull(err)
	}
	return err
}

// damagedStore is the error that users see for a database that is not used any more.
func damagedStore(err error) error {
	return &service.Error{
		Kind: service.KindUnavailable, Code: "database_damaged", Err: err,
		Detail: "the server's database is damaged and is not used any more: restore a backup; the server's log and tidewheel doctor say more",
	}
}

// Ping reports whether the store answers.
func (s storeOfUsers) Ping(ctx context.Context) error {
	err := s.store.Ping(ctx)
	if errors.Is(err, engine.ErrDamaged) {
		return damagedStore(err)
	}
	return err
}

// Jobs keeps jobs.
func (s storeOfUsers) Jobs() engine.Definitions[spec.Job] {
	return definitionsOfUsers[spec.Job]{s.store.Jobs()}
}

// DAGs keeps DAGs.
func (s storeOfUsers) DAGs() engine.Definitions[spec.DAG] {
	return definitionsOfUsers[spec.DAG]{s.store.DAGs()}
}

type definitionsOfUsers[S engine.Spec] struct{ engine.Definitions[S] }

// Create makes a definition.
func (d definitionsOfUsers[S]) Create(ctx context.Context, definition engine.Definition[S]) error {
	return explainFull(d.Definitions.Create(ctx, definition))
}

// Replace changes a definition.
func (d definitionsOfUsers[S]) Replace(ctx context.Context, definition engine.Definition[S]) error {
	return explainFull(d.Definitions.Replace(ctx, definition))
}

// PutCommand leaves something for the engine.
func (s storeOfUsers) PutCommand(ctx context.Context, command engine.Command) error {
	return explainFull(s.store.PutCommand(ctx, command))
}

// CreateBinary makes a binary.
func (s storeOfUsers) CreateBinary(ctx context.Context, binary engine.Binary) error {
	return explainFull(s.store.CreateBinary(ctx, binary))
}

// ReplaceBinary changes a binary.
func (s storeOfUsers) ReplaceBinary(ctx context.Context, binary engine.Binary) error {
	return explainFull(s.store.ReplaceBinary(ctx, binary))
}

// InsertEffect opens an effect.
func (s storeOfUsers) InsertEffect(ctx context.Context, effect engine.RunEffect) error {
	return explainFull(s.store.InsertEffect(ctx, effect))
}

// ReplaceEffect changes an effect.
func (s storeOfUsers) ReplaceEffect(ctx context.Context, effect engine.RunEffect) error {
	return explainFull(s.store.ReplaceEffect(ctx, effect))
}

// natsFailure notices in the embedded NATS's log that one of its streams could not be written. NATS takes nothing for
// such a stream any more until it is started again, and has no other way to say so.
type natsFailure struct {
	slog.Handler
	seen *failureSeen
}

type failureSeen struct {
	once sync.Once
	what chan string
}

func newNATSFailure(log *slog.Logger) (*slog.Logger, *failureSeen) {
	seen := &failureSeen{what: make(chan string, 1)}
	return slog.New(natsFailure{log.Handler(), seen}), seen
}

// stopsAStream reports whether NATS says that it could not write a stream. Of the first message that finds no space it says so in
// other words than of those that follow, and takes none from there on.
func stopsAStream(message string) bool {
	message = strings.ToLower(message)
	return strings.Contains(message, "critical write error") || strings.Contains(message, "no space left on device")
}

// Handle passes a record on, and looks at it.
func (h natsFailure) Handle(ctx context.Context, record slog.Record) error {
	if record.Level >= slog.LevelError && stopsAStream(record.Message) {
		h.seen.once.Do(func() { h.seen.what <- record.Message })
	}
	return h.Handler.Handle(ctx, record)
}

// WithAttrs keeps looking.
func (h natsFailure) WithAttrs(attrs []slog.Attr) slog.Handler {
	return natsFailure{h.Handler.WithAttrs(attrs), h.seen}
}

// WithGroup keeps looking.
func (h natsFailure) WithGroup(name string) slog.Handler {
	return natsFailure{h.Handler.WithGroup(name), h.seen}
}

// watchNATS waits for such a failure, and then for space, and has the server restart.
func (s *Server) watchNATS(ctx context.Context, seen *failureSeen) error {
	select {
	case what := <-seen.what:
		s.log.Error("the queue cannot write to its disk: nothing runs until there is space", "error", what, "folder", s.data.dir)
		s.disk.refused("the queue", true)
	case <-ctx.Done():
		return nil
	}
	ticker := time.NewTicker(diskEvery)
	defer ticker.Stop()
	for {
		if free, err := s.disk.free(s.data.dir); err == nil && free >= leastFree {
			return fmt.Errorf("there is space on the disk again: %w", errBeginAnew)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil
		}
	}
}
