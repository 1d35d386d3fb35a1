package jetstream

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/tidewheel/tidewheel/engine"
)

// A message is handed out until it is dealt with, under one id, also to an engine that starts later, and then it is gone.
func TestTriggerMessagesAreHandedOutUntilTheyAreDealtWith(t *testing.T) {
	t.Parallel()
	q := connect(t, Config{Server: ownServer(t)})
	if _, err := q.triggersConsumer(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, m := range []*nats.Msg{
		{Subject: "triggers.shop.orders.paid", Data: []byte(`{"a":1}`)},
		{Subject: "triggers.shop.orders.paid", Data: []byte(`{"a":2}`), Header: nats.Header{nats.MsgIdHdr: {"order-7"}}},
	} {
		if _, err := q.js.PublishMsg(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	var mu sync.Mutex
	var seen []engine.TriggerMessage
	fail := true
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = q.Triggers(ctx, func(_ context.Context, m engine.TriggerMessage) error {
			mu.Lock()
			defer mu.Unlock()
			seen = append(seen, m)
			if fail {
				if len(seen) == 2 {
					fail = false
				}
				return errors.New("not yet")
			}
			return nil
		})
	}()
	for deadline := time.Now().Add(time.Minute); ; pause(t.Context(), 20*time.Millisecond) {
		state, err := q.streamState(t.Context(), q.names.triggers)
		if err != nil || time.Now().After(deadline) {
			t.Fatalf("%+v, %v", state, err)
		}
		if state.Messages == 0 {
			break
		}
	}
	stop()
	<-done
	if len(seen) != 4 {
		t.Fatalf("handed out %+v", seen)
	}
	ids := map[string]int{}
	for _, m := range seen {
		ids[m.ID]++
		if m.Namespace != "shop" || m.Subject != "orders.paid" || m.At.IsZero() {
			t.Errorf("%+v", m)
		}
	}
	if len(ids) != 2 || ids["order-7"] != 2 {
		t.Errorf("ids %v", ids)
	}
	streams, err := q.Streams(t.Context())
	if err != nil || !slices.ContainsFunc(streams, func(s engine.Stream) bool { return s.Name == "TRIGGERS" }) {
		t.Errorf("streams %+v, %v", streams, err)
	}
}
