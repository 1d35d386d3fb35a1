package service_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/web/service"
	"github.com/tidewheel/tidewheel/web/webtest"
)

// effects is a world with a run whose first attempt runs.
type effects struct {
	*webtest.World
	t   *testing.T
	run engine.Run
}

func newEffects(t *testing.T) *effects {
	w := &effects{World: webtest.New(t), t: t}
	w.run = engine.Run{
		ID: "uid-s1800000000000", Revision: 1, Namespace: "default", JobUID: "uid", Job: "charge", Tier: spec.TierLight, Class: spec.ClassStandard,
		Status: engine.StatusRunning, Attempt: 1, CreatedAt: w.Now,
	}
	w.PutRun(t, w.run)
	return w
}

// becomes writes the run as the engine would.
func (w *effects) becomes(status engine.Status, attempt int) {
	w.t.Helper()
	w.run.Revision++
	w.run.Status, w.run.Attempt = status, attempt
	if status.Terminal() {
		w.run.FinishedAt = w.Now
	}
	w.PutRun(w.t, w.run)
}

func (w *effects) program(attempt int) service.Program {
	return service.Program{Namespace: "default", Run: w.run.ID, Attempt: attempt, Token: uint64(100 * attempt)}
}

func (w *effects) open(attempt int, key string) (first bool, err error) {
	_, first, err = w.OpenEffect(w.t.Context(), w.program(attempt), key)
	return first, err
}

func (w *effects) close(attempt int, key, result string) error {
	_, err := w.CloseEffect(w.t.Context(), w.program(attempt), key, []byte(result))
	return err
}

func (w *effects) opens(attempt int, key string, first bool) {
	w.t.Helper()
	if got, err := w.open(attempt, key); err != nil || got != first {
		w.t.Fatalf("attempt %d opens %s: first %v, %v; want %v", attempt, key, got, err, first)
	}
}

func isDone(t *testing.T, err error, result string) {
	t.Helper()
	done, ok := errors.AsType[*service.EffectDoneError](err)
	if !ok || string(done.Effect.Result) != result {
		t.Fatalf("got %v, want that it is done with %s", err, result)
	}
}

func TestEffectIsOpenedOnceAndDoneOnce(t *testing.T) {
	w := newEffects(t)
	w.opens(1, "charge", true)
	w.opens(1, "charge", false) // it may have been done since: look
	w.opens(1, "another", true)
	if err := w.close(1, "charge", ` { "id" : "ch_1", "amount": 1.50 } `); err != nil {
		t.Fatal(err)
	}
	const result = `{"id":"ch_1","amount":1.50}`
	_, err := w.open(1, "charge")
	isDone(t, err, result)
	if err := w.close(1, "charge", result); err != nil {
		t.Errorf("closed again with the same result: %v", err)
	}
	isDone(t, w.close(1, "charge", `{"id":"ch_2"}`), result)
	isDone(t, w.close(1, "charge", ""), result)

	w.becomes(engine.StatusQueued, 2) // and running, unheard yet
	_, err = w.open(2, "charge")
	isDone(t, err, result)
	isDone(t, w.close(2, "charge", result), result)
	list, next, err := w.RunEffects(t.Context(), engine.DefaultNamespace, w.run.ID, "", 10)
	if err != nil || next != "" || len(list) != 2 || list[0].Key != "another" || list[1].State != engine.EffectDone || list[1].Attempt != 1 || list[1].Token != 100 {
		t.Errorf("the run's effects are %+v, %q, %v", list, next, err)
	}
}

func TestLaterAttemptTakesAnOpenEffectOver(t *testing.T) {
	w := newEffects(t)
	w.opens(1, "charge", true)
	w.becomes(engine.StatusRunning, 2)
	refused(t, w.close(2, "charge", "1"), service.KindConflict, "effect_not_yours") // it has not even looked
	w.Now = w.Now.Add(time.Minute)
	w.opens(2, "charge", false)
	w.opens(2, "charge", false)
	effect, err := w.Store.Effect(t.Context(), w.run.ID, "charge")
	if err != nil || effect.Attempt != 2 || effect.Token != 200 || !effect.CreatedAt.Equal(webtest.Start) || !effect.OpenedAt.Equal(w.Now) {
		t.Errorf("the effect is %+v, %v", effect, err)
	}
	if err := w.close(2, "charge", ""); err != nil {
		t.Fatal(err)
	}
	isDone(t, w.close(2, "charge", "0"), "")
}

// A stale holder's results change nothing: whether the store knows yet that its attempt is over, or only the ledger does.
func TestStaleAttemptChangesNothing(t *testing.T) {
	w := newEffects(t)
	w.opens(1, "charge", true)
	w.becomes(engine.StatusRunning, 2)
	w.opens(2, "charge", false)
	for name, present := range map[string]int{"known to be over": 2, "known to the ledger alone": 1} {
		w.becomes(engine.StatusRunning, present)
		_, err := w.open(1, "charge")
		refused(t, err, service.KindFenced, "fenced")
		refused(t, w.close(1, "charge", `"stale"`), service.KindFenced, "fenced")
		if effect, err := w.Store.Effect(t.Context(), w.run.ID, "charge"); err != nil || effect.State != engine.EffectOpen || effect.Attempt != 2 {
			t.Errorf("%s: %+v, %v", name, effect, err)
		}
	}
	w.becomes(engine.StatusRunning, 2)
	other := w.program(2)
	other.Token++ // of no lock that this attempt has had
	_, _, err := w.OpenEffect(t.Context(), other, "charge")
	refused(t, err, service.KindFenced, "fenced")
	if err := w.close(2, "charge", `"mine"`); err != nil {
		t.Fatal(err)
	}
	_, err = w.open(1, "charge")
	refused(t, err, service.KindFenced, "fenced")
}

func TestAttemptThatIsOverOpensNothing(t *testing.T) {
	w := newEffects(t)
	for _, status := range engine.Statuses() {
		w.run.ID = "uid-x" + status.String()
		w.run.Revision, w.run.Status, w.run.Attempt = 1, status, 2
		w.PutRun(t, w.run)
		// The store may not know yet that the next attempt was published.
		runs := map[int]bool{
			2: status == engine.StatusQueued || status == engine.StatusRunning,
			3: status == engine.StatusScheduled || status == engine.StatusRetrying,
		}
		for attempt := 1; attempt <= 4; attempt++ {
			if _, err := w.open(attempt, "charge"); !runs[attempt] {
				refused(t, err, service.KindFenced, "fenced")
			} else if err != nil {
				t.Errorf("attempt %d while attempt 2 is %s: %v", attempt, status, err)
			}
		}
	}
	elsewhere := w.program(2)
	elsewhere.Namespace = "other"
	_, _, err := w.OpenEffect(t.Context(), elsewhere, "charge")
	refused(t, err, service.KindFenced, "fenced")
	gone := w.program(2)
	gone.Run = "uid-s1"
	_, _, err = w.OpenEffect(t.Context(), gone, "charge")
	refused(t, err, service.KindFenced, "fenced")
}

func TestEffectsThatCannotBe(t *testing.T) {
	w := newEffects(t)
	for _, key := range []string{"", ".", "..", "-a", "a/b", "a b", "ä", "a\x00", strings.Repeat("a", 129)} {
		_, err := w.open(1, key)
		refused(t, err, service.KindInvalid, "invalid_effect_key")
		refused(t, w.close(1, key, "1"), service.KindInvalid, "invalid_effect_key")
	}
	for _, key := range []string{"a", "0", "A.b_c-d:e", strings.Repeat("a", 128)} {
		w.opens(1, key, true)
	}
	refused(t, w.close(1, "unopened", "1"), service.KindNotFound, "effect_not_found")
	for _, result := range []string{"{", "ok", "1 2", `{"a":}`} {
		refused(t, w.close(1, "a", result), service.KindInvalid, "invalid_effect_result")
	}
	text := `"` + strings.Repeat("x", engine.MaxEffectResult-2) + `"`
	refused(t, w.close(1, "a", text[:10]+"x"+text[10:]), service.KindTooLarge, "effect_result_too_large")
	if err := w.close(1, "a", " "+text+"\n"); err != nil {
		t.Errorf("as large as it may be: %v", err)
	}
	refused(t, func() error {
		_, _, err := w.RunEffects(t.Context(), engine.DefaultNamespace, "uid-s1", "", 1)
		return err
	}(), service.KindNotFound, "run_not_found")
}

// Many threads of one attempt and stale ones of the attempts before ask for one effect at once: one of all is the first.
func TestRacedEffectHasOneFirstAndOneResult(t *testing.T) {
	for round := range 20 {
		w := newEffects(t)
		w.becomes(engine.StatusRunning, 3)
		var mu sync.Mutex
		firsts, results := 0, map[string]int{}
		both(24, func(i int) {
			first, err := w.open(3, "charge")
			if err != nil && !errors.As(err, new(*service.EffectDoneError)) {
				t.Error(err)
			}
			result := fmt.Sprint(i)
			closed := w.close(3, "charge", result)
			mu.Lock()
			defer mu.Unlock()
			if first {
				firsts++
			}
			if closed == nil {
				results[result]++
			}
		})
		if firsts != 1 || len(results) != 1 {
			t.Fatalf("round %d: %d were the first, and %v were kept", round, firsts, results)
		}
	}
}

// flaky is a store that does a write and says that it has failed, or does not do it, by turns.
type flaky struct {
	*webtest.Store
	turn int
}

var errInjected = errors.New("injected")

func (f *flaky) write(ctx context.Context, do func(context.Context) error) error {
	f.turn++
	switch f.turn % 3 {
	case 0:
		return errInjected
	case 1:
		if err := do(ctx); err != nil {
			return err
		}
		return errInjected
	}
	return do(ctx)
}

func (f *flaky) InsertEffect(ctx context.Context, effect engine.RunEffect) error {
	return f.write(ctx, func(ctx context.Context) error { return f.Store.InsertEffect(ctx, effect) })
}

func (f *flaky) ReplaceEffect(ctx context.Context, effect engine.RunEffect) error {
	return f.write(ctx, func(ctx context.Context) error { return f.Store.ReplaceEffect(ctx, effect) })
}

// A program that repeats what failed does each thing once, however the store fails: the service never says twice that
// it is the first, and what it did while being the first is never lost.
func TestEffectSurvivesAStoreThatFails(t *testing.T) {
	w := newEffects(t)
	store := &flaky{Store: w.Store}
	s := service.New(store, w.Blobs, w.Queue, w.Log, service.Config{Now: func() time.Time { return w.Now }})
	for i := range 60 {
		key := fmt.Sprintf("charge-%d", i)
		did, attempt := 0, 1
		for done := false; !done; {
			if store.turn%7 == 6 && attempt < 5 { // another attempt takes over in the middle
				attempt++
			}
			w.becomes(engine.StatusRunning, attempt)
			_, first, err := s.OpenEffect(t.Context(), w.program(attempt), key)
			switch {
			case errors.As(err, new(*service.EffectDoneError)):
				done = true
			case err != nil:
				if !errors.Is(err, errInjected) {
					t.Fatal(err)
				}
			case first || did == 0: // or it looked
				if first && did > 0 {
					t.Fatalf("%s: reported as not done, after it was done", key)
				}
				did++
				fallthrough
			default:
				if _, err := s.CloseEffect(t.Context(), w.program(attempt), key, []byte(`1`)); err != nil && !errors.Is(err, errInjected) {
					t.Fatal(err)
				}
			}
		}
		effect, err := w.Store.Effect(t.Context(), w.run.ID, key)
		if err != nil || did != 1 || effect.State != engine.EffectDone {
			t.Fatalf("%s was done %d times, and is %+v, %v", key, did, effect, err)
		}
	}
}
