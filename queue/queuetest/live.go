package queuetest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

var live = map[string]func(*testing.T, Harness){
	"a wake reaches the engine":                              liveWakes,
	"a cancellation reaches the executors":                   liveCancel,
	"watching asks for output, and frames reach the watcher": liveLog,
	"presence expires unless it is announced again":          livePresenceExpires,
	"presence can be withdrawn":                              livePresenceWithdrawn,
	"a ping is answered":                                     livePing,
}

// hear runs a subscription and returns what it hears.
func hear[T any](t *testing.T, subscribe func(context.Context, func(T)) error) <-chan T {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	heard := make(chan T, 10_000)
	var background sync.WaitGroup
	background.Go(func() {
		if err := subscribe(ctx, func(content T) {
			select {
			case heard <- content:
			default: // sent again and again until the first was heard
			}
		}); err != nil {
			t.Errorf("subscribe: %v", err)
		}
	})
	t.Cleanup(func() { cancel(); background.Wait() })
	return heard
}

// repeat sends a hint, which may be lost, until one is heard.
func repeat[T any](t *testing.T, q Queue, send func() error, heard <-chan T) (content T) {
	t.Helper()
	await(t, "a hint is heard", func() bool {
		if err := send(); err != nil {
			t.Fatalf("send: %v", err)
		}
		if err := q.Ping(patient(t)); err != nil { // takes as long as a hint should
			t.Fatalf("ping: %v", err)
		}
		select {
		case content = <-heard:
			return true
		default:
			return false
		}
	})
	return content
}

func liveWakes(t *testing.T, h Harness) {
	q, web := h.Connect(t), h.Connect(t)
	heard := hear(t, q.Wakes)
	want := engine.Wake{Shard: 12, Kind: engine.WakeBinary, Key: "default/tool"}
	if got := repeat(t, web, func() error { return web.PublishWake(patient(t), want) }, heard); got != want {
		t.Errorf("heard %+v, want %+v", got, want)
	}
}

func liveCancel(t *testing.T, h Harness) {
	q, executorSide := h.Connect(t), h.Connect(t)
	heard := hear(t, executorSide.Controls)
	want := engine.Control{Kind: engine.ControlBegin, Run: "run-1", Attempt: 2, Executor: "e-1", Token: 7}
	if got := repeat(t, q, func() error { return q.Ask(patient(t), want) }, heard); got != want {
		t.Errorf("heard %+v, want %+v", got, want)
	}
}

func liveLog(t *testing.T, h Harness) {
	web, executorSide := h.Connect(t), h.Connect(t)
	asked := hear(t, executorSide.Controls)
	// Controls hears nothing until it has subscribed, and a watcher asks again only seconds later.
	repeat(t, executorSide, func() error {
		return executorSide.Ask(patient(t), engine.Control{Kind: engine.ControlCancel, Run: "run-0", Attempt: 1})
	}, asked)
	frames := hear(t, func(ctx context.Context, handle func(engine.LogFrame)) error {
		return web.WatchLog(ctx, "run-1", 3, handle)
	})
	ctx := patient(t)
	for want := (engine.Control{Kind: engine.ControlWatch, Run: "run-1", Attempt: 3}); ; {
		select {
		case got := <-asked:
			if got.Kind == engine.ControlCancel {
				continue // of before
			}
			if got != want {
				t.Fatalf("heard %+v, want %+v", got, want)
			}
		case <-ctx.Done():
			t.Fatal("no subscriber asked for output")
		}
		break
	}
	for i, text := range []string{"one\n", "two\n", "\xff\x00"} { // no one asks before the watcher hears
		frame := engine.LogFrame{Run: "run-1", Attempt: 3, Offset: int64(4 * i), Data: []byte(text), End: i == 2}
		if err := executorSide.LogFrame(frame); err != nil {
			t.Fatal(err)
		}
		select {
		case got := <-frames:
			if string(got.Data) != text || got.Offset != frame.Offset || got.End != frame.End {
				t.Errorf("got %+v, want %+v", got, frame)
			}
		case <-ctx.Done():
			t.Fatal("the frame was lost")
		}
	}
}

func presence(id string) engine.Presence {
	return engine.Presence{ID: id, Host: "here", PID: 1, Tiers: []spec.Tier{spec.TierHeavy, spec.TierLight}, Slots: 4, Since: time.Now().UTC()}
}

func executors(t *testing.T, q Queue) (ids []string) {
	t.Helper()
	all, err := q.Executors(patient(t))
	if err != nil {
		t.Fatalf("executors: %v", err)
	}
	for _, one := range all {
		ids = append(ids, one.ID)
	}
	return ids
}

func livePresenceExpires(t *testing.T, h Harness) {
	q := h.Connect(t)
	for _, id := range []string{"b", "a"} {
		if err := q.Announce(patient(t), presence(id), 2*time.Second); err != nil {
			t.Fatal(err)
		}
	}
	begun := time.Now()
	if err := q.Announce(patient(t), presence("a"), time.Minute); err != nil {
		t.Fatal(err)
	}
	if ids := executors(t, q); len(ids) != 2 || ids[0] != "a" || ids[1] != "b" {
		t.Fatalf("executors %v, want a and b", ids)
	}
	await(t, "b has gone", func() bool { ids := executors(t, q); return len(ids) == 1 && ids[0] == "a" })
	if waited := time.Since(begun); waited < 1500*time.Millisecond {
		t.Errorf("b was gone after %v", waited)
	}
}

func livePresenceWithdrawn(t *testing.T, h Harness) {
	q := h.Connect(t)
	if err := q.Announce(patient(t), presence("a"), time.Minute); err != nil {
		t.Fatal(err)
	}
	if err := q.Announce(patient(t), presence("a"), 0); err != nil {
		t.Fatal(err)
	}
	if ids := executors(t, q); len(ids) != 0 {
		t.Errorf("executors %v, want none", ids)
	}
}

func livePing(t *testing.T, h Harness) {
	if err := h.Connect(t).Ping(patient(t)); err != nil {
		t.Error(err)
	}
}
