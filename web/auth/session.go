package auth

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Cookie is the name of the session's cookie.
const Cookie = "tidewheel_session"

// A session is "name.until.salt.signature", each part in base64 or digits: nothing is stored on the server, so it
// outlives restarts.

func (g *Guard) seal(name string, until time.Time) string {
	text := base64.RawURLEncoding.EncodeToString([]byte(name)) + "." + strconv.FormatInt(until.Unix(), 10) + "." + rand.Text()
	return text + "." + base64.RawURLEncoding.EncodeToString(g.sign(text))
}

func (g *Guard) sign(text string) []byte {
	mac := hmac.New(sha256.New, g.tokens.SessionKey())
	_, _ = mac.Write([]byte(text)) // a hash takes everything
	return mac.Sum(nil)
}

func (g *Guard) open(session string) (name string, until time.Time, ok bool) {
	at := strings.LastIndexByte(session, '.')
	if at < 0 || len(session) > 1024 {
		return "", time.Time{}, false
	}
	signature, err := base64.RawURLEncoding.DecodeString(session[at+1:])
	if err != nil || !hmac.Equal(signature, g.sign(session[:at])) {
		return "", time.Time{}, false
	}
	parts := strings.Split(session[:at], ".")
	if len(parts) != 3 {
		return "", time.Time{}, false
	}
	decoded, err := base64.RawURLEncoding.DecodeString(parts[0])
	if err != nil {
		return "", time.Time{}, false
	}
	seconds, err := strconv.ParseInt(parts[1], 10, 64)
	if err != nil {
		return "", time.Time{}, false
	}
	until = time.Unix(seconds, 0)
	return string(decoded), until, g.config.Now().Before(until)
}

// Begin gives a browser a session.
func (g *Guard) Begin(w http.ResponseWriter, r *http.Request, name string) {
	until := g.config.Now().Add(g.config.SessionLife)
	g.set(w, r, g.seal(name, until), int(g.config.SessionLife/time.Second))
}

// End takes it away.
func (g *Guard) End(w http.ResponseWriter, r *http.Request) { g.set(w, r, "", -1) }

func (g *Guard) set(w http.ResponseWriter, r *http.Request, value string, seconds int) {
	http.SetCookie(w, &http.Cookie{
		Name: Cookie, Value: value, Path: "/", MaxAge: seconds, HttpOnly: true, SameSite: http.SameSiteLaxMode,
		// A proxy that ends TLS says so; whoever lies about it only keeps their own cookie off plain HTTP.
		Secure: r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https",
	})
}
