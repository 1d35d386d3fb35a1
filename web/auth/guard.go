package auth

import (
	"errors"
	"net"
	"net/http"
	"strings"
	"time"
)

// Why a request is turned away.
var (
	// ErrNoCredentials says that a request brought none.
	ErrNoCredentials = errors.New("no token and no session")
	// ErrBadToken says that its token opens nothing.
	ErrBadToken = errors.New("this token is not known")
	// ErrExpired says that its session is over, or not one of ours.
	ErrExpired = errors.New("the session is over")
	// ErrCrossSite says that another site made a browser send it.
	ErrCrossSite = errors.New("the request comes from another site")
	// ErrForeignHost says that it names another machine than this one, where only this one may be named.
	ErrForeignHost = errors.New("the request does not name this machine")
)

// Config is what a Guard may be given. Zero fields take their defaults.
type Config struct {
	SessionLife time.Duration // default 30 days; a session that is used is renewed at half of it
	Now         func() time.Time
	// Ended is where all web nodes remember the sessions that were ended; nil: each node remembers its own, until it stops.
	Ended Ended
}

// Guard decides about requests. It is safe for concurrent use.
type Guard struct {
	tokens Tokens // nil: authentication is off
	config Config
	here   endedHere
	cross  *http.CrossOriginProtection
}

// NewGuard makes a guard that asks for credentials.
func NewGuard(tokens Tokens, config Config) *Guard {
	g := Open(config)
	g.tokens = tokens
	return g
}

// Open makes a guard that asks for none, for a server that only its own machine can reach.
func Open(config Config) *Guard {
	if config.SessionLife <= 0 {
		config.SessionLife = 30 * 24 * time.Hour
	}
	if config.Now == nil {
		config.Now = time.Now
	}
	return &Guard{config: config, cross: http.NewCrossOriginProtection()}
}

// Off reports whether no credentials are asked for.
func (g *Guard) Off() bool { return g.tokens == nil }

// Check tells who makes a request, or why it is turned away. It may renew the session's cookie.
func (g *Guard) Check(w http.ResponseWriter, r *http.Request) (name string, err error) {
	if g.Off() {
		switch {
		case !namesLoopback(r.Host):
			return "", ErrForeignHost
		case g.cross.Check(r) != nil:
			return "", ErrCrossSite
		}
		return "local", nil
	}
	if token, given := bearer(r); given {
		// No site can make a browser send this, so there is nothing more to ask.
		if name, ok := g.tokens.Verify(token); ok {
			return name, nil
		}
		return "", ErrBadToken
	}
	cookie, err := r.Cookie(Cookie)
	if err != nil || cookie.Value == "" {
		return "", ErrNoCredentials
	}
	session, ok := g.open(cookie.Value)
	switch {
	case !ok, g.isEnded(r.Context(), session.id):
		return "", ErrExpired
	case g.cross.Check(r) != nil:
		return "", ErrCrossSite
	}
	if session.until.Sub(g.config.Now()) < g.config.SessionLife/2 {
		g.prolong(w, r, session)
	}
	return session.name, nil
}

// CheckOrigin reports whether a request may change something without credentials, as a login does.
func (g *Guard) CheckOrigin(r *http.Request) error {
	if g.cross.Check(r) != nil {
		return ErrCrossSite
	}
	return nil
}

// Verify tells whose token it is.
func (g *Guard) Verify(token string) (name string, ok bool) {
	if g.Off() {
		return "", false
	}
	return g.tokens.Verify(strings.TrimSpace(token))
}

func bearer(r *http.Request) (token string, given bool) {
	header := r.Header.Get("Authorization")
	if header == "" {
		return "", false
	}
	scheme, token, _ := strings.Cut(header, " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return "", true
	}
	return strings.TrimSpace(token), true
}

// namesLoopback reports whether a Host header names this machine. A page that has its own name point here sends its own.
func namesLoopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.ToLower(strings.Trim(host, "[]")), ".")
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
