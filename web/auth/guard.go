package auth

import (
	"errors"
	"net"
	"net/http"
	"strings"

	"github.com/tidewheel/tidewheel/access"
)

// Why a request is turned away.
var (
	// ErrNoCredentials means that a request brought none.
	ErrNoCredentials = errors.New("no token and no session")
	// ErrBadToken means that its token opens nothing.
	ErrBadToken = errors.New("this token is not known")
	// ErrExpired means that the time of its run token is over.
	ErrExpired = errors.New("the token has expired")
	// ErrCrossSite means that another site made a browser send it.
	ErrCrossSite = errors.New("the request comes from another site")
	// ErrForeignHost means that it names another machine than this one, where only this one may be named.
	ErrForeignHost = errors.New("the request does not name this machine")
)

// Guard decides about requests. It is safe for concurrent use.
type Guard struct {
	directory *access.Directory // nil: authentication is off
	cross     *http.CrossOriginProtection
}

// NewGuard makes a guard that asks for credentials.
func NewGuard(directory *access.Directory) *Guard {
	return &Guard{directory: directory, cross: http.NewCrossOriginProtection()}
}

// Open makes a guard that asks for none, for a server that only its own machine can reach.
func Open() *Guard { return NewGuard(nil) }

// Off reports whether no credentials are asked for.
func (g *Guard) Off() bool { return g.directory == nil }

// Check returns the identity that makes a request, or why it is turned away: an error of this package, access.ErrNoSession,
// access.ErrNoToken, access.ErrTokenExpired, or one of the store.
func (g *Guard) Check(r *http.Request) (access.Identity, error) {
	if g.Off() {
		switch {
		case !namesLoopback(r.Host):
			return access.Identity{}, ErrForeignHost
		case g.cross.Check(r) != nil:
			return access.Identity{}, ErrCrossSite
		}
		return access.Local(), nil
	}
	if token, given := bearer(r); given {
		// No site can make a browser send this, so there is nothing more to ask.
		return g.directory.ByToken(r.Context(), token)
	}
	cookie, err := r.Cookie(Cookie)
	if err != nil || cookie.Value == "" {
		return access.Identity{}, ErrNoCredentials
	}
	identity, err := g.directory.BySession(r.Context(), cookie.Value)
	if err == nil && g.cross.Check(r) != nil {
		return access.Identity{}, ErrCrossSite
	}
	return identity, err
}

// CheckOrigin reports whether a request may change something without credentials, as a login does.
func (g *Guard) CheckOrigin(r *http.Request) error {
	if g.cross.Check(r) != nil {
		return ErrCrossSite
	}
	return nil
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
