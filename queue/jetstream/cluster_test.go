package jetstream

import (
	"errors"
	"fmt"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/executor"
	"github.com/tidewheel/tidewheel/spec"
)

// startMember starts one of the servers of a cluster; the first has no routes.
func startMember(t testing.TB, name string, routes ...*url.URL) *natsserver.Server {
	t.Helper()
	server, err := natsserver.NewServer(&natsserver.Options{
		ServerName: name, Host: "127.0.0.1", Port: natsserver.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoSigs: true, NoLog: true,
		Cluster: natsserver.ClusterOpts{Name: "tidewheel", Host: "127.0.0.1", Port: natsserver.RANDOM_PORT}, Routes: routes,
	})
	if err != nil {
		t.Fatal(err)
	}
	server.Start()
	t.Cleanup(func() { server.Shutdown(); server.WaitForShutdown() })
	if !server.ReadyForConnections(time.Minute) {
		t.Fatalf("%s does not start", name)
	}
	return server
}

// A cluster that has just been started, or that has lost a server, does not answer until it has chosen its leaders.
func TestConnectWaitsForAClusterToChooseItsLeader(t *testing.T) {
	t.Parallel()
	// One that cannot reach the others has no leader.
	first := startMember(t, "one", &url.URL{Scheme: "nats", Host: "127.0.0.1:1"})
	config := Config{URL: first.ClientURL(), Timeout: 300 * time.Millisecond, Replicas: 3, Logger: testLog(t)}
	type connected struct {
		queue *Queue
		err   error
	}
	done := make(chan connected, 1)
	go func() {
		config.Keys = testKeys
		q, err := Connect(t.Context(), config)
		done <- connected{q, err}
	}()
	select {
	case got := <-done:
		t.Fatalf("it did not wait: %v", got.err)
	case <-time.After(2 * config.Timeout): // long enough for the first question to be given up
	}
	route := &url.URL{Scheme: "nats", Host: first.ClusterAddr().String()}
	startMember(t, "two", route)
	startMember(t, "three", route)
	got := <-done
	if got.err != nil {
		t.Fatal(got.err)
	}
	got.queue.Close()
}

// The server that keeps a consumer may be lost without the connection, which is to another one. Then nothing ends the
// requests that stood there: the client must notice that the heartbeats for them stop.
func TestPullAsksAgainWithoutHeartbeats(t *testing.T) {
	t.Parallel()
	server := startServer(t, t.TempDir(), "")
	t.Cleanup(func() { shutdown(t, server) })
	q := connect(t, Config{Server: server})
	p := newPuller(q, executor.PullConfig{Slots: 8, Tiers: []spec.Tier{spec.TierLight}, PremiumWeight: 1}, func(executor.Delivery) {})
	beats := make(chan string, 64)
	sub, err := q.conn.Subscribe(p.inbox+".>", func(message *nats.Msg) {
		p.receive(message)
		if message.Header.Get("Status") == "100" {
			beats <- message.Subject
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = sub.Unsubscribe() }()
	p.fill()
	heard := map[string]bool{}
	for limit := time.After(time.Minute); len(heard) < len(p.sources); {
		select {
		case subject := <-beats: // both stand, and say so
			heard[subject] = true
		case <-limit:
			t.Fatalf("only %v are said to stand", heard)
		}
	}
	requests := func() (numbers []int) {
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, s := range p.sources {
			if !s.stands() {
				t.Errorf("nothing stands at %s", s.subject)
			}
			numbers = append(numbers, s.request)
		}
		return numbers
	}
	before := requests()
	p.expire(time.Now().Add(pullSilence - pullHeartbeat - time.Second))
	for i, number := range requests() {
		if number != before[i] {
			t.Errorf("request %d was given up although it was heard of", before[i])
		}
	}
	p.expire(time.Now().Add(pullSilence + time.Second))
	for i, number := range requests() {
		if number != before[i]+1 {
			t.Errorf("request %d was not heard of, and the last one is %d", before[i], number)
		}
	}
}

// startCluster starts three servers and connects to one of them.
func startCluster(t *testing.T) *Queue {
	t.Helper()
	first := startMember(t, "one", &url.URL{Scheme: "nats", Host: "127.0.0.1:1"})
	route := &url.URL{Scheme: "nats", Host: first.ClusterAddr().String()}
	startMember(t, "two", route)
	startMember(t, "three", route)
	return connect(t, Config{URL: first.ClientURL(), Replicas: 3})
}

// A cluster refuses a message on a subject on which another message is not agreed on yet. The other message may be the
// first try of the same: a sender that takes it for another sender's gives up an attempt, or a shard, of its own.
func TestARetryIsNotMistakenForAnotherSender(t *testing.T) {
	t.Parallel()
	q := startCluster(t)
	twice := func(do func() error) {
		t.Helper()
		var both sync.WaitGroup
		var errs [2]error
		for i := range errs {
			both.Go(func() { errs[i] = do() })
		}
		both.Wait()
		for _, err := range errs {
			if err != nil && !errors.Is(err, ErrUnavailable) {
				t.Error(err)
			}
		}
	}
	for i := range 50 {
		claim := engine.Result{Kind: engine.ResultStarted, Run: fmt.Sprintf("run%d", i), Attempt: 1, Shard: i, Executor: "me", Token: uint64(i + 1), At: now()}
		twice(func() error {
			_, err := q.Claim(t.Context(), claim)
			return err
		})
		revision, err := q.AcquireLease(t.Context(), i, "me", 0, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		twice(func() error {
			_, err := q.RenewLease(t.Context(), i, "me", revision, time.Minute)
			return err
		})
		key, holder := fmt.Sprintf("key%d", i), executor.LockHolder{Run: claim.Run, Attempt: 1, Executor: "me", Try: "once"}
		token, err := q.Lock(t.Context(), key, holder, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		var refreshed atomic.Uint64
		twice(func() error {
			next, err := q.Refresh(t.Context(), key, holder, token, time.Minute)
			for at := refreshed.Load(); next > at && !refreshed.CompareAndSwap(at, next); at = refreshed.Load() {
			} // each may have written it, one after the other
			return err
		})
		twice(func() error { return q.Unlock(t.Context(), key, refreshed.Load()) })
		if _, err := q.Lock(t.Context(), key, executor.LockHolder{Run: "next", Attempt: 1, Executor: "you"}, time.Minute); err != nil {
			t.Error(err)
		}
	}
}
