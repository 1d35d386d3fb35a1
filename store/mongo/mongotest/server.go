package mongotest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/tidewheel/tidewheel/store/mongo/mongotest/internal/engine"
)

// ReplicaSet is the name of the one-member replica set that the server says it is. Drivers use retryable writes and
// sessions only with one.
const ReplicaSet = "mongotest"

// Config holds what may be chosen; the zero value is good.
type Config struct {
	// Address to listen on; by default a free port of 127.0.0.1.
	Address string
	// ExpireInterval is the time between two removals of expired documents; by default one second. Tests that must
	// know when it happens call Expire.
	ExpireInterval time.Duration
	// Now is the clock of TTL indexes and hello; by default time.Now.
	Now func() time.Time
	// Journal is a file that keeps the data: a server that begins with the same file has what one before it acknowledged,
	// also where that was killed. By default the data is gone with the server.
	Journal string
	// Logger takes what goes wrong with connections; by default nothing is logged.
	Logger *slog.Logger
	// Observe is given each command that reads or writes documents, as BSON and whole, before it is done; from any
	// goroutine. By default there is none.
	Observe func(database string, command []byte)
}

func (c Config) validate() (Config, error) {
	if c.Address == "" {
		c.Address = "127.0.0.1:0"
	}
	if c.ExpireInterval < 0 {
		return c, fmt.Errorf("expire interval %s is negative", c.ExpireInterval)
	}
	if c.ExpireInterval == 0 {
		c.ExpireInterval = time.Second
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c, nil
}

// Server is a running server.
type Server struct {
	config  Config
	address string // host:port, the same after Refuse and Accept
	catalog *engine.Catalog
	cursors *cursors
	retries *retries
	moments *moments
	faults  *Faults
	journal *journal // nil without

	context context.Context // ends with Close
	cancel  context.CancelCauseFunc
	running sync.WaitGroup

	mutex       sync.Mutex
	listener    net.Listener // nil while connections are refused
	connections map[*connection]struct{}
	last        int32 // the newest connection's number
}

var errClosed = errors.New("mongotest: the server is closed")

// Start starts a server, which runs until Close or the end of ctx.
func Start(ctx context.Context, config Config) (*Server, error) {
	config, err := config.validate()
	if err != nil {
		return nil, fmt.Errorf("mongotest: config: %w", err)
	}
	s := &Server{
		config:      config,
		address:     config.Address,
		catalog:     engine.NewCatalog(),
		cursors:     newCursors(),
		retries:     newRetries(),
		moments:     newMoments(),
		connections: map[*connection]struct{}{},
	}
	s.context, s.cancel = context.WithCancelCause(ctx)
	s.faults = &Faults{server: s}
	if config.Journal != "" {
		if s.journal, err = s.openJournal(config.Journal); err != nil {
			s.cancel(err)
			return nil, fmt.Errorf("mongotest: journal: %w", err)
		}
	}
	if err := s.listen(); err != nil {
		s.cancel(err)
		return nil, errors.Join(err, s.journal.close())
	}
	s.running.Go(s.expire)
	s.running.Go(func() {
		<-s.context.Done()
		s.shut()
	})
	return s, nil
}

// Address returns host:port.
func (s *Server) Address() string { return s.address }

// URI returns the connection string.
func (s *Server) URI() string {
	return fmt.Sprintf("mongodb://%s/?replicaSet=%s", s.address, ReplicaSet)
}

// Faults returns the switches that make the server misbehave.
func (s *Server) Faults() *Faults { return s.faults }

// Expire removes what TTL indexes say is over now, and returns how many documents that were.
func (s *Server) Expire() (int, error) {
	now := s.config.Now()
	removed, err := s.journal.expired(now, func() (int, *engine.Error) { return s.catalog.Expire(now) })
	if err != nil {
		return removed, fmt.Errorf("mongotest: expire: %w", err)
	}
	return removed, nil
}

// Close ends all connections and waits until everything has stopped. Without a journal the data is gone then.
func (s *Server) Close() error {
	s.cancel(errClosed)
	s.running.Wait()
	return s.journal.close()
}

// listen begins to accept connections. It does nothing if it already does.
func (s *Server) listen() error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.listener != nil {
		return nil
	}
	if s.context.Err() != nil {
		return errClosed
	}
	listener, err := new(net.ListenConfig).Listen(s.context, "tcp", s.address)
	if err != nil {
		return fmt.Errorf("mongotest: listen: %w", err)
	}
	s.listener = listener
	if actual := listener.Addr().String(); actual != s.address {
		s.address = actual // the first time, when a free port was asked for
	}
	s.running.Go(func() { s.accept(listener) })
	return nil
}

// shut closes the listener and all connections; listen opens again.
func (s *Server) shut() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.listener != nil {
		_ = s.listener.Close()
		s.listener = nil
	}
	for connection := range s.connections {
		connection.end()
	}
}

func (s *Server) accept(listener net.Listener) {
	for {
		socket, err := listener.Accept()
		if err != nil {
			if !errors.Is(err, net.ErrClosed) {
				s.config.Logger.Error("accept", "error", err)
			}
			return
		}
		s.mutex.Lock()
		if s.listener != listener || s.context.Err() != nil {
			_ = socket.Close()
			s.mutex.Unlock()
			continue
		}
		s.last++
		c := newConnection(s, socket, s.last)
		s.connections[c] = struct{}{}
		s.running.Go(func() {
			c.run()
			s.mutex.Lock()
			delete(s.connections, c)
			s.mutex.Unlock()
		})
		s.mutex.Unlock()
	}
}

// expire removes expired documents again and again.
func (s *Server) expire() {
	ticker := time.NewTicker(s.config.ExpireInterval)
	defer ticker.Stop()
	for {
		select {
		case <-s.context.Done():
			return
		case <-ticker.C:
			if _, err := s.Expire(); err != nil {
				s.config.Logger.Error("expire", "error", err)
			}
		}
	}
}
