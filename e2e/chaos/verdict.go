package chaos

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/engine"
)

// verdict compares what the programs wrote with what the API says and with what was promised.
type verdict struct {
	t      reporter
	work   *workload
	traces []*trace
	*result

	jobs    map[string]job // by uid
	byRun   map[string][]*trace
	judged  int      // slots
	checked []string // in words
}

// reporter hears what is wrong; as *testing.T.
type reporter interface {
	Helper()
	Errorf(format string, args ...any)
}

func judge(t reporter, work *workload, traces []*trace, result *result, until map[string]time.Time) *verdict {
	t.Helper()
	v := &verdict{t: t, work: work, traces: traces, result: result, jobs: map[string]job{}, byRun: map[string][]*trace{}}
	for _, j := range slices.Concat(work.jobs, work.lives) {
		v.jobs[j.uid] = j
	}
	for _, trace := range traces {
		v.byRun[trace.run] = append(v.byRun[trace.run], trace)
	}
	v.starts()
	v.ends()
	v.byHand()
	v.users()
	schedules := v.schedules(until)
	for _, s := range schedules {
		v.slots(s)
	}
	v.checkedf("%d slots of %d jobs and roots, each accounted for once, for a reason that fits", v.judged, len(schedules))
	v.locks()
	v.edges()
	v.waveEnds()
	return v
}

func (v *verdict) checkedf(format string, args ...any) {
	v.checked = append(v.checked, fmt.Sprintf(format, args...))
}

// starts checks that no attempt began twice, and that every run that ran is known.
func (v *verdict) starts() {
	for _, trace := range v.traces {
		run, known := v.runs[trace.run]
		if !known {
			v.t.Errorf("attempt %d of %s has run, and the API does not know the run", trace.attempt, trace.run)
			continue
		}
		if trace.starts != 1 || trace.ends > 1 {
			v.t.Errorf("attempt %d of %s (%s%s) began %d times and ended %d times", trace.attempt, trace.run, run.Job, run.DAG, trace.starts, trace.ends)
		}
		if trace.attempt > run.Attempt {
			v.t.Errorf("attempt %d of %s has run, and the API knows of %d only", trace.attempt, trace.run, run.Attempt)
		}
	}
	for id, all := range v.byRun {
		if j := v.jobs[v.runs[id].JobUID]; j.once && len(all) > 1 {
			v.t.Errorf("%s of %s is to be delivered at most once, and began %d times: %+v", id, j.name, len(all), v.runs[id].Attempts)
		}
	}
	v.checkedf("%d attempts of %d runs, none started twice", len(v.traces), len(v.byRun))
}

// ends checks that each run ended well, or may have ended otherwise and says why; and that what ended well did so
// according to its own program.
func (v *verdict) ends() {
	other := map[string]int{}
	for _, id := range slices.Sorted(maps.Keys(v.runs)) {
		run := v.runs[id]
		if run.Status == engine.StatusSucceeded {
			at := slices.IndexFunc(v.byRun[id], func(t *trace) bool { return t.attempt == run.Attempt && t.ended })
			if at < 0 {
				v.t.Errorf("%s of %s%s succeeded at attempt %d, and its program never ended so", id, run.Job, run.DAG, run.Attempt)
			}
			continue
		}
		other[run.Status.String()]++
		if !v.allowedEnd(run) || run.Reason == "" {
			v.t.Errorf("%s of %s%s ended as %s after %d attempts (%d failures, %d losses): %s %s", id, run.Job, run.DAG, run.Status, run.Attempt, run.Failures, run.Losses, run.Reason, run.Error)
		}
	}
	text := "all succeeded"
	if len(other) > 0 {
		text = fmt.Sprintf("all succeeded but for %v, each of which may and says why", other)
	}
	v.checkedf("%d runs ended, %s", len(v.runs), text)
}

// byHand checks that what was acknowledged was done.
func (v *verdict) byHand() {
	for _, id := range v.work.asked {
		if v.runs[id].Status != engine.StatusSucceeded {
			v.t.Errorf("the manual run %s was acknowledged, and is %s", id, v.runs[id].Status)
		}
	}
	v.checkedf("%d manual runs, each done once", len(v.work.asked))
}

// locks checks that no holder's program lived once the next holder's had begun, and that tokens grow.
func (v *verdict) locks() {
	byLock := map[string][]*trace{}
	for _, trace := range v.traces {
		lock := v.lock(trace.run)
		byLock[lock] = append(byLock[lock], trace)
	}
	pairs := 0
	for lock, all := range byLock {
		slices.SortFunc(all, func(a, b *trace) int { return cmp.Compare(a.token, b.token) })
		for i := 1; i < len(all); i++ {
			before, after := all[i-1], all[i]
			pairs++
			if before.token == after.token {
				v.t.Errorf("lock %s: attempt %d of %s and attempt %d of %s have the token %d", lock, before.attempt, before.run, after.attempt, after.run, after.token)
			}
			if before.start > after.start {
				v.t.Errorf("lock %s: token %d began at %s, before token %d at %s", lock, after.token, clock(after.start), before.token, clock(before.start))
			}
			if before.last > after.start {
				v.t.Errorf("lock %s: attempt %d of %s (token %d) lived at %s, %s after attempt %d of %s (token %d) had begun", lock, before.attempt, before.run, before.token,
					clock(before.last), time.Duration(before.last-after.start), after.attempt, after.run, after.token)
			}
		}
	}
	v.checkedf("%d locks that passed on %d times, never held twice, with growing tokens", len(byLock), pairs)
}

// lock returns the lock that an attempt of a run holds, as the core has it.
func (v *verdict) lock(id string) string {
	run := v.runs[id]
	switch {
	case run.Item != nil, run.Task == "" && (v.jobs[run.JobUID].overlap == "allow" || run.Job == "byhand"):
		return id
	case run.Task != "":
		return engine.RootID(run.JobUID, run.Task)
	}
	return run.JobUID
}

func clock(nanoseconds int64) string { return time.Unix(0, nanoseconds).Format("15:04:05.000") }

type waveTask struct{ wave, task string }

// edges checks that each program began after all that its task needs had ended for good.
func (v *verdict) edges() {
	first, last := map[waveTask]int64{}, map[waveTask]int64{}
	for _, trace := range v.traces {
		run := v.runs[trace.run]
		if run.Wave == "" {
			continue
		}
		key := waveTask{run.Wave, run.Task}
		if known, seen := first[key]; !seen || trace.start < known {
			first[key] = trace.start
		}
		last[key] = max(last[key], trace.last)
	}
	edges := 0
	for id, wave := range v.waves {
		for i := range wave.Tasks {
			task := &wave.Tasks[i]
			began, ran := first[waveTask{id, task.Name}]
			if !ran {
				continue
			}
			for _, need := range task.Needs {
				edges++
				if end, ended := last[waveTask{id, need}]; !ended || end > began {
					v.t.Errorf("wave %s of %s: %s began at %s, and %s, which it needs, lived at %s", id, wave.DAG, task.Name, clock(began), need, clock(end))
				}
			}
		}
	}
	v.checkedf("%d edges of %d waves respected", edges, len(v.waves))
}

// waveEnds checks that waves of a DAG are numbered without gaps, and ended well, or were not let by a run that did not.
func (v *verdict) waveEnds() {
	epochs := map[string][]wire.WaveDetail{}
	for _, wave := range v.waves {
		epochs[wave.DAG] = append(epochs[wave.DAG], wave)
	}
	for dag, waves := range epochs {
		slices.SortFunc(waves, func(a, b wire.WaveDetail) int { return cmp.Compare(a.Epoch, b.Epoch) })
		for i, wave := range waves {
			if wave.Epoch != int64(i+1) {
				v.t.Errorf("%s: the wave in place %d has the epoch %d", dag, i+1, wave.Epoch)
			}
			if wave.Status != engine.StatusSucceeded && !v.hasDead(wave.ID) {
				v.t.Errorf("%s: wave %d ended as %s: %s", dag, wave.Epoch, wave.Status, wave.Reason)
			}
		}
	}
}

func (v *verdict) hasDead(wave string) bool {
	for _, run := range v.runs {
		if run.Wave == wave && run.Status == engine.StatusDead {
			return true
		}
	}
	return false
}
