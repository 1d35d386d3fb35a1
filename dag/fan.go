package dag

import "fmt"

// MaxItems is the longest list that a task can be mapped over.
const MaxItems = 10_000

// Fan is a mapped task in a wave: one run for each item of its list. Items are
// their indexes in the list. It is not safe for concurrent use.
type Fan struct {
	states  []State
	counts  [stateCount]int
	next    int // every item before it has been taken, or ended
	atOnce  int
	stopped bool
}

// NewFan is the fan over a list of so many items, of which at most maxParallel
// run at once; 0 is no bound. It fails if there are more than MaxItems.
func NewFan(items, maxParallel int) (*Fan, error) {
	if items < 0 || items > MaxItems {
		return nil, fmt.Errorf("the list has %d items: for_each takes at most %d, so let one run do several of them", items, MaxItems)
	}
	f := &Fan{states: make([]State, items), atOnce: maxParallel}
	for item := range f.states {
		f.states[item] = Ready
	}
	f.counts[Ready] = items
	return f, nil
}

// Len is the number of items.
func (f *Fan) Len() int { return len(f.states) }

// Count is how many items are in a state.
func (f *Fan) Count(state State) int { return f.counts[state] }

// Take gives out the next item, which is Running then; ok is false when none is
// left, or as many run as may.
func (f *Fan) Take() (item int, ok bool) {
	if f.stopped || f.atOnce > 0 && f.counts[Running] >= f.atOnce {
		return 0, false
	}
	for ; f.next < len(f.states); f.next++ {
		if f.states[f.next] == Ready {
			f.set(f.next, Running)
			f.next++
			return f.next - 1, true
		}
	}
	return 0, false
}

// Started records that an item is Running, and Ended how it ended: after a crash,
// they show a new fan what the runs of its items say.
func (f *Fan) Started(item int) bool {
	if f.states[item] != Ready {
		return false
	}
	f.set(item, Running)
	return true
}

// Ended reports whether the end of an item changed anything; one that comes
// twice does not.
func (f *Fan) Ended(item int, state State) bool {
	if !state.Ended() || !f.states[item].Next(state) {
		return false
	}
	f.set(item, state)
	return true
}

// Stop ends every item that was not started, as Cancelled.
func (f *Fan) Stop() {
	f.stopped = true
	for item, state := range f.states {
		if state == Ready {
			f.set(item, Cancelled)
		}
	}
}

// Done reports whether every item has ended.
func (f *Fan) Done() bool { return f.counts[Ready]+f.counts[Running] == 0 }

// Outcome is how the task ends, once it is Done: Failed if an item failed, else
// Cancelled if one was, else Succeeded; an empty list is Skipped, as in Airflow.
func (f *Fan) Outcome() State {
	switch {
	case !f.Done():
		return Running
	case len(f.states) == f.counts[Skipped]:
		return Skipped
	case f.counts[Failed] > 0:
		return Failed
	case f.counts[Cancelled] > 0:
		return Cancelled
	default:
		return Succeeded
	}
}

func (f *Fan) set(item int, state State) {
	f.counts[f.states[item]]--
	f.states[item] = state
	f.counts[state]++
}
