package notify

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// The alerts of the installation: rules of Installation ask for them.
const (
	AlertExecutorSilent spec.Alert = "executor_silent"     // an executor has ended without a word, or is cut off
	AlertShardUnowned   spec.Alert = "shard_without_owner" // no engine works on a part of the definitions
	AlertLedger         spec.Alert = "ledger_difference"   // a slot did not end once
)

// alertsOf lists what the rules of a namespace may ask for.
func alertsOf(namespace string) []spec.Alert {
	if namespace == Installation {
		return []spec.Alert{AlertExecutorSilent, AlertShardUnowned, AlertLedger, spec.AlertRecovered}
	}
	return []spec.Alert{spec.AlertFailed, spec.AlertDead, spec.AlertMissed, spec.AlertSkipped, spec.AlertRecovered}
}

// storedRules is the data of a record.
type storedRules struct {
	Alerts    spec.Alerts `json:"alerts"`
	UpdatedAt time.Time   `json:"updated_at"`
	UpdatedBy string      `json:"updated_by,omitempty"`
}

// SetRules sets what is sent about each definition of a namespace that does not say otherwise; empty rules send nothing. Errors:
// *InvalidError.
func (b *Book) SetRules(ctx context.Context, namespace string, rules spec.Alerts, by string) error {
	if err := b.checkRules(ctx, namespace, rules); err != nil {
		return err
	}
	for {
		var before storedRules
		record, err := b.read(ctx, kindRules, namespace, &before)
		if errors.Is(err, engine.ErrNotFound) {
			record = engine.Record{Kind: kindRules, Key: namespace}
		} else if err != nil {
			return err
		}
		record.Revision++
		if err := b.write(ctx, record, &storedRules{rules, b.moment(), by}); !errors.Is(err, errLost) {
			return err
		}
	}
}

func (b *Book) checkRules(ctx context.Context, namespace string, rules spec.Alerts) error {
	known := alertsOf(namespace)
	for i, alert := range rules.On {
		if !slices.Contains(known, alert) {
			return &InvalidError{"on", fmt.Sprintf("%q cannot be asked for here: use %s", alert, words(known))}
		}
		if slices.Contains(rules.On[:i], alert) {
			return &InvalidError{"on", fmt.Sprintf("%q is there twice", alert)}
		}
	}
	switch {
	case rules.SilentFor != 0:
		return &InvalidError{"silent_for", "this is a job's or DAG's own: how long it may go without success differs"}
	case rules.Lag < 0:
		return &InvalidError{"lag", "it is negative"}
	case rules.Duration < 0:
		return &InvalidError{"duration", "it is negative"}
	case namespace == Installation && rules.Lag != 0:
		return &InvalidError{"lag", "the installation has no runs: leave it out"}
	case namespace == Installation && rules.Duration != 0:
		return &InvalidError{"duration", "the installation has no runs: leave it out"}
	}
	asks := len(rules.On) > 0 || rules.Lag > 0 || rules.Duration > 0
	if asks && len(rules.To) == 0 {
		return &InvalidError{"to", "say who is notified: names of notification targets of this namespace"}
	}
	missing, err := b.Missing(ctx, namespace, rules.To)
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		return &InvalidError{"to", fmt.Sprintf("there is no notification target %q: make it with `tidewheel notify target set`", missing[0])}
	}
	return nil
}

func words(alerts []spec.Alert) string {
	text := ""
	for i, alert := range alerts {
		switch {
		case i == 0:
		case i == len(alerts)-1:
			text += " or "
		default:
			text += ", "
		}
		text += string(alert)
	}
	return text
}

// Rules returns those of a namespace, empty if there are none.
func (b *Book) Rules(ctx context.Context, namespace string) (spec.Alerts, error) {
	var kept storedRules
	_, err := b.read(ctx, kindRules, namespace, &kept)
	if errors.Is(err, engine.ErrNotFound) {
		return spec.Alerts{}, nil
	}
	return kept.Alerts, err
}

// AllRules returns the rules of each namespace that has some, by its name, and those of Installation.
func (b *Book) AllRules(ctx context.Context) (map[string]spec.Alerts, error) {
	all := map[string]spec.Alerts{}
	err := b.each(ctx, kindRules, "", func(record *engine.Record) error {
		var kept storedRules
		if err := decode(record, &kept); err != nil {
			return err
		}
		all[record.Key] = kept.Alerts
		return nil
	})
	return all, err
}
