package auth

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
)

// Readers are those who may read the metrics besides the users of the server: collectors, with a token that opens
// nothing else. A nil one admits no request.
type Readers struct {
	anybody bool
	tokens  [][sha256.Size]byte // hashes
}

// NewReaders admits requests that bring one of the tokens.
func NewReaders(tokens ...string) *Readers {
	r := &Readers{}
	for _, token := range tokens {
		r.tokens = append(r.tokens, sha256.Sum256([]byte(token)))
	}
	return r
}

// AnyReader admits everybody.
func AnyReader() *Readers { return &Readers{anybody: true} }

// Check returns nil if the sender of a request may read the metrics, else ErrNoCredentials or ErrBadToken. It takes the same
// time however much of a token is right.
func (r *Readers) Check(request *http.Request) error {
	if r != nil && r.anybody {
		return nil
	}
	token, given := bearer(request)
	if !given {
		return ErrNoCredentials
	}
	sum := sha256.Sum256([]byte(token))
	if r != nil {
		for i := range r.tokens {
			if subtle.ConstantTimeCompare(sum[:], r.tokens[i][:]) == 1 {
				return nil
			}
		}
	}
	return ErrBadToken
}
