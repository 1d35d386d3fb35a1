package trigger_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/trigger"
)

func TestMessageStartsWhatWaitsForIt(t *testing.T) {
	w := newWorld(t)
	listen := func(namespace, name, subject string) {
		t.Helper()
		if err := w.book.Listen(t.Context(), namespace, name, subject); err != nil {
			t.Fatal(err)
		}
		w.define(namespace, name, false, &spec.Triggers{Message: &spec.MessageTrigger{Subject: subject}})
	}
	listen("shop", "paid", "orders.paid")
	listen("shop", "all", "orders.>")
	listen("shop", "other", "returns")
	listen("bank", "paid", "orders.paid")
	listener := trigger.NewListener(w.book, w)
	message := engine.TriggerMessage{Namespace: "shop", Subject: "orders.paid", ID: "7", Data: []byte(`{"shop":7}`)}

	w.busy = errors.New("the store is away")
	if err := listener.Handle(t.Context(), message); err == nil {
		t.Error("a message that starts nothing yet is dealt with")
	}
	w.busy = nil
	for range 2 { // it is delivered again
		if err := listener.Handle(t.Context(), message); err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(w.starts)
	if want := []string{"shop/all message orders.paid 7", "shop/paid message orders.paid 7"}; !slices.Equal(w.starts, want) {
		t.Errorf("started %q, want %q", w.starts, want)
	}
	if got := w.payloads["shop/paid message orders.paid 7"]; got != `{"shop":7}` {
		t.Errorf("payload %s", got)
	}

	// The definition says what it waits for, also where it has just been edited; what is not JSON starts nothing.
	listen("shop", "paid", "orders.open")
	message = engine.TriggerMessage{Namespace: "shop", Subject: "orders.open", ID: "8", Data: []byte("x")}
	if err := listener.Handle(t.Context(), message); err != nil {
		t.Fatal(err)
	}
	message = engine.TriggerMessage{Namespace: "shop", Subject: "orders.paid", ID: "9"}
	if err := listener.Handle(t.Context(), message); err != nil {
		t.Fatal(err)
	}
	if len(w.starts) != 3 || w.starts[2] != "shop/all message orders.paid 9" {
		t.Errorf("started %q", w.starts)
	}
	if len(w.refused) != 2 || !strings.Contains(w.refused[0], "is not JSON") {
		t.Errorf("refused %q", w.refused)
	}
}

func TestListenerThatIsNoneIsForgotten(t *testing.T) {
	w := newWorld(t)
	now := time.Now()
	w.book = trigger.NewBook(w.store, func() time.Time { return now })
	if err := w.book.Listen(t.Context(), "shop", "paid", "orders"); err != nil {
		t.Fatal(err)
	}
	records := func() int {
		t.Helper()
		found, err := w.store.Records(t.Context(), engine.RecordFilter{Kind: "trigger-listener", Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		return len(found)
	}
	handle := func() {
		t.Helper()
		if err := trigger.NewListener(w.book, w).Handle(t.Context(), engine.TriggerMessage{Namespace: "shop", Subject: "orders", ID: "1"}); err != nil {
			t.Fatal(err)
		}
	}
	if handle(); records() != 1 {
		t.Error("one that is about to be saved is forgotten")
	}
	now = now.Add(time.Hour)
	if handle(); records() != 0 {
		t.Error("it is kept for ever")
	}
}
