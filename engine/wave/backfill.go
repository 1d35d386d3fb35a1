package wave

import (
	"fmt"
	"time"

	"github.com/tidewheel/tidewheel/cron"
	"github.com/tidewheel/tidewheel/engine"
)

// Planned is a wave that a backfill makes: the slot of each root, and the first of them.
type Planned struct {
	Slot  time.Time
	Slots map[string]time.Time
}

// BackfillKey is the idempotency key of the wave that a backfill makes: asking for it twice is asking once.
func (p Planned) BackfillKey() string { return fmt.Sprintf("backfill-%d", p.Slot.UnixMilli()) }

// Backfill returns the waves that the slots in [from, to) make that are not after now: those that the schedules of the
// roots would have made with waves that take no time. A wave begins with the first slot of any root, takes the next slot
// of every other, and the slots of faster roots that come before its last one are passed over; a wave of which a slot
// lies outside is not made. At most MaxBackfill come; more reports whether there are others. A DAG without schedules
// has none. The error names the root whose schedule does not compile.
func Backfill(d *engine.DAG, from, to, now time.Time) (waves []Planned, more bool, err error) {
	type root struct {
		name     string
		schedule *cron.Schedule
		next     time.Time
		over     bool // it has no further slot, ever
	}
	var roots []*root
	for i := range d.Spec.Tasks {
		name := d.Spec.Tasks[i].Name
		if !d.Spec.Tasks[i].Root() {
			continue
		}
		schedule, err := cron.Compile(d.Spec.Definition(i, d.Key()+"/"+name, d.CreatedAt))
		if err != nil {
			return nil, false, fmt.Errorf("compile the schedule of %s/%s: %w", d.Name, name, err)
		}
		if schedule.Kind() != cron.KindManual {
			roots = append(roots, &root{name: name, schedule: schedule})
		}
	}
	advance := func(r *root, after time.Time) {
		for r.next.IsZero() || !r.next.After(after) {
			slot, ok := r.schedule.Next(after)
			for ok && r.schedule.Excluded(slot) && slot.Before(to) {
				slot, ok = r.schedule.Next(slot)
			}
			r.next, r.over = slot, !ok
			if !ok {
				return
			}
		}
	}
	for after := from.Add(-time.Millisecond); ; {
		planned := Planned{Slots: map[string]time.Time{}}
		last := time.Time{}
		for _, r := range roots {
			if !r.over {
				advance(r, after)
			}
			if r.over {
				continue
			}
			planned.Slots[r.name] = r.next
			if planned.Slot.IsZero() || r.next.Before(planned.Slot) {
				planned.Slot = r.next
			}
			if r.next.After(last) {
				last = r.next
			}
		}
		if len(planned.Slots) == 0 || !last.Before(to) || last.After(now) {
			return waves, false, nil
		}
		if len(waves) == engine.MaxBackfill {
			return waves, true, nil
		}
		waves = append(waves, planned)
		after = last
	}
}
