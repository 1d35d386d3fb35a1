package auth

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Cookie is the name of the session's cookie.
const Cookie = "tidewheel_session"

// A session is "name.until.id.signature", each part in base64 or digits: nothing is stored on the server, so it outlives
// restarts, until it is ended. It keeps its id when it is renewed, so that its end is that of all its cookies.
type session struct {
	name, id string
	until    time.Time
}

func (g *Guard) seal(s session) string {
	text := base64.RawURLEncoding.EncodeToString([]byte(s.name)) + "." + strconv.FormatInt(s.until.Unix(), 10) + "." + s.id
	return text + "." + base64.RawURLEncoding.EncodeToString(g.sign(text))
}

func (g *Guard) sign(text string) []byte {
	mac := hmac.New(sha256.New, g.tokens.SessionKey())
	_, _ = mac.Write([]byte(text)) // a hash takes everything
	return mac.Sum(nil)
}

func (g *Guard) open(cookie string) (s session, ok bool) {
	at := strings.LastIndexByte(cookie, '.')
	if at < 0 || len(cookie) > 1024 {
		return session{}, false
	}
	signature, err := base64.RawURLEncoding.DecodeString(cookie[at+1:])
	if err != nil || !hmac.Equal(signature, g.sign(cookie[:at])) {
		return session{}, false
	}
	parts := strings.Split(cookie[:at], ".")
	if len(parts) != 3 {
		return session{}, false
	}
	decoded, err := base64.RawURLEncoding.DecodeString(parts[0])
	if err != nil {
		return session{}, false
	}
	seconds, err := strconv.ParseInt(parts[1], 10, 64)
	if err != nil {
		return session{}, false
	}
	s = session{name: string(decoded), id: parts[2], until: time.Unix(seconds, 0)}
	return s, g.config.Now().Before(s.until)
}

// Begin gives a browser a session.
func (g *Guard) Begin(w http.ResponseWriter, r *http.Request, name string) {
	g.prolong(w, r, session{name: name, id: rand.Text()})
}

// prolong gives a browser a session for as long as a new one lasts.
func (g *Guard) prolong(w http.ResponseWriter, r *http.Request, s session) {
	s.until = g.config.Now().Add(g.config.SessionLife)
	g.set(w, r, g.seal(s), int(g.config.SessionLife/time.Second))
}

// End ends the session of a request: its cookies open nothing any more, wherever they were copied to. After an error
// that holds for this node alone, until it stops, and the browser keeps its cookie.
func (g *Guard) End(w http.ResponseWriter, r *http.Request) error {
	cookie, err := r.Cookie(Cookie)
	if err == nil && !g.Off() {
		if s, ok := g.open(cookie.Value); ok {
			now := g.config.Now()
			g.here.end(s.id, now, now.Add(g.config.SessionLife))
			if g.config.Ended != nil {
				if err := g.config.Ended.EndSession(r.Context(), s.id, g.config.SessionLife); err != nil {
					return fmt.Errorf("end the session: %w", err)
				}
			}
		}
	}
	g.set(w, r, "", -1)
	return nil
}

func (g *Guard) set(w http.ResponseWriter, r *http.Request, value string, seconds int) {
	http.SetCookie(w, &http.Cookie{
		Name: Cookie, Value: value, Path: "/", MaxAge: seconds, HttpOnly: true, SameSite: http.SameSiteLaxMode,
		// A proxy that ends TLS says so; whoever lies about it only keeps their own cookie off plain HTTP.
		Secure: r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https",
	})
}
