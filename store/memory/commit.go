package memory

import (
	"context"
	"fmt"

	"github.com/tidewheel/tidewheel/engine"
)

// term is who owns a shard, and how far its commits are.
type term struct {
	owner    string
	number   uint64 // 0: no engine has taken the shard yet
	began    uint64 // the position at which the owner took it
	position uint64 // of the last commit
}

// Take makes the caller the owner of a shard: every later commit of an earlier owner gives engine.ErrFenced.
func (s *Store) Take(ctx context.Context, shard int, owner string) (engine.Term, error) {
	if err := s.write(ctx); err != nil {
		return engine.Term{}, err
	}
	defer s.mu.Unlock()
	last := s.terms[shard]
	s.terms[shard] = term{owner: owner, number: last.number + 1, began: last.position, position: last.position}
	return engine.Term{Number: last.number + 1, Position: last.position}, nil
}

// Commit writes decisions, each whole or not at all, if its term is the shard's latest and its position the next
// one. It gives one error for each commit: nil; engine.ErrFenced: nothing was written, another engine owns the shard;
// any other error: nothing is known, and the caller may give the same commit again.
func (s *Store) Commit(ctx context.Context, commits []engine.ShardCommit) []error {
	answers := make([]error, len(commits))
	if err := s.write(ctx); err != nil {
		for i := range answers {
			answers[i] = err
		}
		return answers
	}
	defer s.mu.Unlock()
	for i := range commits {
		answers[i] = s.commitShard(&commits[i])
	}
	return answers
}

func (s *Store) commitShard(c *engine.ShardCommit) error {
	now := s.terms[c.Shard]
	switch {
	case now.number == 0 || c.Term != now.number:
		return fmt.Errorf("memory: commit %d of shard %d in term %d: %w: %q has term %d",
			c.Position, c.Shard, c.Term, engine.ErrFenced, now.owner, now.number)
	case c.Position == now.position && c.Position > now.began:
		return nil // it is done already, and the answer was lost
	case c.Position != now.position+1:
		return fmt.Errorf("memory: commit %d of shard %d in term %d: its position does not follow %d", c.Position, c.Shard, c.Term, now.position)
	}
	now.position++
	s.terms[c.Shard] = now
	s.put(c.Batch)
	s.drop(c.Batch)
	return nil
}

func (s *Store) put(d *engine.Batch) {
	for i := range d.Runs {
		s.putRun(&d.Runs[i])
	}
	for i := range d.Waves {
		s.putWave(&d.Waves[i])
	}
	for i := range d.Tasks {
		s.tasks[d.Tasks[i].ID] = copyTask(&d.Tasks[i])
	}
	for _, slots := range d.Slots {
		s.slots[slots.ID] = slots
	}
	for _, letter := range d.DeadLetters {
		s.letters[letter.RunID] = letter
	}
	for i := range d.Incidents {
		s.incidents[d.Incidents[i].ID] = d.Incidents[i].Clone()
	}
}

func (s *Store) drop(d *engine.Batch) {
	for _, id := range d.DropRuns {
		s.dropRun(id)
	}
	for _, id := range d.DropTasks {
		delete(s.tasks, id)
	}
	for _, id := range d.DropLetters {
		delete(s.letters, id)
	}
	for _, id := range d.DropIncidents {
		delete(s.incidents, id)
	}
	for _, handled := range d.Handled {
		s.jobs.handle(handled)
	}
	for _, handled := range d.HandledDAGs {
		s.dags.handle(handled)
	}
	for _, done := range d.Done {
		if s.commands[done.ID].At.UnixMilli() == done.At.UnixMilli() {
			delete(s.commands, done.ID)
		}
	}
}

func (s *Store) putRun(run *engine.Run) {
	kept := copyRun(run)
	s.runs[run.ID] = &kept
	if run.Status.Terminal() {
		delete(s.active, run.ID)
	} else {
		s.active[run.ID] = &kept
	}
}

func (s *Store) dropRun(id string) {
	delete(s.runs, id)
	delete(s.active, id)
}
