package send

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/notify"
	"github.com/tidewheel/tidewheel/secret"
	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/store/memory"
)

type noRuns struct{}

func (noRuns) Run(context.Context, string) (engine.Run, error) {
	return engine.Run{}, engine.ErrNotFound
}

// outbox is a book with targets that are real servers.
type outbox struct {
	*testing.T
	store      *memory.Store
	vault      *secret.Vault
	book       *notify.Book
	hook, mail *receiver
	wires      map[notify.TargetKind]notify.Wire
	commands   chan func() // run outside of the bubble, as their channels are
	done       chan struct{}
}

// newOutbox starts the servers. They and what serves them are outside of the bubble that the sender then runs in: there, time passes
// only while nothing waits for the network.
func newOutbox(t *testing.T) *outbox {
	t.Helper()
	store := memory.New()
	key, err := secret.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	ring, err := secret.NewRing(t.Context(), func(context.Context) ([]byte, error) { return key.Text(), nil })
	if err != nil {
		t.Fatal(err)
	}
	vault := secret.NewVault(store, ring, time.Now)
	if _, err := vault.Establish(t.Context()); err != nil {
		t.Fatal(err)
	}
	o := &outbox{T: t, store: store, vault: vault, book: notify.NewBook(store, vault, time.Now), commands: make(chan func()), done: make(chan struct{})}
	var signing string
	o.hook = newReceiver(t, webhookReceiver(&signing))
	o.mail = newReceiver(t, mailReceiver)
	_, _, signing, err = o.book.SetTarget(t.Context(), notify.Target{
		Namespace: "default", Name: "hook", Kind: notify.TargetWebhook, URL: "http://" + o.hook.address + "/in?key=1", AllowPrivate: true,
	}, "ada")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := o.book.SetTarget(t.Context(), notify.Target{
		Namespace: "default", Name: "mail", Kind: notify.TargetEmail, Addresses: []string{"ops@example.com", "ada@example.com"},
	}, "ada"); err != nil {
		t.Fatal(err)
	}
	config, err := ParseMailURL("smtp://" + o.mail.address)
	if err != nil {
		t.Fatal(err)
	}
	config.From, config.Agent = "Tidewheel <tidewheel@example.com>", "tidewheel/test"
	mail, err := NewMail(config)
	if err != nil {
		t.Fatal(err)
	}
	o.wires = map[notify.TargetKind]notify.Wire{
		notify.TargetWebhook: NewHTTP("tidewheel/test", nil, time.Now), notify.TargetEmail: mail,
	}
	var outside sync.WaitGroup
	outside.Go(func() {
		for command := range o.commands {
			command()
			o.done <- struct{}{}
		}
	})
	t.Cleanup(func() {
		close(o.commands)
		outside.Wait()
	})
	return o
}

// outside runs something outside of the bubble, and waits for it.
func (o *outbox) outside(do func()) {
	o.commands <- do
	<-o.done
}

// start runs a sender until stop is called.
func (o *outbox) start(wires map[notify.TargetKind]notify.Wire) (sender *notify.Sender, stop func()) {
	return o.startOn(o.book, wires)
}

func (o *outbox) startOn(book *notify.Book, wires map[notify.TargetKind]notify.Wire) (sender *notify.Sender, stop func()) {
	sender = notify.NewSender(book, notify.SenderConfig{
		Wires: wires, Runs: noRuns{}, Count: func(string) {}, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := sender.Run(ctx); err != nil {
			o.Error(err)
		}
	}()
	return sender, func() {
		cancel()
		<-done
	}
}

func anIncident(n int) engine.Incident {
	now := time.Now().UTC()
	job := fmt.Sprint("job-", n)
	return engine.Incident{
		ID: engine.IncidentID("uid-"+job, "", spec.AlertFailed), Namespace: "default", UID: "uid-" + job, Job: job, Alert: spec.AlertFailed,
		Since: now, Latest: now, Count: 1, Run: job + "-run", Reason: "exit code 1", To: []string{"hook", "mail"}, Recovered: n%2 == 0,
	}
}

// all lists the deliveries by id.
func (o *outbox) all() map[string]notify.Delivery {
	o.Helper()
	all := map[string]notify.Delivery{}
	for after := ""; ; {
		some, next, err := o.book.Deliveries(o.Context(), notify.DeliveryFilter{Namespace: "default", After: after, Limit: 500})
		if err != nil {
			o.Fatal(err)
		}
		for i := range some {
			all[some[i].ID] = some[i]
		}
		if next == "" {
			return all
		}
		after = next
	}
}

func (o *outbox) check(exactly bool) {
	o.Helper()
	for name, r := range map[string]*receiver{"hook": o.hook, "mail": o.mail} {
		counts := r.count()
		want, repeated := 0, 0
		for id, d := range o.all() {
			if d.Target != name {
				continue
			}
			want++
			switch n := counts[id]; {
			case d.State != notify.StateDelivered:
				o.Errorf("%s: %s is %s after %d tries: %+v", name, id, d.State, d.Tries, d.Attempts[max(0, len(d.Attempts)-1):])
			case n == 0:
				o.Errorf("%s: %s is delivered, and never arrived", name, id)
			case n > 1:
				repeated++
			}
		}
		if want != 300 { // each of 200 begins, and the end of half of them is notified
			o.Errorf("%s: there are %d deliveries, want 300", name, want)
		}
		if len(counts) != want {
			o.Errorf("%s: %d ids arrived, want %d", name, len(counts), want)
		}
		if exactly && repeated > 0 {
			o.Errorf("%s: %d messages arrived more than once", name, repeated)
		}
		if len(r.wrong) > 0 {
			o.Errorf("%s: wrong messages: %q", name, r.wrong[0])
		}
		o.Logf("%s: %d messages, %d of them arrived more than once", name, want, repeated)
	}
}

// settle waits until nothing waits to be sent, and long enough for what would be sent a second time. A sender looks every
// two seconds at all that there is, so hours of this would take minutes.
func (o *outbox) settle() {
	o.Helper()
	const between = 90 * time.Minute // two tries, at most
	for waited := time.Duration(0); waited < between+time.Minute; waited += time.Minute {
		<-time.After(time.Minute)
		waiting := 0
		for _, d := range o.all() {
			if d.State == notify.StateWaiting {
				waiting++
			}
		}
		if waiting == 0 {
			break
		}
	}
	<-time.After(5 * time.Minute)
}

// While both receivers are up and nothing crashes, each message arrives exactly once.
func TestEachMessageArrivesOnceWhileAllGoesWell(t *testing.T) {
	o := newOutbox(t)
	synctest.Test(t, func(t *testing.T) {
		sender, stop := o.start(o.wires)
		notifier := notify.NewNotifier(o.book, sender.Wake, func(string) {}, slog.New(slog.DiscardHandler))
		for n := range 200 {
			i := anIncident(n)
			tell(t, notifier, i)
			<-time.After(time.Second)
			i.Over, i.Notified, i.Ended = time.Now().UTC(), true, "run 2 succeeded"
			tell(t, notifier, i)
		}
		o.settle()
		stop()
	})
	o.check(true)
}

func tell(t *testing.T, notifier *notify.Notifier, i engine.Incident) {
	t.Helper()
	if err := notifier.Notify(t.Context(), i); err != nil {
		t.Fatal(err)
	}
}

// afterwards is a wire that notices what is sent though it was recorded as delivered.
type afterwards struct {
	notify.Wire
	o *outbox

	mu   sync.Mutex
	late []string
}

func (a *afterwards) Send(ctx context.Context, letter *notify.Letter) (string, error) {
	if d, err := a.o.book.Delivery(ctx, "default", letter.ID); err != nil || d.State != notify.StateWaiting {
		a.mu.Lock()
		a.late = append(a.late, letter.ID+" "+d.State)
		a.mu.Unlock()
	}
	return a.Wire.Send(ctx, letter)
}

type records = engine.Records // embedded by a name that is none of its methods

// mortal is the store as one process sees it. Once that is killed, it reads and writes nothing more.
type mortal struct {
	records
	dead atomic.Bool
}

var errKilled = errors.New("this process was killed")

func (m *mortal) InsertRecord(ctx context.Context, record engine.Record) error {
	if m.dead.Load() {
		return errKilled
	}
	return m.records.InsertRecord(ctx, record)
}

func (m *mortal) ReplaceRecord(ctx context.Context, record engine.Record) error {
	if m.dead.Load() {
		return errKilled
	}
	return m.records.ReplaceRecord(ctx, record)
}

func (m *mortal) DeleteRecord(ctx context.Context, kind, key string, revision int64) error {
	if m.dead.Load() {
		return errKilled
	}
	return m.records.DeleteRecord(ctx, kind, key, revision)
}

// Receivers are killed and started again, break off and refuse, and senders are stopped and started, at random, while 200 incidents
// begin and end. Each message arrives, under the id of its delivery, and none is sent once it is recorded as delivered.
func TestEachMessageArrivesWhateverIsKilled(t *testing.T) {
	const seeds = 2
	for seed := range uint64(seeds) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			o := newOutbox(t)
			random := rand.New(rand.NewPCG(seed, 15))
			for _, r := range []*receiver{o.hook, o.mail} {
				r.random = rand.New(rand.NewPCG(seed, uint64(len(r.address))))
			}
			wires := map[notify.TargetKind]notify.Wire{}
			var watched []*afterwards
			for kind, wire := range o.wires {
				a := &afterwards{Wire: wire, o: o}
				watched = append(watched, a)
				wires[kind] = a
			}
			synctest.Test(t, func(t *testing.T) {
				var process *mortal
				var sender *notify.Sender
				var stop func()
				killed := func() {}
				begin := func() {
					process = &mortal{records: o.store}
					sender, stop = o.startOn(notify.NewBook(process, o.vault, time.Now), wires)
				}
				begin()
				wake := func() { sender.Wake() }
				for n := range 200 {
					i := anIncident(n)
					tell(t, notify.NewNotifier(o.book, wake, func(string) {}, slog.New(slog.DiscardHandler)), i)
					<-time.After(time.Duration(random.IntN(5000)) * time.Millisecond)
					switch random.IntN(8) {
					case 0:
						o.outside(o.hook.stop)
					case 1:
						o.outside(o.mail.stop)
					case 2:
						o.outside(func() { o.hook.restart() })
					case 3:
						o.outside(func() { o.mail.restart() })
					case 4:
						stop()
						begin()
					case 5:
						process.dead.Store(true) // while it sends, perhaps
						killed()                 // the previous one; it has sent what it was sending
						killed = stop
						begin()
					}
					i.Over, i.Notified, i.Ended = time.Now().UTC(), true, "run 2 succeeded"
					tell(t, notify.NewNotifier(o.book, wake, func(string) {}, slog.New(slog.DiscardHandler)), i)
				}
				o.outside(func() {
					for _, r := range []*receiver{o.hook, o.mail} {
						r.restart()
						r.takeAll()
					}
				})
				o.settle()
				stop()
				killed()
			})
			o.check(false)
			for _, a := range watched {
				if len(a.late) > 0 {
					t.Errorf("sent after it had ended: %s", strings.Join(a.late, ", "))
				}
			}
		})
	}
}

// takeAll ends the faults.
func (r *receiver) takeAll() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.random = nil
}

// restart starts a killed server on the port that it had.
func (r *receiver) restart() {
	r.mu.Lock()
	running := r.kill != nil
	r.mu.Unlock()
	if !running {
		r.start(r.address)
	}
}
