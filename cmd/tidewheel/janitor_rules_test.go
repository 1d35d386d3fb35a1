package main

import (
	"context"
	"maps"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/access"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/store/memory"
	"github.com/tidewheel/tidewheel/store/sqlite"
	"github.com/tidewheel/tidewheel/store/storetest"
)

// ruledStore is a store with a history to which rules apply.
type ruledStore interface {
	expirer
	storetest.Commits
	Runs(ctx context.Context, filter engine.RunFilter) ([]engine.Run, string, error)
	Waves(ctx context.Context, filter engine.WaveFilter) ([]engine.Wave, string, error)
	Slots(ctx context.Context, filter engine.SlotFilter) ([]engine.SlotRange, string, error)
	DeadLetters(ctx context.Context, namespace, cursor string, limit int) ([]engine.DeadLetter, string, error)
}

// ruled is a store with runs of jobs, one a day for 100 days, and waves of DAGs alike; some have rules of their own.
func ruled(t *testing.T, store ruledStore) {
	t.Helper()
	namespaces := access.NewNamespaces(store, func() time.Time { return sweepStart })
	for name, keep := range map[string]spec.Retention{
		"short": {Age: spec.Duration(10 * day)}, "long": {Age: spec.Duration(60 * day)}, "few": {Runs: 4},
	} {
		_, err := namespaces.Create(t.Context(), access.Namespace{Name: name, Retention: keep})
		must(t, err)
	}
	var batch engine.Batch
	history := func(namespace, uid string, dag bool) {
		for days := range 100 {
			at := sweepStart.Add(-time.Duration(days)*day - time.Hour)
			run := engine.Run{
				ID: engine.SlotRunID(uid, at), Namespace: namespace, JobUID: uid, Job: uid, Shard: engine.ShardOf(uid), Revision: 1,
				Status: engine.StatusDead, Tier: spec.TierLight, CreatedAt: at, FinishedAt: at.Add(time.Minute),
			}
			slots := uid
			if dag {
				wave := engine.Wave{
					ID: engine.WaveID(uid, int64(100-days)), Revision: 1, Namespace: namespace, DAGUID: uid, DAG: uid, Shard: run.Shard,
					Epoch: int64(100 - days), Status: engine.StatusSucceeded, CreatedAt: at, FinishedAt: run.FinishedAt,
				}
				batch.Waves = append(batch.Waves, wave)
				run.ID, run.Job, run.DAG, run.Wave, run.Epoch, run.Task = engine.TaskRunID(wave.ID, "a"), "", uid, wave.ID, wave.Epoch, "a"
				slots = engine.RootID(uid, "a")
			}
			batch.Runs = append(batch.Runs, run)
			batch.DeadLetters = append(batch.DeadLetters, engine.DeadLetter{RunID: run.ID, Namespace: namespace, JobUID: uid, Job: uid, At: run.FinishedAt})
			batch.Slots = append(batch.Slots, engine.SlotRange{
				ID: engine.SlotRangeID(slots, at), JobUID: slots, Namespace: namespace, Job: uid, From: at, To: at, Count: 1,
				Outcome: engine.OutcomeSkipped, Reason: engine.ReasonPaused,
			})
		}
	}
	for _, namespace := range []string{"default", "short", "long", "few"} {
		for name, keep := range map[string]spec.Retention{
			"plain": {}, "age50": {Age: spec.Duration(50 * day)}, "age5": {Age: spec.Duration(5 * day)}, "runs3": {Runs: 3},
			"both": {Age: spec.Duration(70 * day), Runs: 65},
		} {
			uid := namespace + name
			must(t, store.Jobs().Create(t.Context(), engine.Job{
				UID: uid, Namespace: namespace, Name: uid, Shard: engine.ShardOf(uid), Generation: 1, Revision: 1, CreatedAt: sweepStart, UpdatedAt: sweepStart,
				Spec: spec.Job{Kind: spec.KindJob, Name: uid, Binary: "report", Retention: keep},
			}))
			history(namespace, uid, false)
			uid += "dag"
			must(t, store.DAGs().Create(t.Context(), engine.DAG{
				UID: uid, Namespace: namespace, Name: uid, Shard: engine.ShardOf(uid), Generation: 1, Revision: 1, CreatedAt: sweepStart, UpdatedAt: sweepStart,
				Spec: spec.DAG{Kind: spec.KindDAG, Name: uid, Tasks: spec.Tasks{{Name: "a", Binary: "report"}}, Retention: keep},
			}))
			history(namespace, uid, true)
		}
		history(namespace, namespace+"deleted", false)
	}
	must(t, storetest.Write(t.Context(), store, batch))
}

// ruledCounts are what is left of a definition.
type ruledCounts struct{ Runs, Waves, Letters, Slots int }

// left counts what is kept of each job and DAG, by uid.
func left(t *testing.T, store ruledStore) map[string]ruledCounts {
	t.Helper()
	all := map[string]ruledCounts{}
	count := func(uid string, add func(*ruledCounts)) {
		one := all[uid]
		add(&one)
		all[uid] = one
	}
	for filter := (engine.RunFilter{Limit: 1000}); ; {
		runs, next, err := store.Runs(t.Context(), filter)
		must(t, err)
		for i := range runs {
			count(runs[i].JobUID, func(c *ruledCounts) { c.Runs++ })
		}
		if filter.Cursor = next; next == "" {
			break
		}
	}
	for filter := (engine.WaveFilter{Limit: 1000}); ; {
		waves, next, err := store.Waves(t.Context(), filter)
		must(t, err)
		for i := range waves {
			count(waves[i].DAGUID, func(c *ruledCounts) { c.Waves++ })
		}
		if filter.Cursor = next; next == "" {
			break
		}
	}
	for cursor := ""; ; {
		letters, next, err := store.DeadLetters(t.Context(), "", cursor, 1000)
		must(t, err)
		for i := range letters {
			count(letters[i].JobUID, func(c *ruledCounts) { c.Letters++ })
		}
		if cursor = next; next == "" {
			break
		}
	}
	for uid := range all {
		of := uid
		if strings.HasSuffix(uid, "dag") {
			of = engine.RootID(uid, "a")
		}
		slots, _, err := store.Slots(t.Context(), engine.SlotFilter{JobUID: of, Limit: 1000})
		must(t, err)
		count(uid, func(c *ruledCounts) { c.Slots = len(slots) })
	}
	return all
}

func TestEachJobAndNamespaceKeepsItsOwnHistory(t *testing.T) {
	for name, open := range map[string]func(t *testing.T) ruledStore{
		"memory": func(*testing.T) ruledStore { return memory.New() },
		"sqlite": func(t *testing.T) ruledStore {
			store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "store"), sqlite.Config{Logger: testLog(t)})
			must(t, err)
			t.Cleanup(func() { must(t, store.Close(context.WithoutCancel(t.Context()))) })
			return store
		},
	} {
		t.Run(name, func(t *testing.T) {
			store := open(t)
			ruled(t, store)
			blobs := &oldHistory{Store: memory.New()}
			j := newJanitor(store, blobs, newStoredBytes(store, testLog(t)), retention{History: 30 * day}, alone, testLog(t), newMetrics())
			now := sweepStart
			j.breath, j.pause, j.batch, j.now = noBreath, 0, 70, func() time.Time { return now }
			want := map[string]ruledCounts{}
			for namespace, own := range map[string]map[string][2]int{ // runs and slots that stay
				"default": {"plain": {30, 30}, "age50": {50, 70}, "age5": {5, 30}, "runs3": {3, 30}, "both": {65, 70}, "deleted": {30, 30}},
				"short":   {"plain": {10, 10}, "age50": {50, 70}, "age5": {5, 10}, "runs3": {3, 10}, "both": {65, 70}, "deleted": {10, 10}},
				"long":    {"plain": {60, 60}, "age50": {50, 60}, "age5": {5, 60}, "runs3": {3, 60}, "both": {65, 70}, "deleted": {60, 60}},
				"few":     {"plain": {4, 30}, "age50": {4, 70}, "age5": {4, 30}, "runs3": {3, 30}, "both": {65, 70}, "deleted": {30, 30}},
			} {
				for name, stays := range own {
					counts := ruledCounts{Runs: stays[0], Letters: stays[0], Slots: stays[1]}
					want[namespace+name] = counts
					if name != "deleted" {
						counts.Waves = stays[0]
						want[namespace+name+"dag"] = counts
					}
				}
			}
			for range 2 { // what is done already is not done again
				j.expireOld(t.Context())
				if got := left(t, store); !maps.Equal(got, want) {
					for uid := range want {
						if got[uid] != want[uid] {
							t.Errorf("%s: %+v is left, want %+v", uid, got[uid], want[uid])
						}
					}
				}
			}
			// Five days later, without a run since. What was looked at before and stays is found again when its time comes.
			now = now.Add(5 * day)
			j.expireOld(t.Context())
			got := left(t, store)
			for uid, stays := range map[string]int{"defaultplain": 25, "defaultage50": 45, "shortage50": 45, "longplain": 55, "longboth": 65, "fewdeleted": 25} {
				if got[uid].Runs != stays {
					t.Errorf("five days later %d runs of %s are left, want %d", got[uid].Runs, uid, stays)
				}
			}
		})
	}
}
