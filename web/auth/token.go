package auth

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
)

// Tokens are the tokens that open the server.
type Tokens interface {
	// Verify tells whose token it is. It takes the same time however much of a token is right.
	Verify(token string) (name string, ok bool)
	// SessionKey is what sessions are signed with: at least 32 bytes, the same after a restart, and another once a
	// token is changed.
	SessionKey() []byte
}

// Token is one token, that of the administrator.
type Token struct {
	name   string
	digest [sha256.Size]byte
	key    []byte
}

// NewToken makes the token of somebody. Only what is derived from the secret is kept.
func NewToken(name, secret string) *Token {
	mac := hmac.New(sha256.New, []byte(secret))
	_, _ = mac.Write([]byte("tidewheel session v1")) // a hash takes everything
	return &Token{name: name, digest: sha256.Sum256([]byte(secret)), key: mac.Sum(nil)}
}

// Verify implements Tokens.
func (t *Token) Verify(token string) (string, bool) {
	digest := sha256.Sum256([]byte(token))
	if subtle.ConstantTimeCompare(digest[:], t.digest[:]) != 1 {
		return "", false
	}
	return t.name, true
}

// SessionKey implements Tokens.
func (t *Token) SessionKey() []byte { return t.key }
