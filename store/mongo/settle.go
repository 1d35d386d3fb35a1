package mongo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"golang.org/x/sync/errgroup"
)

// step is what is to be done next about a document that is to be written.
type step int

const (
	stepInsert  step = iota + 1 // it is not there: insert it
	stepReplace                 // it is there as the condition wants it: replace it
	stepDone                    // it is there as it should be
	stepRefused                 // another writer was first: the condition does not hold any more
)

// change is one document to be written.
type change struct {
	id        string
	document  bson.Raw
	condition any  // of the stored document, for stepReplace: a bson.D or bson.Raw; _id is added
	first     step // what to try first: stepInsert or stepReplace
}

// judge looks at what is stored under the id of change number n (nil: nothing) and says what is to be done.
type judge func(n int, stored bson.Raw) (step, error)

// settle writes changes of different documents in one collection, in no order, and returns when the fate of each is
// known: written, or refused (their numbers are returned). Nothing else is trusted than an answer without any error
// that counts every write: after any other, what is stored is read again and judged. A server that does not answer a
// command in time is asked for less at a time, and is given up only when it does nothing any more.
func (s *Store) settle(ctx context.Context, to *mongo.Collection, changes []change, judge judge) (refused []int, err error) {
	return s.settleBy(ctx, to, changes, nil, judge)
}

// settleBy is settle for a judge that looks at some fields only (nil: all).
func (s *Store) settleBy(ctx context.Context, to *mongo.Collection, changes []change, fields bson.D, judge judge) (refused []int, err error) {
	numbers := make([]int, len(changes))
	for n := range numbers {
		numbers[n] = n
	}
	if len(changes) <= s.config.BulkSize {
		return s.settleChunk(ctx, to, changes, numbers, fields, judge)
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(s.config.Parallel)
	var mutex sync.Mutex
	for chunk := range slices.Chunk(numbers, s.config.BulkSize) {
		group.Go(func() error {
			no, err := s.settleChunk(ctx, to, changes, chunk, fields, judge)
			mutex.Lock()
			defer mutex.Unlock()
			refused = append(refused, no...)
			return err
		})
	}
	err = group.Wait()
	slices.Sort(refused)
	return refused, err
}

func (s *Store) settleChunk(
	ctx context.Context, to *mongo.Collection, changes []change, numbers []int, fields bson.D, judge judge,
) (refused []int, err error) {
	next := make(map[step][]int, 2)
	for _, n := range numbers {
		next[changes[n].first] = append(next[changes[n].first], n)
	}
	size, left := s.config.BulkSize, len(numbers)
	for attempt := 1; ; attempt++ {
		// A document whose shard was changed in the database is found by its _id alone.
		aimed := byShard(to) && attempt < 3
		unknown, slow, failure := s.try(ctx, to, changes, next, size, aimed)
		if len(unknown) == 0 {
			return refused, nil
		}
		if failure != nil && ctx.Err() != nil {
			return refused, failure
		}
		stored, err := s.stored(ctx, to, changes, unknown, fields, aimed)
		if err != nil {
			return refused, errors.Join(failure, err)
		}
		clear(next)
		before := left
		left = 0
		for _, n := range unknown {
			step, err := judge(n, stored[changes[n].id])
			switch {
			case err != nil:
				return refused, err
			case step == stepDone:
			case step == stepRefused:
				refused = append(refused, n)
			default:
				next[step] = append(next[step], n)
				left++
			}
		}
		if left < before {
			attempt = 1 // what has been done stays done
		}
		if slow {
			size = max(min(size, len(numbers))/4, 1)
		}
		switch {
		case left == 0:
			return refused, nil
		case failure != nil && !worthRetrying(ctx, failure):
			return refused, failure
		case attempt >= max(s.config.Attempts, 2): // the first step may have been a wrong guess
			if failure == nil {
				failure = errors.New("the document changes too often")
			}
			return refused, fmt.Errorf("given up after %d attempts: %w", attempt, failure)
		}
		// A duplicate key or a count that was too small was no fault: the step has changed, and the next
		// should succeed. Everything else needs a moment.
		if attempt > 1 || failure != nil && !mongo.IsDuplicateKeyError(failure) {
			s.config.Logger.Debug("mongodb write is tried again", "collection", to.Name(), "left", left, "attempt", attempt, "error", failure)
			if wait(ctx, backoff(attempt)) != nil {
				return refused, errors.Join(failure, context.Cause(ctx))
			}
		}
	}
}

// try does the next step of each change, that many in a command, and returns the numbers of those of which nothing is
// known, and whether that is because a command was not answered in time. It names the shard of documents if it is aimed.
func (s *Store) try(ctx context.Context, to *mongo.Collection, changes []change, next map[step][]int, size int, aimed bool) (unknown []int, slow bool, failure error) {
	do := func(numbers []int, write func([]change) (int64, error)) {
		for some := range slices.Chunk(numbers, size) {
			if slow { // so would this be
				unknown = append(unknown, some...)
				continue
			}
			chosen := make([]change, len(some))
			for i, n := range some {
				chosen[i] = changes[n]
			}
			if done, err := write(chosen); err != nil || done != int64(len(some)) {
				unknown = append(unknown, some...)
				failure = errors.Join(failure, err)
				slow = slow || mongo.IsTimeout(err)
			}
		}
	}
	do(next[stepInsert], func(some []change) (int64, error) {
		limit, cancel := s.command(ctx)
		defer cancel()
		documents := make([]bson.Raw, len(some))
		for i := range some {
			documents[i] = some[i].document
		}
		return s.insertAll(limit, to, documents)
	})
	do(next[stepReplace], func(some []change) (int64, error) {
		limit, cancel := s.command(ctx)
		defer cancel()
		return s.replaceAll(limit, to, some, aimed)
	})
	return unknown, slow, failure
}

// stored reads what is there, as a majority has it: what another reader may still lose counts as not there.
func (s *Store) stored(ctx context.Context, in *mongo.Collection, changes []change, numbers []int, fields bson.D, aimed bool) (map[string]bson.Raw, error) {
	ids := make([]string, len(numbers))
	for i, n := range numbers {
		ids[i] = changes[n].id
	}
	filter := byIDs(ids)
	if aimed {
		filter = keysOf(in, ids)
	}
	found := make(map[string]bson.Raw, len(ids))
	opts := options.Find()
	if fields != nil {
		opts.SetProjection(fields)
	}
	err := s.repeat(ctx, func() error {
		clear(found)
		return each(s.paced(ctx), in, filter, func(document bson.Raw) error {
			id, _ := document.Lookup("_id").StringValueOK()
			found[id] = bytes.Clone(document)
			return nil
		}, opts)
	})
	return found, err
}

// repeat does something idempotent until it succeeds, a bounded number of times.
func (s *Store) repeat(ctx context.Context, do func() error) error {
	for attempt := 1; ; attempt++ {
		err := do()
		if err == nil || !worthRetrying(ctx, err) || attempt >= s.config.Attempts {
			return err
		}
		if wait(ctx, backoff(attempt)) != nil {
			return err
		}
	}
}

// remove deletes documents by id, where condition holds. It is idempotent.
func (s *Store) remove(ctx context.Context, from *mongo.Collection, ids []string, condition bson.D) error {
	for chunk := range slices.Chunk(ids, s.config.BulkSize) {
		filter := append(keysOf(from, chunk), condition...)
		if err := s.repeat(ctx, func() error {
			ctx, cancel := s.command(ctx)
			defer cancel()
			_, err := from.DeleteMany(ctx, filter)
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}
