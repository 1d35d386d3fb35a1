package notify

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/store/memory"
)

// received is one try of a letter, as a target sees it.
type received struct {
	at      time.Time
	id      string
	target  string
	message Message
}

// aTarget takes letters of all kinds, and answers as the test says.
type aTarget struct {
	mu     sync.Mutex
	got    []received
	answer func(letter *Letter) error // nil: it takes all

	here, most map[string]int // letters that are being taken: to each target and "" for all, and the most at once
}

func (a *aTarget) Send(_ context.Context, letter *Letter) (string, error) {
	a.mu.Lock()
	a.got = append(a.got, received{time.Now(), letter.ID, letter.Target.Name, letter.Message})
	answer := a.answer
	for _, of := range []string{"", letter.Target.Name} {
		a.here[of]++
		a.most[of] = max(a.most[of], a.here[of])
	}
	a.mu.Unlock()
	defer func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.here[""]--
		a.here[letter.Target.Name]--
	}()
	if answer != nil {
		if err := answer(letter); err != nil {
			return "", err
		}
	}
	return "200 OK", nil
}

func (a *aTarget) answers(answer func(letter *Letter) error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.answer = answer
}

// took lists what was sent to a target, "" for all, as "type title" in order.
func (a *aTarget) took(target string) (texts []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, r := range a.got {
		if target == "" || r.target == target {
			texts = append(texts, r.message.Type+" "+r.message.Data.Title)
		}
	}
	return texts
}

// someRuns are runs by their ids.
type someRuns map[string]engine.Run

func (r someRuns) Run(_ context.Context, id string) (engine.Run, error) {
	if run, is := r[id]; is {
		return run, nil
	}
	return engine.Run{}, engine.ErrNotFound
}

// office is a book with a notifier and senders, in a bubble.
type office struct {
	*testing.T
	book     *Book
	store    *memory.Store
	notifier *Notifier
	target   *aTarget
	senders  []*Sender
	runs     someRuns

	mu     sync.Mutex
	counts map[string]int
	node   string // that senders are of
}

func newOffice(t *testing.T) *office {
	book, store := aBook(t)
	o := &office{T: t, book: book, store: store, target: &aTarget{here: map[string]int{}, most: map[string]int{}}, counts: map[string]int{}, runs: someRuns{}}
	o.notifier = NewNotifier(book, func() {
		for _, s := range o.senders {
			s.Wake()
		}
	}, o.count, o.log())
	for _, name := range []string{"ops", "dev"} {
		mustSet(t, book, Target{Namespace: "default", Name: name, Kind: TargetWebhook, URL: "https://hooks.example.com/" + name})
	}
	return o
}

func (o *office) log() *slog.Logger { return slog.New(slog.NewTextHandler(o.Output(), nil)) }

func (o *office) count(result string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.counts[result]++
}

func (o *office) counted(result string) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.counts[result]
}

// start runs a sender until the test ends, or stop is called.
func (o *office) start() (stop func()) {
	s := NewSender(o.book, SenderConfig{
		Wires: map[TargetKind]Wire{TargetWebhook: o.target, TargetJob: o.target}, Runs: o.runs, PublicURL: "https://tide.example.com",
		Node: o.node, Count: o.count, Log: o.log(),
	})
	o.senders = append(o.senders, s)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := s.Run(ctx); err != nil {
			o.Error(err)
		}
	}()
	stop = sync.OnceFunc(func() {
		cancel()
		<-done
	})
	o.Cleanup(stop)
	return stop
}

func (o *office) notify(i engine.Incident) {
	o.Helper()
	if err := o.notifier.Notify(o.Context(), i); err != nil {
		o.Fatal(err)
	}
}

func (o *office) deliveries(filter DeliveryFilter) (all []Delivery) {
	o.Helper()
	if filter.Namespace == "" {
		filter.Namespace = "default"
	}
	if filter.Limit == 0 {
		filter.Limit = 100
	}
	for {
		some, next, err := o.book.Deliveries(o.Context(), filter)
		if err != nil {
			o.Fatal(err)
		}
		all = append(all, some...)
		if next == "" {
			return all
		}
		filter.After = next
	}
}

// states are those of all deliveries, sorted.
func (o *office) states() (states []string) {
	for _, d := range o.deliveries(DeliveryFilter{}) {
		states = append(states, d.Target+" "+d.State)
	}
	slices.Sort(states)
	return states
}

// pass lets so much time pass, and what is due in it happen.
func pass(d time.Duration) {
	<-time.After(d) // of the bubble
	synctest.Wait()
}

func anIncident(job string, to ...string) engine.Incident {
	now := time.Now().UTC()
	return engine.Incident{
		ID: engine.IncidentID("uid-"+job, "", spec.AlertFailed), Namespace: "default", UID: "uid-" + job, Job: job, Alert: spec.AlertFailed,
		Since: now, Latest: now, Count: 1, Run: job + "-1", Reason: "exit code 1", To: to, Recovered: true,
	}
}

func over(i engine.Incident) engine.Incident {
	i.Over, i.OverRun, i.Ended, i.Notified = time.Now().UTC(), i.Job+"-2", "run "+i.Job+"-2 succeeded", true
	return i
}

func (o *office) want(what string, got, want []string) {
	o.Helper()
	if !slices.Equal(got, want) {
		o.Errorf("%s:\n got  %q\n want %q", what, got, want)
	}
}

func (o *office) deliveryStates(target string) (states []string) {
	for _, d := range o.deliveries(DeliveryFilter{Target: target}) {
		states = append(states, d.State+": "+d.Attempts[len(d.Attempts)-1].Answer)
	}
	return states
}

// claimElsewhere claims a delivery as another node would.
func (o *office) claimElsewhere(d *Delivery) {
	o.Helper()
	d.ClaimedUntil = time.Now().UTC().Add(claimLife)
	if err := o.book.writeDelivery(o.Context(), d); err != nil {
		o.Fatal(err)
	}
}

func (o *office) delivery(id string) Delivery {
	o.Helper()
	d, err := o.book.Delivery(o.Context(), "default", id)
	if err != nil {
		o.Fatal(err)
	}
	return d
}

// digests has a target collect what comes within an hour.
func (o *office) digests(target string, each time.Duration) {
	o.Helper()
	mustSet(o.T, o.book, Target{Namespace: "default", Name: target, Kind: TargetWebhook, Digest: each})
}

// jobsOf are the jobs of each message that a target has taken, sorted: those of a digest, or that of a single message.
func (a *aTarget) jobsOf(target string) (all [][]string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, r := range a.got {
		if r.target != target {
			continue
		}
		jobs := []string{}
		if r.message.Type != MessageDigest {
			jobs = append(jobs, r.message.Data.Job)
		}
		for i := range r.message.Data.Messages {
			jobs = append(jobs, r.message.Data.Messages[i].Data.Job)
		}
		slices.Sort(jobs)
		all = append(all, jobs)
	}
	return all
}

// shaky are records whose writes fail, or are preceded by something, as the test says.
type shaky struct {
	records
	before func(record engine.Record) error
}

type records = engine.Records // embedded by a name that is none of its methods

func (s *shaky) ReplaceRecord(ctx context.Context, record engine.Record) error {
	if err := s.before(record); err != nil {
		return err
	}
	return s.records.ReplaceRecord(ctx, record)
}
