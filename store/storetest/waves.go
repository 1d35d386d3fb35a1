package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

// aWave makes the first revision of a wave that slots opened.
func aWave(d engine.DAG, epoch int64, at time.Time) engine.Wave {
	return engine.Wave{
		ID: engine.WaveID(d.UID, epoch), Revision: 1, Namespace: d.Namespace, DAGUID: d.UID, DAG: d.Name, Shard: d.Shard,
		Epoch: epoch, Generation: d.Generation, Trigger: engine.TriggerSchedule, Status: engine.StatusRunning, Slot: at,
		CreatedAt: at, StartedAt: at,
	}
}

// askedWave returns a wave that a user has triggered and that waits for an earlier one.
func askedWave(d engine.DAG, key string, at time.Time) engine.Wave {
	wave := aWave(d, 0, at)
	wave.ID, wave.Generation, wave.Slot, wave.StartedAt = engine.ManualWaveID(d.UID, key), 0, time.Time{}, time.Time{}
	wave.Trigger, wave.By, wave.Status = engine.TriggerManual, "ada", engine.StatusScheduled
	return wave
}

// fullWave fills every field.
func fullWave(d engine.DAG) engine.Wave {
	wave := askedWave(d, "every field", noon)
	wave.Epoch, wave.Generation, wave.Status = 12, 3, engine.StatusFailed
	wave.Reason, wave.CancelBy, wave.Resumed = "«join» failed, 世界, 🌊", "grace", 2
	wave.Slot, wave.Slots = noon, map[string]time.Time{"orders": noon, "rates-2": noon.Add(time.Minute)}
	wave.Payload = json.RawMessage(`{"html":"<b>&</b>","number":12345678901234567890.50,"list":[1, 2 ,3]}`)
	wave.Args = map[string]string{"KEY.x": "value", "EMPTY": "", "$Ü": "ß"}
	wave.NotBefore, wave.StartedAt, wave.FinishedAt = noon.Add(time.Millisecond), noon.Add(time.Second), noon.Add(time.Minute)
	wave.Rests = []engine.WaveRest{{From: noon.Add(10 * time.Second), To: noon.Add(20 * time.Second)}, {From: noon.Add(30 * time.Second), To: noon.Add(40 * time.Second)}}
	wave.Kept = map[string]int{"orders": 3, "rates-2": 10_000}
	wave.Tally = engine.WaveTally{Tasks: 9, Succeeded: 4, Failed: 2, Cancelled: 1, Skipped: 2}
	return wave
}

func endedWave(wave engine.Wave, status engine.Status) engine.Wave {
	wave.Revision++
	wave.Status, wave.FinishedAt = status, wave.CreatedAt.Add(time.Minute)
	wave.Tally = engine.WaveTally{Tasks: 2, Succeeded: 2}
	return wave
}

// taskRun makes the first revision of the run of a task, item its number in a list or -1.
func taskRun(wave engine.Wave, task string, item int) engine.Run {
	run := slotRun(engine.Job{UID: wave.DAGUID, Namespace: wave.Namespace, Shard: wave.Shard, Generation: 1}, wave.CreatedAt)
	run.Job, run.DAG, run.Wave, run.Epoch, run.Task = "", wave.DAG, wave.ID, wave.Epoch, task
	run.ID, run.CreatedAt = engine.TaskRunID(wave.ID, task), wave.CreatedAt
	if item >= 0 {
		run.ID, run.Item = engine.ItemRunID(wave.ID, item, task), &item
	}
	return run
}

func (h *harness) commitWaves(waves ...engine.Wave) {
	h.Helper()
	h.commit(engine.Batch{Waves: waves})
}

func (h *harness) wave(id string) engine.Wave {
	h.Helper()
	wave, err := h.store.Wave(h.ctx, id)
	h.must("read wave "+id, err)
	return wave
}

func waveID(wave engine.Wave) string { return wave.ID }

func waveIDs(waves []engine.Wave) []string {
	ids := make([]string, len(waves))
	for i, wave := range waves {
		ids[i] = wave.ID
	}
	return ids
}

// waves walks all pages; as with runs, a page may be short of its limit if it says where to continue.
func (h *harness) waves(filter engine.WaveFilter) (all []engine.Wave) {
	h.Helper()
	for pages := 0; ; pages++ {
		waves, next, err := h.store.Waves(h.ctx, filter)
		h.must("list waves", err)
		if len(waves) > filter.Limit {
			h.Fatalf("a page of %d waves for a limit of %d", len(waves), filter.Limit)
		}
		all = append(all, waves...)
		if next == "" {
			return all
		}
		if next == filter.Cursor || pages > 10_000 {
			h.Fatalf("paging does not move on from %q", next)
		}
		filter.Cursor = next
	}
}

// runsOf reads the runs of a wave by pages.
func (h *harness) runsOf(wave string, limit int) (all []engine.Run) {
	h.Helper()
	for after := ""; ; after = all[len(all)-1].ID {
		runs, err := h.store.RunsOfWave(h.ctx, wave, after, limit)
		h.must("list runs of a wave", err)
		if len(runs) > limit || len(all) > 100_000 {
			h.Fatalf("%d runs for a limit of %d, after %d", len(runs), limit, len(all))
		}
		if len(runs) == 0 {
			return all
		}
		all = append(all, runs...)
	}
}

// wavesOfMany writes waves of all kinds and gives them newest first.
func wavesOfMany(h *harness) (all []engine.Wave) {
	statuses := []engine.Status{engine.StatusRunning, engine.StatusSucceeded, engine.StatusFailed, engine.StatusSucceeded, engine.StatusCancelled, engine.StatusScheduled}
	for i := range 60 {
		d := aDAG(numbered("dag", i%3))
		if i%10 == 9 {
			d.Namespace = "other"
		}
		wave := aWave(d, int64(i+1), noon.Add(time.Duration(i/4)*time.Second)) // four at a time are created alike
		if wave.Status = statuses[i%len(statuses)]; wave.Status == engine.StatusScheduled {
			wave = askedWave(d, fmt.Sprint(i), wave.CreatedAt)
		}
		if wave.Status.Terminal() {
			wave.FinishedAt = wave.CreatedAt.Add(time.Minute)
		}
		all = append(all, wave)
	}
	h.commitWaves(all...)
	slices.SortFunc(all, func(a, b engine.Wave) int {
		if c := b.CreatedAt.Compare(a.CreatedAt); c != 0 {
			return c
		}
		return strings.Compare(b.ID, a.ID)
	})
	return all
}

var wavePromises = []promise{
	{"a wave comes back as it was written", func(h *harness) {
		d := aDAG("etl")
		full, plain := fullWave(d), aWave(d, 1, noon)
		h.commitWaves(full, plain)
		same(h.T, "full", h.wave(full.ID), full)
		same(h.T, "plain", h.wave(plain.ID), plain)
		got := h.wave(full.ID)
		got.Slots["orders"], got.Args["EMPTY"], got.Payload[2] = time.Time{}, "changed", 'X'
		full.Args["KEY.x"] = "changed"
		same(h.T, "after its holders changed it", h.wave(full.ID), fullWave(d))
		asked := askedWave(d, "by hand", noon)
		h.commitWaves(asked)
		waves, err := h.store.WavesByID(h.ctx, []string{"nobody-w1", asked.ID, plain.ID})
		h.must("read", err)
		same(h.T, "by id", sorted(waves, waveID), sorted([]engine.Wave{asked, plain}, waveID))
		waves, err = h.store.WavesByID(h.ctx, nil)
		h.must("read none", err)
		same(h.T, "none", len(waves), 0)
		if _, err := h.store.Wave(h.ctx, "nobody-w1"); !errors.Is(err, engine.ErrNotFound) {
			h.Fatalf("got %v", err)
		}
	}},
	{"open waves are those that are scheduled or running, paged by id and chosen by shard", func(h *harness) {
		var open []engine.Wave
		byDAG := map[string][]engine.Wave{}
		for i := range 40 {
			d := aDAG(numbered("dag", i/2))
			running, over := aWave(d, int64(i%2*9+1), noon), aWave(d, int64(i%2*9+2), noon)
			over.Status, over.FinishedAt = engine.StatusFailed, noon
			if i%2 == 1 {
				running = askedWave(d, "key", noon)
			}
			h.commitWaves(running, over)
			open = append(open, running)
			byDAG[d.UID] = append(byDAG[d.UID], running)
		}
		open = sorted(open, waveID)
		var paged []engine.Wave
		for after := ""; ; after = paged[len(paged)-1].ID {
			waves, err := h.store.OpenWaves(h.ctx, allShards(), after, 7)
			h.must("list open waves", err)
			if len(waves) == 0 {
				break
			}
			paged = append(paged, waves...)
		}
		same(h.T, "open waves", paged, open)
		for uid, want := range byDAG {
			waves, err := h.store.OpenWaves(h.ctx, []int{want[0].Shard}, "", 1000)
			h.must("list open waves of a shard", err)
			var inShard []engine.Wave
			for _, wave := range open {
				if wave.Shard == want[0].Shard {
					inShard = append(inShard, wave)
				}
			}
			same(h.T, "open waves of a shard", waves, inShard)
			waves, err = h.store.OpenWavesOf(h.ctx, []string{uid})
			h.must("list open waves of a DAG", err)
			same(h.T, "open waves of a DAG", sorted(waves, waveID), sorted(want, waveID))
		}
		waves, err := h.store.OpenWavesOf(h.ctx, []string{aDAG(numbered("dag", 3)).UID, uidOf("nobody"), aDAG(numbered("dag", 4)).UID})
		h.must("list open waves of DAGs", err)
		same(h.T, "open waves of two DAGs", len(waves), 4)
		for _, none := range [][]int{nil, {}} {
			waves, err := h.store.OpenWaves(h.ctx, none, "", 10)
			h.must("list", err)
			same(h.T, "of no shard", len(waves), 0)
		}
		waves, err = h.store.OpenWavesOf(h.ctx, nil)
		h.must("list", err)
		same(h.T, "of no DAG", len(waves), 0)
		for _, wave := range open {
			h.commitWaves(endedWave(wave, engine.StatusSucceeded))
		}
		waves, err = h.store.OpenWaves(h.ctx, allShards(), "", 1000)
		h.must("list", err)
		same(h.T, "once all have ended", len(waves), 0)
	}},
	{"a wave that is resumed is open again", func(h *harness) {
		wave := endedWave(aWave(aDAG("etl"), 1, noon), engine.StatusFailed)
		wave.Revision = 1
		h.commitWaves(wave)
		again := wave
		again.Revision, again.Status, again.FinishedAt, again.Resumed = 2, engine.StatusRunning, time.Time{}, 1
		h.commitWaves(again)
		waves, err := h.store.OpenWavesOf(h.ctx, []string{wave.DAGUID})
		h.must("list", err)
		same(h.T, "open", waves, []engine.Wave{again})
	}},
	{"the last epoch of a DAG is the highest of any of its waves", func(h *harness) {
		one, two, none, asked := aDAG("one"), aDAG("two"), aDAG("none"), aDAG("asked")
		var waves []engine.Wave
		for _, epoch := range []int64{9, 10, 2, 100, 99} {
			waves = append(waves, endedWave(aWave(one, epoch, noon), engine.StatusSucceeded))
			waves[len(waves)-1].Revision = 1
		}
		manual := askedWave(two, "opened", noon)
		manual.Epoch, manual.Status = 7, engine.StatusRunning
		h.commitWaves(append(waves, aWave(two, 6, noon), manual, askedWave(asked, "key", noon))...)
		last, err := h.store.LastEpochs(h.ctx, []string{one.UID, none.UID, two.UID, asked.UID})
		h.must("last epochs", err)
		same(h.T, "last epochs", last, map[string]int64{one.UID: 100, two.UID: 7})
		last, err = h.store.LastEpochs(h.ctx, nil)
		h.must("last epochs of none", err)
		same(h.T, "of none", len(last), 0)
	}},
	{"waves are listed newest first, by pages, and each filter picks its own", func(h *harness) {
		all := wavesOfMany(h)
		since, until, uid := all[40].CreatedAt, all[10].CreatedAt, aDAG("dag-0001").UID
		failed := []engine.Status{engine.StatusFailed, engine.StatusCancelled}
		for name, test := range map[string]struct {
			filter engine.WaveFilter
			choose func(engine.Wave) bool
		}{
			"all":       {engine.WaveFilter{}, func(engine.Wave) bool { return true }},
			"namespace": {engine.WaveFilter{Namespace: namespace}, func(w engine.Wave) bool { return w.Namespace == namespace }},
			"nowhere":   {engine.WaveFilter{Namespace: "none"}, func(engine.Wave) bool { return false }},
			"DAG":       {engine.WaveFilter{DAGUID: uid}, func(w engine.Wave) bool { return w.DAGUID == uid }},
			"statuses":  {engine.WaveFilter{Namespace: namespace, Statuses: failed}, func(w engine.Wave) bool { return w.Namespace == namespace && slices.Contains(failed, w.Status) }},
			"open":      {engine.WaveFilter{DAGUID: uid, Statuses: []engine.Status{engine.StatusRunning}}, func(w engine.Wave) bool { return w.DAGUID == uid && w.Status == engine.StatusRunning }},
			"window":    {engine.WaveFilter{Since: since, Until: until}, func(w engine.Wave) bool { return !w.CreatedAt.Before(since) && w.CreatedAt.Before(until) }},
			"together": {engine.WaveFilter{Namespace: "other", DAGUID: uid, Since: since}, func(w engine.Wave) bool {
				return w.Namespace == "other" && w.DAGUID == uid && !w.CreatedAt.Before(since)
			}},
		} {
			var want []string
			for _, wave := range all {
				if test.choose(wave) {
					want = append(want, wave.ID)
				}
			}
			for _, limit := range []int{1, 7, 1000} {
				test.filter.Limit = limit
				same(h.T, name, waveIDs(h.waves(test.filter)), want)
			}
		}
		same(h.T, "whole waves", h.waves(engine.WaveFilter{Limit: 50}), all)
		for _, cursor := range []string{"x", "!!!", "AAAA", "1|2|3"} {
			_, _, err := h.store.Waves(h.ctx, engine.WaveFilter{Limit: 5, Cursor: cursor})
			h.badCursor("waves", cursor, err)
		}
	}},
	{"waves that ended long ago are deleted, but the last of a DAG only after the DAG", func(h *harness) {
		kept, gone := h.createDAG(aDAG("kept")), h.createDAG(aDAG("gone"))
		over := func(d engine.DAG, epoch int64) engine.Wave {
			wave := endedWave(aWave(d, epoch, noon.Add(time.Duration(epoch)*time.Hour)), engine.StatusSucceeded)
			wave.Revision = 1
			return wave
		}
		var waves []engine.Wave
		for epoch := range int64(12) {
			waves = append(waves, over(kept, epoch+1), over(gone, epoch+1))
		}
		open := askedWave(kept, "open", noon)
		for i, d := range []engine.DAG{gone, h.createDAG(aDAG("never-opened"))} {
			refused := askedWave(d, "refused", noon)
			refused.Status, refused.FinishedAt = engine.StatusCancelled, noon.Add(time.Duration(i)*time.Minute)
			waves = append(waves, refused)
		}
		h.commitWaves(append(waves, open)...)
		expire := func(before time.Time) (deleted int) {
			for range 100 {
				some, err := h.store.ExpireWaves(h.ctx, engine.Expiry{Before: before}, 5)
				h.must("expire", err)
				if some > 5 {
					h.Fatalf("%d for a limit of 5", some)
				}
				if some == 0 {
					break
				}
				deleted += some
			}
			return deleted
		}
		same(h.T, "deleted at the instant of an end", expire(waves[4].FinishedAt), 6)
		same(h.T, "deleted", expire(noon.Add(1000*time.Hour)), 18)
		same(h.T, "left", waveIDs(h.waves(engine.WaveFilter{Limit: 50})), []string{waves[22].ID, waves[23].ID, open.ID})
		last, err := h.store.LastEpochs(h.ctx, []string{kept.UID, gone.UID})
		h.must("last epochs", err)
		same(h.T, "last epochs", last, map[string]int64{kept.UID: 12, gone.UID: 12})
		h.commit(handledDAG(h.replaceDAG(removeDAG(gone))))
		same(h.T, "deleted after the DAG", expire(noon.Add(1000*time.Hour)), 1)
		if _, err := h.store.Wave(h.ctx, waves[23].ID); !errors.Is(err, engine.ErrNotFound) {
			h.Fatalf("a deleted wave: %v", err)
		}
	}},
}
