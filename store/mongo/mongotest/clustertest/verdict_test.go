package clustertest

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/client"
	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/engine"
)

// verdict compares what the programs wrote with what the API says and with what was promised.
type verdict struct {
	t       *testing.T
	load    *load
	entries []entry

	runs  map[string]wire.Run
	waves []wire.WaveDetail
	jobs  map[string]*job // by uid
}

type attempt struct {
	run string
	n   int
}

// judge reads all there is, and compares.
func judge(ctx context.Context, t *testing.T, load *load, api *client.Client) {
	t.Helper()
	v := &verdict{t: t, load: load, runs: map[string]wire.Run{}, jobs: map[string]*job{}}
	load.journal.happens.look(func() { v.entries = slices.Clone(load.journal.entries) })
	for i := range load.jobs {
		v.jobs[load.jobs[i].uid] = &load.jobs[i]
	}
	eachPage(t, func(page client.Page) (string, error) {
		list, err := api.Runs(ctx, client.RunFilter{Page: page})
		for _, run := range list.Items {
			v.runs[run.ID] = run
		}
		return list.Next, err
	})
	eachPage(t, func(page client.Page) (string, error) {
		list, err := api.Waves(ctx, client.WaveFilter{Page: page})
		if err != nil {
			return "", err
		}
		for i := range list.Items {
			wave, err := api.Wave(ctx, list.Items[i].ID)
			if err != nil {
				return "", err
			}
			v.waves = append(v.waves, wave)
		}
		return list.Next, nil
	})
	v.attempts()
	v.locks()
	v.edges()
	for i := range load.jobs {
		j := &load.jobs[i]
		var ledger []wire.LedgerEntry
		eachPage(t, func(page client.Page) (string, error) {
			list, err := api.Slots(ctx, j.name, time.Time{}, page)
			ledger = append(ledger, list.Items...)
			return list.Next, err
		})
		v.slots(j, ledger)
	}
	for _, id := range load.asked {
		if v.runs[id].Status != engine.StatusSucceeded {
			t.Errorf("the manual run %s was acknowledged, and is %s", id, v.runs[id].Status)
		}
	}
	t.Logf("%d lines of the journal, %d runs, %d of them manual, %d waves", len(v.entries), len(v.runs), len(load.asked), len(v.waves))
}

// attempts checks that no attempt began twice, that each run ended well, and did so by its own program and once.
func (v *verdict) attempts() {
	starts, ends := map[attempt]int{}, map[attempt]int{}
	tries := map[string]int{} // attempts of a run that have begun
	for _, e := range v.entries {
		key := attempt{e.run, e.attempt}
		if e.kind == "end" {
			ends[key]++
			continue
		}
		if starts[key]++; starts[key] == 1 {
			tries[e.run]++
		}
	}
	for key, n := range starts {
		run, known := v.runs[key.run]
		switch {
		case !known:
			v.t.Errorf("attempt %d of %s has run, and the API does not know the run", key.n, key.run)
		case n != 1 || ends[key] > 1 || key.n > run.Attempt:
			v.t.Errorf("attempt %d of %s (%s%s) began %d times and ended %d times; the API knows of %d attempts", key.n, key.run, run.Job, run.DAG, n, ends[key], run.Attempt)
		}
	}
	again := 0
	for id, run := range v.runs {
		if run.Status != engine.StatusSucceeded || ends[attempt{id, run.Attempt}] != 1 {
			v.t.Errorf("%s of %s%s is %s after %d attempts (%d failures, %d losses): %s %s; its program ended %d times", id, run.Job, run.DAG,
				run.Status, run.Attempt, run.Failures, run.Losses, run.Reason, run.Error, ends[attempt{id, run.Attempt}])
		}
		if tries[id] <= 1 {
			continue
		}
		again++
		if j := v.jobs[run.JobUID]; j != nil && j.once {
			v.t.Errorf("%s of %s is to be delivered at most once, and began %d times", id, run.Job, tries[id])
		}
	}
	v.t.Logf("%d attempts began, none twice; %d runs needed a second one", len(starts), again)
}

// locks checks that no program ran beside the holder of the same lock, and that tokens grow.
func (v *verdict) locks() {
	type holder struct {
		attempt
		token uint64
	}
	open, last := map[string]map[attempt]bool{}, map[string]holder{}
	for _, e := range v.entries {
		lock, key := v.lock(e), attempt{e.run, e.attempt}
		if e.kind == "end" {
			if !open[lock][key] {
				v.t.Errorf("attempt %d of %s (%s) ended after another attempt had begun, or without a beginning", e.attempt, e.run, e.job)
			}
			delete(open[lock], key)
			continue
		}
		if before, held := last[lock]; held && before.token >= e.token {
			v.t.Errorf("lock %s (%s): attempt %d of %s has the token %d, and attempt %d of %s before it had %d", lock, e.job, e.attempt, e.run, e.token, before.n, before.run, before.token)
		}
		last[lock], open[lock] = holder{key, e.token}, map[attempt]bool{key: true} // whose lock has passed on may not write any more
	}
}

// lock returns what an attempt holds; as the core has it.
func (v *verdict) lock(e entry) string {
	run := v.runs[e.run]
	switch j := v.jobs[run.JobUID]; {
	case run.Task != "":
		return engine.RootID(run.JobUID, run.Task)
	case j == nil || j.overlap == "allow":
		return e.run
	default:
		return run.JobUID
	}
}

// edges checks that each task began after all that it needs had ended for good, and that waves are numbered without gaps.
func (v *verdict) edges() {
	type task struct{ wave, name string }
	began, ended := map[task]int{}, map[task]int{} // the first and the last line, from 1
	for line, e := range v.entries {
		run := v.runs[e.run]
		key := task{run.Wave, run.Task}
		if began[key] == 0 {
			began[key] = line + 1
		}
		ended[key] = line + 1
	}
	epochs := map[string][]int64{}
	edges := 0
	for i := range v.waves {
		wave := &v.waves[i]
		epochs[wave.DAG] = append(epochs[wave.DAG], wave.Epoch)
		if wave.Status != engine.StatusSucceeded {
			v.t.Errorf("wave %d of %s ended as %s: %s", wave.Epoch, wave.DAG, wave.Status, wave.Reason)
		}
		for _, t := range wave.Tasks {
			for _, need := range t.Needs {
				edges++
				if at := ended[task{wave.ID, need}]; at == 0 || at > began[task{wave.ID, t.Name}] {
					v.t.Errorf("wave %d of %s: %s began before %s, which it needs, had ended", wave.Epoch, wave.DAG, t.Name, need)
				}
			}
		}
	}
	for dag, numbers := range epochs {
		slices.Sort(numbers)
		if numbers[0] != 1 || numbers[len(numbers)-1] != int64(len(numbers)) {
			v.t.Errorf("the waves of %s are %v", dag, numbers)
		}
	}
	if edges == 0 {
		v.t.Error("no wave has run")
	}
}

// slots checks that each slot of a job, from its creation until it was paused, stands in the ledger exactly once.
func (v *verdict) slots(j *job, ledger []wire.LedgerEntry) {
	outcomes := map[int64][]string{}
	for _, e := range ledger {
		for at := e.From; !at.After(e.To); at = at.Add(period) {
			outcomes[at.Unix()] = append(outcomes[at.Unix()], strings.TrimSpace(e.Outcome+" "+e.Reason+" "+e.Run))
		}
		if e.Outcome == "fired" && v.runs[e.Run].Job != j.name {
			v.t.Errorf("%s: the slot %s was fired as %q, which is no run of it", j.name, e.From, e.Run)
		}
		if e.Outcome == "missed" {
			v.t.Errorf("%s: %d slots from %s were missed (%s), and all are to be caught up with", j.name, e.Count, e.From, e.Reason)
		}
	}
	slots := slices.Sorted(maps.Keys(outcomes))
	if len(slots) == 0 {
		v.t.Errorf("%s has no slots", j.name)
		return
	}
	if first := time.Unix(slots[0], 0); first.After(j.created.Add(period)) {
		v.t.Errorf("%s was made at %s, and its first slot in the ledger is %s", j.name, j.created, first)
	}
	if last := time.Unix(slots[len(slots)-1], 0); last.Before(j.paused.Add(-period)) {
		v.t.Errorf("%s was paused at %s, and its last slot in the ledger is %s", j.name, j.paused, last)
	}
	for at := slots[0]; at <= slots[len(slots)-1]; at += int64(period / time.Second) {
		if all := outcomes[at]; len(all) != 1 {
			v.t.Errorf("%s: the slot %s stands in the ledger %d times: %v", j.name, time.Unix(at, 0).UTC().Format(time.RFC3339), len(all), all)
		}
	}
}
