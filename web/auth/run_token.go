package auth

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/tidewheel/tidewheel/internal/runtoken"
	"github.com/tidewheel/tidewheel/web/service"
)

// RunTokens lets running programs in, by the tokens that they are given in TIDEWHEEL_RUN_TOKEN.
type RunTokens struct {
	key runtoken.Key
	now func() time.Time
}

// NewRunTokens makes one that knows the tokens of a server key. now may be nil.
func NewRunTokens(key runtoken.Key, now func() time.Time) *RunTokens {
	if now == nil {
		now = time.Now
	}
	return &RunTokens{key: key, now: now}
}

// Check reports which program makes a request: ErrNoCredentials, ErrBadToken or ErrExpired if none does. Without a guard
// for programs, a nil one, no program is admitted.
func (t *RunTokens) Check(r *http.Request) (service.Program, error) {
	token, given := bearer(r)
	if !given {
		return service.Program{}, ErrNoCredentials
	}
	if t == nil {
		return service.Program{}, ErrBadToken
	}
	grant, err := t.key.Open(token, t.now())
	switch {
	case errors.Is(err, runtoken.ErrExpired):
		return service.Program{}, ErrExpired
	case err != nil:
		return service.Program{}, ErrBadToken
	}
	return service.Program{Namespace: grant.Namespace, Run: grant.Run, Attempt: grant.Attempt, Token: grant.Token}, nil
}

// IsRunToken reports whether a request brings what looks like a run's token, to say so where it is used in the wrong place
// what it is for.
func IsRunToken(r *http.Request) bool {
	token, _ := bearer(r)
	return strings.HasPrefix(token, "eyJ") && strings.Count(token, ".") == 2
}
