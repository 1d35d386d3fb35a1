package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/tidewheel/tidewheel/access"
	"github.com/tidewheel/tidewheel/audit"
	"github.com/tidewheel/tidewheel/blob"
	"github.com/tidewheel/tidewheel/engine"
)

const (
	janitorFirst = time.Minute // after the start, when there is better to do
	janitorEvery = 10 * time.Minute
	janitorLeast = 5 * time.Second // where history is kept for less than janitorEvery can tell apart
	sweepEvery   = 24 * time.Hour
	janitorBatch = 500
	// janitorBulk is the same on MongoDB, which removes by ranges of time: two commands, whatever the size.
	janitorBulk  = 5000
	janitorPause = 20 * time.Millisecond // between two batches, at least
	// janitorShare is the part of the time in which old history is removed. Where it comes as fast as that, it piles up
	// until it is janitorLate behind, or a tenth of what is kept, and from there on is removed in half of the time.
	janitorShare     = 0.1
	janitorLate      = time.Hour
	janitorLateShare = 0.5
)

// usedBinaries reports which of some programs are still referred to.
type usedBinaries = func(ctx context.Context, digests []string) (map[string]bool, error)

// sweeper removes outputs, artifacts and programs, and what broken uploads have left.
type sweeper interface {
	DeleteLogs(ctx context.Context, run string) (bytes int64, err error)
	DeleteArtifacts(ctx context.Context, run string) (bytes int64, err error)
	RunBytes(ctx context.Context, each func(bytes map[string]int64) error) error
	SweepUploads(ctx context.Context, age time.Duration) (int, error)
	SweepRuns(ctx context.Context, folder blob.Folder, unwanted blob.Unwanted) (int, error)
	SweepBinaries(ctx context.Context, before time.Time, used usedBinaries) ([]string, error)
}

// retention is how long things are kept; 0 is for ever.
type retention struct {
	History     time.Duration // runs with their output, waves, the slot ledger, effects
	Output      time.Duration // what runs have in S3; 0: as long as the run
	DeadLetters time.Duration // 0: as long as the history, which they never outlive
	OneOff      time.Duration // jobs of the one-call version, after their run
	Generations time.Duration // earlier versions of definitions; at least as long as the history
	Audit       time.Duration // entries of the audit log
	Binaries    time.Duration // the bytes of programs that nothing refers to
}

// interval is how often old history is looked for: ten times in the time for which it is kept, at most.
func (r *retention) interval() time.Duration {
	if r.History == 0 {
		return janitorEvery
	}
	return min(max(r.History/10, janitorLeast), janitorEvery)
}

// versions is how long an earlier version of a definition is kept after an edit, where its history is kept for an age: as long as there
// may be runs of it. 0 is for ever.
func (r *retention) versions(history time.Duration) time.Duration {
	if history == 0 || r.Generations == 0 {
		return 0
	}
	return max(r.Generations, history)
}

// janitor removes what is older than its retention, a little at a time.
type janitor struct {
	store      expirer
	namespaces *access.Namespaces
	audit      *audit.Log
	blobs      sweeper
	keep       retention
	log        *slog.Logger
	metrics    *metrics
	stored     *storedBytes
	owns       func(shard int) bool // whether a shard is this node's
	now        func() time.Time
	pause      time.Duration
	breath     func(took time.Duration, late bool) time.Duration // how long it rests after some work
	batch      int                                               // what is removed at a time, at most
	apart      bool                                              // runs are removed shard by shard, as their index is

	progress retentionProgress // of the loop of expireOld
}

func newJanitor(
	store expirer, blobs sweeper, stored *storedBytes, keep retention, owns func(shard int) bool, log *slog.Logger, metrics *metrics,
) *janitor {
	return &janitor{
		store: store, namespaces: access.NewNamespaces(store, time.Now), audit: audit.New(store), blobs: blobs, stored: stored, keep: keep, owns: owns, log: log, metrics: metrics,
		progress: retentionProgress{came: map[string]time.Time{}}, now: time.Now, pause: janitorPause, breath: breath, batch: janitorBatch,
	}
}

// mine reports whether this node does what one of several engines does: the one that owns the first shard.
func (j *janitor) mine() bool { return j.owns(0) }

// shards are those of this node.
func (j *janitor) shards() (own []int) {
	for shard := range engine.Shards {
		if j.owns(shard) {
			own = append(own, shard)
		}
	}
	return own
}

// run works until ctx ends. The sweeps go beside the rest: they look at everything, which may take hours.
func (j *janitor) run(ctx context.Context) {
	var sweeps sync.WaitGroup
	sweeps.Go(func() { j.every(ctx, sweepEvery, j.mine, j.sweep) })
	j.every(ctx, j.keep.interval(), func() bool { return len(j.shards()) > 0 }, j.expireOld)
	sweeps.Wait()
}

// every does something again and again while it is this node's turn. What fails is retried the next time.
func (j *janitor) every(ctx context.Context, interval time.Duration, turn func() bool, do func(context.Context)) {
	timer := time.NewTimer(min(janitorFirst, interval))
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		if !turn() {
			timer.Reset(min(janitorEvery, interval))
			continue
		}
		do(ctx)
		timer.Reset(interval)
	}
}

// expireOld removes what is found by its age, and what is more than jobs, DAGs and namespaces keep. Without their rules it
// removes nothing.
func (j *janitor) expireOld(ctx context.Context) {
	found, err := j.readRules(ctx)
	if err != nil {
		j.failed(ctx, "reading how long history is kept failed", err)
		return
	}
	j.progress.begin(found.classes, j.now())
	for i := range found.classes {
		if err := j.expire(ctx, &found.classes[i]); err != nil {
			j.failed(ctx, "removing old history failed", err)
		}
	}
	if err := j.expireOwn(ctx, found); err != nil {
		j.failed(ctx, "removing history by the retention of jobs and DAGs failed", err)
	}
	if !j.mine() {
		return // another engine removes the rest
	}
	if found.remove(j.keep.History) {
		before := j.now().Add(-cmp.Or(found.longest(j.keep.History), sweepEvery))
		if err := j.expireKind(ctx, "effect", of(before, j.store.ExpireEffects)); err != nil {
			j.failed(ctx, "removing old effects failed", err)
		}
	}
	if age := j.keep.DeadLetters; age > 0 {
		if err := j.expireKind(ctx, "dead_letter", of(engine.Expiry{Before: j.now().Add(-age)}, j.store.ExpireDeadLetters)); err != nil {
			j.failed(ctx, "removing old dead letters failed", err)
		}
	}
	if err := j.expireKind(ctx, "record", of(j.now(), j.store.ExpireRecords)); err != nil {
		j.failed(ctx, "removing expired records failed", err)
	}
}

// sweep removes what only a look at everything finds.
func (j *janitor) sweep(ctx context.Context) {
	if n, err := j.blobs.SweepUploads(ctx, sweepEvery); err != nil {
		j.failed(ctx, "removing what broken uploads have left failed", err)
	} else if n > 0 {
		j.log.Info("removed what broken uploads had left", "objects", n)
	}
	if err := j.sweepOutput(ctx); err != nil {
		j.failed(ctx, "removing old output and artifacts failed", err)
	}
	if err := j.recountStored(ctx); err != nil {
		j.failed(ctx, "counting again what runs have stored failed", err)
	}
	if err := j.sweepDefinitions(ctx); err != nil {
		j.failed(ctx, "removing one-off jobs and earlier versions of definitions failed", err)
	}
	if err := j.expireAudit(ctx); err != nil {
		j.failed(ctx, "removing old entries of the audit log failed", err)
	}
	if err := j.sweepBinaries(ctx); err != nil {
		j.failed(ctx, "removing programs that nothing refers to failed", err)
	}
}

// expireAudit removes entries of the audit log that are older than they are kept.
func (j *janitor) expireAudit(ctx context.Context) error {
	if j.keep.Audit == 0 {
		return nil
	}
	removed, err := j.audit.Expire(ctx, j.now().Add(-j.keep.Audit))
	j.metrics.expired.WithLabelValues("audit").Add(float64(removed))
	if removed > 0 {
		j.log.Info("removed old entries of the audit log", "entries", removed)
	}
	return err
}

// errNotMine ends a sweep when another engine's turn has come.
var errNotMine = errors.New("it is another engine's turn")

// failed logs why something could not be done, unless this node was to stop it.
func (j *janitor) failed(ctx context.Context, what string, err error) {
	if ctx.Err() == nil && !errors.Is(err, errNotMine) {
		j.log.Warn(what, "error", err)
	}
}

// expire removes what is older than a class keeps it: each engine the runs of its shards, one of them the waves, the ledger and
// the dead letters of that time.
func (j *janitor) expire(ctx context.Context, class *ageClass) error {
	what := class.expiry(j.now())
	shards, removed := [][]int{j.shards()}, 0
	if j.apart {
		shards = slices.Collect(slices.Chunk(shards[0], 1))
	}
	for _, some := range shards {
		n, err := j.expireRuns(ctx, some, class, what)
		if removed += n; err != nil {
			return err
		}
	}
	if removed > 0 {
		j.log.Info("removed old runs", "runs", removed, "before", what.Before)
	}
	if !j.mine() {
		return nil // another engine removes the rest
	}
	for _, kind := range []struct {
		label  string
		expire func(ctx context.Context, what engine.Expiry, limit int) (int, error)
	}{{"wave", j.store.ExpireWaves}, {"slots", j.store.ExpireSlots}, {"dead_letter", j.store.ExpireDeadLetters}} {
		from := kind.label + class.key()
		if !what.All() {
			what.From = j.progress.came[from]
		}
		if err := j.expireKind(ctx, kind.label, of(what, kind.expire)); err != nil {
			return err
		}
		what.From = time.Time{}
		j.progress.came[from] = what.Before
		if len(class.longer) == 0 || kind.label == "wave" {
			continue // waves go with their runs, by the rules of their DAGs
		}
		// The rest of those that are kept longer stays for as long as the longest of them asks.
		rest := engine.Expiry{Before: j.now().Add(-class.most), Namespaces: class.only, Except: class.except}
		if err := j.expireKind(ctx, kind.label, of(rest, kind.expire)); err != nil {
			return err
		}
	}
	return nil
}

// of is a removal of a store with what it is to remove, for expireKind.
func of[W any](what W, expire func(ctx context.Context, what W, limit int) (int, error)) func(context.Context, int) (int, error) {
	return func(ctx context.Context, limit int) (int, error) { return expire(ctx, what, limit) }
}

// expireRuns removes the runs of some shards, with their outputs, and returns how many.
func (j *janitor) expireRuns(ctx context.Context, shards []int, class *ageClass, what engine.Expiry) (removed int, err error) {
	from, all := fmt.Sprint("run", class.key(), shards), what.All()
	if !all {
		what.From = j.progress.came[from]
	}
	for {
		began := time.Now()
		expired, err := j.store.ExpireRuns(ctx, shards, what, j.batch)
		j.removedRuns(ctx, &expired)
		removed += expired.Count
		if !all && err == nil && !expired.Done.IsZero() {
			what.From = expired.Done
			j.progress.came[from] = what.From
		}
		if err != nil || expired.Count == 0 && (all || !what.From.Before(what.Before)) {
			return removed, err
		}
		late := expired.Count > 0 && expired.Upto.Before(what.Before.Add(-min(janitorLate, class.age/10)))
		if err := j.pauseFor(ctx, j.breath(time.Since(began), late)); err != nil {
			return removed, err
		}
	}
}

// expireKind removes all of a kind, some at a time.
func (j *janitor) expireKind(ctx context.Context, kind string, expire func(ctx context.Context, limit int) (int, error)) error {
	for {
		began := time.Now()
		n, err := expire(ctx, j.batch)
		j.metrics.expired.WithLabelValues(kind).Add(float64(n))
		if err != nil || n == 0 {
			return err
		}
		if err := j.breathe(ctx, j.breath(time.Since(began), false)); err != nil {
			return err
		}
	}
}

// breath is how long to wait after a batch that took so long, so that all batches together take their share of the time.
func breath(took time.Duration, late bool) time.Duration {
	share := janitorShare
	if late {
		share = janitorLateShare
	}
	return time.Duration(float64(took) * (1 - share) / share)
}

// noBreath is for those who wait for the end of the work.
func noBreath(time.Duration, bool) time.Duration { return 0 }

// breathe waits, at least for j.pause, and ends the work if it is another engine's turn then.
func (j *janitor) breathe(ctx context.Context, least time.Duration) error {
	if err := j.pauseFor(ctx, least); err != nil {
		return err
	}
	if !j.mine() {
		return errNotMine
	}
	return nil
}

// pauseFor waits, at least for j.pause.
func (j *janitor) pauseFor(ctx context.Context, least time.Duration) error {
	select {
	case <-time.After(max(least, j.pause)):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
