package jetstream

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/core"
	"github.com/tidewheel/tidewheel/executor"
	"github.com/tidewheel/tidewheel/spec"
)

// headerCarried marks a copy that trimming made of an attempt's last message (trim.go); its value is the sequence
// that the executor knows.
const headerCarried = "Tidewheel-Carried"

// Claim publishes the attempt's first message, on condition that it is the first. A claim that was stored although
// its answer was lost is found again by executor and token.
func (q *Queue) Claim(ctx context.Context, result engine.Result) (uint64, error) {
	sequence, err := q.decide(ctx, result, 0)
	if errors.Is(err, errConflict) {
		return 0, executor.ErrClaimed
	}
	return sequence, wrap("jetstream: claim run "+result.Run, err)
}

// Report publishes a later message, on condition that nothing came after the one with sequence after.
func (q *Queue) Report(ctx context.Context, result engine.Result, after uint64) (uint64, error) {
	sequence, err := q.decide(ctx, result, after)
	if errors.Is(err, errConflict) {
		return 0, executor.ErrFenced
	}
	return sequence, wrap("jetstream: report run "+result.Run, err)
}

// Revoke takes an attempt back before an executor claims it. A second call returns the same.
func (q *Queue) Revoke(ctx context.Context, of core.Revoke) (bool, error) {
	_, err := q.decide(ctx, engine.Result{Kind: engine.ResultRevoked, Run: of.Run, Attempt: of.Attempt, Shard: of.Shard, At: now()}, 0)
	if errors.Is(err, errConflict) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("jetstream: revoke run %s: %w", of.Run, err)
	}
	// From here on no copy can be claimed; the waiting one only takes room and an executor's time.
	if err := q.withdraw(ctx, q.names.task(poolToken(spec.Tier(of.Tier), of.RunsOn), of.Class, of.Run), of.Attempt); err != nil {
		return false, fmt.Errorf("jetstream: remove the task of run %s: %w", of.Run, err)
	}
	return true, nil
}

// withdraw removes a waiting task unless it is a later attempt's.
func (q *Queue) withdraw(ctx context.Context, subject string, attempt int) error {
	waiting, err := q.last(ctx, q.names.tasks, subject)
	if err != nil || waiting == nil {
		return err
	}
	if of, err := readAttempt(waiting.data); err == nil && of > attempt {
		return nil
	}
	return q.remove(ctx, q.names.tasks, waiting.sequence)
}

// DeclareLost ends an attempt unless something came after the message with sequence after. A second call
// returns the same.
func (q *Queue) DeclareLost(ctx context.Context, shard int, run string, attempt int, after uint64) (bool, error) {
	_, err := q.decide(ctx, engine.Result{Kind: engine.ResultLost, Run: run, Attempt: attempt, Shard: shard, At: now()}, after)
	if errors.Is(err, errConflict) {
		return false, nil
	}
	return err == nil, wrap("jetstream: declare run "+run+" lost", err)
}

// Inspect returns the state of an attempt, whether its task waits, and until when it holds one of the locks. The task is
// read first: where it has gone, the claim that it went for is found after it. The subject is read before the locks: an
// executor that has claimed holds the lock, so a claim without a lock is an attempt that ended or lost it, and never one
// that is about to begin.
func (q *Queue) Inspect(ctx context.Context, of core.Inspect) (engine.AttemptState, error) {
	run, attempt := of.Run, of.Attempt
	state := engine.AttemptState{Since: q.connectedSince()}
	if of.Tier != "" {
		waiting, err := q.last(ctx, q.names.tasks, q.names.task(poolToken(spec.Tier(of.Tier), of.RunsOn), of.Class, run))
		if err != nil {
			return state, fmt.Errorf("jetstream: look for the task of run %s: %w", run, err)
		}
		if waiting != nil {
			n, err := readAttempt(waiting.data)
			state.Waits = err == nil && n == attempt
		}
	}
	last, err := q.last(ctx, q.names.results, q.names.attempt(of.Shard, run, attempt))
	if err != nil {
		return state, fmt.Errorf("jetstream: inspect run %s: %w", run, err)
	}
	if last != nil {
		result, err := decodeResult(last.data)
		if err != nil {
			return state, fmt.Errorf("jetstream: inspect run %s: message %d: %w", run, last.sequence, err)
		}
		state.Last, state.Sequence = result.Kind, last.sequence
	}
	for _, lock := range of.Locks {
		held, err := q.lockEntry(ctx, lock)
		if err != nil {
			return state, fmt.Errorf("jetstream: inspect lock of run %s: %w", run, err)
		}
		if held != nil && held.holder.Run == run && held.holder.Attempt == attempt {
			state.LockHeld, state.LockUntil = true, held.until
			break
		}
	}
	return state, nil
}

// decide publishes on an attempt's subject under the condition of its last sequence, or returns errConflict. It
// looks through three things that are no conflicts: the same message, stored by a try whose answer was lost, a copy that
// trimming has put in the place of the message with sequence after, and a message that is on its way through a cluster:
// it may be the same one, or may never arrive.
func (q *Queue) decide(ctx context.Context, result engine.Result, after uint64) (uint64, error) {
	if !engine.ValidID(result.Run) {
		return 0, fmt.Errorf("run %q is no subject token", result.Run)
	}
	subject := q.names.attempt(result.Shard, result.Run, result.Attempt)
	expected := after
	for tries := 0; ; tries++ {
		message := newOutgoing(subject)
		var err error
		if message.Data, err = encodeResult(message.Data, &result); err != nil {
			return 0, err
		}
		sequence, err := q.publish(ctx, message, &expected)
		if !errors.Is(err, errConflict) {
			return sequence, err
		}
		last, err := q.last(ctx, q.names.results, subject)
		if err != nil {
			return 0, err
		}
		if onItsWay(last, expected) {
			if tries == onItsWayTries || !pause(ctx, onItsWayPause) {
				return 0, errOnItsWay
			}
			continue
		}
		if last == nil {
			return 0, errConflict
		}
		found, err := decodeResult(last.data)
		if err != nil {
			return 0, fmt.Errorf("message %d: %w", last.sequence, err)
		}
		if sameReport(&found, &result) {
			return last.sequence, nil
		}
		if after == 0 || last.header.Get(headerCarried) != strconv.FormatUint(after, 10) {
			return 0, errConflict
		}
		expected = last.sequence
	}
}

// How often, and how long, a message on its way is waited for.
const (
	onItsWayTries = 200
	onItsWayPause = 10 * time.Millisecond
)

// errOnItsWay means that a message which is in the way has neither arrived nor been lost.
var errOnItsWay = fmt.Errorf("%w: another message is on its way", ErrUnavailable)

// onItsWay reports, after a conflict, whether the subject's last message is the one that was expected. Then a cluster refuses
// because it has taken another one that its servers have not agreed on yet.
func onItsWay(last *stored, expected uint64) bool {
	if last == nil {
		return expected == 0
	}
	return last.sequence == expected
}

// sameReport reports whether two messages of one attempt are one that was sent twice.
func sameReport(a, b *engine.Result) bool {
	return a.Kind == b.Kind && a.Executor == b.Executor && a.Token == b.Token &&
		(a.Kind != engine.ResultProgress || a.At.Equal(b.At))
}

// now is the time as it is stored.
func now() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }
