package attempt

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// RetriableExit reports whether a program that ended with this code is retried. A job's own lists go first.
func RetriableExit(code int, retry spec.Retry) bool {
	if slices.Contains(retry.NotOn, code) {
		return false
	}
	if slices.Contains(retry.On, code) {
		return true
	}
	switch code {
	case 0, engine.ExitUsage, engine.ExitDataError, engine.ExitNoPerm, engine.ExitConfig:
		return false
	}
	return true
}

// Backoff is the wait before the try that follows the given number of failures (from 1): exponential with full
// jitter, that is uniform in [0, min(MaxDelay, Delay × 2^(failures-1))].
// Source: M. Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog, 2015.
func Backoff(retry spec.Retry, failures int, random *rand.Rand) time.Duration {
	limit := time.Duration(retry.Delay)
	most := time.Duration(retry.MaxDelay)
	for i := 1; i < failures && limit > 0 && (most <= 0 || limit < most) && limit < time.Hour*24*365; i++ {
		limit *= 2
	}
	if most > 0 && limit > most {
		limit = most
	}
	if limit <= 0 {
		return 0
	}
	return time.Duration(random.Int64N(int64(limit) + 1))
}
