package service

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/tidewheel/tidewheel/engine"
)

// requestsRun stands for the run in the effects that remember requests: no run has this id. They go with old history.
const requestsRun = "idempotency"

// Request is something that was asked for with an idempotency key.
type Request struct {
	Namespace string
	Operation string // "create-job"
	Key       string // "" for none: nothing is remembered then
	Asked     any    // what was asked for, as JSON
}

// place is where the request is remembered, and what it asked for.
func (r *Request) place() (key string, asked json.RawMessage, err error) {
	text, err := json.Marshal(r.Asked)
	if err != nil {
		return "", nil, fmt.Errorf("write down a request: %w", err)
	}
	place := sha256.Sum256([]byte(r.Namespace + "\n" + r.Operation + "\n" + r.Key))
	digest := sha256.Sum256(text)
	return hex.EncodeToString(place[:]), json.RawMessage(`"` + hex.EncodeToString(digest[:]) + `"`), nil
}

// Repeated reports whether just this request was done before under its key. A request with the key of another is refused.
func (s *Service) Repeated(ctx context.Context, r Request) (bool, error) {
	if r.Key == "" {
		return false, nil
	}
	key, asked, err := r.place()
	if err != nil {
		return false, err
	}
	done, err := s.store.Effect(ctx, requestsRun, key)
	switch {
	case errors.Is(err, engine.ErrNotFound):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("look for a request: %w", err)
	case string(done.Result) != string(asked):
		message := "this Idempotency-Key belongs to another request: take a new key, or send the same request again"
		return false, &Error{Kind: KindInvalid, Code: "key_reused", Detail: message, Fields: []Field{{Location: "header.Idempotency-Key", Message: message}}}
	}
	return true, nil
}

// Remember keeps that a request was done. Where that fails, or a crash comes before it, the request is done again when it
// is repeated, which changes nothing unless another caller has changed the same thing meanwhile.
func (s *Service) Remember(ctx context.Context, r Request) error {
	if r.Key == "" {
		return nil
	}
	key, asked, err := r.place()
	if err != nil {
		return err
	}
	now := s.now()
	err = s.store.InsertEffect(ctx, engine.RunEffect{
		Run: requestsRun, Key: key, Namespace: r.Namespace, Revision: 1, State: engine.EffectDone, CreatedAt: now, OpenedAt: now, DoneAt: now, Result: asked,
	})
	if err != nil && !errors.Is(err, engine.ErrExists) {
		return fmt.Errorf("remember a request: %w", err)
	}
	return nil
}
