package signing

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Source reads the text of keys: a file, or what a command prints.
type Source func(ctx context.Context) ([]byte, error)

const (
	// readAgainAfter bounds how often a source is read again because of a key that is not known.
	readAgainAfter = 5 * time.Second
	// sourceLimit is how long a source may take.
	sourceLimit = 30 * time.Second
	// rememberedRoots is how many roots are remembered at least of those whose signatures were verified.
	rememberedRoots = 1024
)

// Ring holds a node's keys, and reads them again when they may have been rotated. The zero value trusts no key and signs
// nothing until it is filled. It is safe for concurrent use.
type Ring struct {
	keys atomic.Pointer[ringKeys]

	mu     sync.Mutex
	source Source // nil: the keys never change
	readAt time.Time
}

// ringKeys are the keys that were read last, with what was verified by them.
type ringKeys struct {
	*Keys
	roots roots
}

// Use fills the ring with keys that never change.
func (r *Ring) Use(keys *Keys) { r.keys.Store(&ringKeys{Keys: keys}) }

// Open fills the ring from a source.
func (r *Ring) Open(ctx context.Context, source Source) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.source = source
	return r.reload(ctx)
}

// Reload reads the keys again. After an error those that were read before stay in use.
func (r *Ring) Reload(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.reload(ctx)
}

func (r *Ring) reload(ctx context.Context) error {
	if r.source == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, sourceLimit)
	defer cancel()
	r.readAt = time.Now()
	text, err := r.source(ctx)
	if err != nil {
		return err
	}
	keys, err := ParseKeys(text)
	if err != nil {
		return err
	}
	r.Use(keys)
	return nil
}

// Keys returns the keys that were read last; nil if the ring is not filled.
func (r *Ring) Keys() *Keys {
	if keys := r.keys.Load(); keys != nil {
		return keys.Keys
	}
	return nil
}

// Sign signs messages, from one to MaxBatch, with one signature, and returns what to send with each.
func (r *Ring) Sign(now time.Time, messages []Message) ([]string, error) {
	keys := r.keys.Load()
	if keys == nil {
		return nil, errNoPrivate
	}
	return keys.sign(now, messages)
}

// Verify returns when a message was signed; ErrUnsigned, ErrUnknownKey, or ErrAltered. For a key that is not known it reads
// the source again, as the keys may have been rotated.
func (r *Ring) Verify(ctx context.Context, m *Message, text string) (time.Time, error) {
	s, ok := parseSignature(text)
	if !ok {
		return time.Time{}, ErrUnsigned
	}
	keys := r.keys.Load()
	if keys == nil || !keys.Trusts(s.key) {
		if err := r.readAgain(ctx); err != nil {
			return time.Time{}, errors.Join(fmt.Errorf("%w: %s", ErrUnknownKey, short(s.key)), err)
		}
		if keys = r.keys.Load(); keys == nil || !keys.Trusts(s.key) {
			return time.Time{}, fmt.Errorf("%w: %s", ErrUnknownKey, short(s.key))
		}
	}
	root, err := s.root(m)
	if err != nil {
		return time.Time{}, err
	}
	seen := verified{key: s.key, at: s.at, size: s.size, root: root, proof: s.proof}
	if !keys.roots.has(seen) {
		if !ed25519.Verify(keys.trusted[s.key], statement(s.at, s.size, &root), s.proof[:]) {
			return time.Time{}, ErrAltered
		}
		if s.size > 1 {
			keys.roots.add(seen)
		}
	}
	return time.UnixMilli(s.at), nil
}

// short bounds what an error repeats of an unsigned message.
func short(text string) string { return fmt.Sprintf("%.32q", text) }

func (r *Ring) readAgain(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if time.Since(r.readAt) < readAgainAfter {
		return nil
	}
	return r.reload(ctx)
}

// verified is a signature that was found good. Of two that differ in any part one may be bad.
type verified struct {
	key   string
	at    int64
	size  int
	root  hash
	proof [ed25519.SignatureSize]byte
}

// roots remembers signatures that were found good, so that one is verified once for all messages that share it.
type roots struct {
	mu     sync.Mutex
	young  map[verified]struct{}
	former map[verified]struct{}
}

func (r *roots) has(one verified) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.young[one]; ok {
		return true
	}
	_, ok := r.former[one]
	return ok
}

func (r *roots) add(one verified) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.young == nil || len(r.young) >= rememberedRoots {
		r.former, r.young = r.young, make(map[verified]struct{})
	}
	r.young[one] = struct{}{}
}
