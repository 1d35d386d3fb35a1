package web

import (
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/labstack/echo/v4"
	"golang.org/x/time/rate"

	"github.com/tidewheel/tidewheel/access"
	"github.com/tidewheel/tidewheel/web/api"
)

const (
	// rateBurst is how many seconds' worth of requests may come at once: a page with its parts, a script that begins.
	rateBurst = 4
	// ratesKept bounds the senders that are remembered, in each of two generations.
	ratesKept = 5000
)

// rates bound how often each identity, and each address that names none, may ask.
type rates struct {
	perSecond int
	now       func() time.Time

	mu sync.Mutex
	// A sender that has not asked since latest was begun is forgotten with before: the memory is bounded, and who comes again
	// begins with a full burst.
	latest, before map[string]*rate.Limiter
}

func newRates(perSecond int) *rates {
	return &rates{perSecond: perSecond, now: time.Now, latest: map[string]*rate.Limiter{}}
}

// count counts a request of a sender, and returns how long it has to wait before it may make it, 0 if it may now, and how many more it
// may make at once.
func (r *rates) count(sender string) (wait time.Duration, left int) {
	now := r.now()
	limiter := r.of(sender)
	asked := limiter.ReserveN(now, 1)
	wait = asked.DelayFrom(now)
	if wait > 0 {
		asked.CancelAt(now)
	}
	return wait, max(int(limiter.TokensAt(now)), 0)
}

// tell writes into an answer how many requests its sender may make (draft-ietf-httpapi-ratelimit-headers-10): q at once, of which r are
// left, and as many again within w seconds; all of them after t.
func (r *rates) tell(header http.Header, left int) {
	burst := rateBurst * r.perSecond
	header.Set("RateLimit-Policy", fmt.Sprintf(`"requests";q=%d;w=%d`, burst, rateBurst))
	header.Set("RateLimit", fmt.Sprintf(`"requests";r=%d;t=%d`, left, (burst-left+r.perSecond-1)/r.perSecond))
}

func (r *rates) of(sender string) *rate.Limiter {
	r.mu.Lock()
	defer r.mu.Unlock()
	if known := r.latest[sender]; known != nil {
		return known
	}
	limit := r.before[sender]
	if limit == nil {
		limit = rate.NewLimiter(rate.Limit(r.perSecond), rateBurst*r.perSecond)
	}
	if len(r.latest) >= ratesKept {
		r.before, r.latest = r.latest, make(map[string]*rate.Limiter, ratesKept)
	}
	r.latest[sender] = limit
	return limit
}

// boundIdentity refuses a request of an identity that asks too often. Each token, session and run has a rate of its own, so that
// the programs of one machine do not take it from each other. With --auth off only this machine can ask, and is not bounded.
func (s *Server) boundIdentity(c echo.Context, identity access.Identity) error {
	sender := string(identity.Kind) + " " + identity.Name
	switch {
	case identity.Kind == access.KindLocal:
		return nil
	case identity.Token != "":
		sender = "token " + identity.Token
	case identity.Session != "":
		sender = "session " + identity.Session
	}
	return s.bounded(c, sender, "this token or session")
}

// boundAddress refuses a request without valid credentials from an address that sends too many of them. Proxies and this machine are
// not bounded: their requests are many users'.
func (s *Server) boundAddress(c echo.Context) error {
	address, counted := senderOf(c.Request().RemoteAddr)
	if s.config.Connections.trusts(address) {
		return nil
	}
	return s.bounded(c, "address "+counted.String(), "this address, without valid credentials,")
}

func (s *Server) bounded(c echo.Context, sender, who string) error {
	if s.rates.perSecond == 0 {
		return nil
	}
	wait, left := s.rates.count(sender)
	s.rates.tell(c.Response().Header(), left)
	if wait == 0 {
		return nil
	}
	turnAwayBody(c.Request())
	seconds := int(wait/time.Second) + 1
	return api.NewProblem(http.StatusTooManyRequests, "too_many_requests", fmt.Sprintf("%s sends more than %d requests a second: "+
		"wait %d s and try again; who runs the server may raise --requests-per-second", who, s.rates.perSecond, seconds)).RetryAfter(wait)
}
