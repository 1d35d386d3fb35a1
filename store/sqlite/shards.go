package sqlite

import (
	"bytes"
	"context"
	"database/sql/driver"
	"fmt"
	"slices"

	"github.com/tidewheel/tidewheel/engine"
)

const (
	takeShard = `INSERT INTO shards (shard, owner, term, began, position) VALUES (?, ?, 1, 0, 0)
		ON CONFLICT (shard) DO UPDATE SET owner = excluded.owner, term = term + 1, began = position RETURNING term, position`
	moveShard = "UPDATE shards SET position = position + 1 WHERE shard = ? AND term = ? AND position = ?"
	readShard = "SELECT owner, term, began, position FROM shards WHERE shard = ?"
)

// Take makes the caller the owner of a shard: every later commit of an earlier owner gives engine.ErrFenced.
func (s *Store) Take(ctx context.Context, shard int, owner string) (engine.Term, error) {
	taken := make(chan engine.Term, 2) // the writer may be at it yet when ctx has ended, and may do it twice
	err := s.write(ctx, 1, func(w *writer) error {
		return w.query(takeShard, []any{shard, owner}, func(values []driver.Value) error {
			number, _ := values[0].(int64)
			position, _ := values[1].(int64)
			taken <- engine.Term{Number: uint64(number), Position: uint64(position)}
			return nil
		})
	})
	if err != nil {
		return engine.Term{}, wrap(fmt.Sprintf("take shard %d", shard), err)
	}
	return <-taken, nil
}

// CommitShards writes decisions, each whole or not at all, if its term is the shard's latest and its position the next
// one. All are one transaction. It gives one error for each commit: nil; engine.ErrFenced: nothing was written, another
// engine owns the shard; any other error: nothing is known, and the caller may give the same commit again.
func (s *Store) CommitShards(ctx context.Context, commits []engine.ShardCommit) []error {
	// As for Commit, all documents are made here, by the caller's goroutine.
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
	if err != nil { // the writer may be at the answers yet
		answers = slices.Repeat([]error{err}, len(commits))
	}
	for i := range commits {
		answers[i] = wrap(fmt.Sprintf("commit %d of shard %d in term %d", commits[i].Position, commits[i].Shard, commits[i].Term), answers[i])
	}
	return answers
}

// shardWrite is a commit that is ready for the writer.
type shardWrite struct {
	shard          int
	term, position int64
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
	write := &shardWrite{shard: c.Shard, term: int64(c.Term), position: int64(c.Position), runs: make([]*runWrite, len(c.Decision.Runs))}
	var room []byte
	for i := range c.Decision.Runs {
		room = encodeRun(room[:0], &c.Decision.Runs[i])
		// Each in memory of its own: it is kept as long as the run is active, and should not keep others.
		write.runs[i] = newRunWrite(&c.Decision.Runs[i], bytes.Clone(room))
	}
	if err := write.encodeOthers(c.Decision); err != nil {
		return nil, err
	}
	for _, id := range c.Decision.DropRuns {
		write.others = append(write.others, func(w *writer) error { return w.removeRun(id) })
	}
	for _, id := range c.Decision.DropTasks {
		write.add("DELETE FROM scheduled_tasks WHERE id = ?", id)
	}
	for _, id := range c.Decision.DropLetters {
		write.add(deleteLetter, id)
	}
	for _, handled := range c.Decision.Handled {
		write.others = append(write.others, func(w *writer) error { return jobs.handle(w, &handled) })
	}
	for _, handled := range c.Decision.HandledDAGs {
		write.others = append(write.others, func(w *writer) error { return dags.handle(w, &handled) })
	}
	for _, done := range c.Decision.Done {
		write.add("DELETE FROM commands WHERE id = ? AND at = ?", done.ID, always(done.At))
	}
	return write, nil
}

// encodeOthers adds what is put besides runs.
func (c *shardWrite) encodeOthers(d *engine.Decision) error {
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
	if next, err := w.moveOn(c); err != nil || !next {
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

// moveOn gives the shard the commit's position. next is false without an error if it has it already: the commit was done,
// and the answer was lost.
func (w *writer) moveOn(c *shardWrite) (next bool, err error) {
	changed, err := w.exec(moveShard, c.shard, c.term, c.position-1)
	if changed > 0 || err != nil {
		return changed > 0, err
	}
	var owner string
	var term, began, position int64
	if err := w.query(readShard, []any{c.shard}, func(values []driver.Value) error {
		owner, _ = values[0].(string)
		term, _ = values[1].(int64)
		began, _ = values[2].(int64)
		position, _ = values[3].(int64)
		return nil
	}); err != nil {
		return false, err
	}
	switch {
	case term != c.term:
		return false, fmt.Errorf("%w: %q has term %d", engine.ErrFenced, owner, term)
	case c.position != position || position == began:
		return false, fmt.Errorf("its position does not follow %d", position)
	}
	return false, nil
}
