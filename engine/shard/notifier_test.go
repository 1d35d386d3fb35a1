package shard_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/core"
	"github.com/tidewheel/tidewheel/engine/shard"
	"github.com/tidewheel/tidewheel/spec"
)

// alerting is a machine with a notifier, and the running run of a job with an alert on failure.
func alerting(t *testing.T, shards ...int) *rig {
	config := shard.DefaultConfig()
	config.Core.Incidents = true
	r := beginWith(t, config, shards...)
	snapshot := job()
	snapshot.Job.Spec.Alerts = &spec.Alerts{On: []spec.Alert{spec.AlertFailed}, To: []string{"ops"}}
	snapshot.Task.Slot, snapshot.Task.RunAt = start.Add(time.Hour), start.Add(time.Hour)
	snapshot.Runs = []engine.Run{runningRun(slotRun(10))}
	r.know(snapshot)
	take[shard.Perform](r) // the running attempt is inspected
	r.empty()
	return r
}

func failed(run string) engine.Result {
	result, code := finished(run), 1
	result.Finish.Status, result.Finish.ExitCode = engine.StatusFailed, &code
	return result
}

// notifies returns the incidents that the notifier should get.
func notifies(r *rig) (ids []string) {
	r.actions = slices.DeleteFunc(r.actions, func(action shard.Action) bool {
		perform, _ := action.(shard.Perform)
		tell, is := perform.Effect.(core.Notify)
		if is {
			ids = append(ids, tell.ID)
		}
		return is
	})
	return ids
}

func TestAnIncidentIsNotifiedAfterItsCommit(t *testing.T) {
	r := alerting(t, home)
	r.results(r.seats[home], "receipt", failed(slotRun(10)))
	commit := take[shard.Commit](r)
	if got := notifies(r); len(got) > 0 || len(commit.Commits[0].Batch.Incidents) != 1 {
		t.Fatalf("before its commit %v is notified, and that has %d incidents", got, len(commit.Commits[0].Batch.Incidents))
	}
	if r.committed(commit, errUnknown); len(notifies(r)) > 0 {
		t.Error("the outcome of the commit is unknown, and it is notified")
	}
	r.wait(50 * time.Millisecond)
	r.committed(take[shard.Commit](r))
	if got := notifies(r); fmt.Sprint(got) != "[job-failed]" {
		t.Errorf("notified: %v", got)
	}
}

func TestAFencedOwnerNotifiesNothing(t *testing.T) {
	r := alerting(t, home)
	r.results(r.seats[home], "receipt", failed(slotRun(10)))
	r.committed(take[shard.Commit](r), fmt.Errorf("memory: %w", engine.ErrFenced))
	take[shard.Leave](r)
	if r.wait(time.Minute); len(notifies(r)) > 0 {
		t.Error("a fenced owner notifies of what it could not write")
	}
}

func TestATakeOverReadsIncidentsAndRulesBeforeAnythingElse(t *testing.T) {
	config := shard.DefaultConfig()
	config.Core.Incidents = true
	r := newRig(t, config)
	r.give(shard.Owned{Shards: []int{home, home + 1}})
	recovery := take[shard.Recover](r)
	since := start.Add(-time.Minute)
	of := func(uid string, number int) engine.Incident {
		return engine.Incident{
			ID: engine.IncidentID(uid, "", spec.AlertFailed), Shard: number, UID: uid, Alert: spec.AlertFailed, Since: since, Latest: since, Count: 1, To: []string{"ops"},
		}
	}
	known := of(uidIn(home, 2)[1], home)
	known.Notified = true
	r.give(shard.Recovered{
		Seats: recovery.Seats, Terms: []engine.Term{{Number: 1}, {Number: 1}}, Incidents: []engine.Incident{of("job", home), of(uidIn(home+1, 1)[0], home+1), known},
		Alerts: core.AlertRules{Namespaces: map[string]spec.Alerts{"default": {On: []spec.Alert{spec.AlertFailed}, To: []string{"all"}}}},
	})
	if got := notifies(r); len(got) != 2 || got[0] == got[1] {
		t.Errorf("notified again: %v", got)
	}
	snapshot := job() // which asks for nothing of its own
	snapshot.Runs = []engine.Run{runningRun(slotRun(10))}
	r.seats[home] = recovery.Seats[0]
	r.know(snapshot)
	r.results(r.seats[home], "receipt", failed(slotRun(10)))
	if batch := take[shard.Commit](r).Commits[0].Batch; len(batch.Incidents) != 1 || batch.Incidents[0].Count != 2 || batch.Incidents[0].To[0] != "all" {
		t.Errorf("the namespace asks for it: %+v", batch.Incidents)
	}
}

func TestRulesAreReadAgain(t *testing.T) {
	config := shard.DefaultConfig()
	config.Core.Incidents = true
	r := beginWith(t, config, home)
	snapshot := job()
	snapshot.Task.Slot, snapshot.Task.RunAt = start.Add(time.Hour), start.Add(time.Hour)
	snapshot.Runs = []engine.Run{runningRun(slotRun(10))}
	r.know(snapshot)
	r.wait(config.AlertsEvery)
	take[shard.ReadAlerts](r)
	r.give(shard.AlertsRead{Rules: core.AlertRules{Namespaces: map[string]spec.Alerts{"default": {On: []spec.Alert{spec.AlertFailed}, To: []string{"all"}}}}})
	r.settle()
	r.results(r.seats[home], "receipt", failed(slotRun(10)))
	if batch := take[shard.Commit](r).Commits[0].Batch; len(batch.Incidents) != 1 {
		t.Errorf("%+v", batch.Incidents)
	}
}

// mailbox is a notifier that keeps what it gets, and can be made to fail.
type mailbox struct {
	mu        sync.Mutex
	broken    bool
	unread    bool // the rules cannot be read
	store     shard.Store
	delivered []string
	asked     int
	under     int
	most      int // at one time
	takes     time.Duration
	early     bool // it got an incident that the store does not have
}

func (m *mailbox) Notify(ctx context.Context, incident engine.Incident) error {
	m.mu.Lock()
	m.under++
	m.most = max(m.most, m.under)
	m.mu.Unlock()
	<-time.After(m.takes)
	stored, err := m.store.Incidents(ctx, []int{incident.Shard}, "", 1000)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.under--
	m.asked++
	if err != nil || m.broken {
		return errors.Join(err, errors.New("it is out of order"))
	}
	m.early = m.early || !slices.ContainsFunc(stored, func(i engine.Incident) bool { return i.Key() == incident.Key() })
	word := incident.Key() + " begins"
	if !incident.Over.IsZero() {
		word = incident.Key() + " ends"
	}
	m.delivered = append(m.delivered, word)
	return nil
}

func (m *mailbox) AlertRules(context.Context) (map[string]spec.Alerts, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.unread {
		return nil, errors.New("not now")
	}
	return map[string]spec.Alerts{"default": {On: []spec.Alert{spec.AlertFailed, spec.AlertRecovered}, To: []string{"ops"}}}, nil
}

func (w *world) notifies(broken bool) *mailbox {
	m := &mailbox{store: w.store, broken: broken}
	w.notifier = m
	return m
}

func TestRunnerNotifiesUntilTheNotifierAccepts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 100*time.Millisecond)
		w.queue.failing = true
		mail := w.notifies(true)
		_, stop := w.start()
		w.create("job", func(j *spec.Job) { j.Every = spec.Duration(5 * time.Second) })
		pass(12 * time.Second)
		stop()
		if mail.asked < 3 || len(mail.delivered) != 0 {
			t.Errorf("asked %d times, notified %v", mail.asked, mail.delivered)
		}
		mail = w.notifies(false) // and another engine
		_, stop = w.start()
		pass(2 * time.Second)
		w.queue.mu.Lock()
		w.queue.failing = false
		w.queue.mu.Unlock()
		pass(10 * time.Second)
		stop()
		if len(mail.delivered) != 2 || mail.early || mail.delivered[0][:len(mail.delivered[0])-len("begins")] != mail.delivered[1][:len(mail.delivered[1])-len("ends")] {
			t.Errorf("notified %v, before it was durable: %v", mail.delivered, mail.early)
		}
		w.queue.work.Wait()
	})
}

func TestRunnerBoundsConcurrentNotifications(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 100*time.Millisecond)
		w.queue.failing = true
		mail := w.notifies(false)
		mail.takes = 3 * time.Second
		_, stop := w.start()
		for n := range 40 {
			w.create(fmt.Sprint("job", n), func(j *spec.Job) { j.Every = spec.Duration(time.Minute) })
		}
		pass(90 * time.Second)
		stop()
		if mail.most != 16 || len(mail.delivered) != 40 {
			t.Errorf("%d at one time, %d in all", mail.most, len(mail.delivered))
		}
		w.queue.work.Wait()
	})
}

// Without the rules of namespaces a failure would be notified to no one: a shard is not recovered before they are read.
func TestRunnerWaitsForTheRules(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 100*time.Millisecond)
		mail := w.notifies(false)
		mail.unread = true
		runner, stop := w.start()
		pass(5 * time.Second)
		select {
		case <-runner.Ready():
			t.Error("it is at work")
		default:
		}
		mail.mu.Lock()
		mail.unread = false
		mail.mu.Unlock()
		pass(5 * time.Second)
		<-runner.Ready()
		stop()
	})
}
