package sqlite

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/tidewheel/tidewheel/engine"
)

var errShard = fmt.Errorf("there are the shards 0 to %d only", engine.Shards-1)

// Take makes the caller the owner of a shard: every later commit of an earlier owner gives engine.ErrFenced. One process
// has the file open, so it does not keep the owner's name.
func (s *Store) Take(ctx context.Context, shard int, _ string) (engine.Term, error) {
	if shard < 0 || shard >= engine.Shards {
		return engine.Term{}, wrap("take a shard", errShard)
	}
	var term engine.Term
	if err := s.write(ctx, 1, func(w *writer) error {
		term = w.tenures.take(shard)
		return nil
	}); err != nil { // the writer may be at it yet
		return engine.Term{}, wrap(fmt.Sprintf("take shard %d", shard), err)
	}
	return term, nil
}

// Commit writes decisions, each whole or not at all, if its term is the shard's latest and its position the next
// one. All are one transaction. It gives one error for each commit: nil; engine.ErrFenced: nothing was written, another
// engine owns the shard; any other error: nothing is known, and the caller may give the same commit again.
func (s *Store) Commit(ctx context.Context, commits []engine.ShardCommit) []error {
	// All documents are made here, by the caller's goroutine: the writer's time is what everybody shares, and the decisions
	// belong to the caller again if ctx ends early.
	writes, answers, weight := make([]*shardWrite, len(commits)), make([]error, len(commits)), 0
	for i := range commits {
		writes[i], answers[i] = encodeCommit(&commits[i])
		weight += writes[i].weight()
	}
	err := s.write(ctx, weight, func(w *writer) error {
		for i, write := range writes {
			if write == nil {
				continue
			}
			if answers[i] = w.commitShard(write); failed(answers[i]) {
				return answers[i]
			}
		}
		return nil
	})
	given := answers
	if err != nil { // the writer may be at the answers yet
		given = slices.Repeat([]error{err}, len(commits))
	}
	for i, commit := range commits {
		if given[i] != nil {
			given[i] = wrap(fmt.Sprintf("commit %d of shard %d in term %d", commit.Position, commit.Shard, commit.Term), given[i])
		}
	}
	return given
}

// shardWrite is a commit that is ready for the writer.
type shardWrite struct {
	shard          int
	term, position uint64
	runs           []*runWrite
	others         []putting
}

// weight is about the number of statements.
func (c *shardWrite) weight() int {
	if c == nil {
		return 0
	}
	return 1 + 2*len(c.runs) + len(c.others)
}

func encodeCommit(c *engine.ShardCommit) (*shardWrite, error) {
	if c.Shard < 0 || c.Shard >= engine.Shards {
		return nil, errShard
	}
	write := &shardWrite{shard: c.Shard, term: c.Term, position: c.Position, runs: make([]*runWrite, len(c.Batch.Runs))}
	var room []byte
	for i := range c.Batch.Runs {
		room = encodeRun(room[:0], &c.Batch.Runs[i])
		// Each in memory of its own: it is kept as long as the run is active, and should not keep others.
		write.runs[i] = newRunWrite(&c.Batch.Runs[i], bytes.Clone(room))
	}
	if err := write.encodeOthers(c.Batch); err != nil {
		return nil, err
	}
	for _, id := range c.Batch.DropRuns {
		write.others = append(write.others, func(w *writer) error { return w.removeRun(id) })
	}
	for _, id := range c.Batch.DropTasks {
		write.add("DELETE FROM scheduled_tasks WHERE id = ?", id)
	}
	for _, id := range c.Batch.DropLetters {
		write.add(deleteLetter, id)
	}
	for _, id := range c.Batch.DropIncidents {
		write.add("DELETE FROM incidents WHERE id = ?", id)
	}
	for _, handled := range c.Batch.Handled {
		write.others = append(write.others, func(w *writer) error { return jobs.handle(w, &handled) })
	}
	for _, handled := range c.Batch.HandledDAGs {
		write.others = append(write.others, func(w *writer) error { return dags.handle(w, &handled) })
	}
	for _, done := range c.Batch.Done {
		write.add("DELETE FROM commands WHERE id = ? AND at = ?", done.ID, always(done.At))
	}
	return write, nil
}

// encodeOthers adds what is put besides runs.
func (c *shardWrite) encodeOthers(d *engine.Batch) error {
	for i := range d.Waves {
		c.others = append(c.others, putWave(&d.Waves[i]))
	}
	for i := range d.Tasks {
		if err := c.encoded(putTask(&d.Tasks[i])); err != nil {
			return err
		}
	}
	for i := range d.Slots {
		if err := c.encoded(putSlots(&d.Slots[i])); err != nil {
			return err
		}
	}
	for i := range d.DeadLetters {
		if err := c.encoded(putLetter(&d.DeadLetters[i])); err != nil {
			return err
		}
	}
	for i := range d.Incidents {
		if err := c.encoded(putIncident(&d.Incidents[i])); err != nil {
			return err
		}
	}
	return nil
}

func (c *shardWrite) encoded(put putting, err error) error {
	c.others = append(c.others, put)
	return err
}

func (c *shardWrite) add(statement string, args ...any) {
	c.others = append(c.others, func(w *writer) error {
		_, err := w.exec(statement, args...)
		return err
	})
}

// commitShard writes a decision. Every error but those of SQLite says that it has written nothing.
func (w *writer) commitShard(c *shardWrite) error {
	if next, err := w.tenures.move(c); err != nil || !next {
		return err
	}
	for _, run := range c.runs {
		if err := w.putRun(run); err != nil {
			return err
		}
	}
	for _, put := range c.others {
		if err := put(w); err != nil {
			return err
		}
	}
	return nil
}
