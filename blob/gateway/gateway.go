package gateway

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/gofiber/fiber/v3"
	"github.com/versity/versitygw/backend/posix"
	"github.com/versity/versitygw/embedgw"
	"github.com/versity/versitygw/s3api"
)

const (
	// DefaultListen is where a gateway listens unless configured otherwise: a free
	// port that only this machine reaches.
	DefaultListen = "127.0.0.1:0"
	// DefaultRegion is the region that clients have to sign for.
	DefaultRegion = "us-east-1"

	objectsFolder  = "s3"
	maxConnections = 4096
	maxRequests    = 1024
	maxParts       = 10_000 // as S3 has it
	portAttempts   = 16
	answerTimeout  = 10 * time.Second
)

// ErrAddressInUse means that another process listens on the address asked for.
var ErrAddressInUse = errors.New("address already in use")

// Config says where a gateway keeps its data and where it listens.
type Config struct {
	// Dir is the data folder. Objects go to Dir/s3, credentials to Dir/s3.json.
	// It is made if it is missing. Required.
	Dir string
	// Listen is a host:port; port 0 takes a free one. Default DefaultListen.
	Listen string
	// TLS is how clients connect to Listen, with the certificate; nil: without TLS. The Endpoint is then another address,
	// which only this machine reaches.
	TLS *tls.Config
	// Region is the region clients sign for. Default DefaultRegion.
	Region string
	// AvoidAttributes keeps object metadata in files even where the file system
	// has extended attributes.
	AvoidAttributes bool
	// Logger takes what the gateway has to say. By default nothing is logged.
	Logger *slog.Logger
}

func (c *Config) validate() error {
	if c.Dir == "" {
		return errors.New("gateway: no data folder given")
	}
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return fmt.Errorf("gateway: data folder: %w", err)
	}
	c.Dir = dir
	if c.Listen == "" {
		c.Listen = DefaultListen
	}
	if _, _, err := net.SplitHostPort(c.Listen); err != nil {
		return fmt.Errorf("gateway: listen address %q is not host:port, such as 127.0.0.1:9000", c.Listen)
	}
	if c.Region == "" {
		c.Region = DefaultRegion
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return nil
}

// Gateway is a running S3 server. It runs until Close, however long the
// context of Start lives.
type Gateway struct {
	address     string
	region      string
	relay       *relay // of the address that speaks TLS; nil: there is none
	credentials Credentials
	stop        context.CancelFunc
	stopped     chan struct{} // closed when the server has ended
	failure     error         // why it ended; to be read after stopped
}

// Start brings a gateway up and returns once it answers. The caller closes it.
// Only one runs in a process at a time. The context bounds the start alone.
func Start(ctx context.Context, config Config) (*Gateway, error) {
	if err := config.validate(); err != nil {
		return nil, err
	}
	if config.TLS != nil {
		return startBehindRelay(ctx, config)
	}
	objects := filepath.Join(config.Dir, objectsFolder)
	if err := os.MkdirAll(objects, 0o700); err != nil {
		return nil, fmt.Errorf("gateway: make data folder: %w", err)
	}
	credentials, err := loadCredentials(config.Dir)
	if err != nil {
		return nil, err
	}
	if err := removeHalfCompleted(objects); err != nil {
		return nil, err
	}
	metadata, err := openMetadata(config.Dir, objects, config.AvoidAttributes)
	if err != nil {
		return nil, err
	}
	host, port, _ := net.SplitHostPort(config.Listen)
	// The library opens the socket itself and does not tell its port, so a free
	// one is found first. Another process may take it in between: try again.
	for attempt := 1; ; attempt++ {
		address := config.Listen
		if port == "0" {
			if address, err = freeAddress(ctx, host); err != nil {
				return nil, err
			}
		}
		storage, err := newStorage(objects, metadata, config.Logger)
		if err != nil {
			return nil, err
		}
		gateway := &Gateway{address: address, region: config.Region, credentials: credentials, stopped: make(chan struct{})}
		err = gateway.run(ctx, storage, config.Logger)
		if err == nil {
			return gateway, nil
		}
		if !errors.Is(err, syscall.EADDRINUSE) {
			return nil, fmt.Errorf("gateway: start on %s: %w", address, err)
		}
		if port != "0" || attempt == portAttempts {
			return nil, fmt.Errorf("gateway: listen on %s: %w; stop what listens there or choose another address", address, ErrAddressInUse)
		}
	}
}

func freeAddress(ctx context.Context, host string) (string, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return "", fmt.Errorf("gateway: find a free port: %w", err)
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		return "", fmt.Errorf("gateway: find a free port: %w", err)
	}
	return address, nil
}

// run starts the server and waits until it answers, or fails to.
func (g *Gateway) run(ctx context.Context, storage *storage, logger *slog.Logger) error {
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	g.stop = stop
	listening := make(chan struct{})
	quiet := newQuietener(logger)
	settings := &embedgw.Config{
		RootUserAccess:    g.credentials.AccessKey,
		RootUserSecret:    g.credentials.SecretKey,
		Region:            g.region,
		Ports:             []string{g.address},
		MaxConnections:    maxConnections,
		MaxRequests:       maxRequests,
		MultipartMaxParts: maxParts,
		KeepAlive:         true,
		Quiet:             true,
		IAMService:        newAccounts(g.credentials),
		S3Options: []s3api.Option{
			s3api.WithOnListen(func() { close(listening) }),
			s3api.WithMiddleware("/", quiet.handle),
		},
	}
	go func() {
		defer close(g.stopped)
		g.failure = embedgw.RunVersityGW(serving, storage, settings)
	}()
	select {
	case <-listening:
	case <-g.stopped:
		stop()
		storage.Shutdown() // not every way out of the library closes it
		return g.failure
	}
	// The library says that it listens a moment before it can be shut down, and
	// a shutdown in that moment is lost. So an answer is awaited even when the
	// caller has given up.
	answer, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerTimeout)
	defer cancel()
	err := quiet.install(answer, g.Endpoint())
	if err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return errors.Join(err, g.Close())
	}
	return nil
}

// Public is the address that other machines connect to, as it was given; the port is known if it was 0.
func (g *Gateway) Public() string {
	if g.relay != nil {
		return "https://" + g.relay.listener.Addr().String()
	}
	return g.Endpoint()
}

// Endpoint is the URL that clients on this machine connect to.
func (g *Gateway) Endpoint() string {
	host, port, err := net.SplitHostPort(g.address)
	if err != nil {
		return "http://" + g.address
	}
	// A gateway that listens everywhere is still reached at one place.
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, port)
}

// Region is the region that clients sign for.
func (g *Gateway) Region() string { return g.region }

// Credentials are those of the one account the gateway knows.
func (g *Gateway) Credentials() Credentials { return g.credentials }

// Stopped is closed when the server has ended, by Close or by failing.
func (g *Gateway) Stopped() <-chan struct{} { return g.stopped }

// Close stops listening, lets requests under way end for up to ten seconds,
// and returns when the server has ended. It may be called more than once.
func (g *Gateway) Close() error {
	if g.relay != nil {
		g.relay.close()
	}
	g.stop()
	<-g.stopped
	if g.failure != nil && !errors.Is(g.failure, context.Canceled) {
		return fmt.Errorf("gateway: %w", g.failure)
	}
	return nil
}

// removeHalfCompleted removes multipart uploads that a killed process was just
// completing. The library hides them from listings, so no client could.
func removeHalfCompleted(objects string) error {
	left, err := filepath.Glob(filepath.Join(objects, "*", posix.MetaTmpMultipartDir, "*", "*.inprogress"))
	if err != nil {
		return fmt.Errorf("gateway: look for broken uploads: %w", err)
	}
	for _, dir := range left {
		if err := os.RemoveAll(dir); err != nil {
			return fmt.Errorf("gateway: remove broken upload: %w", err)
		}
	}
	return nil
}

// quietener takes the HTTP server's own messages, which would go to the
// standard error of the process. The server can only be reached from inside a
// request, so the first one, made by install, does it.
type quietener struct {
	logger    *slog.Logger
	once      sync.Once
	installed chan struct{}
}

func newQuietener(logger *slog.Logger) *quietener {
	return &quietener{logger: logger, installed: make(chan struct{})}
}

func (q *quietener) handle(request fiber.Ctx) error {
	q.once.Do(func() {
		request.App().Server().Logger = serverLogger{q.logger}
		close(q.installed)
	})
	return request.Next()
}

func (q *quietener) install(ctx context.Context, endpoint string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, endpoint, nil)
	if err != nil {
		return err
	}
	transport := &http.Transport{DisableKeepAlives: true}
	defer transport.CloseIdleConnections()
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, response.Body)
	if err := errors.Join(err, response.Body.Close()); err != nil {
		return err
	}
	select {
	case <-q.installed:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

type serverLogger struct{ logger *slog.Logger }

func (l serverLogger) Printf(format string, args ...any) {
	l.logger.Debug("s3 gateway: server", "message", fmt.Sprintf(format, args...))
}
