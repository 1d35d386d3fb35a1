package notify

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// MaxSilence is how long a silence lasts at most, MaxReason how long its reason is, in bytes.
const (
	MaxSilence = 90 * 24 * time.Hour
	MaxReason  = 500
)

// Silence keeps incidents that begin while it lasts from being sent. They are recorded as silenced.
type Silence struct {
	ID         string     `json:"-"`
	Namespace  string     `json:"-"`                    // may be Installation
	Definition string     `json:"definition,omitempty"` // the name of a job or DAG, or a pattern such as report-*; "" is all
	Alert      spec.Alert `json:"alert,omitempty"`      // "" is all
	From       time.Time  `json:"from"`
	Until      time.Time  `json:"until"` // the first instant at which it is over
	By         string     `json:"by,omitempty"`
	Reason     string     `json:"reason,omitempty"`
}

// Covers reports whether an incident is silenced at an instant.
func (s *Silence) Covers(incident *engine.Incident, at time.Time) bool {
	if at.Before(s.From) || !at.Before(s.Until) || s.Alert != "" && s.Alert != incident.Alert {
		return false
	}
	if s.Definition == "" {
		return true
	}
	matches, err := path.Match(s.Definition, subject(incident))
	return err == nil && matches
}

// subject is the name of the job or DAG that an incident is about, of an incident of the installation that of what is wrong.
func subject(incident *engine.Incident) string {
	switch {
	case incident.Job != "":
		return incident.Job
	case incident.DAG != "":
		return incident.DAG
	}
	return incident.UID
}

// AddSilence makes a silence. A zero From is now. One with an ID that is there already is left as it is, and returned. Errors:
// *InvalidError.
func (b *Book) AddSilence(ctx context.Context, silence Silence) (Silence, error) {
	now := b.moment()
	if silence.From.IsZero() {
		silence.From = now
	}
	silence.From, silence.Until = silence.From.UTC().Truncate(time.Millisecond), silence.Until.UTC().Truncate(time.Millisecond)
	if err := silence.check(now); err != nil {
		return Silence{}, err
	}
	given := silence.ID != ""
	for {
		if !given {
			silence.ID = strings.ToLower(rand.Text()[:10])
		}
		record := engine.Record{Kind: kindSilence, Key: key(silence.Namespace, silence.ID), Revision: 1, ExpiresAt: silence.Until}
		switch err := b.write(ctx, record, &silence); {
		case !errors.Is(err, errLost):
			return silence, err
		case given:
			there := Silence{ID: silence.ID, Namespace: silence.Namespace}
			_, err := b.read(ctx, kindSilence, record.Key, &there)
			return there, err
		}
	}
}

func (s *Silence) check(now time.Time) error {
	known := append(alertsOf(s.Namespace), spec.AlertLate, spec.AlertSlow, spec.AlertSilent)
	known = slices.DeleteFunc(known, func(alert spec.Alert) bool { return alert == spec.AlertRecovered })
	if s.Namespace == Installation {
		known = known[:3]
	}
	switch _, err := path.Match(s.Definition, ""); {
	case err != nil || len(s.Definition) > spec.MaxNameLength || strings.Contains(s.Definition, "/"):
		return &InvalidError{"definition", "give the name of a job or DAG, or a pattern such as report-*"}
	case s.Alert != "" && !slices.Contains(known, s.Alert):
		return &InvalidError{"alert", fmt.Sprintf("%q is no alert that begins: use %s, or none for all", s.Alert, words(known))}
	case !s.Until.After(s.From):
		return &InvalidError{"until", "it ends before it begins"}
	case !s.Until.After(now):
		return &InvalidError{"until", "this time is over: give one to come"}
	case s.Until.Sub(s.From) > MaxSilence:
		return &InvalidError{"until", "a silence lasts at most 90 days: remove the alert from the definition instead"}
	case len(s.Reason) > MaxReason:
		return &InvalidError{"reason", fmt.Sprintf("it is longer than %d bytes", MaxReason)}
	}
	return nil
}

// Silences lists those of a namespace that are not over, by when they end.
func (b *Book) Silences(ctx context.Context, namespace string) (silences []Silence, err error) {
	now := b.moment()
	prefix := key(namespace, "")
	err = b.each(ctx, kindSilence, prefix, func(record *engine.Record) error {
		silence := Silence{ID: strings.TrimPrefix(record.Key, prefix), Namespace: namespace}
		if err := decode(record, &silence); err != nil {
			return err
		}
		if silence.Until.After(now) {
			silences = append(silences, silence)
		}
		return nil
	})
	slices.SortFunc(silences, func(a, b Silence) int { return a.Until.Compare(b.Until) })
	return silences, err
}

// DeleteSilence ends a silence; engine.ErrNotFound.
func (b *Book) DeleteSilence(ctx context.Context, namespace, id string) error {
	return b.records.DeleteRecord(ctx, kindSilence, key(namespace, id), 0)
}
