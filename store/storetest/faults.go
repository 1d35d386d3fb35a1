package storetest

import (
	"context"
	"errors"
	"slices"

	"github.com/tidewheel/tidewheel/engine"
)

// ErrInjected is what the faults of this package answer.
var ErrInjected = errors.New("injected fault")

// Fault stands between a caller and a store. It is given the name of the method and the call itself, and decides
// whether, when and how often the call is done, and what its caller hears. It may be called by many goroutines.
type Fault func(ctx context.Context, method string, call func(context.Context) error) error

// Refuse does nothing and returns ErrInjected.
func Refuse(context.Context, string, func(context.Context) error) error { return ErrInjected }

// DoneButFailed does the call and returns ErrInjected nevertheless, as when the answer is lost on its way.
func DoneButFailed(ctx context.Context, _ string, call func(context.Context) error) error {
	if err := call(ctx); err != nil {
		return err
	}
	return ErrInjected
}

// Twice does the call two times, as a driver does that tries again by itself.
func Twice(ctx context.Context, _ string, call func(context.Context) error) error {
	if err := call(ctx); err != nil {
		return err
	}
	return call(ctx)
}

// Slow does the call once wait is closed, or returns the context's error if that ends first.
func Slow(wait <-chan struct{}) Fault {
	return func(ctx context.Context, _ string, call func(context.Context) error) error {
		select {
		case <-wait:
			return call(ctx)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Faulty is a store of which the methods that the engine calls pass through Fault; the others are the store's own.
// A nil Fault does nothing.
type Faulty struct {
	Store
	Fault Fault
}

func through[T any](ctx context.Context, fault Fault, method string, call func(context.Context) (T, error)) (result T, err error) {
	if fault == nil {
		return call(ctx)
	}
	err = fault(ctx, method, func(ctx context.Context) (err error) {
		result, err = call(ctx)
		return err
	})
	if err != nil {
		var none T
		return none, err
	}
	return result, nil
}

// Take passes through Fault.
func (f *Faulty) Take(ctx context.Context, shard int, owner string) (engine.Term, error) {
	return through(ctx, f.Fault, "Take", func(ctx context.Context) (engine.Term, error) {
		return f.Store.Take(ctx, shard, owner)
	})
}

// Commit passes through Fault; an error of the fault is the answer to all commits.
func (f *Faulty) Commit(ctx context.Context, commits []engine.ShardCommit) []error {
	answers, err := through(ctx, f.Fault, "Commit", func(ctx context.Context) ([]error, error) {
		return f.Store.Commit(ctx, commits), nil
	})
	if err != nil {
		return slices.Repeat([]error{err}, len(commits))
	}
	return answers
}
