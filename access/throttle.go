package access

import (
	"hash/maphash"
	"time"

	"golang.org/x/time/rate"
)

// How many logins may fail: so many at once, and then one in a while.
const (
	failuresOfName    = 10
	nameRecovers      = 30 * time.Second
	failuresOfAddress = 60
	addressRecovers   = 2 * time.Second
	throttleSlots     = 512
)

// throttle bounds failed logins by name and by address. Names and addresses share a fixed number of slots, so that no number of
// them takes memory.
type throttle struct {
	seed             maphash.Seed
	names, addresses []*rate.Limiter
}

func newThrottle() *throttle {
	t := &throttle{seed: maphash.MakeSeed()}
	for range throttleSlots {
		t.names = append(t.names, rate.NewLimiter(rate.Every(nameRecovers), failuresOfName))
		t.addresses = append(t.addresses, rate.NewLimiter(rate.Every(addressRecovers), failuresOfAddress))
	}
	return t
}

func (t *throttle) slot(of []*rate.Limiter, text string) *rate.Limiter {
	return of[maphash.String(t.seed, text)%throttleSlots]
}

// limits are those of a login; name is "" where a token is given.
func (t *throttle) limits(name, address string) []*rate.Limiter {
	limits := []*rate.Limiter{t.slot(t.addresses, address)}
	if name != "" {
		limits = append(limits, t.slot(t.names, name))
	}
	return limits
}

// check returns a *ThrottledError while too many logins have failed.
func (t *throttle) check(now time.Time, name, address string) error {
	var wait time.Duration
	for _, limit := range t.limits(name, address) {
		if missing := 1 - limit.TokensAt(now); missing > 0 {
			wait = max(wait, time.Duration(missing/float64(limit.Limit())*float64(time.Second)))
		}
	}
	if wait > 0 {
		return &ThrottledError{wait}
	}
	return nil
}

// failed counts a login that failed.
func (t *throttle) failed(now time.Time, name, address string) {
	for _, limit := range t.limits(name, address) {
		limit.AllowN(now, 1)
	}
}
