package executor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// Queue is where an executor's work comes from and its results go to.
type Queue interface {
	// Pull calls handle in a goroutine of its own for each task, at most slots at once, the executor's own tier
	// first, premium before standard by weight. When ctx ends it takes no more and returns once all handles have.
	// handle's context does not end with ctx: the caller decides how long the running ones may take.
	Pull(ctx context.Context, config PullConfig, handle func(Delivery)) error
	// Lock makes the lock, or returns *HeldError. The result is the fencing token. It may be called again after another
	// error, with the same holder.
	Lock(ctx context.Context, key string, holder LockHolder, ttl time.Duration) (token uint64, err error)
	// Refresh extends the lock by ttl from now and returns its new revision; ErrFenced if it is not ours any more.
	Refresh(ctx context.Context, key string, holder LockHolder, revision uint64, ttl time.Duration) (newRevision uint64, err error)
	// Unlock removes the lock if revision is still its own; a lock that has gone is no error.
	Unlock(ctx context.Context, key string, revision uint64) error
	// Claim publishes the attempt's first message; ErrClaimed if there is one already.
	Claim(ctx context.Context, result engine.Result) (sequence uint64, err error)
	// Report publishes a later message on condition that the attempt's last one has this sequence; ErrFenced if not.
	Report(ctx context.Context, result engine.Result, after uint64) (sequence uint64, err error)
	// DrainOrder returns the order that was left for an executor last, false if none is kept.
	DrainOrder(ctx context.Context, executor string) (engine.DrainOrder, bool, error)
	// Controls calls handle with what engines and viewers ask of running attempts, until ctx ends.
	Controls(ctx context.Context, handle func(engine.Control)) error
	// LogFrame shows a piece of an attempt's output to the users who watch it. It does not wait and may be lost.
	LogFrame(frame engine.LogFrame) error
	// Announce means that this executor is alive; it must be called again within ttl. A last one with ttl 0 withdraws it.
	Announce(ctx context.Context, presence engine.Presence, ttl time.Duration) error
}

// PullConfig defines which work an executor takes.
type PullConfig struct {
	Executor      string      // id
	Tiers         []spec.Tier // its own first, then those it serves when idle
	ShareTiers    bool        // all tiers are its own: each gets its share while several wait
	Slots         int         // attempts at once
	PremiumWeight int         // premium attempts taken for each standard one while both wait; default 4
	// Labels are what it has: of the tasks that ask for labels it is given those that it satisfies.
	Labels map[string]string
	// Hold pauses taking tasks (true) and resumes it (false); the running handles are not touched. nil: never.
	Hold <-chan bool
}

// Delivery is one task, until it is acknowledged or given back.
type Delivery interface {
	// Task reads the message; *RefusedError if it must not run, *NotYetError if it must be put back. Another error means that it
	// can never be read: acknowledge it and say so in the log.
	Task() (engine.Task, error)
	// Refuse ends this copy, for the reason that Task gave. The engine publishes the run again if it waits.
	Refuse(*RefusedError) error
	// Confirm is why the engine must confirm that the attempt may begin, "" if it need not; after Task. Once the claims of
	// its time may be forgotten a copy that was kept and sent again looks like one that has waited.
	Confirm() string
	// Outlived reports whether other copies of the task may have been delivered so long ago that a claim is forgotten
	// any more: then this one must not be claimed.
	Outlived() bool
	// Ack ends the queue's part.
	Ack() error
	// Nak gives the task back, to be delivered to anybody after delay.
	Nak(delay time.Duration) error
}

// RefusedError reports that a task must not run.
type RefusedError struct {
	Reason  engine.RefusalReason
	Subject string // where it stood; it is not verified
	Err     error
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("the task at %s is refused as %s: %v", e.Subject, e.Reason, e.Err)
}
func (e *RefusedError) Unwrap() error { return e.Err }

// NotYetError reports that a task must be put back: this executor may not know yet what it takes to verify it, and another may.
type NotYetError struct {
	Delay time.Duration // for which it is put back
	Err   error
}

func (e *NotYetError) Error() string { return "a task is put back: " + e.Err.Error() }
func (e *NotYetError) Unwrap() error { return e.Err }

// LockHolder is written into a lock, for supervisors and people.
type LockHolder struct {
	Run      string `json:"run"`
	Attempt  int    `json:"attempt"`
	Executor string `json:"executor"`
	// Try distinguishes the lock's holder from any other that got the same attempt; the same word in all tries to make one
	// lock, so that a lock whose answer was lost is recognized as this holder's. "" leaves that open.
	Try string `json:"try,omitempty"`
}

// HeldError reports that another attempt holds the lock, and until when at the earliest.
type HeldError struct {
	Key    string
	Holder LockHolder
	Until  time.Time
}

func (e *HeldError) Error() string {
	return fmt.Sprintf("lock %s is held by run %s attempt %d on executor %s", e.Key, e.Holder.Run, e.Holder.Attempt, e.Holder.Executor)
}

// The errors that a queue returns when another executor or an engine was first.
var (
	// ErrClaimed means that the attempt was claimed or revoked before.
	ErrClaimed = errors.New("the attempt is claimed already")
	// ErrFenced means that the attempt or the lock has another owner by now: stop, and change nothing.
	ErrFenced = errors.New("fenced: the attempt or its lock has passed on")
)

// Blobs is where binaries come from, big outputs go to, and files go to from task to task.
type Blobs interface {
	// GetBinary opens the bytes with this sha256 (hex) and returns their number; engine.ErrNotFound if there are none.
	// Who verifies them while they are read fails with a *cache.DigestError.
	GetBinary(ctx context.Context, sha256 string) (io.ReadCloser, int64, error)
	// NewLogWriter begins the output of an attempt that has outgrown its result. ctx bounds all that the writer does,
	// tries again included: it outlives the program.
	NewLogWriter(ctx context.Context, run string, attempt int) (LogWriter, error)
	// PutArtifact stores a file that an attempt has left, in the place of one that was stored before under the same name
	// (a path with slashes), and returns the sha256 (hex) of its bytes.
	PutArtifact(ctx context.Context, run string, attempt int, name string, content *io.SectionReader) (sha256 string, err error)
	// GetArtifact opens such a file; engine.ErrNotFound if there is none. Reading fails with a *cache.DigestError if its
	// bytes do not have this sha256.
	GetArtifact(ctx context.Context, run string, attempt int, name, sha256 string) (io.ReadCloser, error)
}

// LogWriter takes an attempt's output. Its methods may be called concurrently.
type LogWriter interface {
	// Write blocks while the store is slower than the program or away. It fails once its context has ended, or the
	// store refuses for good.
	io.Writer
	// Sync makes what was written so far readable by others, with the marks of it (of engine.EncodeOutputMarks).
	Sync(marks []byte) error
	// Close writes the rest and the line index, and returns what is stored. It must be called.
	Close() (LogInfo, error)
}

// LogInfo reports how much of an output is stored.
type LogInfo struct {
	Size   int64 // bytes
	Lines  int64
	Chunks int64
}

// SecretOpener has the key of secrets.
type SecretOpener interface {
	// Open decrypts the value of a secret. Its errors hold nothing of the value.
	Open(ctx context.Context, namespace, name string, sealed []byte) ([]byte, error)
}

// Observer hears of attempts, to measure them. Its methods must not block.
type Observer interface {
	// AttemptStarted is called when the process exists.
	AttemptStarted(task *engine.Task, at time.Time)
	// AttemptFinished is called when the end has been reported.
	AttemptFinished(task *engine.Task, finish *engine.Finish)
	// BinaryFetched is called when an attempt has its program: cached says that it was there, fetched and verified before.
	BinaryFetched(cached bool)
	// TaskRefused is called for each task that was refused.
	TaskRefused(reason engine.RefusalReason)
}
