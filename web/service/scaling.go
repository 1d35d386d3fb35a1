package service

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

const (
	// scalingWithin is how long a run may wait for an executor, unless who asks says otherwise.
	scalingWithin = time.Minute
	// scalingSample is of how many of a tier's last runs the average is.
	scalingSample = 100
	// averageKnown is how long an average is believed.
	averageKnown = 10 * time.Second
)

// ScalingBounds are what who asks wants kept. Zero fields take their defaults.
type ScalingBounds struct {
	Min, Max int           // executors of a tier; Max 0 is any number
	Slots    int           // of an executor that would be started; 0: as those that are alive
	Within   time.Duration // how long a run may wait; default one minute
}

// TierScaling reports how many executors a tier needs, and why.
type TierScaling struct {
	Tier          spec.Tier
	Wanted, Alive int // executors whose own tier it is
	Waiting, Busy int
	Oldest        time.Duration // how long the first of what waits has waited
	Average       time.Duration // of the last runs; 0: none has ended yet
	Slots         int           // of one executor; 0: not known yet
	SlotsWanted   int
	WaitingLabels int // of what waits in the tier beside Waiting: for executors with certain labels
	Why           string
}

// averages remembers how long runs of each tier take.
type averages struct {
	mu sync.Mutex
	of map[spec.Tier]average
}

type average struct {
	at   time.Time
	took time.Duration
}

// Scaling returns how many executors each tier needs. An executor counts for its own tier, with --tier all for each; what it runs counts for
// the first. What waits for executors
// with certain labels is left out: more executors of the tier may not help it.
func (s *Service) Scaling(ctx context.Context, bounds ScalingBounds) ([]TierScaling, error) {
	depths, err := s.Depths(ctx)
	if err != nil {
		return nil, err
	}
	executors, err := s.queue.Executors(ctx)
	if err != nil {
		return nil, err
	}
	tiers := make([]TierScaling, 0, 3)
	for _, tier := range []spec.Tier{spec.TierLight, spec.TierMedium, spec.TierHeavy} {
		t := loadOf(tier, depths, executors, s.now())
		if t.Average, err = s.averageOf(ctx, tier); err != nil {
			return nil, err
		}
		t.decide(bounds)
		tiers = append(tiers, t)
	}
	return tiers, nil
}

// loadOf is what waits and works in a tier.
func loadOf(tier spec.Tier, depths []engine.QueueDepth, executors []engine.Presence, now time.Time) TierScaling {
	t := TierScaling{Tier: tier}
	for i := range depths {
		d := &depths[i]
		if d.Tier != tier {
			continue
		}
		labelled := 0
		for k := range d.Pools {
			labelled += int(min(d.Pools[k].Waiting, math.MaxInt32))
		}
		waiting := max(int(min(d.Waiting, math.MaxInt32))-labelled, 0)
		t.Waiting += waiting
		t.WaitingLabels += labelled
		if waiting > 0 && !d.Oldest.IsZero() {
			t.Oldest = max(t.Oldest, now.Sub(d.Oldest))
		}
	}
	slots := 0
	for i := range executors {
		e := &executors[i]
		if e.Draining || !ownTier(e, tier) {
			continue
		}
		t.Alive++
		slots += e.Slots
		if e.Tiers[0] == tier { // what it runs counts once
			t.Busy += len(e.Running)
		}
	}
	if t.Alive > 0 {
		t.Slots = slots / t.Alive
	}
	return t
}

// ownTier reports whether an executor is there for a tier: the first that it serves, or each tier with --tier all, whose
// first is the lightest.
// Other executors serve lighter tiers than their own when they are idle.
func ownTier(e *engine.Presence, tier spec.Tier) bool {
	return len(e.Tiers) > 0 && (e.Tiers[0] == tier || e.Tiers[0] == spec.TierLight && slices.Contains(e.Tiers, tier))
}

// averageOf is how long the last runs of a tier took.
func (s *Service) averageOf(ctx context.Context, tier spec.Tier) (time.Duration, error) {
	s.averages.mu.Lock()
	defer s.averages.mu.Unlock()
	known, ok := s.averages.of[tier]
	if age := s.now().Sub(known.at); ok && age >= 0 && age < averageKnown {
		return known.took, nil
	}
	runs, _, err := s.store.Runs(ctx, engine.RunFilter{
		Tier: tier, Limit: scalingSample, Statuses: []engine.Status{engine.StatusSucceeded, engine.StatusFailed, engine.StatusTimedOut, engine.StatusDead},
	})
	if err != nil {
		return 0, fmt.Errorf("read the last runs of tier %s: %w", tier, err)
	}
	var sum time.Duration
	count := 0
	for i := range runs {
		if a := runs[i].Current(); a != nil && !a.StartedAt.IsZero() {
			sum += max(a.FinishedAt.Sub(a.StartedAt), 0)
			count++
		}
	}
	took := time.Duration(0)
	if count > 0 {
		took = max(sum/time.Duration(count), time.Millisecond)
	}
	if s.averages.of == nil {
		s.averages.of = make(map[spec.Tier]average)
	}
	s.averages.of[tier] = average{s.now(), took}
	return took, nil
}

// decide reports how many executors are wanted: so many slots that what waits begins within the time that is left of Within, beside what
// runs.
//
//	left   = max(within − oldest, within ÷ 10)
//	slots  = busy + ⌈waiting × min(average, left) ÷ left⌉
//	wanted = ⌈slots ÷ slots of one executor⌉, at least min, at most max
//
// A run of unknown duration, or of one longer than left, needs a slot of its own.
func (t *TierScaling) decide(bounds ScalingBounds) {
	within := bounds.Within
	if within <= 0 {
		within = scalingWithin
	}
	if bounds.Slots > 0 {
		t.Slots = bounds.Slots
	}
	left := max(within-t.Oldest, within/10)
	each := left
	if t.Average > 0 {
		each = min(t.Average, left)
	}
	starting := int(math.Ceil(float64(t.Waiting) * each.Seconds() / left.Seconds()))
	t.SlotsWanted = t.Busy + starting
	var why []string
	switch {
	case t.Waiting == 0 && t.Busy == 0:
		why = append(why, "nothing waits and nothing runs")
	case t.Waiting == 0:
		why = append(why, fmt.Sprintf("nothing waits, %s run", count(t.Busy, "attempt")))
	default:
		took := "how long a run takes is not known, so each needs a slot"
		if t.Average > 0 {
			took = fmt.Sprintf("a run takes %s on average, so %s let them begin within %s", roundSpan(t.Average), count(starting, "slot"), roundSpan(left))
		}
		why = append(why, fmt.Sprintf("%s wait, the first for %s; %s; %s run", count(t.Waiting, "run"), roundSpan(t.Oldest), took, count(t.Busy, "attempt")))
	}
	switch {
	case t.SlotsWanted == 0:
		t.Wanted = 0
	case t.Slots == 0:
		t.Wanted = 1
		why = append(why, "no executor is there whose slots could be counted, so one is to begin")
	default:
		t.Wanted = (t.SlotsWanted + t.Slots - 1) / t.Slots
		why = append(why, fmt.Sprintf("%s at %d an executor", count(t.SlotsWanted, "slot"), t.Slots))
	}
	if t.Wanted < bounds.Min {
		t.Wanted = bounds.Min
		why = append(why, fmt.Sprintf("at least %d are asked for", bounds.Min))
	}
	if bounds.Max > 0 && t.Wanted > bounds.Max {
		t.Wanted = bounds.Max
		why = append(why, fmt.Sprintf("at most %d are asked for", bounds.Max))
	}
	if t.WaitingLabels > 0 {
		why = append(why, fmt.Sprintf("%s for executors with certain labels are left out", count(t.WaitingLabels, "waiting run")))
	}
	text := strings.Join(why, "; ")
	t.Why = strings.ToUpper(text[:1]) + text[1:] + "."
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// roundSpan is a span as people read it.
func roundSpan(d time.Duration) time.Duration {
	switch {
	case d >= 10*time.Second:
		return d.Round(time.Second)
	case d >= time.Second:
		return d.Round(100 * time.Millisecond)
	}
	return d.Round(time.Millisecond)
}
