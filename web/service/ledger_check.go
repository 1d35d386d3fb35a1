package service

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

// The slot ledger checks itself. It compares the slots that the schedules of all jobs and of all CRON roots name, since
// each was created, with the runs and ledger entries, and the other way round. Each slot is checked once: a pass starts
// where the last one ended, so its cost grows with the definitions and with the new slots, not with the history. Each
// pass checks missing slots again, until they are there. The end of the last pass is kept in memory only, so a server
// checks all slots once after its start.

const (
	// ledgerSettles is how old a slot must be before it is looked at. What the engine has yet to deal with is left out anyway.
	ledgerSettles = time.Second
	// ledgerUnit is how many slots are looked at between two pauses.
	ledgerUnit = 2_000
	// ledgerPage is how many definitions are read at a time.
	ledgerPage = 100
	// differencesKept bounds what is kept of what is found; more is only counted.
	differencesKept = 1_000
	// ledgerIdle is the time between two passes, and ledgerFirst that before the first.
	ledgerIdle, ledgerFirst = time.Minute, 20 * time.Second
	// ledgerShare is the part of the time that is spent on it: one in so many.
	ledgerShare = 50
	// ledgerExpires is how far from the end of the retention the check stays.
	ledgerExpires = time.Hour
)

// DifferenceKind is what is wrong with a slot.
type DifferenceKind string

// The kinds of differences. Each slot that a schedule names, and no other, ends once: as a run, or in the ledger.
const (
	DifferenceMissing    DifferenceKind = "missing"     // it is neither a run nor in the ledger
	DifferenceBoth       DifferenceKind = "both"        // it has fired, and the ledger says that it did not
	DifferenceFiredTwice DifferenceKind = "fired_twice" // two waves have it
	DifferenceNotedTwice DifferenceKind = "noted_twice" // two entries of the ledger have it
	DifferenceNoSchedule DifferenceKind = "no_schedule" // no schedule that its owner ever had names it
)

// Words returns what is wrong with the slot: "it is neither run nor in the ledger".
func (k DifferenceKind) Words() string {
	switch k {
	case DifferenceMissing:
		return "neither run nor in the ledger"
	case DifferenceBoth:
		return "both run and in the ledger as not run"
	case DifferenceFiredTwice:
		return "run twice"
	case DifferenceNotedTwice:
		return "in the ledger twice"
	case DifferenceNoSchedule:
		return "named by no schedule that its owner ever had"
	}
	return string(k)
}

// LedgerDifference is a slot that did not end once.
type LedgerDifference struct {
	Kind      DifferenceKind
	Namespace string
	Owner     string // a job, or "dag/root"
	Slot      time.Time

	id         string // under which the ledger has it
	generation int64
}

func (d *LedgerDifference) key() string { return string(d.Kind) + engine.SlotRangeID(d.id, d.Slot) }

// LedgerState is what the check has found so far.
type LedgerState struct {
	// Differences are the slots that did not end once, the newest first, and Found how many: more than are kept, perhaps.
	Differences []LedgerDifference
	Found       int
	// Through is until when all slots have been looked at; zero before the first pass has ended.
	Through time.Time
	At      time.Time // when the last pass ended
	Slots   int64     // looked at since the server started
	Behind  int       // jobs and roots that are not as far: paused, or with slots that no engine has dealt with yet
	// Retention is how far back the history is kept, and so is looked at; 0 is all of it.
	Retention time.Duration
}

// ledgerCheck is what the check keeps. Passes come one at a time.
type ledgerCheck struct {
	pass      sync.Mutex
	retention time.Duration

	mu      sync.Mutex
	through time.Time
	behind  map[string]time.Time // owners that were not looked at as far as through: until when they were
	found   map[string]LedgerDifference
	lost    int // differences beyond those kept
	at      time.Time
	slots   int64
}

// LedgerState reports what the check has found.
func (s *Service) LedgerState() LedgerState {
	c := &s.ledger
	c.mu.Lock()
	defer c.mu.Unlock()
	state := LedgerState{Found: len(c.found) + c.lost, Through: c.through, At: c.at, Slots: c.slots, Behind: len(c.behind), Retention: c.retention}
	for _, d := range c.found {
		state.Differences = append(state.Differences, d)
	}
	slices.SortFunc(state.Differences, func(a, b LedgerDifference) int { return cmp.Or(b.Slot.Compare(a.Slot), cmp.Compare(a.Owner, b.Owner)) })
	return state
}

// WatchLedger checks the ledger again and again until ctx ends, slowly. retention is how long history is kept; 0 is for
// ever.
func (s *Service) WatchLedger(ctx context.Context, retention time.Duration) {
	s.ledger.mu.Lock()
	s.ledger.retention = retention
	s.ledger.mu.Unlock()
	timer := time.NewTimer(ledgerFirst)
	defer timer.Stop()
	pause := func(ctx context.Context, took time.Duration) error {
		timer.Reset(took * ledgerShare)
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-timer.C:
			return nil
		}
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		if err := s.checkLedger(ctx, pause); err != nil && ctx.Err() == nil {
			s.log.Warn("checking the slot ledger failed: it is tried again", "error", err)
		}
		timer.Reset(ledgerIdle)
	}
}

// CheckLedger does one pass at once.
func (s *Service) CheckLedger(ctx context.Context) error {
	return s.checkLedger(ctx, func(ctx context.Context, _ time.Duration) error { return ctx.Err() })
}

// ledgerPass is one pass over all definitions.
type ledgerPass struct {
	service *Service
	pause   func(context.Context, time.Duration) error
	began   time.Time // of the work since the last pause
	since   time.Time // where the pass before has ended
	until   time.Time
	oldest  time.Time // what is older has been expired
	known   map[string]time.Time

	behind map[string]time.Time
	found  []LedgerDifference
	slots  int64
}

func (s *Service) checkLedger(ctx context.Context, pause func(context.Context, time.Duration) error) error {
	c := &s.ledger
	c.pass.Lock()
	defer c.pass.Unlock()
	now := s.now()
	p := &ledgerPass{service: s, pause: pause, began: time.Now(), until: now.Add(-ledgerSettles), behind: map[string]time.Time{}}
	c.mu.Lock()
	p.since, p.known = c.through, c.behind
	if c.retention > 0 {
		p.oldest = now.Add(ledgerExpires - c.retention)
	}
	before := make([]LedgerDifference, 0, len(c.found))
	for _, d := range c.found {
		before = append(before, d)
	}
	c.mu.Unlock()
	if p.until.Before(p.since) {
		p.until = p.since // the wall clock went back
	}
	if err := p.jobs(ctx); err != nil {
		return err
	}
	if err := p.dags(ctx); err != nil {
		return err
	}
	found, lost, err := s.stillThere(ctx, append(before, p.found...), p.oldest)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, d := range found {
		if _, seen := c.found[key]; !seen {
			s.log.Error("a slot of the ledger did not end once: it is "+d.Kind.Words(), "kind", d.Kind, "owner", d.Owner, "namespace", d.Namespace, "slot", d.Slot, "generation", d.generation)
		}
	}
	c.found, c.lost = found, lost
	c.through, c.behind, c.at = p.until, p.behind, now
	c.slots += p.slots
	return nil
}

// rest pauses once enough has been done.
func (p *ledgerPass) rest(ctx context.Context) error {
	took := time.Since(p.began)
	err := p.pause(ctx, took)
	p.began = time.Now()
	return err
}

func (p *ledgerPass) jobs(ctx context.Context) error {
	return eachOwner(ctx, p, p.service.Jobs, func(job *engine.Job) []*ledgerOwner { return []*ledgerOwner{p.service.jobLedger(job)} })
}

func (p *ledgerPass) dags(ctx context.Context) error {
	return eachOwner(ctx, p, p.service.DAGs, func(dag *engine.DAG) (owners []*ledgerOwner) {
		for _, root := range ScheduledRoots(dag) {
			owners = append(owners, p.service.rootLedger(dag, root))
		}
		return owners
	})
}

// eachOwner looks at the owners of slots among all definitions of a kind.
func eachOwner[S engine.Spec](ctx context.Context, p *ledgerPass, of *Definitions[S], owners func(*engine.Definition[S]) []*ledgerOwner) error {
	for filter := (engine.DefinitionFilter{Limit: ledgerPage}); ; {
		definitions, next, err := of.List(ctx, filter)
		if err != nil {
			return fmt.Errorf("check the ledger: list each %s: %w", of.noun, err)
		}
		for i := range definitions {
			for _, owner := range owners(&definitions[i]) {
				if err := p.owner(ctx, owner); err != nil {
					return err
				}
			}
		}
		if err := p.rest(ctx); err != nil || next == "" {
			return err
		}
		filter.Cursor = next
	}
}

// owner looks at the slots of one job or root since the last pass, unit by unit.
func (p *ledgerPass) owner(ctx context.Context, o *ledgerOwner) error {
	from := p.since
	if behind, is := p.known[o.id]; is {
		from = behind
	}
	from = later(from, later(o.created, p.oldest))
	for from.Before(p.until) {
		unit, err := o.check(ctx, from, p.until)
		if err != nil {
			return fmt.Errorf("check the ledger of %s: %w", o.name, err)
		}
		p.found = append(p.found, unit.found...)
		p.slots += int64(unit.slots)
		from = unit.through
		if unit.waits {
			p.behind[o.id] = from
			return nil
		}
		if unit.slots == ledgerUnit {
			if err := p.rest(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// stillThere looks once more at what was found: what has been made good meanwhile, was expired, or belongs to a definition
// that is gone, is no difference any more.
func (s *Service) stillThere(ctx context.Context, all []LedgerDifference, oldest time.Time) (found map[string]LedgerDifference, lost int, err error) {
	found = map[string]LedgerDifference{}
	for i := range all {
		d := &all[i]
		if d.Slot.Before(oldest) {
			continue
		}
		if _, known := found[d.key()]; known {
			continue
		}
		if len(found) == differencesKept {
			lost++
			continue
		}
		o, err := s.ledgerOwnerOf(ctx, d)
		if err != nil {
			return nil, 0, err
		}
		if o == nil {
			continue
		}
		still, err := o.still(ctx, d)
		if err != nil {
			return nil, 0, fmt.Errorf("look again at slot %s of %s: %w", d.Slot, d.Owner, err)
		}
		if still {
			found[d.key()] = *d
		}
	}
	return found, lost, nil
}
