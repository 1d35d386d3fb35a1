package memory

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

// takes reports whether an expiry takes what ended at an instant, of a namespace and of the job or DAG with this uid.
func takes(e *engine.Expiry, ended time.Time, namespace, uid string) bool {
	return ended.Before(e.Before) && !ended.Before(e.From) && (len(e.Namespaces) == 0 || slices.Contains(e.Namespaces, namespace)) &&
		!slices.Contains(e.Except, namespace) && !slices.Contains(e.Longer, uid)
}

// ExpireRuns deletes at most limit runs of some shards that an expiry takes, the earliest first.
func (s *Store) ExpireRuns(ctx context.Context, shards []int, what engine.Expiry, limit int) (expired engine.ExpiredRuns, err error) {
	if err := s.write(ctx); err != nil {
		return expired, err
	}
	defer s.mu.Unlock()
	var old []*engine.Run
	for _, run := range s.runs {
		if run.Status.Terminal() && !run.FinishedAt.IsZero() && takes(&what, run.FinishedAt, run.Namespace, run.JobUID) && slices.Contains(shards, run.Shard) {
			old = append(old, run)
		}
	}
	slices.SortFunc(old, func(a, b *engine.Run) int { return cmp.Or(a.FinishedAt.Compare(b.FinishedAt), cmp.Compare(a.ID, b.ID)) })
	expired = s.dropRuns(old[:min(limit, len(old))])
	if len(old) < limit {
		expired.Done = what.Before
	}
	return expired, nil
}

// dropRuns deletes runs, the last of which ended last.
func (s *Store) dropRuns(old []*engine.Run) (expired engine.ExpiredRuns) {
	for _, run := range old {
		s.dropRun(run.ID)
		expired.Upto = run.FinishedAt
	}
	expired.Count, expired.Beside = len(old), copyRuns(old)
	return expired
}

// ownTakes reports whether the retention of a job or DAG takes what ended at an instant, after which this many have ended.
func ownTakes(e *engine.OwnExpiry, ended time.Time, newer int) bool {
	return ended.Before(e.Before) || e.Newest > 0 && newer >= e.Newest && ended.Before(e.Settled)
}

// ExpireRunsOf deletes at most limit runs of a job that its own retention takes, the earliest first.
func (s *Store) ExpireRunsOf(ctx context.Context, uid string, what engine.OwnExpiry, limit int) (expired engine.ExpiredRuns, err error) {
	if err := s.write(ctx); err != nil {
		return expired, err
	}
	defer s.mu.Unlock()
	var ended []*engine.Run
	for _, run := range s.runs {
		if run.JobUID == uid && run.Status.Terminal() && !run.FinishedAt.IsZero() {
			ended = append(ended, run)
		}
	}
	slices.SortFunc(ended, func(a, b *engine.Run) int { return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(b.ID, a.ID)) })
	var old []*engine.Run
	for newer, run := range ended {
		if ownTakes(&what, run.FinishedAt, newer) {
			old = append(old, run)
		}
	}
	slices.Reverse(old)
	return s.dropRuns(old[:min(limit, len(old))]), nil
}

// ExpireWaves deletes at most limit waves that an expiry takes, the earliest first. The wave of the highest epoch stays while
// its DAG is there: epochs count on from it.
func (s *Store) ExpireWaves(ctx context.Context, what engine.Expiry, limit int) (int, error) {
	if err := s.write(ctx); err != nil {
		return 0, err
	}
	defer s.mu.Unlock()
	last := s.lastEpochs()
	var old []*engine.Wave
	for _, wave := range s.waves {
		if wave.Status.Terminal() && !wave.FinishedAt.IsZero() && takes(&what, wave.FinishedAt, wave.Namespace, wave.DAGUID) &&
			(wave.Epoch < max(last[wave.DAGUID], 1) || s.dags.byUID[wave.DAGUID] == nil) {
			old = append(old, wave)
		}
	}
	slices.SortFunc(old, func(a, b *engine.Wave) int {
		return cmp.Or(a.FinishedAt.Compare(b.FinishedAt), cmp.Compare(a.ID, b.ID))
	})
	old = old[:min(limit, len(old))]
	for _, wave := range old {
		delete(s.waves, wave.ID)
	}
	return len(old), nil
}

// lastEpochs returns the highest epoch of each DAG, by its uid.
func (s *Store) lastEpochs() map[string]int64 {
	last := map[string]int64{}
	for _, wave := range s.waves {
		last[wave.DAGUID] = max(last[wave.DAGUID], wave.Epoch)
	}
	return last
}

// ExpireWavesOf deletes at most limit waves of a DAG that its own retention takes, with their runs. The wave of the highest
// epoch stays.
func (s *Store) ExpireWavesOf(ctx context.Context, uid string, what engine.OwnExpiry, limit int) (expired engine.ExpiredWaves, err error) {
	if err := s.write(ctx); err != nil {
		return expired, err
	}
	defer s.mu.Unlock()
	last := s.lastEpochs()[uid]
	var ended []*engine.Wave
	for _, wave := range s.waves {
		if wave.DAGUID == uid && wave.Status.Terminal() && !wave.FinishedAt.IsZero() {
			ended = append(ended, wave)
		}
	}
	slices.SortFunc(ended, func(a, b *engine.Wave) int { return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(b.ID, a.ID)) })
	var old []*engine.Wave
	for newer, wave := range ended {
		if wave.Epoch < max(last, 1) && ownTakes(&what, wave.FinishedAt, newer) {
			old = append(old, wave)
		}
	}
	slices.Reverse(old)
	for _, wave := range old[:min(limit, len(old))] {
		var runs []*engine.Run
		for _, run := range s.runs {
			if run.Wave == wave.ID {
				runs = append(runs, run)
			}
		}
		dropped := s.dropRuns(runs)
		expired.Runs.Count += dropped.Count
		expired.Runs.Beside = append(expired.Runs.Beside, dropped.Beside...)
		expired.Count, expired.Runs.Upto = expired.Count+1, wave.FinishedAt
		delete(s.waves, wave.ID)
	}
	return expired, nil
}

// ExpireSlots deletes at most limit ledger entries whose To an expiry takes, the earliest first.
func (s *Store) ExpireSlots(ctx context.Context, what engine.Expiry, limit int) (int, error) {
	if err := s.write(ctx); err != nil {
		return 0, err
	}
	defer s.mu.Unlock()
	var old []engine.SlotRange
	for _, entry := range s.slots {
		uid, _, _ := strings.Cut(entry.JobUID, "-") // that of a root begins with its DAG's
		if takes(&what, entry.To, entry.Namespace, uid) {
			old = append(old, entry)
		}
	}
	slices.SortFunc(old, func(a, b engine.SlotRange) int { return cmp.Or(a.To.Compare(b.To), cmp.Compare(a.ID, b.ID)) })
	old = old[:min(limit, len(old))]
	for _, entry := range old {
		delete(s.slots, entry.ID)
	}
	return len(old), nil
}

// ExpireDeadLetters deletes at most limit dead letters that were written before the instant of an expiry, if that takes them.
func (s *Store) ExpireDeadLetters(ctx context.Context, what engine.Expiry, limit int) (deleted int, err error) {
	if err := s.write(ctx); err != nil {
		return 0, err
	}
	defer s.mu.Unlock()
	for id, letter := range s.letters {
		if deleted < limit && takes(&what, letter.At, letter.Namespace, letter.JobUID) {
			delete(s.letters, id)
			deleted++
		}
	}
	return deleted, nil
}
