package service

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

// LedgerEntry is one line of a job's slot ledger: a run that fired, or a range of slots that did not.
type LedgerEntry struct {
	From    time.Time
	To      time.Time
	Count   int64
	Outcome string // fired, skipped, missed
	Reason  string
	Run     string
	Status  engine.Status
}

// ledgerMargin is how long before its slot a run may have been made.
const ledgerMargin = time.Minute

// LedgerPage returns what happened to a definition's slots from since until until, the newest first, at most limit entries,
// and the cursor of the next page, "" behind the last. root says which CRON root of a DAG is meant, "" where it has only
// one, and for a job. A slot that was caught up or backfilled stands where its run was made, among newer slots.
func (d *Definitions[S]) LedgerPage(
	ctx context.Context, namespace, name, root string, since, until time.Time, cursor string, limit int,
) (entries []LedgerEntry, next string, err error) {
	definition, err := d.Get(ctx, namespace, name)
	if err != nil {
		return nil, "", err
	}
	of, err := d.ledger(&definition, root)
	if err != nil {
		return nil, "", err
	}
	return d.s.ledgerPage(ctx, of, since, until, cursor, limit)
}

func jobLedger(job *engine.Job, _ string) (ledgerOf, error) {
	return ledgerOf{uid: job.UID, runs: engine.RunFilter{Namespace: job.Namespace, JobUID: job.UID}, words: "job " + job.Name}, nil
}

// ledgerOf says whose slots are shown: the uid under which the ledger has them, and the runs that they have made.
type ledgerOf struct {
	uid   string
	runs  engine.RunFilter
	words string // "job nightly-report"
}

func (s *Service) ledgerPage(ctx context.Context, of ledgerOf, since, until time.Time, cursor string, limit int) (entries []LedgerEntry, next string, err error) {
	runsCursor, rangesCursor, err := splitCursor(cursor)
	if err != nil {
		return nil, "", err
	}
	made := since
	if !made.IsZero() {
		made = made.Add(-ledgerMargin)
	}
	ranges, moreRanges, err := s.store.Slots(ctx, engine.SlotFilter{JobUID: of.uid, Since: since, Until: until, Cursor: rangesCursor, Limit: limit})
	if err != nil {
		return nil, "", fmt.Errorf("read the ledger of %s: %w", of.words, err)
	}
	of.runs.Since, of.runs.Until, of.runs.Cursor, of.runs.Limit = made, until, runsCursor, limit
	runs, moreRuns, err := s.store.Runs(ctx, of.runs)
	if err != nil {
		return nil, "", fmt.Errorf("read the runs of %s: %w", of.words, err)
	}
	for len(entries) < limit && (len(ranges) > 0 || len(runs) > 0) {
		if len(ranges) == 0 || len(runs) > 0 && when(&runs[0]).After(ranges[0].From) {
			r := &runs[0]
			if fired(r) && !r.Slot.Before(since) {
				entries = append(entries, entryOf(r))
			}
			runsCursor = engine.Cursor{At: r.CreatedAt, ID: r.ID}.Encode("runs")
			runs = runs[1:]
			if len(runs) == 0 && moreRuns != "" {
				break // what comes next of the runs may be newer than the ranges that are left
			}
			continue
		}
		r := &ranges[0]
		entries = append(entries, LedgerEntry{From: r.From, To: r.To, Count: r.Count, Outcome: string(r.Outcome), Reason: string(r.Reason)})
		rangesCursor = engine.Cursor{At: r.From, ID: r.ID}.Encode("slots")
		ranges = ranges[1:]
		if len(ranges) == 0 && moreRanges != "" {
			break
		}
	}
	if len(ranges) > 0 || len(runs) > 0 || moreRanges != "" || moreRuns != "" {
		next = joinCursor(runsCursor, rangesCursor)
	}
	slices.SortStableFunc(entries, func(a, b LedgerEntry) int { return cmp.Compare(b.From.UnixMilli(), a.From.UnixMilli()) })
	return entries, next, nil
}

// entryOf is the line of a run that stands for a slot.
func entryOf(r *engine.Run) LedgerEntry {
	return LedgerEntry{From: r.Slot, To: r.Slot, Count: 1, Outcome: "fired", Reason: string(r.Trigger), Run: r.ID, Status: r.Status}
}

// when is the place of a run in the ledger.
func when(r *engine.Run) time.Time {
	if r.Trigger == engine.TriggerSchedule {
		return r.Slot
	}
	return r.CreatedAt
}

// fired reports whether a run stands for a slot whose time has come. Of a mapped root the first item does.
func fired(r *engine.Run) bool {
	return !r.Slot.IsZero() && (r.Item == nil || *r.Item == 0) && (r.Status != engine.StatusScheduled || r.Waiting)
}

func joinCursor(runs, ranges string) string {
	return base64.RawURLEncoding.EncodeToString([]byte("ledger\n" + runs + "\n" + ranges))
}

func splitCursor(word string) (runs, ranges string, err error) {
	if word == "" {
		return "", "", nil
	}
	text, err := base64.RawURLEncoding.DecodeString(word)
	if err != nil {
		return "", "", engine.ErrCursor
	}
	parts := strings.Split(string(text), "\n")
	if len(parts) != 3 || parts[0] != "ledger" {
		return "", "", engine.ErrCursor
	}
	return parts[1], parts[2], nil
}
