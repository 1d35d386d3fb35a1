package watch

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/notify"
	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/store/memory"
)

// installation is what the watches of a test look at.
type installation struct {
	*testing.T
	store *memory.Store
	began time.Time

	mu       sync.Mutex
	present  []engine.Presence
	leaving  []func(string)
	owners   [engine.Shards]string
	found    Ledger
	rules    spec.Alerts
	fails    int // so many times telling fails
	notified map[string]engine.Incident
	order    []string
}

func newInstallation(t *testing.T) *installation {
	i := &installation{T: t, store: memory.New(), began: time.Now(), notified: map[string]engine.Incident{}}
	i.rules = spec.Alerts{
		On: []spec.Alert{notify.AlertExecutorSilent, notify.AlertShardUnowned, notify.AlertLedger, spec.AlertRecovered}, To: []string{"ops"},
	}
	for n := range i.owners {
		i.owners[n] = "a"
	}
	return i
}

func (i *installation) Executors(context.Context) ([]engine.Presence, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for n := range i.present {
		i.present[n].Seen = time.Now()
	}
	return slices.Clone(i.present), nil
}

func (i *installation) WatchLeaving(ctx context.Context, left func(string)) error {
	i.mu.Lock()
	i.leaving = append(i.leaving, left)
	i.mu.Unlock()
	<-ctx.Done()
	return nil
}

// tell is what a notifier does: the same thing twice is once.
func (i *installation) tell(_ context.Context, incident engine.Incident) error {
	<-time.After(time.Second) // as a store may
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.fails > 0 {
		i.fails--
		return errors.New("the store is down")
	}
	what := "begins "
	key := what + incident.Key()
	if !incident.Over.IsZero() {
		what = "over "
		key = what + incident.Key() + incident.Over.String() // what a delivery is identified by
	}
	if _, before := i.notified[key]; !before {
		i.notified[key] = incident
		i.order = append(i.order, what+incident.ID)
	}
	return nil
}

type records = engine.Records // embedded by a name that is none of its methods

// slowReads answers late, so that nodes act at once on what they have read before.
type slowReads struct{ records }

func (s slowReads) Records(ctx context.Context, filter engine.RecordFilter) ([]engine.Record, error) {
	found, err := s.records.Records(ctx, filter)
	<-time.After(time.Second)
	return found, err
}

// start runs a watch until stop is called.
func (i *installation) start() (stop func()) { return i.startAhead(0) }

// startAhead is start on a node whose clock is ahead.
func (i *installation) startAhead(ahead time.Duration) (stop func()) {
	w := New(Config{
		Records: slowReads{i.store}, Queue: i, LeaseTTL: 5 * time.Second, Notify: i.tell, Now: func() time.Time { return time.Now().Add(ahead) }, Log: slog.New(slog.NewTextHandler(i.Output(), nil)),
		Owners: func(context.Context) ([engine.Shards]string, error) {
			i.mu.Lock()
			defer i.mu.Unlock()
			return i.owners, nil
		},
		Ledger: func() Ledger {
			i.mu.Lock()
			defer i.mu.Unlock()
			return i.found
		},
		Rules: func(context.Context, string) (spec.Alerts, error) {
			i.mu.Lock()
			defer i.mu.Unlock()
			return i.rules, nil
		},
	})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := w.Run(ctx); err != nil {
			i.Error(err)
		}
	}()
	stop = sync.OnceFunc(func() {
		cancel()
		<-done
	})
	i.Cleanup(stop)
	return stop
}

func (i *installation) change(do func()) {
	i.mu.Lock()
	do()
	i.mu.Unlock()
}

func (i *installation) come(id, host string) {
	i.change(func() { i.present = append(i.present, engine.Presence{ID: id, Host: host, Since: time.Now()}) })
}

// vanish ends a presence; withdrawn reports whether the executor stopped in good order.
func (i *installation) vanish(id string, withdrawn bool) {
	i.change(func() {
		i.present = slices.DeleteFunc(i.present, func(p engine.Presence) bool { return p.ID == id })
		for _, left := range i.leaving {
			if withdrawn {
				left(id)
			}
		}
	})
}

func (i *installation) want(what string, want ...string) {
	i.Helper()
	i.mu.Lock()
	defer i.mu.Unlock()
	if !slices.Equal(i.order, want) {
		i.Errorf("%s: told %q, want %q", what, i.order, want)
	}
}

func pass(d time.Duration) {
	<-time.After(d) // of the bubble
	synctest.Wait()
}

func TestVanishedExecutorIsNotifiedOnceByAllNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := newInstallation(t)
		for n := range 3 {
			i.startAhead(time.Duration(n) * 10 * time.Millisecond)
		}
		i.come("x1", "host-1")
		i.come("x2", "host-2")
		pass(time.Minute)
		i.vanish("x1", false)
		pass(10 * time.Second)
		i.want("before it is certain")
		pass(time.Hour)
		i.want("after it vanished", "begins x1-executor_silent")
		i.come("x3", "host-1")
		pass(time.Minute)
		i.want("after another one took its place", "begins x1-executor_silent", "over x1-executor_silent")
		left, err := i.store.Records(t.Context(), engine.RecordFilter{Kind: kind, Prefix: incidentPrefix, Limit: 10})
		if err != nil || len(left) > 0 {
			t.Errorf("left: %v, %v", left, err)
		}
		for key, incident := range i.notified {
			if since := incident.Since.Sub(i.began); incident.Namespace != notify.Installation || !incident.Recovered || since > 65*time.Second {
				t.Errorf("%s: %+v, after %s", key, incident, since)
			}
		}
	})
}

func TestExecutorThatStopsInGoodOrderIsNotSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := newInstallation(t)
		i.start()
		i.start()
		for _, id := range []string{"stopped", "drained", "replaced"} {
			i.come(id, "host-"+id)
		}
		pass(time.Minute)
		i.vanish("stopped", true)
		i.change(func() {
			i.present[slices.IndexFunc(i.present, func(p engine.Presence) bool { return p.ID == "drained" })].Draining = true
		})
		pass(6 * time.Second)
		i.vanish("drained", false)
		i.vanish("replaced", false)
		pass(time.Second)
		i.come("new", "host-replaced")
		pass(time.Hour)
		i.want("after all went")
	})
}

// What a node saw is known to the one that takes its place.
func TestExecutorThatVanishesWhileNoNodeWatchesIsNotified(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := newInstallation(t)
		stop := i.start()
		i.come("x1", "host-1")
		pass(time.Minute)
		stop()
		i.vanish("x1", false)
		pass(time.Minute)
		i.change(func() { i.fails = 3 })
		i.start()
		pass(5 * time.Minute)
		i.want("after the node came back", "begins x1-executor_silent")
		i.change(func() { i.rules = spec.Alerts{} })
		pass(time.Minute)
		i.come("x1", "host-1")
		pass(time.Minute)
		i.want("after the rules ask for nothing more", "begins x1-executor_silent")
		left, err := i.store.Records(t.Context(), engine.RecordFilter{Kind: kind, Limit: 10})
		if err != nil || len(left) > 0 {
			t.Errorf("left: %v, %v", left, err)
		}
	})
}

func TestShardsWithoutAnOwnerAreNotifiedAfterTwoLeases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := newInstallation(t)
		i.start()
		pass(time.Minute)
		i.change(func() { i.owners[3] = "" })
		pass(9 * time.Second) // an engine died, and another one takes over
		i.change(func() { i.owners[3] = "b" })
		pass(time.Minute)
		i.want("after it was taken over")
		i.change(func() { i.owners[3], i.owners[5] = "", "" })
		pass(20 * time.Second)
		i.want("without an owner", "begins shards-shard_without_owner")
		i.change(func() { i.owners[3] = "b" })
		pass(time.Minute)
		i.want("one of two is taken", "begins shards-shard_without_owner")
		i.change(func() { i.owners[5] = "b"; i.fails = 2 })
		pass(time.Minute)
		i.want("both are taken", "begins shards-shard_without_owner", "over shards-shard_without_owner")
	})
}

// A node that has just started has looked at no slot, and does not end what another one has found.
func TestLedgerDifferenceEndsAfterACompleteCheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := newInstallation(t)
		stop := i.start()
		i.change(func() { i.found = Ledger{Found: 2, Words: "nightly at 03:00", Through: time.Now(), At: time.Now()} })
		pass(time.Minute)
		i.want("found", "begins ledger-ledger_difference")
		stop()
		i.change(func() { i.found = Ledger{} })
		i.start()
		pass(time.Minute)
		i.want("before all was looked at", "begins ledger-ledger_difference")
		i.change(func() { i.found = Ledger{Through: time.Now(), At: time.Now()} })
		pass(time.Minute)
		i.want("all was looked at", "begins ledger-ledger_difference", "over ledger-ledger_difference")
	})
}

// An executor that is silent for a week counts as removed: nothing is said of its end.
func TestExecutorThatIsSilentForAWeekIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := newInstallation(t)
		i.start()
		i.come("x1", "host-1")
		pass(time.Minute)
		i.vanish("x1", false)
		pass(forgotten - time.Hour)
		i.want("within the week", "begins x1-executor_silent")
		pass(2 * time.Hour)
		i.come("x1", "host-1")
		pass(time.Hour)
		i.want("after it", "begins x1-executor_silent")
		if open, err := Incidents(t.Context(), i.store); err != nil || len(open) > 0 {
			t.Errorf("open are %+v, %v", open, err)
		}
	})
}

func TestIncidentsOfTheInstallationAreListedUntilTheyAreOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := newInstallation(t)
		i.start()
		i.come("x1", "host-1")
		pass(time.Minute)
		i.change(func() { i.owners[3] = "" })
		i.vanish("x1", false)
		pass(time.Minute)
		open, err := Incidents(t.Context(), i.store)
		if err != nil || len(open) != 2 || open[0].Since.Before(open[1].Since) || open[0].Reason == "" {
			t.Errorf("open are %+v, %v", open, err)
		}
		i.change(func() { i.owners[3] = "b" })
		i.come("x1", "host-1")
		pass(time.Minute)
		if open, err := Incidents(t.Context(), i.store); err != nil || len(open) > 0 {
			t.Errorf("open are %+v, %v", open, err)
		}
	})
}
