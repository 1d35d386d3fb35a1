package service

import (
	"context"

	"github.com/tidewheel/tidewheel/access"
)

// Actor returns the name of the identity that makes a request; "" where there is none.
func Actor(ctx context.Context) string { return access.From(ctx).Name }
