package trigger

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

const (
	// refreshEvery is how often each engine reads which definitions are followed.
	refreshEvery = time.Second
	// stale is the age from which on that is not known well enough: then every success is written down.
	stale = 5 * time.Second
	// successes bounds those of one record, which is far below engine.MaxRecord.
	successes = 1000
)

// success is a run or wave that a commit is about to let succeed.
type success struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"` // of the job or DAG
	ID        string `json:"id"`
	Wave      bool   `json:"wave,omitempty"`
}

// noted is the data of a record of kindSuccess.
type noted struct {
	At        time.Time `json:"at"`
	Successes []success `json:"successes"`
}

// Committer writes decisions of the engine; see shard.Store.
type Committer interface {
	Commit(ctx context.Context, commits []engine.ShardCommit) []error
}

// Outbox writes the successes that definitions wait for into the store, before the commits that they are part of.
type Outbox struct {
	book *Book
	hint chan struct{} // the watcher has something to do

	mu       sync.Mutex
	followed map[string]bool // by name()
	read     time.Time       // when followed was read; zero: never
}

// NewOutbox makes an outbox. Until a [Watcher] runs that has it, it writes every success.
func NewOutbox(book *Book) *Outbox { return &Outbox{book: book, hint: make(chan struct{}, 1)} }

// Commit writes decisions. A success that cannot be written down is not committed: the caller tries again.
func (o *Outbox) Commit(ctx context.Context, store Committer, commits []engine.ShardCommit) []error {
	found := o.successes(commits)
	for from := 0; from < len(found); from += successes {
		if err := o.note(ctx, found[from:min(from+successes, len(found))]); err != nil {
			errs := make([]error, len(commits))
			for i := range errs {
				errs[i] = err
			}
			return errs
		}
	}
	errs := store.Commit(ctx, commits)
	if len(found) > 0 {
		select {
		case o.hint <- struct{}{}:
		default:
		}
	}
	return errs
}

// successes returns the successes that another definition waits for.
func (o *Outbox) successes(commits []engine.ShardCommit) (found []success) {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := o.book.now().Sub(o.read) > stale
	if !all && len(o.followed) == 0 {
		return nil
	}
	for i := range commits {
		batch := commits[i].Batch
		for k := range batch.Runs {
			run := &batch.Runs[k]
			if run.Status == engine.StatusSucceeded && run.Job != "" && (all || o.followed[name(run.Namespace, run.Job)]) {
				found = append(found, success{run.Namespace, run.Job, run.ID, false})
			}
		}
		for k := range batch.Waves {
			wave := &batch.Waves[k]
			if wave.Status == engine.StatusSucceeded && (all || o.followed[name(wave.Namespace, wave.DAG)]) {
				found = append(found, success{wave.Namespace, wave.DAG, wave.ID, true})
			}
		}
	}
	return found
}

// note writes successes down. Those that are there already are written again, so that the watcher keeps them for a while.
func (o *Outbox) note(ctx context.Context, found []success) error {
	var ids strings.Builder
	for i := range found {
		ids.WriteString(found[i].ID + "\n")
	}
	sum := sha256.Sum256([]byte(ids.String()))
	key := hex.EncodeToString(sum[:])
	data := noted{At: o.book.now().UTC(), Successes: found}
	record := engine.Record{Kind: kindSuccess, Key: key, Revision: 1}
	var err error
	if record.Data, err = json.Marshal(&data); err != nil {
		return err
	}
	for {
		err := o.book.records.InsertRecord(ctx, record)
		if !errors.Is(err, engine.ErrExists) {
			if err != nil {
				return fmt.Errorf("write down what has succeeded: %w", err)
			}
			return nil
		}
		stored, err := o.book.records.Record(ctx, kindSuccess, key)
		if err == nil {
			err = o.book.write(ctx, stored, &data)
		}
		if err == nil {
			return nil
		}
		if !errors.Is(err, engine.ErrNotFound) && !errors.Is(err, engine.ErrConflict) {
			return fmt.Errorf("write down what has succeeded: %w", err)
		}
	}
}

// follow reports which definitions are followed, as of an instant.
func (o *Outbox) follow(followers []follower, at time.Time) {
	followed := map[string]bool{}
	for i := range followers {
		for upstream := range followers[i].since {
			followed[upstream] = true
		}
	}
	o.mu.Lock()
	o.followed, o.read = followed, at
	o.mu.Unlock()
}
