package web

import (
	"maps"
	"net/http"
	"slices"

	"github.com/tidewheel/tidewheel/access"
)

// IdentifyBy takes identities from a test instead of the guard.
func (s *Server) IdentifyBy(identify func(*http.Request) (access.Identity, error)) {
	s.identify = identify
}

// Ruled lists the routes that have a rule, such as "GET /jobs".
func Ruled() []string { return slices.Sorted(maps.Keys(rules)) }

// RecheckEvery is how often an answer that does not end is checked.
const RecheckEvery = recheckEvery
