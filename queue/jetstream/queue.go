package jetstream

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/tidewheel/tidewheel/engine/shard"
	"github.com/tidewheel/tidewheel/executor"
)

var (
	_ shard.Queue    = (*Queue)(nil)
	_ shard.Leases   = (*Queue)(nil)
	_ executor.Queue = (*Queue)(nil)
)

// Queue is a connection to one NATS with JetStream. All methods may be called at any time from any goroutine. While
// the NATS is unavailable they fail at once; the connection is made again for ever.
type Queue struct {
	config   Config
	names    names
	log      *slog.Logger
	conn     *nats.Conn
	js       jetstream.JetStream
	requests *requests
	floors   *floors
	trimmed  trims
	reader   *reader
	markers  markers
	overdue  overdue
	pools    pools
	unsigned unsignedTasks
	since    atomic.Pointer[time.Time] // when the connection was made, or made again

	background sync.WaitGroup // what Close waits for
	closing    context.Context
	cancel     context.CancelFunc

	mu        sync.Mutex
	listeners map[*listener]struct{} // notified when the connection was made again
}

// listener hears that the connection was lost and made again: what was asked over the old one is forgotten.
type listener struct{ again chan struct{} }

// Connect connects and makes the streams and buckets that are missing. Several processes may do so at once.
func Connect(ctx context.Context, config Config) (*Queue, error) {
	if err := config.validate(); err != nil {
		return nil, err
	}
	q := &Queue{
		config: config, names: newNames(config.Prefix), log: config.Logger, listeners: make(map[*listener]struct{}), overdue: overdue{after: overdueAfter},
	}
	q.closing, q.cancel = context.WithCancel(context.WithoutCancel(ctx))
	conn, err := q.dial()
	if err != nil {
		q.cancel()
		return nil, err
	}
	q.conn = conn
	q.connectedNow()
	if err := q.prepare(ctx); err != nil {
		q.cancel()
		conn.Close()
		return nil, err
	}
	return q, nil
}

func (q *Queue) dial() (*nats.Conn, error) {
	options := []nats.Option{
		nats.Name(q.config.Name),
		nats.Timeout(q.config.Timeout),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(250 * time.Millisecond),
		nats.ReconnectJitter(250*time.Millisecond, 250*time.Millisecond),
		nats.ReconnectBufSize(-1), // what cannot be sent is an error now, not a surprise later
		// A server that is suspended, or whose machine is gone, closes no connection.
		nats.PingInterval(2 * time.Second),
		nats.MaxPingsOutstanding(2),
		nats.FlusherTimeout(q.config.Timeout),
		nats.DisconnectErrHandler(q.disconnected),
		nats.ReconnectHandler(q.reconnected),
		nats.ErrorHandler(func(_ *nats.Conn, sub *nats.Subscription, err error) {
			subject := ""
			if sub != nil {
				subject = sub.Subject
			}
			q.log.Warn("nats connection", "error", err, "subject", subject)
		}),
	}
	if files := q.config.TLS; files.CAs != "" {
		options = append(options, nats.RootCAs(files.CAs))
	}
	if files := q.config.TLS; files.Cert != "" {
		options = append(options, nats.ClientCert(files.Cert, files.Key))
	}
	url, credentials := q.config.URL, q.config.Credentials
	if server := q.config.Server; server != nil {
		url, credentials = nats.DefaultURL, server.config.Credentials
		options = append(options, nats.InProcessServer(server.nats))
	}
	switch enrolled := q.config.Enrolled; {
	case enrolled != nil:
		// Credentials that are refused now may be renewed meanwhile.
		options = append(options, nats.CustomInboxPrefix(inboxPrefix(enrolled.Name)), nats.IgnoreAuthErrorAbort())
		options = append(options, enrolled.options()...)
	case credentials.User != "":
		options = append(options, nats.UserInfo(credentials.User, credentials.Password))
	case credentials.Token != "":
		options = append(options, nats.Token(credentials.Token))
	case credentials.File != "":
		options = append(options, nats.UserCredentials(credentials.File))
	}
	conn, err := nats.Connect(url, options...)
	switch {
	case err == nil:
		return conn, nil
	case errors.Is(err, nats.ErrAuthorization) || strings.Contains(strings.ToLower(err.Error()), "authorization"):
		if q.config.Enrolled != nil {
			return nil, fmt.Errorf("jetstream: %s refuses the credentials of this executor: it knows another account, or this executor was revoked, or the clocks differ: %w",
				q.config.address(), err)
		}
		return nil, fmt.Errorf("jetstream: %s refuses the credentials: check the user and password, or the token: %w", q.config.address(), err)
	}
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	switch {
	case errors.As(err, &unknown):
		return nil, fmt.Errorf("jetstream: the certificate of %s is not trusted: name its authority by --nats-tls-ca: %w", q.config.address(), err)
	case errors.As(err, &name):
		return nil, fmt.Errorf("jetstream: %s: use a name that its certificate has: %w", q.config.address(), err)
	case errors.Is(err, nats.ErrSecureConnWanted):
		return nil, fmt.Errorf("jetstream: %s speaks no TLS, and certificates are given for it: let it speak TLS, or leave them out: %w", q.config.address(), err)
	}
	return nil, fmt.Errorf("jetstream: cannot reach %s: check the address and that it runs: %w", q.config.address(), err)
}

func (q *Queue) prepare(ctx context.Context) error {
	var err error
	if q.requests, err = newRequests(q.conn, q.config.Timeout); err != nil {
		return fmt.Errorf("jetstream: %w", err)
	}
	if q.js, err = jetstream.New(q.conn, jetstream.WithDefaultTimeout(q.config.Timeout)); err != nil {
		return fmt.Errorf("jetstream: %w", err)
	}
	q.floors, q.reader = newFloors(q), newReader(q)
	if q.config.Enrolled != nil {
		return q.awaitQueue(ctx)
	}
	if err := q.ensureAll(ctx); err != nil {
		return err
	}
	return q.agree(ctx)
}

func (q *Queue) disconnected(_ *nats.Conn, err error) {
	if q.closing.Err() != nil {
		return
	}
	if err == nil {
		err = errors.New("the server closed the connection")
	}
	q.log.Warn("nats is away; trying again until it is back", "error", err)
	q.requests.fail(err, false)
}

func (q *Queue) connectedNow() {
	now := time.Now()
	q.since.Store(&now)
}

// connectedSince is when the queue was last out of reach, by the wall clock of now: where that has been set back since, an
// instant of before may still be to come, and loss would not be declared until then.
func (q *Queue) connectedSince() time.Time {
	return time.Now().Add(-time.Since(*q.since.Load())).Round(0)
}

func (q *Queue) reconnected(*nats.Conn) {
	q.connectedNow()
	q.pools.forget()
	q.log.Info("nats is back", "server", q.conn.ConnectedUrlRedacted())
	q.mu.Lock()
	defer q.mu.Unlock()
	for l := range q.listeners {
		select {
		case l.again <- struct{}{}:
		default: // it has not looked at the last one yet
		}
	}
}

func (q *Queue) listen() *listener {
	l := &listener{again: make(chan struct{}, 1)}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.listeners[l] = struct{}{}
	return l
}

func (q *Queue) ignore(l *listener) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.listeners, l)
}

// Ping asks JetStream for an answer.
func (q *Queue) Ping(ctx context.Context) error {
	question := "INFO"
	if q.config.Enrolled != nil { // who may not ask about the account
		question = "STREAM.INFO." + q.names.results
	}
	if err := q.ask(ctx, question, struct{}{}, nil); err != nil {
		return fmt.Errorf("jetstream: ping %s: %w", q.config.address(), err)
	}
	return nil
}

// Close ends the connection. What waits for an answer fails; end Pull, Results and the like through their contexts
// before.
func (q *Queue) Close() {
	ctx, cancel := context.WithTimeout(q.closing, q.config.Timeout)
	defer cancel()
	if err := q.floors.close(ctx); err != nil {
		q.log.Info("some results will be delivered again", "error", err)
	}
	q.mu.Lock() // after this nothing is spawned any more
	q.cancel()
	q.mu.Unlock()
	q.requests.fail(errors.New("the connection is closed"), true)
	q.background.Wait()
	if q.conn.IsConnected() { // without a server the flush would wait until there is one
		if err := q.conn.FlushTimeout(q.config.Timeout); err != nil {
			q.log.Debug("nats: last flush", "error", err)
		}
	}
	q.conn.Close()
}

// pause waits between tries, for at most a while, and reports whether to continue.
func pause(ctx context.Context, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// backoff grows from 50 ms to half a second, less up to a half of it by chance. It stays short because what fails while a
// cluster chooses a leader is wanted the moment that there is one.
func backoff(failures int) time.Duration {
	wait := min(50*time.Millisecond<<min(failures, 4), 500*time.Millisecond)
	return wait - rand.N(wait/2) //nolint:gosec // it spreads tries
}
