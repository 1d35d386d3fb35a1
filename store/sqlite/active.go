package sqlite

import (
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/tidewheel/tidewheel/engine"
)

// activeRuns holds all runs that have not ended, as they are on the disk: the writer shows here what it has committed.
// It is locked for moments only, never while the disk is waited for. A *runWrite in it never changes.
type activeRuns struct {
	mu      sync.RWMutex
	byID    map[string]*activeRun
	ids     sortedRuns // by id: so those of a job stand together
	newest  sortedRuns // by place in history, the oldest first
	started sortedRuns // the same, of what is running or retried
}

// activeRun is a run that has not ended; the row of the log that holds it belongs to the writer.
type activeRun struct {
	run *runWrite
	row *logRow
}

func newActiveRuns() *activeRuns {
	byPlace := func(a, b *runWrite) int { return b.place().newer(a.place()) }
	return &activeRuns{
		byID:    map[string]*activeRun{},
		ids:     sortedRuns{order: func(a, b *runWrite) int { return strings.Compare(a.id, b.id) }},
		newest:  sortedRuns{order: byPlace},
		started: sortedRuns{order: byPlace},
	}
}

func (r *runWrite) place() key { return key{at: r.createdAt, id: r.id} }

func (r *runWrite) hasStarted() bool {
	return r.status == engine.StatusRunning || r.status == engine.StatusRetrying
}

// put shows a run in its present form, in place of the one that was there. The caller has locked.
func (a *activeRuns) put(run *runWrite, row *logRow) {
	entry := a.byID[run.id]
	if entry != nil && entry.run.createdAt != run.createdAt { // it is another, made under the same id
		a.remove(entry.run)
		entry = nil
	}
	if entry == nil {
		entry = &activeRun{run: run, row: row}
		a.byID[run.id] = entry
		a.ids.insert(entry)
		a.newest.insert(entry)
		if run.hasStarted() {
			a.started.insert(entry)
		}
		return
	}
	switch before := entry.run; {
	case before.hasStarted() && !run.hasStarted():
		a.started.remove(before)
	case !before.hasStarted() && run.hasStarted():
		a.started.insert(entry)
	}
	entry.run, entry.row = run, row
}

// fill takes many runs at once, when there are none yet.
func (a *activeRuns) fill(entries []*activeRun) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, entry := range entries {
		a.byID[entry.run.id] = entry
	}
	a.ids.fill(entries)
	a.newest.fill(entries)
	a.started.fill(slices.DeleteFunc(entries, func(entry *activeRun) bool { return !entry.run.hasStarted() }))
}

// remove is for a run that is there. The caller has locked.
func (a *activeRuns) remove(run *runWrite) {
	delete(a.byID, run.id)
	a.ids.remove(run)
	a.newest.remove(run)
	if run.hasStarted() {
		a.started.remove(run)
	}
}

func (a *activeRuns) get(id string) *runWrite {
	a.mu.RLock()
	defer a.mu.RUnlock()
	if found := a.byID[id]; found != nil {
		return found.run
	}
	return nil
}

// lookedAtOnce is how many runs are looked at before others may have the lock.
const lookedAtOnce = 5_000

// above returns runs of these shards with ids above after, in the order of their ids.
func (a *activeRuns) above(after string, mask uint64, limit int) (runs []*runWrite) {
	for more := true; more && len(runs) < limit; {
		looked := 0
		more = false
		a.mu.RLock()
		a.ids.ascend(&runWrite{id: after}, func(run *runWrite) bool {
			if run.id == after {
				return true
			}
			if looked++; looked > lookedAtOnce || len(runs) == limit {
				more = true
				return false
			}
			after = run.id
			if mask>>uint(run.shard)&1 != 0 {
				runs = append(runs, run)
			}
			return true
		})
		a.mu.RUnlock()
	}
	return runs
}

// of returns the runs of a job, or of the tasks of a DAG.
func (a *activeRuns) of(uid string) []*runWrite { return a.between(uid+"-", uid+".", math.MaxInt) }

// between returns the runs with ids above one and below another, in the order of their ids.
func (a *activeRuns) between(above, below string, limit int) (runs []*runWrite) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	a.ids.ascend(&runWrite{id: above}, func(run *runWrite) bool {
		if run.id >= below || len(runs) == limit {
			return false
		}
		if run.id != above {
			runs = append(runs, run)
		}
		return true
	})
	return runs
}

// look returns the first runs after from, in the order of history, that the filter picks, one more than its limit at
// most, and how far it has looked: oldest if there are no more.
func (a *activeRuns) look(filter *engine.RunFilter, from key) (found []*runWrite, end key) {
	pick := newPicker(filter)
	if filter.JobUID != "" { // few: they are sorted
		found = slices.DeleteFunc(a.of(filter.JobUID), func(run *runWrite) bool { return run.place().newer(from) <= 0 || !pick.picks(run) })
		slices.SortFunc(found, func(x, y *runWrite) int { return x.place().newer(y.place()) })
		if len(found) > filter.Limit {
			found = found[:filter.Limit+1]
			return found, found[filter.Limit].place()
		}
		return found, oldest
	}
	list := &a.newest
	if len(filter.Statuses) > 0 && !slices.ContainsFunc(filter.Statuses, func(status engine.Status) bool {
		return !status.Terminal() && status != engine.StatusRunning && status != engine.StatusRetrying
	}) {
		list = &a.started // so that they are found behind any number of queued runs
	}
	end = oldest
	if pick.until < from.at {
		from = key{at: pick.until}
	}
	looked := 0
	a.mu.RLock()
	defer a.mu.RUnlock()
	list.descend(&runWrite{createdAt: from.at, id: from.id}, func(run *runWrite) bool {
		if run.createdAt < pick.since {
			return false
		}
		if looked++; looked > lookedAtOnce || len(found) > filter.Limit {
			return false
		}
		if pick.picks(run) {
			found = append(found, run)
		}
		if looked == lookedAtOnce || len(found) > filter.Limit {
			end = run.place()
		}
		return true
	})
	return found, end
}

// picker decides of runs in memory what the conditions of historyRange decide of rows.
type picker struct {
	filter       *engine.RunFilter
	since, until int64
	text         string
}

func newPicker(filter *engine.RunFilter) picker {
	p := picker{filter: filter, text: strings.ToLower(filter.Text)}
	p.since, p.until = window(filter.Since, filter.Until)
	return p
}

func (p *picker) picks(run *runWrite) bool {
	f := p.filter
	return (f.Namespace == "" || run.namespace == f.Namespace) &&
		(f.JobUID == "" || run.jobUID == f.JobUID) &&
		(f.DAGUID == "" || run.jobUID == f.DAGUID) &&
		(f.Job == "" || run.job == f.Job && run.task() == "") &&
		(f.DAG == "" || run.job == f.DAG && run.task() != "") &&
		(f.Task == "" || run.task() == f.Task) &&
		(!f.OfJobs || run.task() == "") &&
		(f.Tier == "" || run.tier == string(f.Tier)) &&
		(f.By == "" || run.by == f.By) &&
		(len(f.Statuses) == 0 || slices.Contains(f.Statuses, run.status)) &&
		run.createdAt >= p.since && run.createdAt < p.until &&
		(p.text == "" || p.holds(run.id) || p.holds(run.job) || p.holds(run.reason))
}

func (p *picker) holds(text string) bool { return strings.Contains(strings.ToLower(text), p.text) }
