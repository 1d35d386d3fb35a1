package jetstream

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/core"
	"github.com/tidewheel/tidewheel/executor"
	"github.com/tidewheel/tidewheel/spec"
)

func labelled(run string, runsOn map[string]string) *engine.Task {
	return &engine.Task{Run: run, Attempt: 1, Tier: spec.TierLight, Class: spec.ClassStandard, RunsOn: runsOn, QueuedAt: time.Now().UTC()}
}

func publishNow(t *testing.T, q *Queue, task *engine.Task) error {
	t.Helper()
	done := make(chan error, 1)
	q.Publish(task, func(err error) { done <- err })
	return <-done
}

// All pools have consumers of their own, at which executors stand: there must be an end to them.
func TestNoMorePoolsThanThereMayBe(t *testing.T) {
	t.Parallel()
	server := startServer(t, t.TempDir(), "")
	t.Cleanup(func() { shutdown(t, server) })
	q := connect(t, Config{Server: server})
	set := func(i int) map[string]string { return map[string]string{"set": fmt.Sprint(i)} }
	for i := range maxPools {
		if err := publishNow(t, q, labelled(fmt.Sprintf("run-%d", i), set(i))); err != nil {
			t.Fatal(err)
		}
	}
	err := publishNow(t, q, labelled("one-more", set(maxPools)))
	if many := (*tooManyPoolsError)(nil); !errors.As(err, &many) || !strings.Contains(err.Error(), "64 different tiers and sets of labels") {
		t.Fatalf("one pool too many: %v", err)
	}
	if err := publishNow(t, q, labelled("again", set(3))); err != nil {
		t.Errorf("a pool that there is: %v", err)
	}
	if err := publishNow(t, q, labelled("plain", nil)); err != nil {
		t.Errorf("without labels: %v", err)
	}
	// One that is empty and was not used for a while makes room.
	if _, err := q.Revoke(t.Context(), core.Revoke{Run: "run-7", Attempt: 1, Tier: "light", Class: "standard", RunsOn: set(7)}); err != nil {
		t.Fatal(err)
	}
	table, revision, err := q.readPools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i := range table.Pools {
		table.Pools[i].Used = time.Now().Add(-2 * poolKept)
	}
	if err := q.writePools(t.Context(), table, revision); err != nil {
		t.Fatal(err)
	}
	q.pools.forget() // it would look for room again after a moment
	if err := publishNow(t, q, labelled("one-more", set(maxPools))); err != nil {
		t.Errorf("there is room: %v", err)
	}
	if err := q.SweepPools(t.Context(), time.Now()); err != nil {
		t.Fatal(err)
	}
	names, err := q.taskConsumers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if want := 2 * (maxPools + len(tiers)); len(names) != want {
		t.Errorf("%d consumers are left, want %d", len(names), want)
	}
	if gone := taskConsumer(poolToken(spec.TierLight, set(7)), "standard"); slices.Contains(names, gone) {
		t.Errorf("consumer %s of a pool that is gone was left", gone)
	}
}

// Consumers may be lost, with a server or because a person deletes them: executors that served them make them again.
func TestPoolWhoseConsumersAreLost(t *testing.T) {
	t.Parallel()
	server := startServer(t, t.TempDir(), "")
	t.Cleanup(func() { shutdown(t, server) })
	q := connect(t, Config{Server: server})
	runsOn := map[string]string{"gpu": "true"}
	given := make(chan string, 10)
	pulled := make(chan error, 1)
	go func() {
		config := executor.PullConfig{Executor: "x", Tiers: []spec.Tier{spec.TierLight}, Slots: 2, Labels: runsOn}
		pulled <- q.Pull(t.Context(), config, func(d executor.Delivery) {
			task, err := d.Task()
			if err == nil {
				err = d.Ack()
			}
			if err != nil {
				t.Error(err)
			}
			given <- task.Run
		})
	}()
	for i, lose := range []bool{false, true, false} {
		if lose {
			for _, class := range classes {
				q.removeTaskConsumer(t.Context(), taskConsumer(poolToken(spec.TierLight, runsOn), string(class)))
			}
		}
		run := fmt.Sprintf("run-%d", i)
		if err := publishNow(t, q, labelled(run, runsOn)); err != nil {
			t.Fatal(err)
		}
		select {
		case got := <-given:
			if got != run {
				t.Errorf("got %s, want %s", got, run)
			}
		case err := <-pulled:
			t.Fatal(err)
		case <-time.After(time.Minute):
			t.Fatalf("%s was not delivered", run)
		}
	}
}

// With one free slot, a class with several sources must still ask one of them, even if it expects nothing from any.
func TestSpreadAlwaysAsksOneSource(t *testing.T) {
	t.Parallel()
	server := startServer(t, t.TempDir(), "")
	t.Cleanup(func() { shutdown(t, server) })
	q := connect(t, Config{Server: server})
	for n := 1; n <= 7; n++ {
		for standing := range 1 << 3 {
			if standing == 1<<3-1 {
				continue // all stand: then no source is to be asked
			}
			for turn := range 3 {
				p := newPuller(q, executor.PullConfig{Slots: 8, Tiers: []spec.Tier{spec.TierLight}, PremiumWeight: 4}, func(executor.Delivery) {})
				l := &lanes{turn: turn}
				for i := range 3 {
					s := &source{index: i, subject: "nowhere"}
					if standing&(1<<i) != 0 {
						s.asked, s.doubt = 1, 3
					}
					l.sources = append(l.sources, s)
				}
				p.spread(l, n, time.Now())
				asked := 0
				for _, s := range l.sources {
					if s.noWait {
						asked += s.asked
					}
				}
				if asked < 1 || asked > n {
					t.Errorf("%d slots, standing %03b, turn %d: %d tasks were asked for", n, standing, turn, asked)
				}
			}
		}
	}
}

// In a cluster of NATS servers, and by several nodes that publish at once, a pool is opened as on one.
func TestPoolInACluster(t *testing.T) {
	t.Parallel()
	first := startMember(t, "one", &url.URL{Scheme: "nats", Host: "127.0.0.1:1"}) // without a route it waits for one
	route := &url.URL{Scheme: "nats", Host: first.ClusterAddr().String()}
	second, third := startMember(t, "two", route), startMember(t, "three", route)
	var nodes []*Queue
	for _, server := range []*natsserver.Server{first, second, third} {
		nodes = append(nodes, connect(t, Config{URL: server.ClientURL(), Replicas: 3}))
	}
	runsOn := map[string]string{"gpu": "true"}
	const each = 20
	errs := make(chan error, len(nodes)*each)
	for i, node := range nodes {
		for n := range each {
			node.Publish(labelled(fmt.Sprintf("run-%d-%d", i, n), runsOn), func(err error) { errs <- err })
		}
	}
	for range len(nodes) * each {
		if err := <-errs; err != nil {
			t.Fatal(err)
		}
	}
	given := make(chan string, len(nodes)*each)
	var pulling sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	defer pulling.Wait()
	defer cancel()
	for _, node := range nodes[1:] {
		pulling.Go(func() {
			config := executor.PullConfig{Executor: "x", Tiers: []spec.Tier{spec.TierLight}, Slots: 4, Labels: runsOn}
			if err := node.Pull(ctx, config, func(d executor.Delivery) {
				task, err := d.Task()
				if err == nil {
					err = d.Ack()
				}
				if err != nil {
					t.Error(err)
				}
				given <- task.Run
			}); err != nil {
				t.Error(err)
			}
		})
	}
	seen := make(map[string]bool)
	for range len(nodes) * each {
		select {
		case run := <-given:
			if seen[run] {
				t.Errorf("%s came twice", run)
			}
			seen[run] = true
		case <-time.After(time.Minute):
			t.Fatalf("%d runs were delivered", len(seen))
		}
	}
}
