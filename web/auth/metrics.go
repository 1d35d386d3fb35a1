package auth

import "net/http"

// Readers are those who may read the metrics besides the users of the server: collectors, with a token that opens
// nothing else. A nil one admits nobody.
type Readers struct {
	anybody bool
	tokens  []Tokens
}

// NewReaders admits who brings one of the tokens.
func NewReaders(tokens ...Tokens) *Readers { return &Readers{tokens: tokens} }

// AnyReader admits everybody.
func AnyReader() *Readers { return &Readers{anybody: true} }

// Check returns nil if the sender of a request may read the metrics, else ErrNoCredentials or ErrBadToken.
func (r *Readers) Check(request *http.Request) error {
	if r != nil && r.anybody {
		return nil
	}
	token, given := bearer(request)
	if !given {
		return ErrNoCredentials
	}
	if r != nil {
		for _, known := range r.tokens {
			if _, ok := known.Verify(token); ok {
				return nil
			}
		}
	}
	return ErrBadToken
}
