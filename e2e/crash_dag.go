package e2e

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/client"
	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/engine"
)

// tideDAG has two roots of different rhythm, and waves of about a second.
const tideDAG = `
kind: DAG
name: tide
catch_up: {policy: last, window: 10m}
defaults: {binary: witness, timeout: 30s, env: {WORK: "0.2", JOURNAL: "%[1]s", LIFE: "%[2]s"}}
tasks:
  fast: {%[3]s}
  slow: {%[4]s}
  left: {needs: [fast]}
  right: {needs: [fast, slow]}
  each: {needs: [left, right], for_each: "[1, 2, 3]"}
  last: {needs: [each]}
`

// layers is a DAG without a schedule of some layers, whose tasks each need two of the layer before; in the middle all of them lead
// to one that runs over a list.
func layers(journal *journal, layers, wide, items int, work string) string {
	var text strings.Builder
	fmt.Fprintf(&text, "kind: DAG\nname: layers\nmax_parallel: 8\ndefaults: {binary: witness, timeout: 30s, env: {WORK: %q, JOURNAL: %q, LIFE: %q}}\ntasks:\n", work, journal.path, journal.life)
	list := strings.TrimSuffix(strings.Repeat("1, ", items), ", ")
	for layer := range layers {
		for task := range wide {
			switch layer {
			case 0:
				fmt.Fprintf(&text, "  t0-%d: {}\n", task)
			case layers / 2:
				fmt.Fprintf(&text, "  t%d-%d: {needs: [waist]}\n", layer, task)
			default:
				fmt.Fprintf(&text, "  t%d-%d: {needs: [t%d-%d, t%[3]d-%[5]d]}\n", layer, task, layer-1, task, (task+1)%wide)
			}
		}
		if layer == layers/2-1 {
			var needs []string
			for task := range wide {
				needs = append(needs, fmt.Sprintf("t%d-%d", layer, task))
			}
			fmt.Fprintf(&text, "  waist: {needs: [%s], for_each: \"[%s]\", max_parallel: 4}\n", strings.Join(needs, ", "), list)
		}
	}
	return text.String()
}

// CrashDAG kills a server in the middle of waves, some times, and asks the programs themselves whether every task began
// after all that it needs had ended, whether any attempt was started twice, and the API whether every wave has ended.
func CrashDAG(t *testing.T, binary string, args ...string) {
	ctx := t.Context()
	journal := newJournal(t)
	server, api := witnessed(t, binary, append(args, "--lock-ttl", "2s")...)
	apply := func(text string) {
		t.Helper()
		if _, err := api.Apply(ctx, []client.File{{Name: "crash.yaml", Data: []byte(text)}}, client.ApplyOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	apply(fmt.Sprintf(tideDAG, journal.path, journal.life, `schedule: "* * * * * *"`, `schedule: "*/3 * * * * *"`))
	apply(layers(journal, 6, 5, 12, "0.1"))
	byHand, err := api.RunDAG(ctx, "layers", wire.WaveRequest{}, "first")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := api.RunDAG(ctx, "layers", wire.WaveRequest{}, "second"); err != nil { // waits for the first
		t.Fatal(err)
	}
	journal.kills(t, server)
	everySlot(ctx, t, api)
	// Without schedules the wave that is open ends without the roots that have not had their slot.
	apply(fmt.Sprintf(tideDAG, journal.path, journal.life, "", ""))
	waves := endedWaves(ctx, t, api)
	runs := settled(ctx, t, api)
	journal.stop(t, server)
	server.Start()
	check := waveVerdict{t: t, entries: journal.entries, runs: runs, waves: map[string]wire.WaveDetail{}}
	for _, wave := range waves {
		detail, err := api.Wave(ctx, wave.ID)
		if err != nil {
			t.Fatal(err)
		}
		check.waves[wave.ID] = detail
	}
	check.edges()
	check.ends()
	check.epochs()
	if first := check.waves[byHand.ID]; first.Tally == nil || first.Tally.Succeeded != 31 {
		t.Errorf("the manual wave: %+v", first.Tally)
	}
	t.Logf("%d lines of the journal, %d runs, %d waves, %d kills", len(journal.entries), len(runs), len(waves), crashKills)
}

// LargeWave runs a wave of a thousand tasks and more, and asks their programs whether every edge was respected.
func LargeWave(t *testing.T, binary string, args ...string) {
	const deep, wide, items = 20, 50, 100
	ctx := t.Context()
	journal := newJournal(t)
	server, api := witnessed(t, binary, args...)
	text := layers(journal, deep, wide, items, "0")
	if _, err := api.Apply(ctx, []client.File{{Name: "layers.yaml", Data: []byte(text)}}, client.ApplyOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := api.RunDAG(ctx, "layers", wire.WaveRequest{}, "one"); err != nil {
		t.Fatal(err)
	}
	journal.read(t, (deep*wide)+items)
	waves := endedWaves(ctx, t, api)
	runs := settled(ctx, t, api)
	journal.stop(t, server)
	server.Start()
	detail, err := api.Wave(ctx, waves[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	check := waveVerdict{t: t, entries: journal.entries, runs: runs, waves: map[string]wire.WaveDetail{detail.ID: detail}}
	check.edges()
	check.ends()
	if detail.Tally == nil || detail.Tally.Succeeded != deep*wide+1 {
		t.Errorf("the wave ended with %+v", detail.Tally)
	}
	t.Logf("%d tasks, %d runs in %s", len(detail.Tasks), len(runs), detail.FinishedAt.Sub(detail.StartedAt).Round(time.Millisecond))
}

// endedWaves returns all waves once each has ended.
func endedWaves(ctx context.Context, t *testing.T, api *client.Client) []wire.Wave {
	t.Helper()
	limit := time.After(settleLimit)
	for {
		var all []wire.Wave
		open := 0
		for cursor := ""; ; {
			list, err := api.Waves(ctx, client.WaveFilter{Page: client.Page{Cursor: cursor, Limit: 200}})
			if err != nil {
				t.Fatal(err)
			}
			for i := range list.Items {
				if !list.Items[i].Status.Terminal() {
					open++
				}
			}
			all = append(all, list.Items...)
			if cursor = list.Next; cursor == "" {
				break
			}
		}
		if open == 0 {
			return all
		}
		select {
		case <-time.After(200 * time.Millisecond):
		case <-limit:
			t.Fatalf("%d waves have not ended after %s: %+v", open, settleLimit, all)
		}
	}
}

// waveVerdict compares what the programs wrote with what the API says of waves.
type waveVerdict struct {
	t       *testing.T
	entries []entry
	runs    map[string]wire.Run
	waves   map[string]wire.WaveDetail
}

type waveTask struct{ wave, task string }

// edges checks that each program began after all that its task needs had ended for good.
func (v *waveVerdict) edges() {
	first, last := map[waveTask]int{}, map[waveTask]int{} // lines of the journal
	began := map[string]bool{}
	for i, e := range v.entries {
		run, known := v.runs[e.run]
		if !known {
			v.t.Errorf("%s has run, and the API does not know it", e.run)
			continue
		}
		key := waveTask{run.Wave, run.Task}
		if _, seen := first[key]; !seen {
			first[key] = i
		}
		last[key] = i
		if attempt := fmt.Sprint(e.run, "#", e.attempt); e.kind == "start" {
			if began[attempt] {
				v.t.Errorf("attempt %s was started twice", attempt)
			}
			began[attempt] = true
		}
	}
	for id, wave := range v.waves {
		for i := range wave.Tasks {
			task := &wave.Tasks[i]
			start, ran := first[waveTask{id, task.Name}]
			if !ran {
				continue
			}
			for _, need := range task.Needs {
				end, ended := last[waveTask{id, need}]
				if !ended || end > start {
					v.t.Errorf("wave %s (%s): %s began at line %d, and %s, which it needs, was last heard of at line %d", id, wave.DAG, task.Name, start, need, end)
				}
			}
		}
	}
}

// ends checks that every run which succeeded has a program that ended, and that waves came to what they should.
func (v *waveVerdict) ends() {
	ended := map[string]int{}
	for _, e := range v.entries {
		if e.kind == "end" {
			ended[e.run] = e.attempt
		}
	}
	for _, id := range slices.Sorted(maps.Keys(v.runs)) {
		run := v.runs[id]
		switch {
		case run.Status == engine.StatusSucceeded && ended[id] != run.Attempt:
			v.t.Errorf("run %s of %s/%s succeeded at attempt %d, and its program last ended at %d", id, run.DAG, run.Task, run.Attempt, ended[id])
		case run.Status != engine.StatusSucceeded && run.Status != engine.StatusSkipped:
			v.t.Errorf("run %s of %s/%s ended as %s: %s", id, run.DAG, run.Task, run.Status, run.Reason)
		}
	}
	for id, wave := range v.waves {
		if wave.Status != engine.StatusSucceeded {
			v.t.Errorf("wave %s of %s ended as %s: %s", id, wave.DAG, wave.Status, wave.Reason)
		}
		for i := range wave.Tasks {
			if state := wave.Tasks[i].State; state != "succeeded" && state != "skipped" {
				v.t.Errorf("wave %s of %s: task %s is %s", id, wave.DAG, wave.Tasks[i].Name, state)
			}
		}
	}
}

// epochs checks that waves of a DAG are numbered without gaps, and that none began before the previous one had ended.
func (v *waveVerdict) epochs() {
	byDAG := map[string]map[int64]string{}
	for id, wave := range v.waves {
		if byDAG[wave.DAG] == nil {
			byDAG[wave.DAG] = map[int64]string{}
		}
		if other, taken := byDAG[wave.DAG][wave.Epoch]; taken {
			v.t.Errorf("waves %s and %s of %s have the epoch %d", id, other, wave.DAG, wave.Epoch)
		}
		byDAG[wave.DAG][wave.Epoch] = id
	}
	place := map[string][2]int{} // of a wave in the journal
	for i, e := range v.entries {
		wave := v.runs[e.run].Wave
		span, seen := place[wave]
		if !seen {
			span[0] = i
		}
		span[1] = i
		place[wave] = span
	}
	for dag, waves := range byDAG {
		for epoch := range int64(len(waves)) {
			id, there := waves[epoch+1]
			if !there {
				v.t.Errorf("%s has %d waves, and none of them the epoch %d", dag, len(waves), epoch+1)
				continue
			}
			if before, ok := place[waves[epoch]]; ok && before[1] > place[id][0] && place[id] != [2]int{} {
				v.t.Errorf("%s: wave %d began at line %d, before wave %d had ended at line %d", dag, epoch+1, place[id][0], epoch, before[1])
			}
		}
		v.t.Logf("%s: %d waves", dag, len(waves))
	}
}
