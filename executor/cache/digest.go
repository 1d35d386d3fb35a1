package cache

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"hash"
)

// digest hashes what is written to it, and keeps the first bytes.
type digest struct {
	ctx  context.Context // of the download, which it ends
	hash hash.Hash
	head []byte
}

func newDigest(ctx context.Context) *digest { return &digest{ctx: ctx, hash: sha256.New()} }

func (d *digest) Write(p []byte) (int, error) {
	if d.ctx.Err() != nil {
		return 0, context.Cause(d.ctx)
	}
	if room := HeadSize - len(d.head); room > 0 {
		d.head = append(d.head, p[:min(room, len(p))]...)
	}
	return d.hash.Write(p)
}

func (d *digest) check(want string) error {
	if got := hex.EncodeToString(d.hash.Sum(nil)); got != want {
		return &DigestError{Want: want, Got: got}
	}
	return nil
}
