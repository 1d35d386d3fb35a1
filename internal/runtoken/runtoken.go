// Package runtoken makes and checks run tokens: what a program shows to the API to prove which attempt of which run it
// is. A token opens the effect ledger of that run, and nothing else.
//
// It takes three to make one, and none of them has more than it needs (ADR 17):
//   - The server key is kept in the store, which engines and web nodes share and executors do not reach.
//   - The engine derives from it the key of one attempt (Key.Attempt), and hands it to the executor that gets the task.
//   - The executor, who alone knows the fencing token of the lock and when the program must end, seals both with the
//     attempt's key (Seal). It can make tokens of attempts that it was given, and of no others.
//
// The web side needs only the server key to check a token (Key.Open): the claims of the token say which
// attempt's key it must be sealed with. Whether the attempt is still the run's present one is not for a token to say.
//
// It imports nothing of Tidewheel, and it alone sees the library of JSON Web Tokens.
package runtoken

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// KeySize is the length of a server key in bytes.
const KeySize = 32

// Leeway is by how much the clocks of an executor and of a web node may differ: a token is good for so much longer.
const Leeway = time.Minute

// longest is the most bytes of a token that are looked at.
const longest = 2048

// Why a token opens nothing.
var (
	// ErrBad means that a token was not sealed with the key of the attempt that it names, or is none.
	ErrBad = errors.New("this is no run's token")
	// ErrExpired means that its time is over.
	ErrExpired = errors.New("the run's token has expired")
)

// Grant is what a token says.
type Grant struct {
	Namespace string
	Run       string
	Attempt   int
	Token     uint64    // the fencing token of the attempt's lock
	Expires   time.Time // to the second
}

// claims is a Grant as a JSON Web Token has it.
type claims struct {
	Namespace string `json:"ns"`
	Attempt   int    `json:"att"`
	Token     uint64 `json:"fen"`
	jwt.RegisteredClaims
}

// issuer and audience distinguish these tokens from others, should there ever be some.
const (
	issuer   = "tidewheel"
	audience = "effects"
)

// Key is a server key.
type Key []byte

// Attempt derives the key of an attempt, as text. Its holder can make tokens of this attempt, and of no other.
func (k Key) Attempt(namespace, run string, attempt int) string {
	return base64.RawURLEncoding.EncodeToString(k.derive(namespace, run, attempt))
}

func (k Key) derive(namespace, run string, attempt int) []byte {
	mac := hmac.New(sha256.New, k)
	text := make([]byte, 0, 128)
	text = append(text, "tidewheel run token, attempt key, 1\x00"...)
	text = append(append(text, namespace...), 0)
	text = append(append(text, run...), 0)
	text = strconv.AppendInt(text, int64(attempt), 10)
	_, _ = mac.Write(text) // a hash takes everything
	return mac.Sum(nil)
}

// Seal makes the token of an attempt with its key.
func Seal(attemptKey string, grant Grant) (string, error) {
	key, err := base64.RawURLEncoding.DecodeString(attemptKey)
	if err != nil || len(key) != sha256.Size {
		return "", errors.New("seal a run's token: this is no attempt's key")
	}
	token := jwt.NewWithClaims(jwt.SigningMethodHS256, claims{
		Namespace: grant.Namespace, Attempt: grant.Attempt, Token: grant.Token,
		RegisteredClaims: jwt.RegisteredClaims{
			Issuer: issuer, Audience: jwt.ClaimStrings{audience}, Subject: grant.Run, ExpiresAt: jwt.NewNumericDate(grant.Expires),
		},
	})
	sealed, err := token.SignedString(key)
	if err != nil {
		return "", fmt.Errorf("seal a run's token: %w", err)
	}
	return sealed, nil
}

// Open reports what a token grants at an instant, or ErrBad or ErrExpired.
func (k Key) Open(token string, now time.Time) (Grant, error) {
	if len(k) < KeySize || len(token) > longest {
		return Grant{}, ErrBad
	}
	var said claims
	_, err := jwt.ParseWithClaims(token, &said, func(*jwt.Token) (any, error) {
		return k.derive(said.Namespace, said.Subject, said.Attempt), nil
	}, jwt.WithValidMethods([]string{jwt.SigningMethodHS256.Alg()}), jwt.WithIssuer(issuer), jwt.WithAudience(audience),
		jwt.WithExpirationRequired(), jwt.WithLeeway(Leeway), jwt.WithTimeFunc(func() time.Time { return now }))
	switch {
	case errors.Is(err, jwt.ErrTokenExpired) && !errors.Is(err, jwt.ErrTokenSignatureInvalid):
		return Grant{}, ErrExpired
	case err != nil || said.Subject == "" || said.Attempt < 1:
		return Grant{}, ErrBad
	}
	return Grant{
		Namespace: said.Namespace, Run: said.Subject, Attempt: said.Attempt, Token: said.Token, Expires: said.ExpiresAt.Time,
	}, nil
}
