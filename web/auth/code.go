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
	kept map[[sha256.Size]byte]grant
}

type grant struct {
	name  string
	until time.Time
}

// NewCodes makes an empty set. now may be nil.
func NewCodes(now func() time.Time) *Codes {
	if now == nil {
		now = time.Now
	}
	return &Codes{now: now, kept: map[[sha256.Size]byte]grant{}}
}

// Issue makes a code for somebody, good for a time.
func (c *Codes) Issue(name string, life time.Duration) string {
	code := rand.Text()
	c.mu.Lock()
	defer c.mu.Unlock()
	for digest, g := range c.kept {
		if !c.now().Before(g.until) {
			delete(c.kept, digest)
		}
	}
	c.kept[sha256.Sum256([]byte(code))] = grant{name: name, until: c.now().Add(life)}
	return code
}

// Redeem takes a code, which is void from then on, and tells whose it was.
func (c *Codes) Redeem(code string) (name string, ok bool) {
	digest := sha256.Sum256([]byte(code))
	c.mu.Lock()
	defer c.mu.Unlock()
	g, known := c.kept[digest]
	delete(c.kept, digest)
	if !known || !c.now().Before(g.until) {
		return "", false
	}
	return g.name, true
}
