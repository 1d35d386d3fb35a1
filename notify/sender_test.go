package notify

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
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
}

func (a *aTarget) Send(_ context.Context, letter *Letter) (string, error) {
	a.mu.Lock()
	a.got = append(a.got, received{time.Now(), letter.ID, letter.Target.Name, letter.Message})
	answer := a.answer
	a.mu.Unlock()
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

type noRuns struct{}

func (noRuns) Run(context.Context, string) (engine.Run, error) {
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

	mu     sync.Mutex
	counts map[string]int
}

func newOffice(t *testing.T) *office {
	book, store := aBook(t)
	o := &office{T: t, book: book, store: store, target: &aTarget{}, counts: map[string]int{}}
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
		Wires: map[TargetKind]Wire{TargetWebhook: o.target, TargetJob: o.target}, Runs: noRuns{}, PublicURL: "https://tide.example.com",
		Count: o.count, Log: o.log(),
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

func (o *office) tell(i engine.Incident) {
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

func TestIncidentIsToldOnceHoweverOftenItIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		o.start()
		i := anIncident("nightly", "ops", "dev", "ops")
		for range 3 {
			o.tell(i)
		}
		pass(time.Minute)
		o.want("taken by ops", o.target.took("ops"), []string{"incident.opened Job nightly (default) failed"})
		ended := over(i)
		ended.Over = i.Since.Add(90 * time.Second)
		for range 3 {
			o.tell(ended)
			pass(time.Minute)
		}
		for _, name := range []string{"ops", "dev"} {
			o.want("taken by "+name, o.target.took(name),
				[]string{"incident.opened Job nightly (default) failed", "incident.over Over: Job nightly (default) failed, for 1m30s"})
		}
		if n := o.counted(ResultDelivered); n != 4 {
			t.Errorf("%d are counted as delivered, want 4", n)
		}
		left, err := o.store.Records(t.Context(), engine.RecordFilter{Kind: kindDue, Limit: 10})
		if err != nil || len(left) > 0 {
			t.Errorf("what says that they are due is still there: %v, %v", left, err)
		}
		first := o.target.got[0].message
		if first.Data.URL != "https://tide.example.com/runs/nightly-1" || first.Data.Reason != "exit code 1" || first.Data.Count != 1 {
			t.Errorf("the message says %+v", first.Data)
		}
	})
}

func TestEndIsToldOnlyWhereTheBeginningWas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		o.start()
		i := anIncident("a", "ops")
		o.tell(i)
		unasked := anIncident("b", "ops")
		unasked.Recovered = false
		o.tell(unasked)
		pass(time.Minute)
		i.To = []string{"ops", "dev"} // dev was added in between
		o.tell(over(i))
		o.tell(over(unasked))
		pass(time.Minute)
		o.want("dev", o.target.took("dev"), nil)
		if got := o.target.took("ops"); len(got) != 3 || !strings.HasPrefix(got[2], MessageOver+" Over: Job a") {
			t.Errorf("ops got %q", got)
		}
		// One that nobody was told of before it was over is told as both, in this order.
		both := over(anIncident("c", "dev"))
		both.Notified, both.Over = false, both.Over.Add(time.Minute)
		o.tell(both)
		pass(time.Minute)
		o.want("dev", o.target.took("dev"), []string{"incident.opened Job c (default) failed", "incident.over Over: Job c (default) failed, for 1m"})
	})
}

func TestSilencedIncidentIsRecordedAndNotSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		o.start()
		silence := Silence{Namespace: "default", Definition: "night*", Until: time.Now().Add(time.Hour), Reason: "move"}
		if _, err := o.book.AddSilence(t.Context(), silence); err != nil {
			t.Fatal(err)
		}
		i, other := anIncident("nightly", "ops"), anIncident("hourly", "ops")
		o.tell(i)
		o.tell(other)
		pass(2 * time.Hour) // the silence ends, and the incident does not come back
		o.tell(i)
		o.tell(over(i))
		pass(time.Minute)
		o.want("taken", o.target.took(""), []string{"incident.opened Job hourly (default) failed"})
		silenced := o.deliveries(DeliveryFilter{State: StateSilenced})
		if len(silenced) != 2 || !silenced[0].Over || !strings.Contains(silenced[1].Reason, "move") {
			t.Errorf("silenced: %+v", silenced)
		}
		if n := o.counted(ResultSilenced); n != 2 {
			t.Errorf("%d are counted as silenced", n)
		}
	})
}

func TestFailedTryIsRetriedForADayAndNoLonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		o.start()
		o.target.answers(func(letter *Letter) error {
			if letter.Target.Name == "ops" {
				return errors.New("connection refused")
			}
			return nil
		})
		i := anIncident("nightly", "ops", "dev")
		o.tell(i)
		ended := over(i)
		ended.Over = ended.Over.Add(time.Second)
		o.tell(ended)
		pass(23 * time.Hour)
		o.want("states", o.states(), []string{"dev delivered", "dev delivered", "ops waiting", "ops waiting"})
		pass(3 * time.Hour)
		// What waits for a beginning that failed fails, too.
		o.want("states", o.states(), []string{"dev delivered", "dev delivered", "ops failed", "ops failed"})
		tries := 0
		var last time.Time
		ids := map[string]bool{}
		for _, r := range o.target.got {
			if r.target != "ops" {
				continue
			}
			if r.message.Type != MessageOpened {
				t.Errorf("%s was sent before its beginning was delivered", r.message.Type)
			}
			if gap := r.at.Sub(last); !last.IsZero() && (gap < firstRetry || gap > 3*mostRetry/2+pollEvery) {
				t.Errorf("tried again after %s", gap)
			}
			ids[r.id], last = true, r.at
			tries++
		}
		if tries < 20 || tries > 40 || len(ids) != 1 {
			t.Errorf("%d tries with the ids %v", tries, ids)
		}
		failed := o.deliveries(DeliveryFilter{State: StateFailed, Target: "ops"})
		if len(failed) != 2 || failed[1].Tries != tries || len(failed[1].Attempts) != mostTries || failed[1].Attempts[0].Error != "connection refused" {
			t.Fatalf("recorded: %+v, want %d tries", failed, tries)
		}
		// By hand it goes on.
		o.target.answers(nil)
		for _, d := range slices.Backward(failed) {
			if err := o.book.Redeliver(t.Context(), "default", d.ID); err != nil {
				t.Fatal(err)
			}
			pass(10 * time.Second)
		}
		o.want("states", o.states(), []string{"dev delivered", "dev delivered", "ops delivered", "ops delivered"})
		if err := o.book.Redeliver(t.Context(), "default", failed[0].ID); !errors.Is(err, ErrDelivered) {
			t.Errorf("what was delivered is sent again: %v", err)
		}
		if o.counted(ResultRetried) != tries-1 || o.counted(ResultFailed) != 2 || o.counted(ResultDelivered) != 4 {
			t.Errorf("counted %v, tries %d", o.counts, tries)
		}
	})
}

func TestTargetSaysWhetherAndWhenItIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		o.start()
		began := time.Now()
		o.target.answers(func(letter *Letter) error {
			switch {
			case letter.Target.Name == "ops":
				return &SendError{Answer: "410 Gone", Permanent: true, Err: errors.New("it answered 410 Gone")}
			case time.Since(began) < 2*time.Hour:
				return &SendError{After: 2 * time.Hour, Err: errors.New("it answered 429")}
			}
			return nil
		})
		o.tell(anIncident("nightly", "ops", "dev"))
		pass(time.Hour)
		if got := o.target.took(""); len(got) != 2 {
			t.Errorf("after an hour it was tried %d times", len(got))
		}
		pass(2 * time.Hour)
		got := o.target.took("dev")
		if len(got) != 2 || len(o.target.took("ops")) != 1 {
			t.Errorf("got %q", o.target.took(""))
		}
		o.want("states", o.deliveryStates("ops"), []string{"failed: 410 Gone"})
	})
}

func (o *office) deliveryStates(target string) (states []string) {
	for _, d := range o.deliveries(DeliveryFilter{Target: target}) {
		states = append(states, d.State+": "+d.Attempts[len(d.Attempts)-1].Answer)
	}
	return states
}

// A target that takes ten seconds for nothing, with many messages waiting for it, does not hold up another one.
func TestSlowTargetHoldsUpNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		o.start()
		o.target.answers(func(letter *Letter) error {
			if letter.Target.Name == "ops" {
				<-time.After(sendLimit)
				return context.DeadlineExceeded
			}
			return nil
		})
		for n := range 200 {
			o.tell(anIncident(fmt.Sprint("job-", n), "ops"))
		}
		began := time.Now()
		o.tell(anIncident("nightly", "dev"))
		pass(sendLimit / 2)
		if got := o.target.got; len(o.target.took("dev")) != 1 || time.Since(began) >= sendLimit {
			t.Errorf("after %s dev got %q of %d", time.Since(began), o.target.took("dev"), len(got))
		}
	})
}

// Many nodes look at the same store, and each message is sent by one of them, once.
func TestSendersOnOneStoreSendEachOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		for range 4 {
			o.start()
		}
		o.target.answers(func(*Letter) error {
			<-time.After(50 * time.Millisecond)
			return nil
		})
		for n := range 100 {
			o.tell(anIncident(fmt.Sprint("job-", n), "ops", "dev"))
		}
		pass(time.Minute)
		if got := o.target.took(""); len(got) != 200 {
			t.Errorf("%d were sent, want 200", len(got))
		}
		if n := len(o.deliveries(DeliveryFilter{State: StateDelivered})); n != 200 {
			t.Errorf("%d are delivered", n)
		}
	})
}

// What a node that died had claimed is sent by another one, with the same id.
func TestClaimOfADeadNodeRunsOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		o.tell(anIncident("nightly", "ops"))
		d := o.deliveries(DeliveryFilter{})[0]
		d.ClaimedUntil = time.Now().UTC().Add(claimLife)
		if err := o.book.writeDelivery(t.Context(), &d); err != nil {
			t.Fatal(err)
		}
		o.start()
		pass(claimLife - time.Second)
		o.want("taken while it is claimed", o.target.took(""), nil)
		pass(10 * time.Second)
		if len(o.target.got) != 1 || o.target.got[0].id != d.ID {
			t.Errorf("taken: %+v", o.target.got)
		}
	})
}

func TestDigestCollectsWhatComesInItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		mustSet(t, o.book, Target{Namespace: "default", Name: "ops", Kind: TargetWebhook, Digest: time.Hour})
		o.start()
		o.start()
		i := anIncident("a", "ops")
		o.tell(i)
		o.tell(anIncident("b", "ops"))
		pass(10 * time.Minute)
		o.tell(over(i))
		o.tell(anIncident("c", "dev"))
		pass(time.Minute)
		o.want("taken before", o.target.took(""), []string{"incident.opened Job c (default) failed"})
		var refuse atomic.Bool
		refuse.Store(true)
		o.target.answers(func(*Letter) error {
			if refuse.Load() {
				return errors.New("connection refused")
			}
			return nil
		})
		pass(time.Hour)
		o.tell(anIncident("d", "ops")) // too late for the first digest, though that is still being tried
		refuse.Store(false)
		pass(30 * time.Minute)
		ids := map[string]bool{}
		var first received
		for _, r := range o.target.got {
			if r.target == "ops" {
				ids[r.id], first = true, r
				if len(r.message.Data.Messages) != 3 {
					t.Errorf("a digest of %d", len(r.message.Data.Messages))
				}
			}
		}
		if len(ids) != 1 || first.message.Type != MessageDigest || first.message.Data.Title != "Namespace default: 2 incidents began, 1 are over" {
			t.Fatalf("ids %v, title %q", ids, first.message.Data.Title)
		}
		var titles []string
		for _, m := range first.message.Data.Messages {
			titles = append(titles, m.Type+" "+m.Data.Job)
		}
		if slices.Index(titles, MessageOpened+" a") > slices.Index(titles, MessageOver+" a") {
			t.Errorf("the order is %q", titles)
		}
		o.want("states", o.states(), []string{"dev delivered", "ops delivered", "ops delivered", "ops delivered", "ops held"})
		pass(time.Hour)
		last := o.target.got[len(o.target.got)-1]
		if last.message.Type != MessageOpened || last.message.Data.Job != "d" {
			t.Errorf("what came alone was sent as %+v", last.message)
		}
		o.want("states", o.states(), []string{"dev delivered", "ops delivered", "ops delivered", "ops delivered", "ops delivered"})
	})
}

func TestTargetThatIsNotThereIsRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		o.start()
		o.tell(anIncident("nightly", "none"))
		mustSet(t, o.book, Target{Namespace: "default", Name: "self", Kind: TargetJob, Job: "hourly"})
		o.tell(anIncident("hourly", "self"))
		other := anIncident("other", "self")
		o.tell(other)
		pass(time.Minute)
		o.want("states", o.states(), []string{"none failed", "self delivered", "self failed"})
		if failed := o.deliveries(DeliveryFilter{Target: "self", State: StateFailed}); len(failed) != 1 || !strings.Contains(failed[0].Reason, "itself") {
			t.Errorf("failed: %+v", failed)
		}
	})
}

// A node without the key leaves what it cannot open to one that can, and once a day has passed the delivery has failed.
func TestNodeWithoutTheKeyLeavesItToAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		whole := o.book.vault
		o.book.vault = secretless{whole}
		stop := o.start()
		o.tell(anIncident("nightly", "ops"))
		o.tell(anIncident("hourly", "ops"))
		pass(time.Hour)
		o.want("states", o.states(), []string{"ops waiting", "ops waiting"})
		stop()
		o.book.vault = whole
		stop = o.start()
		pass(time.Minute)
		o.want("states", o.states(), []string{"ops delivered", "ops delivered"})
		stop()
		o.book.vault = secretless{whole}
		o.tell(anIncident("weekly", "ops"))
		o.start()
		pass(25 * time.Hour)
		if failed := o.deliveries(DeliveryFilter{State: StateFailed}); len(failed) != 1 || !strings.Contains(failed[0].Reason, "no key of secrets") {
			t.Errorf("failed: %+v", failed)
		}
	})
}

func TestTestIsSentAtOnceAndRecordedNowhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		o.start()
		s := o.senders[0]
		if answer, err := s.Test(t.Context(), "default", "ops"); err != nil || answer != "200 OK" {
			t.Errorf("answer %q, %v", answer, err)
		}
		o.want("taken", o.target.took(""), []string{"test A test of notification target ops"})
		if _, err := s.Test(t.Context(), "default", "none"); !errors.Is(err, engine.ErrNotFound) {
			t.Errorf("a target that is not there: %v", err)
		}
		mustSet(t, o.book, Target{Namespace: "default", Name: "mail", Kind: TargetEmail, Addresses: []string{"ops@example.com"}})
		var unable *UnableError
		if _, err := s.Test(t.Context(), "default", "mail"); !errors.As(err, &unable) {
			t.Errorf("a kind that this node cannot send to: %v", err)
		}
		o.target.answers(func(*Letter) error { return errors.New("connection refused") })
		var failed *SendError
		if _, err := s.Test(t.Context(), "default", "ops"); !errors.As(err, &failed) {
			t.Errorf("a target that does not answer: %v", err)
		}
		if all := o.deliveries(DeliveryFilter{}); len(all) > 0 {
			t.Errorf("recorded: %+v", all)
		}
	})
}

func TestDeliveriesAreListedNewestFirstInPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		for n := range 25 {
			o.tell(anIncident(fmt.Sprint("job-", n), []string{"ops", "dev"}[n%2]))
			pass(time.Second)
		}
		for _, limit := range []int{1, 7, 25, 100} {
			all := o.deliveries(DeliveryFilter{Limit: limit})
			if len(all) != 25 || all[0].Incident.Job != "job-24" || all[24].Incident.Job != "job-0" {
				t.Errorf("by %d: %d deliveries", limit, len(all))
			}
			dev := o.deliveries(DeliveryFilter{Limit: limit, Target: "dev", State: StateWaiting})
			if len(dev) != 12 || dev[0].Incident.Job != "job-23" {
				t.Errorf("of dev by %d: %d", limit, len(dev))
			}
		}
		if other := o.deliveries(DeliveryFilter{Namespace: "defaul"}); len(other) > 0 {
			t.Errorf("of another namespace: %d", len(other))
		}
	})
}

// What has ended expires; what waits does not.
func TestDeliveriesExpireAMonthAfterTheirEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		o.start()
		o.target.answers(func(letter *Letter) error {
			if letter.Target.Name == "dev" {
				return &SendError{After: 23 * time.Hour, Err: errors.New("it answered 503")}
			}
			return nil
		})
		o.tell(anIncident("nightly", "ops", "dev"))
		pass(time.Minute)
		if _, err := o.store.ExpireRecords(t.Context(), time.Now().Add(kept-time.Hour), 100); err != nil {
			t.Fatal(err)
		}
		if all := o.deliveries(DeliveryFilter{}); len(all) != 2 {
			t.Errorf("%d are left within the month", len(all))
		}
		if _, err := o.store.ExpireRecords(t.Context(), time.Now().Add(kept+time.Hour), 100); err != nil {
			t.Fatal(err)
		}
		o.want("left", o.states(), []string{"dev waiting"})
	})
}
