package chaos

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/core"
)

// schedule is a job's or a root's slots, as far as they are judged.
type schedule struct {
	name    string // "tick", or "etl/orders"
	period  time.Duration
	overlap string // "wave" of a root: it waits for its wave
	catchUp string
	created time.Time
	until   time.Time // slots before it must be in the ledger
	ledger  []wire.LedgerEntry
	own     func(run wire.Run) bool // reports whether a run belongs to it
	pauses  []span
	edits   []span
}

// span is a time between two instants.
type span struct{ from, to time.Time }

func (s span) holds(at time.Time) bool { return !at.Before(s.from) && !at.After(s.to) }

const (
	// clockGrain is how far apart two parts of one machine may date the same event.
	clockGrain = 500 * time.Millisecond
	// outageAfter is how late a slot must be before it is judged by the catch-up policy.
	outageAfter = 10 * time.Second
)

// slots checks that each slot, from the schedule's creation until its end, stands in the ledger exactly once, and that
// each reason fits the policy and the faults.
func (v *verdict) slots(s *schedule) {
	outcomes := map[int64][]string{}
	busy := v.busy(s)
	for _, e := range s.ledger {
		count := int64(0)
		for at := e.From; !at.After(e.To); at = at.Add(s.period) {
			outcomes[at.Unix()] = append(outcomes[at.Unix()], strings.TrimSpace(e.Outcome+" "+e.Reason+" "+e.Run))
			count++
			if wrong := v.unfit(s, busy, e, at); wrong != "" {
				v.t.Errorf("%s: the slot %s is %s (%s): %s", s.name, at.UTC().Format(time.RFC3339), e.Outcome, e.Reason, wrong)
			}
		}
		if count != e.Count {
			v.t.Errorf("%s: the ledger counts %d slots from %s to %s, there are %d", s.name, e.Count, e.From, e.To, count)
		}
		if run := v.runs[e.Run]; e.Outcome == "fired" && !s.own(run) {
			v.t.Errorf("%s: the slot %s was fired as %q, which is no run of it", s.name, e.From, e.Run)
		}
	}
	slots := slices.Sorted(maps.Keys(outcomes))
	if len(slots) == 0 {
		if s.until.Sub(s.created) > s.period+clockGrain {
			v.t.Errorf("%s has no slots", s.name)
		}
		return
	}
	if first := time.Unix(slots[0], 0); first.After(s.created.Add(s.period)) {
		v.t.Errorf("%s was made at %s, and its first slot in the ledger is %s", s.name, s.created, first)
	}
	if last := time.Unix(slots[len(slots)-1], 0); last.Before(s.until.Add(-s.period)) {
		v.t.Errorf("%s ended at %s, and its last slot in the ledger is %s", s.name, s.until, last)
	}
	step := int64(s.period / time.Second)
	for at := slots[0]; at <= slots[len(slots)-1]; at += step {
		if all := outcomes[at]; len(all) != 1 {
			v.t.Errorf("%s: the slot %s stands in the ledger %d times: %v", s.name, time.Unix(at, 0).UTC().Format(time.RFC3339), len(all), all)
		}
	}
	v.judged += len(slots)
}

// busy returns when runs of the schedule, or waves of its DAG, were in the way of a slot, sorted by their beginning. A run
// that was caught up is in the way of the slots after its own, however late it began.
func (v *verdict) busy(s *schedule) (all []span) {
	for _, run := range v.runs {
		if !s.own(run) {
			continue
		}
		from, to := run.CreatedAt, run.FinishedAt
		if !run.Slot.IsZero() && run.Slot.Before(from) {
			from = run.Slot
		}
		if wave, inWave := v.waves[run.Wave]; inWave {
			to = wave.FinishedAt
		}
		all = append(all, span{from, to})
	}
	if dag, _, root := strings.Cut(s.name, "/"); root {
		for _, wave := range v.waves {
			if wave.DAG == dag {
				all = append(all, span{wave.StartedAt, wave.FinishedAt})
			}
		}
	}
	slices.SortFunc(all, func(a, b span) int { return cmp.Compare(a.from.UnixNano(), b.from.UnixNano()) })
	return all
}

// unfit returns why a slot cannot have ended for the reason that the ledger gives, or nothing.
func (v *verdict) unfit(s *schedule, busy []span, e wire.LedgerEntry, at time.Time) string {
	during := func(spans []span) bool { return slices.ContainsFunc(spans, func(p span) bool { return p.holds(at) }) }
	ended := !at.Before(s.until.Add(-clockGrain)) // by the pause or the edit that ends the chaos
	paused := ended || during(s.pauses)
	switch e.Outcome + " " + e.Reason {
	case "fired schedule":
		return ""
	case "fired catch_up":
		if s.catchUp == "none" {
			return "its policy catches up nothing"
		}
		return ""
	case "skipped overlap":
		return v.unfitOverlap(s, busy, at)
	case "skipped replaced":
		if s.overlap == "allow" {
			return "its runs may overlap: nothing replaces them"
		}
		return ""
	case "skipped queue_full":
		if s.overlap != "queue" {
			return "its runs do not queue up"
		}
		return ""
	case "skipped paused", "missed paused":
		if !paused {
			return "it was not paused then"
		}
		return ""
	case "skipped edited":
		if !paused && !during(s.edits) {
			return "nothing was edited then"
		}
		return ""
	case "missed outage", "missed catch_up":
		if paused {
			return ""
		}
		if s.catchUp == "all" {
			return "its policy catches up all"
		}
		if !v.troubled(span{at.Add(-clockGrain), at.Add(outageAfter + clockGrain)}, kindEngine, kindNATS, kindDatabase) {
			return "neither an engine nor NATS nor the database was broken then"
		}
		return ""
	}
	return "no slot of it can end so"
}

// unfitOverlap returns why nothing was in the way of a slot.
func (v *verdict) unfitOverlap(s *schedule, busy []span, at time.Time) string {
	if s.overlap != "skip" && s.overlap != "wave" {
		return "its policy is " + s.overlap
	}
	var last time.Time
	for _, b := range busy {
		if b.from.After(at.Add(clockGrain)) {
			break
		}
		if b.to.IsZero() || b.to.After(at.Add(-clockGrain)) {
			return ""
		}
		if b.to.After(last) {
			last = b.to
		}
	}
	// An engine that could not hear of an end goes by what it knows.
	if !last.IsZero() && v.troubled(span{last, at}, kindEngine, kindNATS, kindDatabase, kindExecutor) {
		return ""
	}
	if last.IsZero() {
		return "no run came before it"
	}
	return "the run before it had ended at " + last.UTC().Format(time.RFC3339Nano)
}

// troubled reports whether a part of these kinds was broken at some time of the span.
func (v *verdict) troubled(when span, kinds ...string) bool {
	return slices.ContainsFunc(v.troubles, func(t trouble) bool {
		return slices.Contains(kinds, t.kind) && !t.begin.After(when.to) && !t.end.Before(when.from)
	})
}

// schedules returns all that is judged: the jobs' and the roots'.
func (v *verdict) schedules(until map[string]time.Time) (all []*schedule) {
	for _, j := range v.work.jobs {
		all = append(all, &schedule{
			name: j.name, period: j.period, overlap: j.overlap, catchUp: j.catchUp, created: j.created, until: until[j.name], ledger: v.ledger[j.name],
			own:    func(run wire.Run) bool { return run.JobUID == j.uid && run.DAG == "" },
			pauses: v.work.pauses[j.name], edits: v.work.edits[j.name],
		})
	}
	for _, d := range v.work.dags {
		for root, period := range d.roots {
			all = append(all, &schedule{
				name: d.name + "/" + root, period: period, overlap: "wave", catchUp: "last", created: d.created, until: until[d.name],
				ledger: v.ledger[d.name+"/"+root],
				own:    func(run wire.Run) bool { return run.DAG == d.name && run.Task == root },
			})
		}
	}
	return all
}

// allowedEnd reports whether a run may have ended otherwise than well.
func (v *verdict) allowedEnd(run wire.Run) bool {
	j := v.jobs[run.JobUID]
	deleted := v.work.deleteRequested[run.JobUID]
	switch run.Status {
	case engine.StatusLost: // of a deleted job there is no definition to try it again by
		return j.once || deleted
	case engine.StatusCancelled:
		return j.overlap == "replace" || v.work.cancelled[run.ID] || deleted
	case engine.StatusDead: // as many attempts were lost as may be
		return run.Losses > core.DefaultConfig().MaxLosses || v.work.fails(run)
	case engine.StatusFailed:
		return v.work.fails(run)
	case engine.StatusSkipped: // it needs a task that did not succeed
		return run.DAG != ""
	default:
		return false
	}
}
