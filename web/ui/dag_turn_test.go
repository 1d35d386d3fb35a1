package ui

import (
	"context"
	"testing"
	"testing/synctest"
)

func TestLargeDefinitionsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turn := newTurn()
		first, err := turn.wait(t.Context(), true)
		if err != nil {
			t.Fatal(err)
		}
		small, err := turn.wait(t.Context(), false)
		if err != nil {
			t.Fatal("a small one waits", err)
		}
		small()
		came := make(chan error, 1)
		go func() {
			leave, err := turn.wait(t.Context(), true)
			if err == nil {
				leave()
			}
			came <- err
		}()
		synctest.Wait()
		if len(came) > 0 {
			t.Error("two large ones at once")
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := turn.wait(gone, true); err == nil {
			t.Error("who has gone gets a turn")
		}
		first()
		if err := <-came; err != nil {
			t.Error(err)
		}
	})
}
