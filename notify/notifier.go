package notify

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// The results that are counted.
const (
	ResultDelivered = "delivered"
	ResultFailed    = "failed"   // for good
	ResultRetried   = "retried"  // a try failed, and there is another one
	ResultSilenced  = "silenced" // a silence held it back
)

// Results lists the results.
func Results() []string {
	return []string{ResultDelivered, ResultFailed, ResultRetried, ResultSilenced}
}

// Notifier makes deliveries of incidents. It is safe for concurrent use.
type Notifier struct {
	book  *Book
	wake  func()
	count func(result string)
	log   *slog.Logger
}

// NewNotifier makes a notifier over a book. wake is called when there is something to send, and count with each of the Results that
// comes about without being sent.
func NewNotifier(book *Book, wake func(), count func(result string), log *slog.Logger) *Notifier {
	return &Notifier{book, wake, count, log}
}

// AlertRules returns what each namespace asks for where definitions leave it out. The caller owns it.
func (n *Notifier) AlertRules(ctx context.Context) (map[string]spec.Alerts, error) {
	return n.book.AllRules(ctx)
}

// Notify makes a delivery of an incident's beginning, unless it was notified before, and of its end, if it is over and that is asked for,
// for each of its targets. After nil they are in the store. Notified again, what is there already stays as it is.
func (n *Notifier) Notify(ctx context.Context, incident engine.Incident) error {
	var silence *Silence
	if !incident.Notified {
		silences, err := n.book.Silences(ctx, incident.Namespace)
		if err != nil {
			return err
		}
		now := n.book.moment()
		if at := slices.IndexFunc(silences, func(s Silence) bool { return s.Covers(&incident, now) }); at >= 0 {
			silence = &silences[at]
		}
	}
	for _, target := range incident.To {
		if err := n.notifyTarget(ctx, &incident, target, silence); err != nil {
			return fmt.Errorf("notify %s of incident %s: %w", target, incident.Key(), err)
		}
	}
	n.wake()
	return nil
}

func (n *Notifier) notifyTarget(ctx context.Context, incident *engine.Incident, target string, silence *Silence) error {
	begin, err := n.begin(ctx, incident, target, silence)
	if err != nil || incident.Over.IsZero() || !incident.Recovered {
		return err
	}
	if begin == nil && !n.book.mayHaveExpired(incident.Since) { // this target was added later
		return nil
	}
	// What becomes of it is decided when it is sent: see Sender.behindAnother.
	end := Delivery{ID: deliveryID(incident, target, true), Namespace: incident.Namespace, Target: target, Incident: *incident, Over: true}
	_, err = n.make(ctx, &end)
	return err
}

// begin returns the delivery of an incident's beginning, which it makes if the incident was not notified before; nil if there is none.
func (n *Notifier) begin(ctx context.Context, incident *engine.Incident, target string, silence *Silence) (*Delivery, error) {
	d := Delivery{ID: deliveryID(incident, target, false), Namespace: incident.Namespace, Target: target, Incident: *incident}
	if incident.Notified {
		there, err := n.book.Delivery(ctx, d.Namespace, d.ID)
		if errors.Is(err, engine.ErrNotFound) {
			return nil, nil
		}
		return &there, err
	}
	if silence != nil {
		d.State, d.Reason = StateSilenced, "a silence until "+silence.Until.Format(time.RFC3339)
		if silence.Reason != "" {
			d.Reason += ": " + silence.Reason
		}
	}
	return n.make(ctx, &d)
}

// make inserts a delivery, and returns it as it is in the store. A delivery without a state is to be sent.
func (n *Notifier) make(ctx context.Context, d *Delivery) (*Delivery, error) {
	there, err := n.book.Delivery(ctx, d.Namespace, d.ID)
	if errors.Is(err, engine.ErrNotFound) {
		return n.insert(ctx, d)
	}
	if err == nil && !there.ended() { // the engine that made it may have stopped before this
		err = n.book.schedule(ctx, &there)
	}
	return &there, err
}

func (n *Notifier) insert(ctx context.Context, d *Delivery) (*Delivery, error) {
	d.CreatedAt = n.book.moment()
	if d.State == "" {
		d.State, d.NextAt, d.GiveUpAt = StateWaiting, d.CreatedAt, d.CreatedAt.Add(tried)
		switch target, err := n.book.Target(ctx, d.Namespace, d.Target); {
		case errors.Is(err, engine.ErrNotFound):
			d.State, d.Reason, d.NextAt = StateFailed, noTarget, time.Time{}
		case err != nil:
			return nil, err
		case target.Digest > 0:
			d.State, d.NextAt = StateHeld, d.CreatedAt.Truncate(target.Digest).Add(target.Digest)
			d.GiveUpAt = d.NextAt.Add(tried)
		}
	}
	if d.ended() {
		d.EndedAt = d.CreatedAt
	}
	switch err := n.book.writeDelivery(ctx, d); {
	case errors.Is(err, errLost): // the same was notified at the same time
		return n.make(ctx, d)
	case err != nil:
		return nil, err
	case !d.ended():
		return d, n.book.schedule(ctx, d)
	}
	if d.State == StateFailed {
		n.log.Warn("a notification cannot be delivered", "namespace", d.Namespace, "target", d.Target, "delivery", d.ID, "reason", d.Reason)
	}
	n.count(d.State)
	return d, nil
}

// noTarget is why a delivery fails whose target is not there.
const noTarget = "there is no notification target of this name: make it with `tidewheel notify target set`, then retry the delivery"
