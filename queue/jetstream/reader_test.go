package jetstream

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/shard"
)

func TestReadPlace(t *testing.T) {
	t.Parallel()
	want := place{floor{35, time.Unix(0, 1700000000000000001)}, 12, 4}
	for _, reply := range []string{
		"$JS.ACK.RESULTS.reader.1.35.12.1700000000000000001.4",
		"$JS.ACK.hub.ACCOUNT.RESULTS.reader.1.35.12.1700000000000000001.4",
		"$JS.ACK._.ACCOUNT.RESULTS.reader.1.35.12.1700000000000000001.4.random",
	} {
		got, err := readPlace(&nats.Msg{Reply: reply, Sub: new(nats.Subscription)})
		if err != nil || got.Sequence != want.Sequence || !got.At.Equal(want.At) || got.delivered != want.delivered || got.pending != want.pending {
			t.Errorf("%s: %+v, %v, want %+v", reply, got, err, want)
		}
	}
	for _, reply := range []string{"", "$JS.ACK", "_INBOX.a.b.c.d.e.f.g.h.i", "$JS.ACK.RESULTS.reader.1.35"} {
		if got, err := readPlace(&nats.Msg{Reply: reply, Sub: new(nats.Subscription)}); err == nil {
			t.Errorf("%q: %+v, want an error", reply, got)
		}
	}
}

// TestBatch holds what is handed out to the order, the shards and the places of what was read.
func TestBatch(t *testing.T) {
	t.Parallel()
	q := &Queue{closing: t.Context()}
	q.floors = newFloors(q)
	given := make(map[int][]shard.Delivery)
	owners := make([]*owner, 4)
	for i := range owners {
		owners[i] = &owner{shard: i, next: 1, handle: func(d shard.Delivery) { given[i] = append(given[i], d) }}
	}
	owners[1].next, owners[2].left = 4, true
	var b batch
	for i, number := range []int{0, 1, 2, 1, 0, 1, 9} { // with sequences 1 to 7
		at := floor{Sequence: uint64(i + 1)}
		b.add(number, engine.Result{Shard: number, Sequence: at.Sequence}, at)
	}
	b.pass(0, floor{Sequence: 8})
	b.deliver(q, owners)
	if len(given[0]) != 1 || len(given[1]) != 1 || len(given[2]) != 0 || len(given[3]) != 0 {
		t.Fatalf("given %v, want one delivery to each of the shards 0 and 1", given)
	}
	if got := given[0][0].Results; len(got) != 2 || got[0].Sequence != 1 || got[1].Sequence != 5 {
		t.Errorf("shard 0 was given %+v, want 1 and 5", got)
	}
	if got := given[1][0].Results; len(got) != 2 || got[0].Sequence != 4 || got[1].Sequence != 6 {
		t.Errorf("shard 1 was given %+v, want 4 and 6: it begins at 4", got)
	}
	b.add(0, engine.Result{Sequence: 9}, floor{Sequence: 9})
	b.deliver(q, owners)
	if len(given[0]) != 2 || len(given[1]) != 1 || given[0][1].Results[0].Sequence != 9 {
		t.Errorf("given %v after one more result of shard 0", given)
	}
}

// TestFloorPassesCopies holds the floor behind what is unacknowledged, and lets it continue over copies behind it, which
// will never be acknowledged.
func TestFloorPassesCopies(t *testing.T) {
	t.Parallel()
	q := &Queue{closing: t.Context()}
	q.floors = newFloors(q)
	q.floors.armed = true // nothing is to be written
	reached := func(want uint64) {
		t.Helper()
		if got := q.floors.known[0].Sequence; got != want {
			t.Errorf("the floor is %d, want %d", got, want)
		}
	}
	var deliveries []shard.Delivery
	o := &owner{next: 1, handle: func(d shard.Delivery) { deliveries = append(deliveries, d) }}
	results := func(sequences ...uint64) (all []engine.Result) {
		for _, sequence := range sequences {
			all = append(all, engine.Result{Sequence: sequence})
		}
		return all
	}
	o.deliver(q, nil, floor{Sequence: 2}) // a copy, and nothing was given before
	reached(2)
	o.deliver(q, results(3), floor{Sequence: 3})
	o.deliver(q, results(5), floor{Sequence: 5})
	o.deliver(q, nil, floor{Sequence: 7}) // a copy behind what is unacknowledged
	reached(2)
	acknowledge := func(i int) {
		t.Helper()
		if err := deliveries[i].Ack(); err != nil {
			t.Fatal(err)
		}
	}
	acknowledge(0)
	reached(3)
	acknowledge(1)
	reached(7)
	acknowledge(0)
	reached(7)
}

// TestReaderBeginsWhereItMust has shards join one after the other: what is done with is not read again on their behalf,
// however old the floor of a shard is that nothing happens in.
func TestReaderBeginsWhereItMust(t *testing.T) {
	t.Parallel()
	server := startServer(t, t.TempDir(), "")
	t.Cleanup(func() { shutdown(t, server) })
	q := connect(t, Config{Server: server})
	ctx, cancel := context.WithCancel(t.Context())
	var reading sync.WaitGroup
	defer reading.Wait()
	defer cancel()
	given := make(chan engine.Result, 100)
	read := func(number int) {
		reading.Go(func() {
			err := q.Results(ctx, number, func(d shard.Delivery) {
				for _, result := range d.Results {
					given <- result
				}
			})
			if err != nil {
				t.Errorf("results: %v", err)
			}
		})
	}
	report := func(number int, run string) {
		t.Helper()
		if _, err := q.Claim(t.Context(), engine.Result{Kind: engine.ResultStarted, Run: run, Attempt: 1, Shard: number}); err != nil {
			t.Fatal(err)
		}
		select {
		case got := <-given:
			if got.Run != run {
				t.Fatalf("got %s, want %s", got.Run, run)
			}
		case <-time.After(30 * time.Second):
			t.Fatalf("%s was not delivered", run)
		}
	}
	read(1)
	read(2) // in which nothing happens
	for i := range 20 {
		report(1, fmt.Sprintf("first-%d", i))
	}
	read(3)
	report(3, "second")
	read(4) // nothing here either, ever
	stream, err := q.js.Stream(t.Context(), q.names.results)
	if err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(30 * time.Second)
	for begins := uint64(0); begins == 0; {
		consumers := stream.ListConsumers(t.Context())
		for info := range consumers.Info() {
			if len(info.Config.FilterSubjects) == 4 {
				begins = info.Config.OptStartSeq
			}
		}
		if err := consumers.Err(); err != nil {
			t.Fatal(err)
		}
		if time.Now().After(deadline) {
			t.Fatal("no consumer for four shards was made")
		}
		if begins != 0 && begins != 22 {
			t.Errorf("the session of four shards begins at %d, want 22: what is behind the last result", begins)
		}
	}
}

// TestGap ends a session at the first message that was not delivered.
func TestGap(t *testing.T) {
	t.Parallel()
	q := &Queue{log: testLog(t)}
	s := &session{q: q}
	message := func(delivered int) *nats.Msg {
		return &nats.Msg{Subject: "results.1.run.1", Reply: fmt.Sprintf("$JS.ACK.RESULTS.reader.1.%d.%d.1.0", 10*delivered, delivered), Data: []byte("{}")}
	}
	for _, delivered := range []int{3, 4} {
		if err := s.take(message(delivered)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.take(message(6)); !errors.Is(err, errStale) {
		t.Errorf("got %v, want errStale", err)
	}
	if s.position != 40 || len(s.batch.results) != 2 {
		t.Errorf("at %d with %d results, want 40 with 2", s.position, len(s.batch.results))
	}
}
