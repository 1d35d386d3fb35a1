package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"sync"
	"time"
)

// Codes are the codes of login links. Each opens one session, once, within its time. They are kept in memory only:
// a restart voids them, and prints a new link.
type Codes struct {
	now func() time.Time

	mu   sync.Mutex
	kept map[[sha256.Size]byte]time.Time // and until when they work
}

// NewCodes makes an empty set. now may be nil.
func NewCodes(now func() time.Time) *Codes {
	if now == nil {
		now = time.Now
	}
	return &Codes{now: now, kept: map[[sha256.Size]byte]time.Time{}}
}

// Issue makes a code that works for a time.
func (c *Codes) Issue(life time.Duration) string {
	code := rand.Text()
	c.mu.Lock()
	defer c.mu.Unlock()
	for digest, until := range c.kept {
		if !c.now().Before(until) {
			delete(c.kept, digest)
		}
	}
	c.kept[sha256.Sum256([]byte(code))] = c.now().Add(life)
	return code
}

// Redeem reports whether a code works, and makes it void.
func (c *Codes) Redeem(code string) bool {
	digest := sha256.Sum256([]byte(code))
	c.mu.Lock()
	defer c.mu.Unlock()
	until, known := c.kept[digest]
	delete(c.kept, digest)
	return known && c.now().Before(until)
}
