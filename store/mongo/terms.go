package mongo

import (
	"fmt"
	"sync"

	"github.com/tidewheel/tidewheel/engine"
)

// term is one in which this store commits to a shard.
type term struct {
	number uint64
	owner  string
	nonce  string
	began  uint64 // position of its take-over
	last   uint64 // position of the last commit that is known to stand
}

// terms are those of the shards that this store has taken and not been seen to lose.
type terms struct {
	mutex  sync.Mutex
	latest map[int]term
}

// begin records that a shard was taken.
func (t *terms) begin(shard int, begun term) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if t.latest == nil {
		t.latest = map[int]term{}
	}
	if t.latest[shard].number < begun.number {
		t.latest[shard] = begun
	}
}

// end records that a term is over.
func (t *terms) end(shard int, number uint64) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if t.latest[shard].number == number {
		delete(t.latest, shard)
	}
}

// next returns the term of a commit that has the next position; known if it is the last one, which is known to stand. Any
// other commit is refused: with engine.ErrFenced where this store is not in its term.
func (t *terms) next(commit *engine.ShardCommit) (of term, known bool, err error) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	of, there := t.latest[commit.Shard]
	switch {
	case !there || of.number != commit.Term:
		return of, false, engine.ErrFenced
	case commit.Position == of.last && of.last > of.began:
		return of, true, nil
	case commit.Position != of.last+1:
		return of, false, fmt.Errorf("mongo: commit %d of shard %d: the next one is %d", commit.Position, commit.Shard, of.last+1)
	}
	return of, false, nil
}

// committed records that a commit stands, and calls first if that was not known.
func (t *terms) committed(commit *engine.ShardCommit, first func()) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	of, there := t.latest[commit.Shard]
	if !there || of.number != commit.Term || commit.Position != of.last+1 {
		return
	}
	of.last++
	t.latest[commit.Shard] = of
	first()
}
