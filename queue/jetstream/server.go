package jetstream

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/gofrs/flock"
	natsserver "github.com/nats-io/nats-server/v2/server"
)

// ServerConfig defines how the embedded NATS runs.
type ServerConfig struct {
	// StoreDir is where the streams live; made if missing. One process at a time may use it.
	StoreDir string
	// Listen is "host:port" for other processes, port 0 for any free one; "" for no port at all.
	Listen string
	// Credentials that clients must show: a user and password, or a token. Required with Listen unless the host is
	// loopback.
	Credentials Credentials
	// TLS is how other processes connect to Listen, with the certificate; nil: without TLS.
	TLS *tls.Config
	// Name of the server; default "tidewheel".
	Name string
	// SyncInterval is how long an acknowledged message may stay unsynced: what a power cut may take. A crash of the
	// process alone takes nothing. Default 1 s, as in deploy/compose/nats.conf.
	SyncInterval time.Duration
	// Logger gets what the server has to say.
	Logger *slog.Logger
}

// Server is a NATS server with JetStream in this process.
type Server struct {
	config ServerConfig
	nats   *natsserver.Server
	lock   *flock.Flock
	users  *users
}

// StartServer starts a server and waits until its streams are recovered, at most until ctx ends. The caller owns it
// and must Shutdown.
func StartServer(ctx context.Context, config ServerConfig) (*Server, error) {
	options, err := config.options()
	if err != nil {
		return nil, err
	}
	users := &users{credentials: config.Credentials, clients: make(map[uint64]enrolledClient)}
	if config.Listen != "" {
		options.CustomClientAuthentication, options.AlwaysEnableNonce = users, true
	}
	if err := os.MkdirAll(config.StoreDir, 0o700); err != nil {
		return nil, fmt.Errorf("nats: make the store folder: %w", err)
	}
	lock := flock.New(filepath.Join(config.StoreDir, "lock"))
	locked, err := lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("nats: lock the store folder %s: %w", config.StoreDir, err)
	}
	if !locked {
		return nil, fmt.Errorf("nats: another process uses the store folder %s: stop it, or give this one a folder of its own", config.StoreDir)
	}
	if config.Listen != "" {
		// The server would only log that the port is taken, and retry; the caller needs the error now.
		listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", config.Listen)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("nats: %w: give another address", err), lock.Unlock())
		}
		if err := listener.Close(); err != nil {
			return nil, errors.Join(fmt.Errorf("nats: %w", err), lock.Unlock())
		}
	}
	if err := forgetLives(config.StoreDir); err != nil {
		return nil, errors.Join(err, lock.Unlock())
	}
	nats, err := natsserver.NewServer(options)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("nats: %w", err), lock.Unlock())
	}
	log := newServerLog(config.Logger)
	nats.SetLoggerV2(log, false, false, false)
	started := make(chan struct{})
	go func() { // ends with Start, which the select below or Shutdown waits for
		defer close(started)
		nats.Start()
	}()
	server := &Server{config: config, nats: nats, lock: lock, users: users}
	if err := server.awaitReady(ctx, log, started); err != nil {
		nats.Shutdown()
		nats.WaitForShutdown()
		<-started
		return nil, errors.Join(err, lock.Unlock())
	}
	return server, nil
}

// forgetLives removes the lists of when messages expire, so that the server rebuilds them from the messages. It writes
// them when it ends in good order, and trusts them after a crash, too; but a crash may bring back messages that had
// expired before such a list was written. These would never expire again: locks of executors that are long dead.
func forgetLives(store string) error {
	lists, err := filepath.Glob(filepath.Join(store, "jetstream", "*", "streams", "*", "msgs", "thw.db"))
	if err != nil {
		return fmt.Errorf("nats: %w", err)
	}
	for _, list := range lists {
		if err := os.Remove(list); err != nil {
			return fmt.Errorf("nats: %w", err)
		}
	}
	return nil
}

func (s *Server) awaitReady(ctx context.Context, log *serverLog, started <-chan struct{}) error {
	select {
	case <-started:
	case message := <-log.fatal:
		return s.fatal(message)
	case <-ctx.Done():
		return fmt.Errorf("nats: not ready: %w", context.Cause(ctx))
	}
	for !s.nats.ReadyForConnections(100 * time.Millisecond) {
		select {
		case message := <-log.fatal:
			return s.fatal(message)
		case <-ctx.Done():
			return fmt.Errorf("nats: not ready: %w", context.Cause(ctx))
		default:
		}
	}
	select {
	case message := <-log.fatal:
		return s.fatal(message)
	default:
	}
	if !s.nats.JetStreamEnabled() {
		return fmt.Errorf("nats: JetStream did not start on %s", s.config.StoreDir)
	}
	return s.checkRecovered()
}

func (s *Server) fatal(message string) error {
	return fmt.Errorf("nats: the store folder %s cannot be used: %s", s.config.StoreDir, message)
}

// checkRecovered makes an error of what the server only logs: that it has left a damaged stream aside. Continuing
// would make an empty one in its place.
func (s *Server) checkRecovered() error {
	report, err := s.nats.Jsz(&natsserver.JSzOptions{Accounts: true, Streams: true})
	if err != nil {
		return fmt.Errorf("nats: list streams: %w", err)
	}
	recovered := make(map[string]bool)
	for _, account := range report.AccountDetails {
		for _, stream := range account.Streams {
			recovered[filepath.Join(account.Name, stream.Name)] = true
		}
	}
	folders, err := filepath.Glob(filepath.Join(s.config.StoreDir, "jetstream", "*", "streams", "*"))
	if err != nil {
		return fmt.Errorf("nats: list streams: %w", err)
	}
	for _, folder := range folders {
		account := filepath.Base(filepath.Dir(filepath.Dir(folder)))
		if !recovered[filepath.Join(account, filepath.Base(folder))] {
			return fmt.Errorf("nats: the stream in %s is damaged and was not recovered: restore the folder from a backup, "+
				"or move it away to begin with an empty queue (waiting runs are published again from the store)", folder)
		}
	}
	return nil
}

// URL is where other processes reach the server; "" if it does not listen.
func (s *Server) URL() string {
	if s.config.Listen == "" {
		return ""
	}
	return s.nats.ClientURL()
}

// Shutdown ends the server and waits until its files are written and its folder is free.
func (s *Server) Shutdown() error {
	s.nats.Shutdown()
	s.nats.WaitForShutdown()
	if err := s.lock.Unlock(); err != nil {
		return fmt.Errorf("nats: unlock the store folder: %w", err)
	}
	return nil
}

func (c *ServerConfig) options() (*natsserver.Options, error) {
	switch {
	case c.StoreDir == "":
		return nil, errors.New("nats: no store folder is given")
	case c.Logger == nil:
		return nil, errors.New("nats: no logger is given")
	case c.SyncInterval < 0:
		return nil, errors.New("nats: the sync interval cannot be negative")
	case c.Credentials.File != "":
		return nil, errors.New("nats: an embedded server takes a user and password, or a token; no credentials file")
	}
	if err := c.Credentials.validate(); err != nil {
		return nil, fmt.Errorf("nats: credentials: %w", err)
	}
	if c.Name == "" {
		c.Name = "tidewheel"
	}
	if c.SyncInterval == 0 {
		c.SyncInterval = time.Second
	}
	options := &natsserver.Options{
		ServerName: c.Name, DontListen: c.Listen == "", NoSigs: true, NoLog: true,
		JetStream: true, StoreDir: c.StoreDir, SyncInterval: c.SyncInterval,
		// A burst of ten thousand results may wait in one process while its engine commits.
		MaxControlLine: serverLine, MaxPending: 256 << 20, WriteDeadline: 10 * time.Second,
	}
	if c.Listen != "" {
		host, port, err := net.SplitHostPort(c.Listen)
		if err != nil {
			return nil, fmt.Errorf("nats: listen address: %w", err)
		}
		number, err := strconv.Atoi(port)
		if err != nil || number < 0 || number > 65535 {
			return nil, fmt.Errorf("nats: listen address %q: %q is no port", c.Listen, port)
		}
		if ip := net.ParseIP(host); c.Credentials == (Credentials{}) && host != "localhost" && (ip == nil || !ip.IsLoopback()) {
			return nil, fmt.Errorf("nats: %s can be reached from other machines: give it a user and password, or a token", c.Listen)
		}
		options.Host, options.Port, options.TLSConfig = host, number, c.TLS
		if number == 0 {
			options.Port = natsserver.RANDOM_PORT
		}
	}
	return options, nil
}
