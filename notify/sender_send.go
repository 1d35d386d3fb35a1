package notify

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

const (
	// firstRetry is the least time between the first try and the second; it doubles up to mostRetry.
	firstRetry = 5 * time.Second
	mostRetry  = time.Hour
	// mostDigest is how many incidents one digest has.
	mostDigest = 100
	// mostAnswer is how much of an answer is kept, in bytes.
	mostAnswer = 500
)

// send sends a letter, and records what happened to it for all deliveries that it is made of; the first is the one whose turn it is.
// It reports whether that was recorded.
func (s *Sender) send(ctx context.Context, letter *Letter, of []Delivery) (recorded bool) {
	leader := &of[0]
	if len(of) == 1 {
		letter.Message = leader.message(s.config.PublicURL)
	} else {
		letter.Message, letter.Incident = digest(of, s.config.PublicURL), nil
	}
	began := s.book.moment()
	if !began.Before(leader.ClaimedUntil.Add(-sendLimit)) { // this node was suspended: another one may send it soon
		return false
	}
	limit, cancel := context.WithTimeout(ctx, sendLimit)
	answer, err := s.config.Wires[letter.Target.Kind].Send(limit, letter)
	cancel()
	try := Try{At: began, Answer: cut(answer)}
	result := ResultDelivered
	if err != nil {
		try.Error = cut(err.Error())
		var failed *SendError
		if errors.As(err, &failed) {
			try.Answer = cut(failed.Answer)
		}
		result = ResultRetried
		if failed != nil && failed.Permanent {
			result = ResultFailed
		}
	}
	next, more := leader.nextTry(s.book.moment(), err)
	if result == ResultRetried && !more {
		result = ResultFailed
	}
	until := leader.ClaimedUntil
	for i := range of[1:] {
		if member := &of[i+1]; result != ResultRetried && member.State != StateDelivered { // otherwise they wait for the leader
			s.record(ctx, member, try, result, time.Time{}, until)
		}
	}
	if !s.record(ctx, leader, try, result, next, until) {
		return false
	}
	log := s.config.Log.With("namespace", leader.Namespace, "target", leader.Target, "delivery", leader.ID)
	switch result {
	case ResultDelivered:
		log.Debug("a notification was delivered", "answer", try.Answer)
	case ResultRetried:
		s.config.Count(ResultRetried)
		log.Info("a notification was not delivered; it is tried again", "error", try.Error, "at", next)
	default:
		log.Warn("a notification was not delivered, and is not tried again", "error", try.Error)
	}
	return true
}

// nextTry is when a delivery is retried: after twice as long as the time before, with jitter, or when its target says. The last
// time is GiveUpAt.
func (d *Delivery) nextTry(now time.Time, err error) (next time.Time, more bool) {
	wait := mostRetry
	if d.Tries < 12 {
		wait = min(firstRetry<<d.Tries, mostRetry)
	}
	wait += rand.N(wait / 2) //nolint:gosec // it spreads tries, and guards nothing
	var failed *SendError
	if errors.As(err, &failed) && failed.After > 0 {
		next = now.Add(max(failed.After, time.Second))
		return next, !next.After(d.GiveUpAt)
	}
	if next = now.Add(wait).Truncate(time.Millisecond); next.After(d.GiveUpAt) {
		next = d.GiveUpAt
	}
	return next, next.After(now)
}

// record writes what happened to a try. It tries that until another node may send the delivery.
func (s *Sender) record(ctx context.Context, d *Delivery, try Try, result string, next, until time.Time) bool {
	d.Tries++
	d.Attempts = append(d.Attempts, try)
	d.Attempts = d.Attempts[max(0, len(d.Attempts)-mostTries):]
	d.ClaimedUntil, d.ClaimedBy = time.Time{}, ""
	switch result {
	case ResultRetried:
		d.NextAt, d.Reason = next, ""
	default:
		d.State, d.EndedAt, d.NextAt, d.Reason = result, s.book.moment(), time.Time{}, ""
	}
	pause := 100 * time.Millisecond
	for {
		err := error(nil)
		if result == ResultRetried {
			err = s.book.schedule(ctx, d)
		}
		if err == nil {
			err = s.book.writeDelivery(ctx, d)
		}
		if err == nil {
			if result != ResultRetried {
				s.config.Count(result)
			}
			return true
		}
		if errors.Is(err, errLost) || !s.book.now().Add(pause).Before(until) || !sleep(ctx, pause) {
			s.config.Log.Warn("what became of a notification could not be recorded; it may be sent again",
				"namespace", d.Namespace, "target", d.Target, "delivery", d.ID, "result", result, "error", err)
			return false
		}
		pause = min(2*pause, 5*time.Second)
	}
}

// sleep waits, and reports whether ctx is still active.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// cut bounds a text that comes from a target.
func cut(text string) string {
	if len(text) <= mostAnswer {
		return text
	}
	return string([]rune(text[:mostAnswer])) + "…"
}

// digestUnderWay reports whether another node makes a digest for the same target now: what is due earlier is claimed.
func (s *Sender) digestUnderWay(ctx context.Context, d *Delivery) (found bool, err error) {
	err = s.eachDue(ctx, d, func(other *Delivery) bool {
		found = other.Members == nil && s.claimed(other, s.book.moment())
		return !found && other.ID != d.ID
	})
	return found, err
}

// eachDue calls visit with what is held for the same target and due, until it returns false.
func (s *Sender) eachDue(ctx context.Context, d *Delivery, visit func(*Delivery) bool) error {
	now := s.book.moment()
	stop := errors.New("enough")
	err := s.book.each(ctx, kindDue, "", func(record *engine.Record) error {
		at, namespace, id, ok := parseDueKey(record.Key)
		if !ok || at.After(now) {
			return stop
		}
		var what due
		if err := decode(record, &what); err != nil {
			return err
		}
		if namespace != d.Namespace || what.Target != d.Target {
			return nil
		}
		other, err := s.book.Delivery(ctx, namespace, id)
		if errors.Is(err, engine.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		if other.State == StateHeld && !other.NextAt.After(now) && !visit(&other) {
			return stop
		}
		return nil
	})
	if errors.Is(err, stop) {
		return nil
	}
	return err
}

// gather returns the deliveries of the digest that d leads, d first. What they are is settled before the digest is sent for the
// first time, so that one that is sent again is the same. d must be claimed by this node.
func (s *Sender) gather(ctx context.Context, d *Delivery) ([]Delivery, error) {
	if d.Members != nil {
		return s.members(ctx, d)
	}
	all := []Delivery{*d}
	var failed error
	err := s.eachDue(ctx, d, func(other *Delivery) bool {
		if other.ID == d.ID || other.Members != nil || other.Digest != "" && other.Digest != d.ID || s.claimed(other, s.book.moment()) {
			return true
		}
		var fits bool
		if fits, failed = s.follows(ctx, other, all); !fits {
			return failed == nil
		}
		other.Digest = d.ID
		switch err := s.book.writeDelivery(ctx, other); {
		case errors.Is(err, errLost):
			return true
		case err != nil:
			failed = err
			return false
		}
		all = append(all, *other)
		return len(all) < mostDigest
	})
	if err = errors.Join(err, failed); err != nil {
		return nil, err
	}
	for i := range all {
		d.Members = append(d.Members, all[i].ID)
	}
	d.ClaimedUntil, d.ClaimedBy = s.book.moment().Add(claimLife), s.life
	err = s.book.writeDelivery(ctx, d)
	all[0] = *d
	return all, err
}

// follows reports whether the end of an incident may be sent with these: its beginning is among them, or was delivered.
func (s *Sender) follows(ctx context.Context, d *Delivery, these []Delivery) (bool, error) {
	if !d.Over {
		return true, nil
	}
	id := deliveryID(&d.Incident, d.Target, false)
	if slices.ContainsFunc(these, func(other Delivery) bool { return other.ID == id }) {
		return true, nil
	}
	begin, err := s.book.Delivery(ctx, d.Namespace, id)
	if errors.Is(err, engine.ErrNotFound) {
		return true, nil
	}
	return err == nil && begin.State == StateDelivered, err
}

// members reads the deliveries of a digest that is sent again.
func (s *Sender) members(ctx context.Context, d *Delivery) ([]Delivery, error) {
	all := []Delivery{*d}
	for _, id := range d.Members {
		if id == d.ID {
			continue
		}
		member, err := s.book.Delivery(ctx, d.Namespace, id)
		if err != nil {
			return nil, err
		}
		all = append(all, member)
	}
	return all, nil
}
