package service

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	kindDismissals = "dismissals" // records, by namespace and user
	// mostDismissals is how many concerns a user may have dismissed at one time in a namespace, the latest of them.
	mostDismissals = 200
	// dismissalsLast is how long a record of dismissals is kept after its last change.
	dismissalsLast = 90 * 24 * time.Hour
)

// Dismissal records that a user has dismissed a concern, as it is now.
type Dismissal struct {
	Concern string    `json:"concern"` // its ID
	Reason  string    `json:"reason"`
	At      time.Time `json:"at"`
}

// ID names a concern. It is another one once the concern is about something newer: a job that failed again.
func (c *Concern) ID() string {
	of := c.Job
	if c.DAG {
		of = "dag:" + of
	}
	return strings.Join([]string{string(c.Kind), of, c.Executor, string(c.Tier), c.RunsOn, strconv.FormatInt(c.At.UnixMilli(), 36)}, "|")
}

// Dismissible reports whether a user may take it off the list. What keeps all from running stays until it is put right, and a
// dead letter is dismissed for all users.
func (c *Concern) Dismissible() bool {
	switch c.Kind {
	case ConcernFailing, ConcernWave, ConcernMissed, ConcernHeldUp, ConcernOutlasts, ConcernOverlap, ConcernRefused, ConcernSilent, ConcernDrained, ConcernPaused:
		return true
	case ConcernDisk, ConcernNoExecutor, ConcernNoEngine, ConcernOwnerless, ConcernClocks, ConcernBehind, ConcernLedger, ConcernStream, ConcernOverdue, ConcernUnserved,
		ConcernDead, ConcernLate:
	}
	return false
}

func dismissalsKey(namespace, user string) string { return namespace + "/" + user }

// Dismissals returns what a user has dismissed in a namespace, the latest last.
func (s *Service) Dismissals(ctx context.Context, namespace, user string) ([]Dismissal, error) {
	_, dismissed, err := readRecord[[]Dismissal](ctx, s.store, kindDismissals, dismissalsKey(namespace, user))
	return dismissed, err
}

// Dismiss takes a concern off the list of one user, until it is about something newer. The reason is required.
func (s *Service) Dismiss(ctx context.Context, namespace, user, concern, reason string) error {
	reason = strings.TrimSpace(reason)
	switch {
	case reason == "":
		return field("reason_missing", "body.reason", "say why it needs no attention")
	case len(reason) > MaxReason:
		return field("reason_too_long", "body.reason", "the reason is %d bytes long: at most %d are kept", len(reason), MaxReason)
	}
	now, err := s.Overview(ctx, namespace)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(now.Concerns, func(c Concern) bool { return c.ID() == concern })
	if at < 0 {
		return &Error{Kind: KindNotFound, Code: "concern_not_found", Detail: "this is not on the list any more: look at it again"}
	}
	if !now.Concerns[at].Dismissible() {
		return conflict("concern_stays", "this stays on the list until it is put right")
	}
	return s.changeDismissals(ctx, namespace, user, func(dismissed []Dismissal) []Dismissal {
		// What is not on the list any more needs none.
		dismissed = slices.DeleteFunc(dismissed, func(d Dismissal) bool {
			return d.Concern == concern || !slices.ContainsFunc(now.Concerns, func(c Concern) bool { return c.ID() == d.Concern })
		})
		dismissed = append(dismissed, Dismissal{Concern: concern, Reason: reason, At: s.now()})
		return dismissed[max(0, len(dismissed)-mostDismissals):]
	})
}

// Recall puts a concern that a user has dismissed back on the list.
func (s *Service) Recall(ctx context.Context, namespace, user, concern string) error {
	return s.changeDismissals(ctx, namespace, user, func(dismissed []Dismissal) []Dismissal {
		return slices.DeleteFunc(dismissed, func(d Dismissal) bool { return d.Concern == concern })
	})
}

// changeDismissals changes what a user has dismissed.
func (s *Service) changeDismissals(ctx context.Context, namespace, user string, change func([]Dismissal) []Dismissal) error {
	_, err := changeRecord(ctx, s, kindDismissals, dismissalsKey(namespace, user), dismissalsLast, func(dismissed []Dismissal) ([]Dismissal, error) {
		return change(dismissed), nil
	})
	return err
}
