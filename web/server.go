package web

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"

	"github.com/tidewheel/tidewheel/access"
	"github.com/tidewheel/tidewheel/web/api"
	"github.com/tidewheel/tidewheel/web/auth"
	"github.com/tidewheel/tidewheel/web/issuer"
	"github.com/tidewheel/tidewheel/web/service"
)

// Config defines what a server is made of.
type Config struct {
	Service *service.Service // required
	Guard   *auth.Guard      // required: auth.NewGuard, or auth.Open where authentication is off
	Codes   *auth.Codes      // of links of the first start; nil: there are none
	Issuer  *issuer.Provider // signs users in, too; nil: there is none
	// RunTokens lets running programs in; nil: none is.
	RunTokens *auth.RunTokens
	Log       *slog.Logger // nil: nothing is logged
	Version   string
	// Metrics serves /metrics; nil: there is none.
	Metrics http.Handler
	// MetricsReaders may read them besides the users of the server.
	MetricsReaders *auth.Readers
	// Slow says in a sentence that this node's engine waits for a slow store, "" if it does not. May be nil.
	Slow func() string
	// Ready names the part that is down; nil: the service is asked.
	Ready func(context.Context) error
	// Live reports why the process has to be started again; nil: it never has.
	Live func() error
	// Pages registers the pages, one of which is made of the description of the API; nil: there are none.
	Pages func(router *echo.Echo, openAPI []byte)
	// LoginPage, WelcomePage and ErrorPage render their pages; nil: plain ones.
	LoginPage   func(c echo.Context, page LoginPage) error
	WelcomePage func(c echo.Context, page WelcomePage) error
	ErrorPage   func(c echo.Context, page ErrorPage) error
	// Patience is how long a client may take nothing of a stream; default 1 minute.
	Patience    time.Duration
	Connections Connections
	// RequestsPerSecond bounds the requests of one token, session or run, and of one address without valid credentials; 0 does not.
	RequestsPerSecond int
	// Trace begins the span of a request that continues a trace, and returns what ends it; run is of the program that makes it, "" if none
	// does. nil: there are no traces.
	Trace func(ctx context.Context, header http.Header, route, run string, attempt int) (context.Context, func(status int))
	// TLS is how connections are encrypted, with the certificate; nil: they are not.
	TLS *tls.Config
}

// LoginPage is what a login page shows.
type LoginPage struct {
	Status  int    // to answer with
	Message string // why the last try failed, or ""
	Next    string // where to continue afterwards; a path of this server
	Users   bool   // there is a user to sign in as: else a token is all that opens
	Issuer  *LoginIssuer
}

// ErrorPage is what an error page shows.
type ErrorPage struct {
	Status    int
	Title     string
	Detail    string
	RequestID string
}

// ErrStopping ends streams when the server stops.
var ErrStopping = errors.New("the server is stopping")

// Server is the HTTP server. Serve runs it, Shutdown ends it.
type Server struct {
	config   Config
	identify func(*http.Request) (access.Identity, error) // the guard's
	echo     *echo.Echo
	http     *http.Server
	inFlight *inFlight
	rates    *rates

	// stopping ends when Shutdown begins: streams end with it. base ends when its time is over: all else ends with it.
	stopping context.Context
	stop     context.CancelCauseFunc
	cut      context.CancelCauseFunc
}

// New puts a server together. It listens nowhere yet.
func New(config Config) (*Server, error) {
	switch {
	case config.Service == nil:
		return nil, errors.New("web: a server needs a service")
	case config.Guard == nil:
		return nil, errors.New("web: a server needs a guard")
	}
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
	if config.Trace == nil {
		config.Trace = func(ctx context.Context, _ http.Header, _, _ string, _ int) (context.Context, func(int)) {
			return ctx, func(int) {}
		}
	}
	if config.Slow == nil {
		config.Slow = func() string { return "" }
	}
	if config.Ready == nil {
		config.Ready = config.Service.Ready
	}
	if config.Live == nil {
		config.Live = func() error { return nil }
	}
	s := &Server{
		config: config, identify: config.Guard.Check, echo: echo.New(), inFlight: newInFlight(), rates: newRates(config.RequestsPerSecond),
	}
	s.stopping, s.stop = context.WithCancelCause(context.Background())
	base, cut := context.WithCancelCause(context.Background())
	s.cut = cut
	s.http = &http.Server{
		Handler:           boundBodies(s.inFlight.wrap(s.echo)),
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		TLSConfig:         config.TLS,
		// Each stream is a request under way, and a connection counts as one; a browser needs some dozens.
		HTTP2:       &http.HTTP2Config{MaxConcurrentStreams: 100},
		BaseContext: func(net.Listener) context.Context { return base },
		ErrorLog:    slog.NewLogLogger(config.Log.Handler(), slog.LevelDebug),
	}
	s.echo.HideBanner, s.echo.HidePort = true, true
	s.echo.HTTPErrorHandler = s.answerError
	s.echo.Logger.SetOutput(slog.NewLogLogger(config.Log.Handler(), slog.LevelWarn).Writer())

	// Outermost first.
	s.echo.Use(
		s.requestID,
		s.accessLog,
		s.recoverPanic,
		securityHeaders,
		withoutTrailingSlash,
		s.endStreams,
		s.authenticate,
		s.recordChange,
		s.authorize,
		s.trace,
		middleware.GzipWithConfig(middleware.GzipConfig{Skipper: notCompressed, MinLength: 1024}),
	)
	s.health()
	s.login()
	described, err := api.New(s.echo, config.Service, api.Config{
		Version: config.Version, Log: config.Log, RequestID: RequestID, Patience: config.Patience,
	})
	if err != nil {
		return nil, fmt.Errorf("web: %w", err)
	}
	if config.Pages != nil {
		openAPI, err := described.OpenAPI()
		if err != nil {
			return nil, fmt.Errorf("web: describe the API: %w", err)
		}
		config.Pages(s.echo, openAPI)
		s.echo.POST("/namespace", s.switchNamespace)
	}
	if err := checkRules(s.echo.Routes()); err != nil {
		return nil, fmt.Errorf("web: %w", err)
	}
	return s, nil
}

// Handler serves what the server serves, for tests and for other servers.
func (s *Server) Handler() http.Handler { return s.echo }

// Serve answers at a listener, which it closes, until Shutdown; then it returns nil.
func (s *Server) Serve(listener net.Listener) error {
	listener = newBoundedListener(listener, s.config.Connections, s.config.Log)
	serve := s.http.Serve
	if s.config.TLS != nil {
		serve = func(l net.Listener) error { return s.http.ServeTLS(l, "", "") }
	}
	if err := serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("web: serve: %w", err)
	}
	return nil
}

// cutTime is how long requests that were cut may take to notice.
const cutTime = 5 * time.Second

// Shutdown ends streams, waits for all other requests until ctx ends, and then cuts what is left. When it returns
// without an error no request is being answered any more.
func (s *Server) Shutdown(ctx context.Context) error {
	s.stop(ErrStopping)
	err := s.http.Shutdown(ctx)
	s.cut(ErrStopping)
	if err != nil {
		err = fmt.Errorf("web: requests were cut off: %w", err)
		if closing := s.http.Close(); closing != nil && !errors.Is(closing, http.ErrServerClosed) {
			err = errors.Join(err, closing)
		}
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), cutTime)
	defer cancel()
	if waiting := s.inFlight.wait(last); waiting != nil {
		err = errors.Join(err, fmt.Errorf("web: a request does not end: %w", waiting))
	}
	return err
}
