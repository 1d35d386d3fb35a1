package enrol

import (
	"bufio"
	"bytes"
	"context"
	"crypto/hmac"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

const (
	// minJoinToken is how many letters a join token has at least: it never expires.
	minJoinToken = 24
	// forgetAfter is how long an executor that joined may be silent before its enrolment ends: pods do not come back.
	forgetAfter = 24 * time.Hour
)

// JoinToken enrols any number of executors of a tier, for pods and containers that are made and removed by a machine. It is kept in a
// file of the web nodes, and is good as long as it stands there.
type JoinToken struct {
	Tier   string
	digest string
}

// ParseJoinTokens reads one token a line, after its tier: "light twj_…". Empty lines and lines that begin with # say nothing. The errors
// hold no token.
func ParseJoinTokens(text []byte) (tokens []JoinToken, _ error) {
	lines := bufio.NewScanner(bytes.NewReader(text))
	for number := 1; lines.Scan(); number++ {
		words := strings.Fields(lines.Text())
		switch {
		case len(words) == 0 || strings.HasPrefix(words[0], "#"):
		case len(words) != 2:
			return nil, fmt.Errorf("line %d: write a tier and a token, such as: light twj_…", number)
		case !validTier(words[0]):
			return nil, fmt.Errorf("line %d: %q is no tier: use light, medium, heavy or all", number, words[0])
		case len(words[1]) < minJoinToken:
			return nil, fmt.Errorf("line %d: the token is shorter than %d letters: make one with `openssl rand -hex 24`", number, minJoinToken)
		default:
			tokens = append(tokens, JoinToken{words[0], digest(words[1])})
		}
	}
	return tokens, lines.Err()
}

// joinToken returns the token that has a secret; nil if none has.
func (r *Register) joinToken(secret string) (*Token, error) {
	if r.config.JoinTokens == nil {
		return nil, nil
	}
	tokens, err := r.config.JoinTokens()
	if err != nil {
		return nil, fmt.Errorf("enrol: read the join tokens: %w", err)
	}
	shown := digest(secret)
	for _, token := range tokens {
		if hmac.Equal([]byte(token.digest), []byte(shown)) {
			return &Token{Tier: token.Tier, CreatedBy: "the join token of tier " + token.Tier}, nil
		}
	}
	return nil, nil
}

// keep puts off the end of an executor that joined, where it is near enough.
func (r *Register) keep(ctx context.Context, record *engine.Record) error {
	end := r.moment().Add(forgetAfter)
	if record.ExpiresAt.IsZero() || end.Sub(record.ExpiresAt) < forgetAfter/2 {
		return nil
	}
	record.ExpiresAt = end
	record.Revision++
	err := r.store.ReplaceRecord(ctx, *record)
	if err == nil || errors.Is(err, engine.ErrConflict) { // another renewal has done it
		return nil
	}
	if errors.Is(err, engine.ErrNotFound) {
		return ErrRevoked
	}
	return fmt.Errorf("enrol: keep an executor: %w", err)
}
