package jetstream

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/executor"
)

// A lock that was released a moment ago is taken again with one message; without the hint it takes a refusal, a look
// and a second try.
func TestLockAgainAtOnce(t *testing.T) {
	server, err := StartServer(t.Context(), ServerConfig{StoreDir: t.TempDir(), Logger: slog.New(slog.NewTextHandler(t.Output(), nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Shutdown() }) // what it holds is thrown away
	q, err := Connect(t.Context(), Config{Keys: testKeys, Server: server, Logger: slog.New(slog.NewTextHandler(t.Output(), nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(q.Close)
	asked := func(f func()) uint64 {
		before := q.conn.Stats().OutMsgs
		f()
		return q.conn.Stats().OutMsgs - before
	}
	holder := executor.LockHolder{Run: "run", Attempt: 1, Executor: "one"}
	var token uint64
	lock := func() {
		next, err := q.Lock(t.Context(), "job", holder, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if next <= token {
			t.Fatalf("token %d follows %d", next, token)
		}
		token = next
	}
	unlock := func() {
		if err := q.Unlock(t.Context(), "job", token); err != nil {
			t.Fatal(err)
		}
	}
	lock()
	unlock()
	if n := asked(lock); n != 1 {
		t.Errorf("a lock that was just released took %d messages, want 1", n)
	}
	// A hint that is wrong costs time and nothing else.
	unlock()
	q.markers.put("job", token, time.Now())
	lock()
	unlock()
	q.markers.take("job", time.Now())
	lock()
}

func TestMarkers(t *testing.T) {
	var m markers
	start := time.Now()
	if got := m.take("a", start); got != 0 {
		t.Errorf("an unknown key has marker %d", got)
	}
	m.put("a", 7, start)
	if got := m.take("a", start.Add(time.Second)); got != 7 {
		t.Errorf("got marker %d, want 7", got)
	}
	if got := m.take("a", start.Add(time.Second)); got != 0 {
		t.Errorf("a marker that was taken is there again: %d", got)
	}
	m.put("a", 8, start)
	if got := m.take("a", start.Add(markerLife)); got != 0 {
		t.Errorf("a marker that has expired is reported: %d", got)
	}
	m.put("b", 9, start)
	for i := range 4 {
		m.put("c", 1, start.Add(time.Duration(i)*2*markerLife))
	}
	if held := fmt.Sprint(len(m.young) + len(m.former)); held != "2" {
		t.Errorf("it holds %s markers, want the 2 of its last two turns", held)
	}
}
