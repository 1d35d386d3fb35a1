package notify

import (
	"context"

	"github.com/tidewheel/tidewheel/secret"
)

// secretless is a vault of a node without a key: it seals for others, and opens nothing.
type secretless struct{ Vault }

func (secretless) Unseal(context.Context, string, string, secret.Value) ([]byte, error) {
	return nil, secret.ErrNoKey
}
