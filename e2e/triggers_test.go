package e2e

import "testing"

func TestEventsStartOneRunEachThoughTheServerIsKilled(t *testing.T) {
	Events(t, binary)
}
