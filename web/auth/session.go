package auth

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/tidewheel/tidewheel/access"
	"github.com/tidewheel/tidewheel/engine"
)

// Cookie is the name of the session's cookie.
const Cookie = "tidewheel_session"

// Begin gives a browser a session of an identity that was just proven. address is that of the browser.
func (g *Guard) Begin(w http.ResponseWriter, r *http.Request, identity access.Identity, address string) error {
	secret, err := g.directory.BeginSession(r.Context(), identity, address, r.UserAgent())
	if err != nil {
		return fmt.Errorf("begin a session: %w", err)
	}
	g.set(w, r, secret, int(access.SessionLife/time.Second)) // the directory ends it sooner where it is not used
	return nil
}

// End ends the session that an identity has: its cookie opens nothing any more, wherever it was copied to. After an error the
// browser keeps its cookie.
func (g *Guard) End(w http.ResponseWriter, r *http.Request, identity access.Identity) error {
	if identity.Session != "" {
		err := g.directory.EndSession(r.Context(), identity.User, identity.Session)
		if err != nil && !errors.Is(err, engine.ErrNotFound) {
			return fmt.Errorf("end the session: %w", err)
		}
	}
	g.set(w, r, "", -1)
	return nil
}

func (g *Guard) set(w http.ResponseWriter, r *http.Request, value string, seconds int) {
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // Secure is set where TLS is spoken; a server without TLS must keep sessions, too
		Name: Cookie, Value: value, Path: "/", MaxAge: seconds, HttpOnly: true, SameSite: http.SameSiteLaxMode,
		// A proxy that ends TLS says so; a client that lies about it only keeps its own cookie off plain HTTP.
		Secure: r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https",
	})
}
