package notify

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

// The states of deliveries.
const (
	StateWaiting   = "waiting"   // it is sent when NextAt has come
	StateHeld      = "held"      // the same, with others as a digest
	StateDelivered = "delivered" // the target took it
	StateFailed    = "failed"    // the target refused it, or took it for no day
	StateSilenced  = "silenced"  // it is never sent
)

// States lists the states of deliveries.
func States() []string {
	return []string{StateWaiting, StateHeld, StateDelivered, StateFailed, StateSilenced}
}

const (
	// DefaultKept is how long a delivery that has ended is kept where nothing else is set.
	DefaultKept = 30 * 24 * time.Hour
	// LeastKept is the shortest that can be set, 0 aside.
	LeastKept = 24 * time.Hour
	// tried is for how long a delivery is tried, from its making or from Redeliver.
	tried = 24 * time.Hour
	// mostTries is how many of the latest tries a delivery lists.
	mostTries = 20
)

// Delivery is one message to one target.
type Delivery struct {
	ID        string          `json:"-"` // of its message too: webhook-id, and part of Message-ID
	Namespace string          `json:"-"` // may be Installation
	Target    string          `json:"target"`
	Incident  engine.Incident `json:"incident"`       // as it was when it was notified
	Over      bool            `json:"over,omitempty"` // the message says that the incident is over; otherwise, that it has begun
	State     string          `json:"state"`
	Attempts  []Try           `json:"attempts,omitempty"` // the latest ones, oldest first
	Tries     int             `json:"tries,omitempty"`    // all of them
	Reason    string          `json:"reason,omitempty"`   // of a state, in words, where no try says it
	Output    []string        `json:"output,omitempty"`   // the last lines of the run
	NextAt    time.Time       `json:"next_at,omitzero"`   // of one that has not ended
	CreatedAt time.Time       `json:"created_at"`
	EndedAt   time.Time       `json:"ended_at,omitzero"`

	// GiveUpAt is when it is tried no more.
	GiveUpAt time.Time `json:"give_up_at,omitzero"`
	// ClaimedUntil is until when one node alone sends it, ClaimedBy which one, in which of its lives: see Sender.
	ClaimedUntil time.Time `json:"claimed_until,omitzero"`
	ClaimedBy    string    `json:"claimed_by,omitempty"`
	// Digest is the delivery whose message this one is part of, Members those that this one's message is made of, itself among them.
	// Members do not change once they are there, so that a message that is sent again is the same.
	Digest  string   `json:"digest,omitempty"`
	Members []string `json:"members,omitempty"`

	revision int64 // of its record
}

// Try is one attempt to deliver.
type Try struct {
	At     time.Time `json:"at"`
	Answer string    `json:"answer,omitempty"` // of the target, such as "200 OK", or the run that was started
	Error  string    `json:"error,omitempty"`  // why it did not take the message
}

// ended reports whether it is sent no more.
func (d *Delivery) ended() bool { return d.State != StateWaiting && d.State != StateHeld }

// deliveryID is the identity of what is sent to one target: the same each time. It begins with the instant that the message is about,
// so that deliveries are listed by it.
func deliveryID(incident *engine.Incident, target string, over bool) string {
	at, what := incident.Since, "begin"
	if over {
		at, what = incident.Over, "over"
	}
	sum := sha256.Sum256([]byte(incident.Namespace + "\x00" + target + "\x00" + incident.Key() + "\x00" + what))
	return sortable(at) + "-" + hex.EncodeToString(sum[:10])
}

// sortable writes an instant so that texts are ordered as instants are.
func sortable(at time.Time) string { return fmt.Sprintf("%013d", max(at.UnixMilli(), 0)) }

// dueKey is the key of the record that says when a delivery is sent. There may be more than one of a delivery, and some of deliveries
// that have ended: the delivery's own NextAt counts. One that has not ended always has one at NextAt or before.
func dueKey(at time.Time, namespace, id string) string {
	return sortable(at) + "/" + namespace + "/" + id
}

// due is the data of that record.
type due struct {
	Target string `json:"target"`
	Held   bool   `json:"held,omitempty"`
}

// parseDueKey is the reverse of dueKey.
func parseDueKey(text string) (at time.Time, namespace, id string, ok bool) {
	parts := strings.SplitN(text, "/", 3)
	if len(parts) != 3 {
		return time.Time{}, "", "", false
	}
	milli, err := strconv.ParseInt(parts[0], 10, 64)
	return time.UnixMilli(milli).UTC(), parts[1], parts[2], err == nil
}

// DeliveryFilter selects deliveries. An empty field selects all.
type DeliveryFilter struct {
	Namespace string // must be given; may be Installation
	Target    string
	State     string
	After     string // the next of the page before
	Limit     int    // the most of a page, from 1 to 1000
}

// mostRead is how many deliveries one page looks at, so that a filter that selects few costs no more.
const mostRead = 5000

// Deliveries lists deliveries, the newest first. next is what the next page is asked for with, "" where there is none. A page may
// be shorter than its limit, or empty, and have a next one.
func (b *Book) Deliveries(ctx context.Context, filter DeliveryFilter) (deliveries []Delivery, next string, err error) {
	prefix := key(filter.Namespace, "")
	list := engine.RecordFilter{Kind: kindDelivery, Prefix: prefix, Backwards: true, Limit: filter.Limit + 1}
	if filter.Target != "" || filter.State != "" {
		list.Limit = page
	}
	if filter.After != "" {
		list.After = prefix + filter.After
	}
	for read := 0; read < mostRead; {
		records, err := b.records.Records(ctx, list)
		if err != nil {
			return nil, "", fmt.Errorf("notify: list deliveries: %w", err)
		}
		for i := range records {
			delivery, err := deliveryOf(&records[i])
			if err != nil {
				return nil, "", err
			}
			if filter.Target != "" && delivery.Target != filter.Target || filter.State != "" && delivery.State != filter.State {
				continue
			}
			if len(deliveries) == filter.Limit {
				return deliveries, deliveries[len(deliveries)-1].ID, nil
			}
			deliveries = append(deliveries, delivery)
		}
		if len(records) < list.Limit {
			return deliveries, "", nil
		}
		list.After = records[len(records)-1].Key
		read += len(records)
	}
	return deliveries, strings.TrimPrefix(list.After, prefix), nil
}

func deliveryOf(record *engine.Record) (Delivery, error) {
	namespace, id, _ := strings.Cut(record.Key, "/")
	delivery := Delivery{ID: id, Namespace: namespace, revision: record.Revision}
	return delivery, decode(record, &delivery)
}

// Delivery returns one delivery; engine.ErrNotFound.
func (b *Book) Delivery(ctx context.Context, namespace, id string) (Delivery, error) {
	record, err := b.records.Record(ctx, kindDelivery, key(namespace, id))
	if err != nil {
		return Delivery{}, fmt.Errorf("notify: read delivery %s: %w", id, err)
	}
	return deliveryOf(&record)
}

// writeDelivery inserts a delivery without a revision, and replaces any other; errLost. The revision then is that of the record.
func (b *Book) writeDelivery(ctx context.Context, d *Delivery) error {
	record := engine.Record{Kind: kindDelivery, Key: key(d.Namespace, d.ID), Revision: d.revision + 1}
	if d.ended() && b.kept > 0 {
		record.ExpiresAt = d.EndedAt.Add(b.kept)
	}
	if err := b.write(ctx, record, d); err != nil {
		return err
	}
	d.revision++
	return nil
}

// mayHaveExpired reports whether a delivery that was made at an instant may have been removed by now.
func (b *Book) mayHaveExpired(at time.Time) bool {
	return b.kept > 0 && b.moment().Sub(at) >= b.kept-time.Hour
}

// schedule makes the record that lets senders find a delivery when its time has come.
func (b *Book) schedule(ctx context.Context, d *Delivery) error {
	err := b.write(ctx, engine.Record{Kind: kindDue, Key: dueKey(d.NextAt, d.Namespace, d.ID), Revision: 1}, &due{d.Target, d.State == StateHeld})
	if errors.Is(err, errLost) {
		return nil // it is there
	}
	return err
}

// ErrDelivered means that a delivery was taken, and is not sent again.
var ErrDelivered = errors.New("it was delivered already")

// Redeliver sends a delivery that failed or was silenced again, for another day, and one that waits at once. Errors:
// engine.ErrNotFound, ErrDelivered.
func (b *Book) Redeliver(ctx context.Context, namespace, id string) error {
	for {
		d, err := b.Delivery(ctx, namespace, id)
		if err != nil {
			return err
		}
		now := b.moment()
		switch {
		case d.State == StateDelivered:
			return ErrDelivered
		case now.Before(d.ClaimedUntil):
			return nil // it is being sent
		case d.Digest != "": // it goes as part of another one
			id = d.Digest
			continue
		}
		if d.ended() {
			d.State, d.Reason, d.EndedAt = StateWaiting, "", time.Time{}
		}
		d.NextAt, d.GiveUpAt = now, now.Add(tried)
		if err := b.schedule(ctx, &d); err != nil { // before it waits, so that it does not wait unseen
			return err
		}
		switch err := b.writeDelivery(ctx, &d); {
		case errors.Is(err, errLost):
			continue
		case err != nil:
			return err
		}
		return b.schedule(ctx, &d) // a sender may have removed the previous one, as of a delivery that had ended
	}
}
