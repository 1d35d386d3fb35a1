package secret

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Source reads the text of a key: from a file, the environment or a command.
type Source func(ctx context.Context) ([]byte, error)

// readAgainAfter bounds how often a key is read again because a value does not open.
const readAgainAfter = 5 * time.Second

// sourceLimit is how long a source may take.
const sourceLimit = 30 * time.Second

// Ring holds a node's key, and reads it again when it may have been rotated. It is safe for concurrent use.
type Ring struct {
	source Source

	mu     sync.Mutex
	key    *Key
	readAt time.Time
}

// NewRing reads the key of a source.
func NewRing(ctx context.Context, source Source) (*Ring, error) {
	r := &Ring{source: source}
	if err := r.Reload(ctx); err != nil {
		return nil, err
	}
	return r, nil
}

// Reload reads the key again. After an error the one that was read before stays in use.
func (r *Ring) Reload(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.reload(ctx)
}

func (r *Ring) reload(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, sourceLimit)
	defer cancel()
	r.readAt = time.Now()
	text, err := r.source(ctx)
	if err != nil {
		return err
	}
	key, err := ParseKey(text)
	if err != nil {
		return err
	}
	r.key = key
	return nil
}

// Key returns the key that was read last.
func (r *Ring) Key() *Key {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.key
}

// Open decrypts a value, see Key.Open. For a value of another key the key is read again, as it may have been rotated.
func (r *Ring) Open(ctx context.Context, namespace, name string, sealed []byte) ([]byte, error) {
	value, err := r.Key().Open(namespace, name, sealed)
	if !errors.Is(err, ErrOtherKey) {
		return value, err
	}
	r.mu.Lock()
	if time.Since(r.readAt) >= readAgainAfter {
		if failed := r.reload(ctx); failed != nil {
			r.mu.Unlock()
			return nil, errors.Join(err, failed)
		}
	}
	key := r.key
	r.mu.Unlock()
	return key.Open(namespace, name, sealed)
}
