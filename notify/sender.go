package notify

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/secret"
)

const (
	// sendLimit is how long a target may take.
	sendLimit = 10 * time.Second
	// claimLife is how long a node has to send a delivery and to record the answer. What it did not record by then, another one sends;
	// the node itself does once it has started again.
	claimLife = 45 * time.Second
	// pollEvery is how often a sender looks for what other nodes have left.
	pollEvery = 2 * time.Second
	// mostSending is how many deliveries a node sends at once, mostPerTarget how many of them to one target.
	mostSending, mostPerTarget = 32, 2
	// absentFor is how long a node leaves a delivery alone that it cannot send, but another may.
	absentFor = 30 * time.Second
)

// Letter is a message on its way to a target.
type Letter struct {
	ID      string // of the message: the same each time it is sent
	Target  Target // with its whole URL
	Secret  string // of a webhook
	Message Message
	// Incident is what the message is about; nil for a digest and a test.
	Incident *engine.Incident
	Over     bool
}

// Wire sends letters to the targets of some kinds.
type Wire interface {
	// Send returns what the target answered. An error other than a *SendError is worth another try.
	Send(ctx context.Context, letter *Letter) (answer string, err error)
}

// SendError reports why a target did not take a message.
type SendError struct {
	Answer    string        // what it said, "" if nothing
	Permanent bool          // another try would end the same
	After     time.Duration // the target asks not to be tried before; 0: it says nothing
	Err       error
}

func (e *SendError) Error() string { return e.Err.Error() }
func (e *SendError) Unwrap() error { return e.Err }

// Runs returns runs, for the last lines that they printed; engine.ErrNotFound.
type Runs interface {
	Run(ctx context.Context, id string) (engine.Run, error)
}

// SenderConfig is what a sender works with. All of it is needed but PublicURL.
type SenderConfig struct {
	Wires     map[TargetKind]Wire // a kind without a wire is left to another node
	Runs      Runs
	PublicURL string // of the pages, without a slash at the end; "" sends no links
	// Node names this node in all of its lives, of which one runs at a time; "" if nothing does.
	Node  string
	Count func(result string)
	Log   *slog.Logger
}

// Sender sends what is due. Any number of nodes may have one on the same store.
type Sender struct {
	book   *Book
	config SenderConfig
	life   string // names this node in this life
	wakes  chan struct{}

	mu        sync.Mutex
	busy      map[string]bool      // deliveries that are being sent here, by namespace/id
	perTarget map[string]int       // the same, counted by namespace/target
	apart     map[string]time.Time // deliveries that this node leaves alone until then
	said      map[string]time.Time // what was logged of targets that this node cannot send to
	work      sync.WaitGroup
}

// NewSender makes a sender over a book.
func NewSender(book *Book, config SenderConfig) *Sender {
	return &Sender{
		book: book, config: config, life: config.Node + "/" + rand.Text(), wakes: make(chan struct{}, 1), busy: map[string]bool{}, perTarget: map[string]int{},
		apart: map[string]time.Time{}, said: map[string]time.Time{},
	}
}

// Wake lets the sender look at once for what is due. It does not wait.
func (s *Sender) Wake() {
	select {
	case s.wakes <- struct{}{}:
	default:
	}
}

// Run sends what is due until ctx ends, and then waits for what is under way.
func (s *Sender) Run(ctx context.Context) error {
	defer s.work.Wait()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.wakes:
		case <-timer.C:
		}
		next, err := s.dispatch(ctx)
		if err != nil && ctx.Err() == nil {
			s.config.Log.Warn("reading the notifications that are due failed; trying again", "error", err)
		}
		timer.Reset(max(min(next, pollEvery), time.Millisecond))
	}
}

// dispatch begins to send what is due, as far as there is room, and returns after how long there is more.
func (s *Sender) dispatch(ctx context.Context) (next time.Duration, err error) {
	now := s.book.moment()
	s.forget(now)
	next = pollEvery
	filter := engine.RecordFilter{Kind: kindDue, Limit: page}
	for {
		records, err := s.book.records.Records(ctx, filter)
		if err != nil {
			return next, fmt.Errorf("notify: list what is due: %w", err)
		}
		for i := range records {
			at, namespace, id, ok := parseDueKey(records[i].Key)
			if !ok {
				return next, fmt.Errorf("notify: %q is no key of a delivery that is due", records[i].Key)
			}
			if at.After(now) {
				return at.Sub(now), nil
			}
			var what due
			if err := decode(&records[i], &what); err != nil {
				return next, err
			}
			if full := s.begin(ctx, now, records[i].Key, namespace, id, what); full {
				return next, nil // the end of one of them wakes it
			}
		}
		if len(records) < page {
			return next, nil
		}
		filter.After = records[len(records)-1].Key
	}
}

// forget removes what has passed.
func (s *Sender) forget(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, until := range s.apart {
		if !until.After(now) {
			delete(s.apart, id)
		}
	}
}

// begin sends a delivery beside others, if there is room for its target, and reports whether there is none for any.
func (s *Sender) begin(ctx context.Context, now time.Time, dueKey, namespace, id string, what due) (full bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	of, to, most := key(namespace, id), key(namespace, what.Target), mostPerTarget
	if what.Held {
		most = 1 // it takes the others along
	}
	if len(s.busy) >= mostSending {
		return true
	}
	if s.busy[of] || s.perTarget[to] >= most || s.apart[of].After(now) {
		return false
	}
	s.busy[of] = true
	s.perTarget[to]++
	s.work.Go(func() {
		// What has begun ends in good order: a message that was sent and not recorded would be sent again.
		limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), claimLife)
		defer cancel()
		apart, err := s.deliver(limit, dueKey, namespace, id)
		if err != nil {
			s.config.Log.Warn("a notification could not be dealt with; trying again", "namespace", namespace, "delivery", id, "error", err)
			apart = pollEvery
		}
		s.mu.Lock()
		delete(s.busy, of)
		if s.perTarget[to]--; s.perTarget[to] == 0 {
			delete(s.perTarget, to)
		}
		if apart > 0 {
			s.apart[of] = s.book.moment().Add(apart)
		}
		s.mu.Unlock()
		s.Wake()
	})
	return false
}

// deliver deals with a delivery that a record says is due. It returns for how long this node leaves it alone.
func (s *Sender) deliver(ctx context.Context, dueKey, namespace, id string) (apart time.Duration, err error) {
	d, err := s.book.Delivery(ctx, namespace, id)
	switch now := s.book.moment(); {
	case errors.Is(err, engine.ErrNotFound), err == nil && d.ended():
		return 0, s.unschedule(ctx, dueKey)
	case err != nil:
		return 0, err
	case s.claimed(&d, now): // another node sends it, or has ended while it did
		return min(d.ClaimedUntil.Sub(now), pollEvery), nil
	case d.NextAt.After(now):
		if err := s.book.schedule(ctx, &d); err != nil {
			return 0, err
		}
		return 0, s.unschedule(ctx, dueKey)
	}
	if waits, apart, err := s.behindAnother(ctx, &d); waits || err != nil {
		return apart, err
	}
	letter, absent, err := s.letter(ctx, &d)
	if err != nil || letter == nil && absent == nil {
		return 0, err // it has ended
	}
	if absent != nil {
		return s.leave(ctx, &d, absent)
	}
	collects := d.State == StateHeld || d.Members != nil // also one that is sent again manually
	if collects && d.Members == nil {
		if another, err := s.digestUnderWay(ctx, &d); another || err != nil {
			return pollEvery, err
		}
	}
	if len(d.Output) == 0 && d.Tries == 0 && !d.Over && d.Incident.Run != "" {
		if d.Output, err = s.output(ctx, d.Incident.Run); err != nil {
			return 0, err
		}
	}
	d.ClaimedUntil, d.ClaimedBy = s.book.moment().Add(claimLife), s.life
	if err := s.book.writeDelivery(ctx, &d); err != nil {
		return 0, lostToAnother(err)
	}
	all := []Delivery{d}
	if collects {
		if all, err = s.gather(ctx, &d); err != nil {
			return 0, lostToAnother(err)
		}
	}
	if s.send(ctx, letter, all) {
		return 0, s.unschedule(ctx, dueKey)
	}
	return 0, nil
}

// claimed reports whether a node sends a delivery now. What this node claimed in an earlier life it does not send any more.
func (s *Sender) claimed(d *Delivery, now time.Time) bool {
	node, _, named := strings.Cut(d.ClaimedBy, "/")
	earlier := named && node != "" && node == s.config.Node && d.ClaimedBy != s.life
	return d.ClaimedUntil.After(now) && !earlier
}

// lostToAnother is the error for a write that may have come after another node's, which is none.
func lostToAnother(err error) error {
	if errors.Is(err, errLost) {
		return nil
	}
	return err
}

func (s *Sender) unschedule(ctx context.Context, dueKey string) error {
	err := s.book.records.DeleteRecord(ctx, kindDue, dueKey, 0)
	if errors.Is(err, engine.ErrNotFound) {
		return nil
	}
	return err
}

// output returns the last lines of a run.
func (s *Sender) output(ctx context.Context, id string) ([]string, error) {
	run, err := s.config.Runs.Run(ctx, id)
	if errors.Is(err, engine.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("notify: read run %s: %w", id, err)
	}
	return run.LastLines(mostLines), nil
}

// behindAnother deals with a delivery that waits for another one: the end of an incident for its beginning, and part of a digest
// for that. apart is as in deliver.
func (s *Sender) behindAnother(ctx context.Context, d *Delivery) (waits bool, apart time.Duration, err error) {
	if d.Digest != "" {
		leader, err := s.book.Delivery(ctx, d.Namespace, d.Digest)
		switch {
		case err != nil && !errors.Is(err, engine.ErrNotFound):
			return false, 0, err
		case err == nil && !leader.ended():
			return true, 0, s.postpone(ctx, d, leader.after())
		}
		d.Digest = "" // it was never part of what was sent
	}
	if !d.Over {
		return false, 0, nil
	}
	begin, err := s.book.Delivery(ctx, d.Namespace, deliveryID(&d.Incident, d.Target, false))
	switch {
	case errors.Is(err, engine.ErrNotFound): // it has expired
		return false, 0, nil
	case err != nil:
		return false, 0, err
	}
	switch begin.State {
	case StateDelivered:
		return false, 0, nil
	case StateFailed:
		return true, 0, s.end(ctx, d, StateFailed, "its beginning was not delivered")
	case StateSilenced:
		return true, 0, s.end(ctx, d, StateSilenced, "its beginning was silenced")
	case StateHeld:
		if d.State == StateHeld && begin.Digest == "" && begin.Members == nil {
			return true, pollEvery, nil // the digest with the beginning takes it along: see gather
		}
	}
	return true, 0, s.postpone(ctx, d, begin.after())
}

// after is when it is worth looking at what waits for a delivery.
func (d *Delivery) after() time.Time {
	if d.ClaimedUntil.After(d.NextAt) {
		return d.NextAt.Add(time.Second) // it is being sent
	}
	return d.NextAt.Add(time.Millisecond)
}

// postpone lets a delivery be looked at again later, but not before a second has passed.
func (s *Sender) postpone(ctx context.Context, d *Delivery, at time.Time) error {
	before := dueKey(d.NextAt, d.Namespace, d.ID)
	if least := s.book.moment().Add(time.Second); at.Before(least) {
		at = least
	}
	d.NextAt = at
	if err := s.book.schedule(ctx, d); err != nil {
		return err
	}
	if err := s.book.writeDelivery(ctx, d); err != nil {
		return lostToAnother(err)
	}
	return s.unschedule(ctx, before)
}

// end records that a delivery is not sent.
func (s *Sender) end(ctx context.Context, d *Delivery, state, reason string) error {
	before := dueKey(d.NextAt, d.Namespace, d.ID)
	d.State, d.Reason, d.EndedAt, d.NextAt = state, reason, s.book.moment(), time.Time{}
	d.ClaimedUntil, d.ClaimedBy = time.Time{}, ""
	if err := s.book.writeDelivery(ctx, d); err != nil {
		return lostToAnother(err)
	}
	s.config.Count(state)
	if state == StateFailed {
		s.config.Log.Warn("a notification was not delivered", "namespace", d.Namespace, "target", d.Target, "delivery", d.ID, "reason", reason)
	}
	return s.unschedule(ctx, before)
}

// letter addresses a delivery. absent says why this node cannot send it, though another may; where neither can, both are nil, and the
// delivery has ended.
func (s *Sender) letter(ctx context.Context, d *Delivery) (letter *Letter, absent, err error) {
	letter, err = s.address(ctx, d.Namespace, d.Target)
	var unable *UnableError
	switch {
	case errors.Is(err, engine.ErrNotFound):
		return nil, nil, s.end(ctx, d, StateFailed, noTarget)
	case errors.As(err, &unable):
		return nil, unable, nil
	case err != nil:
		return nil, nil, err
	}
	i := &d.Incident
	if letter.Target.Kind == TargetJob && i.Job == letter.Target.Job && i.Namespace == letter.Target.Namespace {
		return nil, nil, s.end(ctx, d, StateFailed, "job "+i.Job+" is what this is about: it is not run to report on itself")
	}
	letter.ID, letter.Incident, letter.Over = d.ID, i, d.Over
	return letter, nil, nil
}

// UnableError reports why this node cannot send to a target. Another node may.
type UnableError struct{ Reason string }

func (e *UnableError) Error() string { return e.Reason }

// address reads a target, with what is sealed of it. Errors: engine.ErrNotFound, *UnableError.
func (s *Sender) address(ctx context.Context, namespace, name string) (*Letter, error) {
	var to storedTarget
	if _, err := s.book.read(ctx, kindTarget, key(namespace, name), &to); err != nil {
		return nil, err
	}
	letter := &Letter{Target: to.target(namespace, name)}
	if s.config.Wires[to.Kind] == nil {
		return nil, &UnableError{unableTo(to.Kind)}
	}
	if !to.Kind.hasURL() {
		return letter, nil
	}
	kept, err := s.book.unseal(ctx, namespace, name, &to)
	switch {
	case errors.Is(err, secret.ErrNoKey), errors.Is(err, secret.ErrOtherKey), errors.Is(err, secret.ErrDamaged):
		return nil, &UnableError{"the URL of target " + name + " cannot be opened here: " + err.Error()}
	case err != nil:
		return nil, err
	}
	letter.Target.URL, letter.Secret = kept.URL, kept.Secret
	return letter, nil
}

// Unable returns why this node cannot send to a target, though another one may; "" where it can. Errors: engine.ErrNotFound.
func (s *Sender) Unable(ctx context.Context, namespace, target string) (reason string, err error) {
	_, err = s.address(ctx, namespace, target)
	if unable, is := errors.AsType[*UnableError](err); is {
		return unable.Reason, nil
	}
	return "", err
}

func unableTo(kind TargetKind) string {
	if kind == TargetEmail {
		return "this server has no SMTP server to send e-mail by: give --smtp-url and --smtp-from"
	}
	return "this server cannot send to targets of kind " + string(kind)
}

// waitsForOther is why a delivery is not sent that this node cannot send.
const waitsForOther = "it waits for another server: "

// leave leaves a delivery to another node, until it has waited for too long.
func (s *Sender) leave(ctx context.Context, d *Delivery, absent error) (time.Duration, error) {
	now := s.book.moment()
	if now.After(d.GiveUpAt) {
		return 0, s.end(ctx, d, StateFailed, "no server could send it: "+absent.Error())
	}
	if d.Reason == "" { // for who looks at what waits
		d.Reason = waitsForOther + absent.Error()
		if err := s.book.writeDelivery(ctx, d); err != nil {
			return absentFor, lostToAnother(err)
		}
	}
	s.mu.Lock()
	last := s.said[absent.Error()]
	if now.Sub(last) >= time.Hour {
		s.said[absent.Error()] = now
	}
	s.mu.Unlock()
	if now.Sub(last) >= time.Hour {
		s.config.Log.Warn("a notification waits for another server, as this one cannot send it",
			"namespace", d.Namespace, "target", d.Target, "reason", absent.Error())
	}
	return absentFor, nil
}

// Test sends a message to a target at once, and returns what it answered. Errors: engine.ErrNotFound, *UnableError, *SendError.
func (s *Sender) Test(ctx context.Context, namespace, target string) (answer string, err error) {
	letter, err := s.address(ctx, namespace, target)
	if err != nil {
		return "", err
	}
	letter.ID = "test-" + strings.ToLower(rand.Text()[:16])
	letter.Message = Message{Type: MessageTest, Timestamp: s.book.moment(), Data: Data{
		ID: letter.ID, Namespace: namespace, Title: "A test of notification target " + target, URL: s.config.PublicURL,
		Reason: "This was sent to see whether messages arrive. Nothing is wrong.",
	}}
	ctx, cancel := context.WithTimeout(ctx, sendLimit)
	defer cancel()
	answer, err = s.config.Wires[letter.Target.Kind].Send(ctx, letter)
	if err != nil {
		var failed *SendError
		if !errors.As(err, &failed) {
			err = &SendError{Err: err}
		}
		return "", err
	}
	return answer, nil
}
