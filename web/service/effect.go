package service

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

// EffectStore keeps the effect ledger.
type EffectStore interface {
	// InsertEffect inserts an effect of revision 1; engine.ErrExists if the run has one with its key.
	InsertEffect(ctx context.Context, effect engine.RunEffect) error
	// ReplaceEffect writes an effect on condition that the stored revision is the previous one; engine.ErrConflict or
	// engine.ErrNotFound.
	ReplaceEffect(ctx context.Context, effect engine.RunEffect) error
	// Effect returns one effect; engine.ErrNotFound.
	Effect(ctx context.Context, run, key string) (engine.RunEffect, error)
	// Effects lists the effects of a run by key, with the cursor of the next page.
	Effects(ctx context.Context, run, cursor string, limit int) (effects []engine.RunEffect, next string, err error)
}

// EffectDoneError reports that an effect is done, and what it was closed with.
type EffectDoneError struct{ Effect engine.RunEffect }

func (e *EffectDoneError) Error() string {
	return fmt.Sprintf("effect %s is done: attempt %d closed it at %s", e.Effect.Key, e.Effect.Attempt, e.Effect.DoneAt.Format(time.RFC3339))
}

// effectTries is how often a write is retried after it lost to another one. Each time another attempt or another
// thread of the same program has made progress, and there are few of both.
const effectTries = 16

// OpenEffect opens an effect for an attempt, before the attempt does it. first reports whether no attempt has opened it
// before, so none can have done it. Otherwise this attempt or an earlier one opened it and did not close it: it may be
// done or not, and the caller must check. It returns an *EffectDoneError for an effect that is done, and a KindFenced
// for an attempt that is not the run's current one.
func (s *Service) OpenEffect(ctx context.Context, by Program, key string) (effect engine.RunEffect, first bool, err error) {
	if err := s.mayTouchEffect(ctx, by, key); err != nil {
		return engine.RunEffect{}, false, err
	}
	for range effectTries {
		now := s.now()
		effect = engine.RunEffect{
			Run: by.Run, Key: key, Namespace: by.Namespace, Revision: 1, State: engine.EffectOpen,
			Attempt: by.Attempt, Token: by.Token, CreatedAt: now, OpenedAt: now,
		}
		switch err := s.store.InsertEffect(ctx, effect); {
		case err == nil:
			return effect, true, nil
		case !errors.Is(err, engine.ErrExists):
			return engine.RunEffect{}, false, fmt.Errorf("open effect %s of run %s: %w", key, by.Run, err)
		}
		effect, err = s.store.Effect(ctx, by.Run, key)
		switch {
		case errors.Is(err, engine.ErrNotFound):
			continue // it went in between
		case err != nil:
			return engine.RunEffect{}, false, fmt.Errorf("open effect %s of run %s: %w", key, by.Run, err)
		case by.staleFor(&effect):
			return engine.RunEffect{}, false, by.fenced("attempt %d has opened effect %s", effect.Attempt, key)
		case effect.State == engine.EffectDone:
			return effect, false, &EffectDoneError{effect}
		case effect.Attempt == by.Attempt:
			return effect, false, nil
		}
		// From here on the attempt that opened it cannot close it any more.
		effect.Revision++
		effect.Attempt, effect.Token, effect.OpenedAt = by.Attempt, by.Token, now
		switch err := s.store.ReplaceEffect(ctx, effect); {
		case err == nil:
			return effect, false, nil
		case !errors.Is(err, engine.ErrConflict) && !errors.Is(err, engine.ErrNotFound):
			return engine.RunEffect{}, false, fmt.Errorf("open effect %s of run %s: %w", key, by.Run, err)
		}
	}
	return engine.RunEffect{}, false, conflict("effect_changed", "effect %s changes all the time: open it again", key)
}

// CloseEffect notes that an effect is done, with its result: JSON of at most engine.MaxEffectResult bytes, nil for
// nothing. To close it again with the same result is no error.
func (s *Service) CloseEffect(ctx context.Context, by Program, key string, result []byte) (engine.RunEffect, error) {
	compact, err := compactResult(result)
	if err != nil {
		return engine.RunEffect{}, err
	}
	if err := s.mayTouchEffect(ctx, by, key); err != nil {
		return engine.RunEffect{}, err
	}
	for range effectTries {
		effect, err := s.store.Effect(ctx, by.Run, key)
		switch {
		case errors.Is(err, engine.ErrNotFound):
			return engine.RunEffect{}, &Error{
				Kind: KindNotFound, Code: "effect_not_found", Err: err,
				Detail: fmt.Sprintf("effect %s of run %s was not opened: open it by POST before you do it, and close it by PUT after that", key, by.Run),
			}
		case err != nil:
			return engine.RunEffect{}, fmt.Errorf("close effect %s of run %s: %w", key, by.Run, err)
		case by.staleFor(&effect):
			return engine.RunEffect{}, by.fenced("attempt %d has opened effect %s", effect.Attempt, key)
		case effect.State == engine.EffectDone && effect.Attempt == by.Attempt && bytes.Equal(effect.Result, compact):
			return effect, nil
		case effect.State == engine.EffectDone:
			return effect, &EffectDoneError{effect}
		case effect.Attempt != by.Attempt:
			return effect, conflict("effect_not_yours", "attempt %d has opened effect %s: open it by POST, look whether it is done, and close it then", effect.Attempt, key)
		}
		effect.Revision++
		effect.State, effect.DoneAt, effect.Result = engine.EffectDone, s.now(), compact
		switch err := s.store.ReplaceEffect(ctx, effect); {
		case err == nil:
			return effect, nil
		case !errors.Is(err, engine.ErrConflict) && !errors.Is(err, engine.ErrNotFound):
			return engine.RunEffect{}, fmt.Errorf("close effect %s of run %s: %w", key, by.Run, err)
		}
	}
	return engine.RunEffect{}, conflict("effect_changed", "effect %s changes all the time: close it again", key)
}

// RunEffects lists the effects of a run by key, with the cursor of the next page.
func (s *Service) RunEffects(ctx context.Context, namespace, run, cursor string, limit int) (effects []engine.RunEffect, next string, err error) {
	if _, err := s.Run(ctx, namespace, run); err != nil {
		return nil, "", err
	}
	effects, next, err = s.store.Effects(ctx, run, cursor, limit)
	if err != nil {
		return nil, "", fmt.Errorf("list effects of run %s: %w", run, err)
	}
	return effects, next, nil
}

// mayTouchEffect refuses an attempt that is not the run's present one any more, by what the store knows of the run. It may
// know a little less than is: of an attempt that was published at its slot the engine writes down a moment later that it
// was, so that the next attempt of a run that waits for one is as good as the present one, as it is to the engine. And an
// attempt that has just been given up may pass: it is stopped by the ledger itself once the next one has opened the effect.
func (s *Service) mayTouchEffect(ctx context.Context, by Program, key string) error {
	if !engine.ValidEffectKey(key) {
		return field("invalid_effect_key", "path.key",
			"an effect's key is 1 to %d letters, digits and - _ . : of which the first is a letter or a digit, not %q", engine.MaxEffectKey, shortened(key))
	}
	run, err := s.runs().get(ctx, by.Run)
	switch {
	case errors.Is(err, engine.ErrNotFound), err == nil && run.Namespace != by.Namespace:
		return by.fenced("the run is not there any more")
	case err != nil:
		return fmt.Errorf("read run %s: %w", by.Run, err)
	case run.Attempt > by.Attempt:
		return by.fenced("attempt %d has taken its place", run.Attempt)
	case run.Attempt == by.Attempt && (run.Status == engine.StatusQueued || run.Status == engine.StatusRunning),
		run.Attempt+1 == by.Attempt && (run.Status == engine.StatusScheduled || run.Status == engine.StatusRetrying):
		return nil
	}
	return by.fenced("the attempt has ended (the run is %s)", run.Status)
}

// compactResult checks a result and returns it in its shortest form, nil for nothing.
func compactResult(result []byte) (json.RawMessage, error) {
	if len(bytes.TrimSpace(result)) == 0 {
		return nil, nil
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, result); err != nil {
		return nil, field("invalid_effect_result", "body", "the result of an effect is JSON, or nothing: %s", err)
	}
	if compact.Len() > engine.MaxEffectResult {
		return nil, &Error{
			Kind: KindTooLarge, Code: "effect_result_too_large",
			Detail: fmt.Sprintf("the result has %d bytes, and an effect keeps at most %d: keep it elsewhere, and note here where", compact.Len(), engine.MaxEffectResult),
		}
	}
	return compact.Bytes(), nil
}

// shortened is a text as it can be shown.
func shortened(text string) string {
	if len(text) > briefLimit {
		return text[:briefLimit] + "…"
	}
	return text
}
