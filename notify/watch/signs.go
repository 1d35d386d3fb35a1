package watch

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/notify"
)

// seen is the data of the record of an executor that was there, and has not withdrawn since.
type seen struct {
	Host  string    `json:"host"`
	Since time.Time `json:"since"` // when it began
}

// leaves notes that an executor stops in good order.
func (w *Watch) leaves(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.left[id] = true
}

func (w *Watch) hasLeft(id string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.left[id]
}

// executors looks for those that are not there any more, and neither drained nor withdrew.
func (w *Watch) executors(ctx context.Context, now time.Time) error {
	records, err := list(ctx, w.config.Records, seenPrefix)
	if err != nil {
		return err
	}
	if !w.rules.Asks(notify.AlertExecutorSilent) {
		for i := range records {
			if err := w.config.Records.DeleteRecord(ctx, kind, records[i].Key, 0); lost(err) != nil {
				return err
			}
		}
		return w.settle(ctx, now, notify.AlertExecutorSilent, nil, "")
	}
	present, err := w.config.Queue.Executors(ctx)
	if err != nil {
		return err
	}
	known := map[string]bool{}
	wrong := map[string]sign{}
	for i := range records {
		id := strings.TrimPrefix(records[i].Key, seenPrefix)
		known[id] = true
		var of seen
		if err := json.Unmarshal(records[i].Data, &of); err != nil {
			return fmt.Errorf("read %s: %w", records[i].Key, err)
		}
		s, forget := w.isWrong(now, id, of, present)
		switch {
		case forget:
			w.forget(id)
			if err := w.config.Records.DeleteRecord(ctx, kind, records[i].Key, 0); lost(err) != nil {
				return err
			}
		case s != nil:
			wrong[id] = *s
		}
	}
	for i := range present {
		p := &present[i]
		w.lastSeen[p.ID] = p.Seen
		if p.Draining || known[p.ID] {
			continue
		}
		data, err := json.Marshal(seen{p.Host, p.Since})
		if err != nil {
			return err
		}
		if err := w.config.Records.InsertRecord(ctx, engine.Record{Kind: kind, Key: seenPrefix + p.ID, Revision: 1, Data: data}); lost(err) != nil {
			return err
		}
	}
	return w.settle(ctx, now, notify.AlertExecutorSilent, wrong, "it, or another executor on the same host, is heard again")
}

// forget drops what this node remembers of an executor.
func (w *Watch) forget(id string) {
	delete(w.lastSeen, id)
	delete(w.missing, id)
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.left, id)
}

// isWrong returns what is wrong with an executor that was there: nil if nothing is, or if that is not certain yet. forget says that it
// is not waited for any more.
func (w *Watch) isWrong(now time.Time, id string, of seen, present []engine.Presence) (s *sign, forget bool) {
	last, ever := w.lastSeen[id]
	if !ever {
		last = of.Since
	}
	for i := range present {
		p := &present[i]
		if p.ID == id {
			delete(w.missing, id)
			w.mu.Lock()
			delete(w.left, id)
			w.mu.Unlock()
			return nil, p.Draining
		}
	}
	for i := range present {
		if p := &present[i]; p.Host == of.Host && p.Since.Add(-p.Ahead).After(last) { // it has taken this one's place
			return nil, true
		}
	}
	if w.hasLeft(id) {
		return nil, true
	}
	since, missing := w.missing[id]
	if !missing {
		w.missing[id] = now
		return nil, false
	}
	switch {
	case now.Sub(since) < grace:
		return nil, false
	case now.Sub(since) > forgotten:
		return nil, true
	}
	if !ever {
		last = since
	}
	return &sign{last, 1, "executor " + id + " on host " + of.Host + " has not been heard of, and did not stop in good order: " +
		"what it ran counts as lost; see whether the machine and its network are up"}, false
}

// shards looks for those that no engine has.
func (w *Watch) shards(ctx context.Context, now time.Time) error {
	owners, err := w.config.Owners(ctx)
	if err != nil {
		return err
	}
	first, count := time.Time{}, int64(0)
	for shard, owner := range owners {
		switch {
		case owner != "":
			w.unowned[shard] = time.Time{}
			continue
		case w.unowned[shard].IsZero():
			w.unowned[shard] = now
		}
		if since := w.unowned[shard]; now.Sub(since) > 2*w.config.LeaseTTL {
			if count++; first.IsZero() || since.Before(first) {
				first = since
			}
		}
	}
	wrong := map[string]sign{}
	if count > 0 {
		wrong["shards"] = sign{first, count, fmt.Sprintf("%d of %d shards have no engine: what is due there is not started; "+
			"see whether the servers with the role engine are up", count, engine.Shards)}
	}
	return w.settle(ctx, now, notify.AlertShardUnowned, wrong, "an engine works on each shard")
}

// ledger looks at what the check has found. A node that has not looked at everything yet does not know that nothing is wrong.
func (w *Watch) ledger(ctx context.Context, now time.Time) error {
	state := w.config.Ledger()
	wrong := map[string]sign{}
	switch {
	case state.Found > 0:
		wrong["ledger"] = sign{state.At.UTC().Truncate(time.Millisecond), int64(state.Found),
			fmt.Sprintf("%d slots did not end once, such as %s: this is a fault of Tidewheel; `tidewheel doctor` shows more", state.Found, state.Words)}
	case state.Through.IsZero():
		return nil
	}
	return w.settle(ctx, now, notify.AlertLedger, wrong, "each slot has ended once")
}
