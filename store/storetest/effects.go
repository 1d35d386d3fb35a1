package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

// Effects is the part of a store that keeps the effect ledger, and the keys that all nodes share.
type Effects interface {
	// InsertEffect inserts an effect of revision 1; engine.ErrExists if the run has one with its key.
	InsertEffect(ctx context.Context, effect engine.RunEffect) error
	// ReplaceEffect writes an effect on condition that the stored revision is effect.Revision-1; engine.ErrConflict or
	// engine.ErrNotFound.
	ReplaceEffect(ctx context.Context, effect engine.RunEffect) error
	// Effect returns one effect; engine.ErrNotFound.
	Effect(ctx context.Context, run, key string) (engine.RunEffect, error)
	// Effects lists the effects of a run by key, with the cursor of the next page.
	Effects(ctx context.Context, run, cursor string, limit int) (effects []engine.RunEffect, next string, err error)
	// ExpireEffects deletes at most limit effects that were opened first before before and whose runs are gone.
	ExpireEffects(ctx context.Context, before time.Time, limit int) (deleted int, err error)
	// SharedKey returns the key that is kept under a name, the same to everybody: fresh, if none was kept before.
	SharedKey(ctx context.Context, name string, fresh []byte) ([]byte, error)
}

// anEffect is one that was just opened.
func anEffect(run, key string) engine.RunEffect {
	return engine.RunEffect{
		Run: run, Key: key, Namespace: namespace, Revision: 1, State: engine.EffectOpen,
		Attempt: 1, Token: 1_795_294_800_000_123, CreatedAt: noon, OpenedAt: noon,
	}
}

// done is an effect closed with a result.
func done(effect engine.RunEffect, result string) engine.RunEffect {
	effect.Revision++
	effect.State, effect.DoneAt, effect.Result = engine.EffectDone, effect.OpenedAt.Add(time.Second), json.RawMessage(result)
	return effect
}

func (h *harness) effect(run, key string) engine.RunEffect {
	h.Helper()
	effect, err := h.store.Effect(h.ctx, run, key)
	h.must("read effect "+key, err)
	return effect
}

func (h *harness) effects(run string, limit int) (all []engine.RunEffect) {
	h.Helper()
	for cursor, pages := "", 0; ; pages++ {
		effects, next, err := h.store.Effects(h.ctx, run, cursor, limit)
		h.must("list effects", err)
		if len(effects) > limit || pages > 1000 {
			h.Fatalf("page %d has %d effects for a limit of %d", pages, len(effects), limit)
		}
		all = append(all, effects...)
		if next == "" {
			return all
		}
		cursor = next
	}
}

// expireEffects removes what there is to remove, a few at a time, and counts it.
func (h *harness) expireEffects(before time.Time) (deleted int) {
	h.Helper()
	for range 100 {
		some, err := h.store.ExpireEffects(h.ctx, before, 3)
		h.must("expire", err)
		if some > 3 {
			h.Fatalf("%d for a limit of 3", some)
		}
		if some == 0 {
			return deleted
		}
		deleted += some
	}
	h.Fatal("there is no end of what expires")
	return 0
}

var effectPromises = []promise{
	{"an effect comes back as it was written", func(h *harness) {
		open := anEffect("job-s1", "charge:2026-11.21_a")
		h.must("insert", h.store.InsertEffect(h.ctx, open))
		same(h.T, "open", h.effect(open.Run, open.Key), open)
		for i, result := range []string{`{"b":1,"a":[1.50,"<ä>",1e400,123456789012345678901234567890]}`, `"` + strings.Repeat("x", engine.MaxEffectResult-2) + `"`, "0"} {
			effect := anEffect("job-s1", fmt.Sprintf("result%d", i))
			h.must("insert", h.store.InsertEffect(h.ctx, effect))
			effect = done(effect, result)
			h.must("replace", h.store.ReplaceEffect(h.ctx, effect))
			same(h.T, "done", h.effect(effect.Run, effect.Key), effect)
			got := h.effect(effect.Run, effect.Key)
			got.Result[0] = 'x'
			same(h.T, "after its holder changed it", h.effect(effect.Run, effect.Key), effect)
		}
		bare := anEffect("job-s1", "bare")
		h.must("insert", h.store.InsertEffect(h.ctx, bare))
		bare = done(bare, "")
		bare.Result = nil
		h.must("replace", h.store.ReplaceEffect(h.ctx, bare))
		same(h.T, "without a result", h.effect(bare.Run, bare.Key), bare)
		if _, err := h.store.Effect(h.ctx, "job-s1", "other"); !errors.Is(err, engine.ErrNotFound) {
			h.Fatalf("one that is not there: %v", err)
		}
	}},
	{"an effect of a run is inserted once", func(h *harness) {
		first := anEffect("job-s1", "charge")
		h.must("insert", h.store.InsertEffect(h.ctx, first))
		second := first
		second.Attempt, second.Token = 2, first.Token+5
		if err := h.store.InsertEffect(h.ctx, second); !errors.Is(err, engine.ErrExists) {
			h.Fatalf("got %v", err)
		}
		same(h.T, "effect", h.effect("job-s1", "charge"), first)
		for _, other := range []engine.RunEffect{anEffect("job-s2", "charge"), anEffect("job-s1", "charge2"), anEffect("job-s1", "Charge")} {
			h.must("insert another", h.store.InsertEffect(h.ctx, other))
		}
	}},
	{"raced InsertEffect has one winner", func(h *harness) {
		answers := race(func(racer int) error {
			effect := anEffect("job-s1", "charge")
			effect.Attempt = racer + 1
			return h.store.InsertEffect(h.ctx, effect)
		})
		winner := h.oneWinner(answers, engine.ErrExists)
		same(h.T, "attempt", h.effect("job-s1", "charge").Attempt, winner+1)
	}},
	{"stale write of an effect is refused", func(h *harness) {
		first := anEffect("job-s1", "charge")
		h.must("insert", h.store.InsertEffect(h.ctx, first))
		taken := first
		taken.Revision, taken.Attempt, taken.Token, taken.OpenedAt = 2, 2, first.Token+9, noon.Add(time.Minute)
		h.must("take over", h.store.ReplaceEffect(h.ctx, taken))
		if err := h.store.ReplaceEffect(h.ctx, done(first, "1")); !errors.Is(err, engine.ErrConflict) {
			h.Fatalf("the first attempt closes it: %v", err)
		}
		same(h.T, "effect", h.effect("job-s1", "charge"), taken)
		if err := h.store.ReplaceEffect(h.ctx, done(anEffect("job-s1", "none"), "1")); !errors.Is(err, engine.ErrNotFound) {
			h.Fatalf("one that is not there: %v", err)
		}
	}},
	{"raced ReplaceEffect has one winner", func(h *harness) {
		open := anEffect("job-s1", "charge")
		h.must("insert", h.store.InsertEffect(h.ctx, open))
		answers := race(func(racer int) error { return h.store.ReplaceEffect(h.ctx, done(open, fmt.Sprint(racer))) })
		winner := h.oneWinner(answers, engine.ErrConflict)
		same(h.T, "effect", h.effect("job-s1", "charge"), done(open, fmt.Sprint(winner)))
	}},
	{"the effects of a run are listed by key", func(h *harness) {
		var want []engine.RunEffect
		for _, key := range []string{"0", "A", "a", "a-", "a.b", "a:b", "a_b", "b", "c"} {
			want = append(want, anEffect("job-s1", key))
		}
		for i := range want {
			h.must("insert", h.store.InsertEffect(h.ctx, want[(i*4+1)%len(want)]))
		}
		for _, run := range []string{"job-s", "job-s10", "job-s2", "job"} {
			h.must("insert", h.store.InsertEffect(h.ctx, anEffect(run, "other")))
		}
		want = sorted(want, func(effect engine.RunEffect) string { return effect.Key })
		same(h.T, "by pages of 2", h.effects("job-s1", 2), want)
		same(h.T, "at once", h.effects("job-s1", 100), want)
		same(h.T, "of nobody", h.effects("job-s3", 100), nil)
		if _, _, err := h.store.Effects(h.ctx, "job-s1", "?", 1); !errors.Is(err, engine.ErrCursor) {
			h.Fatalf("a bad cursor: %v", err)
		}
	}},
	{"effects expire when their runs are gone, and not before", func(h *harness) {
		job := aJob("report")
		old := h.live(finished(job, noon, engine.StatusSucceeded))
		young := h.live(finished(job, noon.Add(time.Hour), engine.StatusSucceeded))
		active := h.live(finished(job, noon.Add(-time.Hour), engine.StatusFailed)[:3])
		for _, run := range []engine.Run{old, young, active} {
			for i := range 5 {
				effect := anEffect(run.ID, fmt.Sprint(i))
				effect.CreatedAt = noon.Add(time.Duration(i) * time.Second)
				h.must("insert", h.store.InsertEffect(h.ctx, effect))
			}
		}
		before := old.FinishedAt.Add(time.Minute) // young ends later
		same(h.T, "while all have their runs", h.expireEffects(before), 0)
		same(h.T, "runs", h.expireRuns(allShards(), before, 10), 1)
		same(h.T, "of the time before", h.expireEffects(noon.Add(2*time.Second)), 2)
		same(h.T, "the rest of it", h.expireEffects(before), 3)
		same(h.T, "again", h.expireEffects(before), 0)
		same(h.T, "of the old run", h.effects(old.ID, 10), nil)
		same(h.T, "of the young run", len(h.effects(young.ID, 10)), 5)
		same(h.T, "of the active run", len(h.effects(active.ID, 10)), 5)
	}},
	{"a shared key is made once and the same to all", func(h *harness) {
		keys := race(func(racer int) string {
			key, err := h.store.SharedKey(h.ctx, "run-token", []byte{byte(racer), 0, 0xff, 'k'})
			if err != nil {
				return err.Error()
			}
			return string(key)
		})
		for _, key := range keys {
			if key != keys[0] || len(key) != 4 {
				h.Fatalf("keys %q", keys)
			}
		}
		other, err := h.store.SharedKey(h.ctx, "other", []byte("another"))
		h.must("another key", err)
		same(h.T, "another", string(other), "another")
		again, err := h.store.SharedKey(h.ctx, "run-token", []byte("late"))
		h.must("the same key again", err)
		same(h.T, "again", string(again), keys[0])
	}},
}
