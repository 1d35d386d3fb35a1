package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tidewheel/tidewheel/blob"
	"github.com/tidewheel/tidewheel/blob/gateway"
	"github.com/tidewheel/tidewheel/engine/shard"
	"github.com/tidewheel/tidewheel/internal/certs"
	"github.com/tidewheel/tidewheel/internal/runtoken"
	"github.com/tidewheel/tidewheel/internal/tracing"
	"github.com/tidewheel/tidewheel/queue/jetstream"
	"github.com/tidewheel/tidewheel/signing"
	"github.com/tidewheel/tidewheel/trigger"
	"github.com/tidewheel/tidewheel/web/auth"
	"github.com/tidewheel/tidewheel/web/service"
)

// Server is a running node: the roles it was asked for, on embedded or outside parts. Tests start it in their own
// process with the same code as the command.
type Server struct {
	config ServerConfig
	log    *slog.Logger
	out    io.Writer // what a person at the terminal reads

	data *dataFolder
	disk *disk // of the data folder
	// certificate is of what this node listens with; nil: it listens without TLS.
	certificate *certs.Pair
	listener    net.Listener // of the pages, taken before anything else so that a port in use is reported at once
	health      net.Listener // of /metrics, /livez and /readyz without a token; nil: there is none
	gateway     *gateway.Gateway
	nats        *jetstream.Server
	queue       *jetstream.Queue
	store       store
	// forEngine is the same store; its reads wait for no page's.
	forEngine shard.Store
	blobs     *blob.Store
	metrics   *metrics
	traces    *tracing.Tracer // nil: none are sent
	engine    *engineRole
	stored    *storedBytes // of an engine: what runs store
	service   *service.Service
	runKey    runtoken.Key // of run tokens; nil on a node without a store
	secrets   secretsPart
	notify    notifyPart
	outbox    *trigger.Outbox // of an engine: which successes are waited for
	taskKeys  signing.Ring
	identity  *ownCredentials // of an executor with --enrolment

	token     string // what the API asks for; empty with --auth off
	tokenPath string // the file it is kept in
	tokenMade bool   // by this start, which is the first one then
	loginURL  string // of the first start: it logs in once
	readers   *auth.Readers

	up      atomic.Bool // Start is over and Close has not begun
	parts   parts
	started time.Time
}

// NewServer checks the configuration. Nothing is opened before Start.
func NewServer(config ServerConfig, log *slog.Logger, out io.Writer) (*Server, error) {
	if err := config.validate(); err != nil {
		return nil, err
	}
	return &Server{config: config, log: log, out: out, metrics: newMetrics()}, nil
}

// Start opens everything and returns once the node is ready. After an error nothing is left open.
func (s *Server) Start(ctx context.Context) (err error) {
	s.started = time.Now()
	defer func() {
		if err != nil {
			closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeLimit)
			defer cancel()
			if closeErr := s.Close(closing); closeErr != nil {
				s.log.Debug("closing after a failed start", "error", closeErr)
			}
		}
	}()
	if unused := s.config.unusedSettings(); len(unused) > 0 {
		s.log.Warn("settings do nothing on a node with these roles", "roles", s.config.Roles, "settings", unused)
	}
	if s.data, err = openDataFolder(s.config.Data); err != nil {
		return err
	}
	s.disk = newDisk(s.data.dir, s.log)
	s.parts.add("the watch over the disk", func(ctx context.Context) error {
		s.disk.watch(ctx)
		return nil
	})
	if err := s.openTraces(ctx); err != nil {
		return err
	}
	if err := s.openCertificate(); err != nil {
		return err
	}
	if err := s.listen(ctx); err != nil {
		return err
	}
	if err := s.openTokens(); err != nil {
		return err
	}
	if err := s.startHealth(ctx); err != nil {
		return err
	}
	if err := s.openIdentity(ctx); err != nil {
		return err
	}
	if err := s.openParts(ctx); err != nil {
		return err
	}
	if err := s.checkSameCluster(ctx); err != nil {
		return err
	}
	if err := s.openSecrets(ctx); err != nil {
		return err
	}
	if s.config.needsStore() {
		if err := s.refuseOwnBucket(); err != nil {
			return err
		}
		enrolment, err := s.openEnrolment(ctx)
		if err != nil {
			return err
		}
		s.parts.add("active server reports", s.reportActive) // it ends last
		if err := s.openNotifications(); err != nil {
			return err
		}
		s.service = service.New(storeOfUsers{s.store}, serviceBlobs{s.blobs}, s.queue, s.log, service.Config{
			MaxBinary: int64(s.config.MaxBinary), Backup: s.backup, NoBackup: s.noBackup, Alone: s.engineAlone(), DiskFull: s.disk.full,
			MaxBacklog: s.config.MaxBacklog, Enrolment: enrolment, MayWatch: s.config.mayWatch,
			Secrets: s.secrets.vault, RootToken: s.token, RotateSecretsKey: s.rotateSecretsKey,
			Notifications: s.notifications(),
		})
	}
	if err := s.openTaskKeys(ctx); err != nil {
		return err
	}
	if s.config.needsStore() {
		s.startNotifications()
	}
	for _, start := range []struct {
		role string
		do   func(context.Context) error
	}{{roleEngine, s.startEngine}, {roleExecutor, s.startExecutor}, {roleWeb, s.startWeb}} {
		if s.config.has(start.role) {
			if err := start.do(ctx); err != nil {
				return err
			}
		}
	}
	s.up.Store(true)
	s.greet()
	if s.config.Demo {
		s.parts.add("demo", func(ctx context.Context) error { return s.loadDemo(ctx) })
	}
	return nil
}

// openParts opens what the roles stand on, side by side: each takes some tens of milliseconds.
func (s *Server) openParts(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var group sync.WaitGroup
	errs := make([]error, 3)
	open := func(i int, f func(context.Context) error) {
		group.Go(func() {
			if errs[i] = f(ctx); errs[i] != nil {
				cancel() // the others need not continue
			}
		})
	}
	open(0, s.openQueue)
	open(1, s.openBlobs)
	if s.config.needsStore() {
		open(2, func(ctx context.Context) error {
			if err := s.openStore(ctx); err != nil {
				return err
			}
			return s.openRunKey(ctx)
		})
	}
	group.Wait()
	for _, err := range errs {
		if err != nil && !errors.Is(err, context.Canceled) {
			return err // the one that is the reason, in one line
		}
	}
	return errors.Join(errs...)
}

// Wait blocks until a part fails or ctx ends; the error says which part failed, nil for ctx.
func (s *Server) Wait(ctx context.Context) error {
	var gateway <-chan struct{}
	if s.gateway != nil {
		gateway = s.gateway.Stopped()
	}
	select {
	case <-ctx.Done():
		return nil
	case err := <-s.parts.failures():
		return err
	case <-gateway:
		return errors.New("the embedded S3 has ended by itself: start the server again")
	}
}

// URL is where the pages and the API are reached; "" without the role web.
func (s *Server) URL() string {
	if s.listener == nil {
		return ""
	}
	if s.certificate != nil {
		return "https://" + s.address()
	}
	return "http://" + s.address()
}

// Close ends the node: it takes no more requests and no more work, lets what runs end within the drain limit, then
// ends the engine, and closes what they stood on. It may be called at any time after NewServer, and twice.
func (s *Server) Close(ctx context.Context) error {
	s.up.Store(false)
	err := s.parts.stop(ctx)
	if s.listener != nil {
		if s.token != "" {
			unshareToken(s.config.StateFolder, s.listener.Addr().String(), s.token)
		}
		_ = s.listener.Close() // the web role has closed it already, unless the start failed before
		s.listener = nil
	}
	if s.queue != nil {
		s.queue.Close()
		s.queue = nil
	}
	if s.store != nil {
		err = errors.Join(err, s.store.Close(ctx))
		s.store = nil
	}
	if s.blobs != nil {
		s.blobs.Close()
		s.blobs = nil
	}
	if s.gateway != nil {
		err = errors.Join(err, s.gateway.Close())
		s.gateway = nil
	}
	if s.nats != nil {
		err = errors.Join(err, s.nats.Shutdown())
		s.nats = nil
	}
	if s.data != nil {
		err = errors.Join(err, s.data.close())
		s.data = nil
	}
	return err
}

// parts owns the goroutines of the roles: each runs until it is stopped, and is joined. They stop in the reverse of
// the order in which they were added.
type parts struct {
	mu      sync.Mutex
	running []*part
	failure chan error
}

type part struct {
	name   string
	cancel context.CancelFunc
	done   chan struct{}
}

func (p *parts) failures() chan error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failure == nil {
		p.failure = make(chan error, 1)
	}
	return p.failure
}

// add runs f until stop. An error of f ends the node; nil, or an error after stop, does not.
func (p *parts) add(name string, f func(context.Context) error) {
	failures := p.failures()
	ctx, cancel := context.WithCancel(context.Background())
	running := &part{name: name, cancel: cancel, done: make(chan struct{})}
	p.mu.Lock()
	p.running = append(p.running, running)
	p.mu.Unlock()
	go func() {
		defer close(running.done)
		if err := f(ctx); err != nil && ctx.Err() == nil {
			select {
			case failures <- &partError{name, err}:
			default: // another part was first
			}
		}
	}()
}

// stop ends all parts, the last added first, and waits for each, or for ctx.
func (p *parts) stop(ctx context.Context) error {
	p.mu.Lock()
	running := p.running
	p.running = nil
	p.mu.Unlock()
	var errs []error
	for _, part := range slices.Backward(running) {
		part.cancel()
		select {
		case <-part.done:
		case <-ctx.Done():
			errs = append(errs, &partError{part.name, context.Cause(ctx)})
		}
	}
	return errors.Join(errs...)
}

// partError reports which part of the node failed.
type partError struct {
	part string
	err  error
}

func (e *partError) Error() string { return e.part + ": " + e.err.Error() }
func (e *partError) Unwrap() error { return e.err }
