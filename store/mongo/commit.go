package mongo

import (
	"context"
	"errors"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/tidewheel/tidewheel/engine"
)

// Commit writes decisions, each whole or not at all, if its term is the latest of its shard and its position the
// next one. It returns one error for each: nil, then the decision is on the journals of a majority; engine.ErrFenced,
// then nothing of it was written; any other, then nothing is known, and the same commit may be given again with the same
// arguments. A call has at most one commit of a shard. All that fit into one entry each go to the server in one command.
// It waits while more than Config.Backlog bytes are not projected yet.
func (s *Store) Commit(ctx context.Context, commits []engine.ShardCommit) []error {
	fates := make([]error, len(commits))
	if err := s.projector.room(ctx); err != nil {
		for n := range fates {
			fates[n] = s.failed("commit", err)
		}
		return fates
	}
	var small, large []int
	parts := make([][]*entryDocument, len(commits))
	var together []entry
	for n := range commits {
		term, known, err := s.terms.next(&commits[n])
		if known || err != nil {
			fates[n] = err
			continue
		}
		if parts[n], err = newEntries(&commits[n], &term, s.config.EntrySize); err != nil {
			fates[n] = s.failed(fmt.Sprintf("commit to shard %d", commits[n].Shard), err)
			continue
		}
		if len(parts[n]) > 1 {
			large = append(large, n)
			continue
		}
		small, together = append(small, n), append(together, newEntry(parts[n][0]))
	}
	for i, fate := range s.place(ctx, together) {
		fates[small[i]] = s.decided(&commits[small[i]], parts[small[i]], fate)
	}
	for _, n := range large {
		fates[n] = s.decided(&commits[n], parts[n], s.placeParts(ctx, parts[n]))
	}
	return fates
}

// placeParts writes parts one after the other: none is begun before the previous one is known to stand.
func (s *Store) placeParts(ctx context.Context, parts []*entryDocument) error {
	for _, part := range parts {
		if err := s.place(ctx, []entry{newEntry(part)})[0]; err != nil {
			return err
		}
	}
	return nil
}

// decided takes note of the fate of a commit.
func (s *Store) decided(commit *engine.ShardCommit, parts []*entryDocument, fate error) error {
	switch {
	case fate == nil:
		s.terms.committed(commit, func() { s.projector.add(parts) })
		return nil
	case errors.Is(fate, engine.ErrFenced):
		s.terms.end(commit.Shard, commit.Term)
		return engine.ErrFenced
	}
	return s.failed(fmt.Sprintf("commit %d of shard %d", commit.Position, commit.Shard), fate)
}

// place inserts entries, in no order, and returns the fate of each: nil, it stands; engine.ErrFenced, another's stands in
// its place; any other error, nothing is known. Only an answer without any error is trusted: after any other the entries
// are read back, and what is not there is inserted again, a bounded number of times.
func (s *Store) place(ctx context.Context, entries []entry) []error {
	fates := make([]error, len(entries))
	left := make([]int, len(entries))
	for n := range left {
		left[n] = n
	}
	for attempt, size := 1, len(left); len(left) > 0; attempt++ {
		failure := s.insertEntries(ctx, entries, left, size)
		if failure == nil {
			return fates
		}
		absent, err := s.readBack(ctx, entries, left, fates)
		if err != nil {
			failure = errors.Join(failure, err)
		}
		if left = absent; len(left) == 0 {
			return fates
		}
		if mongo.IsTimeout(failure) {
			size = max(size/4, 1)
		}
		if err != nil || !worthRetrying(ctx, failure) || attempt >= s.config.Attempts || wait(ctx, backoff(attempt)) != nil {
			for _, n := range left {
				fates[n] = failure
			}
			return fates
		}
	}
	return fates
}

// insertEntries inserts those of these numbers, at most size with one command.
func (s *Store) insertEntries(ctx context.Context, entries []entry, numbers []int, size int) error {
	var failures []error
	for len(numbers) > 0 {
		some := numbers[:min(size, len(numbers))]
		numbers = numbers[len(some):]
		documents := make([]bson.Raw, len(some))
		for i, n := range some {
			documents[i] = entries[n].document
		}
		limit, cancel := s.command(ctx)
		_, err := s.insertAll(limit, s.journal, documents)
		cancel()
		failures = append(failures, err)
		if mongo.IsTimeout(err) { // so would be the next
			break
		}
	}
	return errors.Join(failures...)
}

// readBack finds out about entries by what stands in their places, and returns those where nothing does, or all if it
// cannot be read.
func (s *Store) readBack(ctx context.Context, entries []entry, numbers []int, fates []error) (absent []int, err error) {
	ids := make([]string, len(numbers))
	for i, n := range numbers {
		ids[i] = entries[n].id
	}
	var found []entryDocument
	err = s.repeat(ctx, func() (err error) {
		found, err = find[entryDocument](s.paced(ctx), s.journal, byIDs(ids), options.Find().SetProjection(projection("nonce")))
		return err
	})
	if err != nil {
		return numbers, err
	}
	nonces := make(map[string]string, len(found))
	for i := range found {
		nonces[found[i].ID] = found[i].Nonce
	}
	for _, n := range numbers {
		switch nonce, there := nonces[entries[n].id]; {
		case !there:
			absent = append(absent, n)
		case nonce != entries[n].nonce:
			fates[n] = engine.ErrFenced
		}
	}
	return absent, nil
}
