package service

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/tidewheel/tidewheel/access"
	"github.com/tidewheel/tidewheel/audit"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/enrol"
	"github.com/tidewheel/tidewheel/secret"
	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/trigger"
)

// Store is the truth, as users change and read it.
type Store interface {
	JobStore
	DAGStore
	EffectStore
	Names
	OverviewStore
	engine.Records

	Jobs() engine.Definitions[spec.Job]

	Run(ctx context.Context, id string) (engine.Run, error)
	RunsByID(ctx context.Context, ids []string) ([]engine.Run, error)
	Runs(ctx context.Context, filter engine.RunFilter) ([]engine.Run, string, error)
	// PutCommand leaves a command; one that is there under its id stays as it is.
	PutCommand(ctx context.Context, command engine.Command) error
	// Command returns a command that the engine has not acted upon; engine.ErrNotFound.
	Command(ctx context.Context, id string) (engine.Command, error)
	// Commands returns what the engine has not acted upon in these shards, oldest first.
	Commands(ctx context.Context, shards []int, limit int) ([]engine.Command, error)

	Slots(ctx context.Context, filter engine.SlotFilter) ([]engine.SlotRange, string, error)
	Upcoming(ctx context.Context, namespace string, limit int) ([]engine.ScheduledTask, error)
	TasksByID(ctx context.Context, uids []string) ([]engine.ScheduledTask, error)
	DeadLetters(ctx context.Context, namespace, cursor string, limit int) ([]engine.DeadLetter, string, error)
	DeadLetter(ctx context.Context, runID string) (engine.DeadLetter, error)
	DeleteDeadLetter(ctx context.Context, runID string) error

	// IncidentsPage lists the incidents of a namespace that have begun, the latest begun first.
	IncidentsPage(ctx context.Context, namespace, cursor string, limit int) (incidents []engine.Incident, next string, err error)

	CreateBinary(ctx context.Context, binary engine.Binary) error
	ReplaceBinary(ctx context.Context, binary engine.Binary) error
	DeleteBinary(ctx context.Context, namespace, name string, revision int64) error
	Binary(ctx context.Context, namespace, name string) (engine.Binary, error)
	Binaries(ctx context.Context, namespace, cursor string, limit int) ([]engine.Binary, string, error)
	Ping(ctx context.Context) error
}

// Queue reaches the engine and the executors.
type Queue interface {
	PublishWake(ctx context.Context, wake engine.Wake) error
	WatchLog(ctx context.Context, run string, attempt int, handle func(engine.LogFrame)) error
	Executors(ctx context.Context) ([]engine.Presence, error)
	OrderDrain(ctx context.Context, executor string, order engine.DrainOrder) error
	Engines(ctx context.Context) ([]engine.EnginePresence, error)
	// ShardOwners returns the engine that has the lease of each shard, "" where none has.
	ShardOwners(ctx context.Context) ([engine.Shards]string, error)
	Depths(ctx context.Context) ([]engine.QueueDepth, error)
	// Streams returns the size of the streams and buckets.
	Streams(ctx context.Context) ([]engine.Stream, error)
	Ping(ctx context.Context) error
}

// Config bounds what users may send. Zero fields take their defaults.
type Config struct {
	MaxBinary int64 // bytes; default 4 GiB
	Now       func() time.Time
	// Backup writes backups, unless NoBackup says why there are none, and what to do instead; nil says nothing.
	Backup   BackupWriter
	NoBackup func(context.Context) (string, error)
	// RootToken is the token of the data folder, which opens everything; "" with --auth off.
	RootToken string
	// Secrets keeps secrets; nil: there are none.
	Secrets *secret.Vault
	// RotateSecretsKey creates a new key and reseals all secrets with it; it returns the recipients of the seal and the number of secrets.
	RotateSecretsKey func(context.Context) (recipient string, resealed int, err error)
	// Notifications tell users what goes wrong.
	Notifications Notifications
	// Alone describes the engine of this process, if it is the only one and needs no leases; nil if engines share shards.
	Alone func() engine.EnginePresence
	// DiskFull means that the disk of this server is full, and what to do; nil while it is not. A nil function: unknown.
	DiskFull func() error
	// MayWatch reports whether objects of a bucket may start runs of a namespace; nil: none may.
	MayWatch func(namespace, bucket string) bool
	// Enrolment defines how executors get credentials of their own.
	Enrolment Enrolment
	// MaxBacklog is how many runs of a tier may wait for executors before manual runs are refused; 0 is any number.
	MaxBacklog int
}

// Service is what users can do. It is safe for concurrent use.
type Service struct {
	Jobs *Definitions[spec.Job]
	DAGs *Definitions[spec.DAG]
	// Audit is the log of who changed what.
	Audit *audit.Log
	// Access keeps users, sessions and API tokens.
	Access *access.Directory

	store  Store
	blobs  Blobs
	queue  Queue
	log    *slog.Logger
	config Config

	enrolled   *enrol.Register
	triggers   *trigger.Book
	namespaces namespaces
	runBytes   *access.RunBytes
	watchers   watchers
	fleet      fleet
	ownerless  ownerless
	tides      tides
	durations  durations
	collisions collisions
	pauses     pauses
	removals   removals
	ledger     ledgerCheck
	backlogs   backlogs
	quotas     quotas
	averages   averages
	backingUp  sync.Mutex
}

// New makes a Service. It owns none of its parts.
func New(store Store, blobs Blobs, queue Queue, log *slog.Logger, config Config) *Service {
	if config.MaxBinary <= 0 {
		config.MaxBinary = 4 << 30
	}
	if config.Now == nil {
		config.Now = time.Now
	}
	s := &Service{store: store, blobs: blobs, queue: queue, log: log, config: config}
	s.triggers = trigger.NewBook(store, config.Now)
	s.namespaces.Namespaces = access.NewNamespaces(store, config.Now)
	s.runBytes = access.NewRunBytes(store)
	s.Jobs, s.DAGs, s.Audit = newJobs(s), newDAGs(s), audit.New(store)
	s.enrolled = enrol.New(store, config.Enrolment.Config, config.Now)
	s.Access = access.New(store, config.RootToken, config.Now)
	return s
}

func (s *Service) now() time.Time { return s.config.Now().UTC().Truncate(time.Millisecond) }

// wake asks the engine to look. The engine's own sweep makes up for a lost wake.
func (s *Service) wake(ctx context.Context, wake engine.Wake) {
	if err := s.queue.PublishWake(ctx, wake); err != nil {
		s.log.Warn("waking the engine failed: it looks by itself within a second", "error", err)
	}
}

// Executors lists those that are alive, without the names of runs that the identity of the request may not read.
func (s *Service) Executors(ctx context.Context) ([]engine.Presence, error) {
	executors, err := s.queue.Executors(ctx)
	if err != nil {
		return nil, err
	}
	return s.hideForeign(ctx, executors)
}

// Ready reports whether every part answers; the error names the one that does not, in a sentence. The log has all of it.
func (s *Service) Ready(ctx context.Context) error {
	for _, part := range []struct {
		name string
		ping func(context.Context) error
	}{{"the store", s.store.Ping}, {"the queue", s.queue.Ping}, {"S3", s.blobs.Ping}} {
		if err := part.ping(ctx); err != nil {
			var known *Error
			if errors.As(err, &known) { // it says more than that there is no answer
				return known
			}
			s.log.Warn(part.name+" does not answer", "error", err)
			return &Error{Kind: KindUnavailable, Code: "unavailable", Err: err,
				Detail: fmt.Sprintf("%s does not answer: %s; the server tries again by itself", part.name, brief(err))}
		}
	}
	return nil
}
