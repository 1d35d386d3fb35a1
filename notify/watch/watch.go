// Package watch looks after what concerns the whole installation, and what no engine can see about itself: executors that are silent,
// shards without an owner, differences in the slot ledger. Each becomes an incident of notify.Installation, if its rules ask for it.
//
// Any number of nodes may watch the same installation. What they have seen is kept as records, each written on condition of its
// revision, so all of them report the same incident, and it is notified once.
package watch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/notify"
	"github.com/tidewheel/tidewheel/spec"
)

const (
	// kind is that of the records: incidentPrefix + alert + "/" + what it is about, and seenPrefix + the id of an executor.
	kind           = "notify-watch"
	incidentPrefix = "incident/"
	seenPrefix     = "seen/"

	// every is how often the watch looks.
	every = 5 * time.Second
	// grace is for how long an executor must be missing, after its presence has ended. It gives the one that takes its place the time
	// to start.
	grace = 15 * time.Second
	// forgotten is after how long a silent executor counts as removed.
	forgotten = 7 * 24 * time.Hour
	// page is how many records are read at once.
	page = 500
)

// Queue reports which executors there are.
type Queue interface {
	// Executors lists those whose presence has not ended.
	Executors(ctx context.Context) ([]engine.Presence, error)
	// WatchLeaving calls left with the id of each executor that withdraws its presence, until ctx ends.
	WatchLeaving(ctx context.Context, left func(id string)) error
}

// Ledger is what the check of the slot ledger has found.
type Ledger struct {
	Found   int       // slots that did not end once
	Words   string    // one of them
	Through time.Time // until when all slots have been looked at; zero before the first pass has ended
	At      time.Time // when the last pass ended
}

// Config is what a watch works with.
type Config struct {
	Records engine.Records
	Queue   Queue
	// Owners reports which engine has each shard, "" where none has; nil: shards are not shared, and the only engine has all.
	Owners func(ctx context.Context) ([engine.Shards]string, error)
	// LeaseTTL is how long the lease of a dead engine lasts.
	LeaseTTL time.Duration
	Ledger   func() Ledger // nil: this node does not check it
	// Rules returns what is asked for, and Notify makes the deliveries of an incident; see notify.
	Rules  func(ctx context.Context, namespace string) (spec.Alerts, error)
	Notify func(ctx context.Context, incident engine.Incident) error
	Now    func() time.Time
	Log    *slog.Logger
}

// Watch is one node's.
type Watch struct {
	config Config
	rules  spec.Alerts // of this look

	mu   sync.Mutex
	left map[string]bool // executors that withdrew their presence

	lastSeen map[string]time.Time
	missing  map[string]time.Time // executors that are not there, since this node has looked
	unowned  [engine.Shards]time.Time
}

// New makes a watch.
func New(config Config) *Watch {
	return &Watch{config: config, left: map[string]bool{}, lastSeen: map[string]time.Time{}, missing: map[string]time.Time{}}
}

// Run watches until ctx ends.
func (w *Watch) Run(ctx context.Context) error {
	var work sync.WaitGroup
	defer work.Wait()
	work.Go(func() {
		if err := w.config.Queue.WatchLeaving(ctx, w.leaves); err != nil && ctx.Err() == nil {
			w.config.Log.Warn("executors that stop are not heard of any more", "error", err)
		}
	})
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		if err := w.look(ctx); err != nil && ctx.Err() == nil {
			w.config.Log.Warn("watching the installation failed; trying again", "error", err)
		}
	}
}

// look looks at everything once. What cannot be seen does not keep it from the rest.
func (w *Watch) look(ctx context.Context) (err error) {
	if w.rules, err = w.config.Rules(ctx, notify.Installation); err != nil {
		return err
	}
	now := w.config.Now().UTC().Truncate(time.Millisecond)
	errs := []error{w.executors(ctx, now)}
	if w.config.Owners != nil {
		errs = append(errs, w.shards(ctx, now))
	}
	if w.config.Ledger != nil {
		errs = append(errs, w.ledger(ctx, now))
	}
	return errors.Join(errs...)
}

// sign is something that is wrong now.
type sign struct {
	since  time.Time
	count  int64
	reason string
}

// settle compares what is wrong of an alert now, by what it is about, with the incidents that are known, and notifies those that begin
// and those that are over. ended says why one is over.
func (w *Watch) settle(ctx context.Context, now time.Time, alert spec.Alert, wrong map[string]sign, ended string) error {
	prefix := incidentPrefix + string(alert) + "/"
	var errs []error
	known := map[string]bool{}
	records, err := list(ctx, w.config.Records, prefix)
	if err != nil {
		return err
	}
	asked := w.rules.Asks(alert) && len(w.rules.To) > 0
	for i := range records {
		of := strings.TrimPrefix(records[i].Key, prefix)
		known[of] = true
		var incident engine.Incident
		if err := json.Unmarshal(records[i].Data, &incident); err != nil {
			errs = append(errs, fmt.Errorf("read %s: %w", records[i].Key, err))
			continue
		}
		s, still := wrong[of]
		errs = append(errs, w.update(ctx, now, &records[i], incident, asked, still, s, ended))
	}
	for of, s := range wrong {
		if !known[of] && asked {
			errs = append(errs, w.begin(ctx, alert, of, s))
		}
	}
	return errors.Join(errs...)
}

func (w *Watch) begin(ctx context.Context, alert spec.Alert, of string, s sign) error {
	incident := engine.Incident{
		ID: engine.IncidentID(of, "", alert), Namespace: notify.Installation, UID: of, Alert: alert, Since: s.since, Latest: s.since, Count: s.count,
		Reason: s.reason, To: w.rules.To, Recovered: w.rules.Asks(spec.AlertRecovered),
	}
	record := engine.Record{Kind: kind, Key: incidentPrefix + string(alert) + "/" + of, Revision: 1}
	var err error
	if record.Data, err = json.Marshal(&incident); err != nil {
		return err
	}
	switch err := w.config.Records.InsertRecord(ctx, record); {
	case errors.Is(err, engine.ErrExists): // another node has seen it first, and notifies
		return nil
	case err != nil:
		return err
	}
	return w.notify(ctx, &record, incident)
}

// notify notifies the beginning. If that fails, or this node dies, the next look does it.
func (w *Watch) notify(ctx context.Context, record *engine.Record, incident engine.Incident) error {
	if err := w.config.Notify(ctx, incident); err != nil {
		return err
	}
	incident.Notified = true
	return w.replace(ctx, record, incident)
}

// replace writes an incident, unless another node has written it since it was read.
func (w *Watch) replace(ctx context.Context, record *engine.Record, incident engine.Incident) (err error) {
	record.Revision++
	if record.Data, err = json.Marshal(&incident); err != nil {
		return err
	}
	if err := w.config.Records.ReplaceRecord(ctx, *record); err != nil {
		return lost(err)
	}
	return nil
}

// lost is the error of a write that may have come after another node's, which is none: the next look reads that.
func lost(err error) error {
	if errors.Is(err, engine.ErrConflict) || errors.Is(err, engine.ErrNotFound) || errors.Is(err, engine.ErrExists) {
		return nil
	}
	return err
}

// update handles an incident that is already stored.
func (w *Watch) update(ctx context.Context, now time.Time, record *engine.Record, incident engine.Incident, asked, still bool, s sign, ended string) error {
	switch {
	case !asked, still && now.Sub(incident.Since) > forgotten && incident.Alert == notify.AlertExecutorSilent:
		return lost(w.config.Records.DeleteRecord(ctx, kind, record.Key, record.Revision)) // silently
	case !incident.Notified && incident.Over.IsZero():
		return w.notify(ctx, record, incident)
	case still && incident.Over.IsZero():
		if s.count == incident.Count && s.reason == incident.Reason {
			return nil
		}
		incident.Latest, incident.Count, incident.Reason = now, s.count, s.reason
		return w.replace(ctx, record, incident)
	case incident.Over.IsZero():
		incident.Over, incident.Ended = now, ended
		incident.To, incident.Recovered = w.rules.To, w.rules.Asks(spec.AlertRecovered)
		before := record.Revision
		if err := w.replace(ctx, record, incident); err != nil {
			return err
		}
		stored, err := w.config.Records.Record(ctx, kind, record.Key)
		if err != nil || stored.Revision != before+1 || string(stored.Data) != string(record.Data) {
			return lost(err) // another node was first
		}
	}
	if err := w.config.Notify(ctx, incident); err != nil { // notified again by the next look
		return err
	}
	return lost(w.config.Records.DeleteRecord(ctx, kind, record.Key, record.Revision))
}

func list(ctx context.Context, of engine.Records, prefix string) (all []engine.Record, err error) {
	filter := engine.RecordFilter{Kind: kind, Prefix: prefix, Limit: page}
	for {
		records, err := of.Records(ctx, filter)
		if err != nil {
			return nil, fmt.Errorf("list what is watched: %w", err)
		}
		all = append(all, records...)
		if len(records) < page {
			return all, nil
		}
		filter.After = records[len(records)-1].Key
	}
}
