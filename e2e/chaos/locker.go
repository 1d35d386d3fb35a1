package chaos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/tidewheel/tidewheel/executor"
	"github.com/tidewheel/tidewheel/queue/jetstream"
)

// lockKeys is how many locks the lockers compete for.
const lockKeys = 6

// What lockers do with a lock.
const (
	doLock    = "lock"
	doRefresh = "refresh"
	doUnlock  = "unlock"
)

// What came of it. No answer at all, of one that died, is like an error: it may have been done or not.
const (
	doneOK     = "ok"
	doneHeld   = "held"   // another holder has the lock
	doneFenced = "fenced" // the lock has passed on
	doneError  = "error"
)

// lockEvent is a line of the lockers' history: a question, or the answer to it.
type lockEvent struct {
	ID       string `json:"id"` // of the question
	At       int64  `json:"at"` // nanoseconds
	Key      string `json:"key,omitempty"`
	Do       string `json:"do,omitempty"` // of a question
	Holder   string `json:"holder,omitempty"`
	Revision uint64 `json:"revision,omitempty"` // of a question: which one is refreshed or unlocked; of an answer: the new one
	Done     string `json:"done,omitempty"`     // of an answer
}

// locker takes locks as an executor does, keeps some of them for a while, and lets some expire.
type locker struct {
	queue   *jetstream.Queue
	name    string
	history *os.File
	random  *rand.Rand
	asked   int
}

// takeLocks is the whole life of a locker.
func takeLocks(url, name, history string, out io.Writer) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	file, err := os.OpenFile(history, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	queue, err := jetstream.Connect(ctx, jetstream.Config{
		URL: url, Credentials: jetstream.Credentials{Token: natsToken}, Name: name, Timeout: time.Second,
		Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)),
	})
	if err != nil {
		return err
	}
	defer queue.Close()
	fmt.Fprintln(out, name, "is ready")
	l := &locker{
		queue: queue, name: fmt.Sprintf("%s-%d", name, time.Now().UnixNano()), history: file,
		random: rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), uint64(os.Getpid()))),
	}
	for turn := 0; ctx.Err() == nil; turn++ {
		if err := l.turn(ctx, fmt.Sprintf("chaos-lock-%d", l.random.IntN(lockKeys)), turn); err != nil {
			return err
		}
	}
	return nil
}

// turn is one try to hold a lock.
func (l *locker) turn(ctx context.Context, key string, turn int) error {
	holder := executor.LockHolder{Run: fmt.Sprintf("%s-%d", l.name, turn), Attempt: 1, Executor: l.name}
	var token uint64
	done, err := l.ask(lockEvent{Key: key, Do: doLock, Holder: holder.Run}, func() (uint64, error) {
		var err error
		token, err = l.queue.Lock(ctx, key, holder, lockTTL)
		return token, err
	})
	if err != nil || done != doneOK {
		l.pause(ctx, 20*time.Millisecond, 100*time.Millisecond)
		return err
	}
	for range l.random.IntN(4) {
		l.pause(ctx, 10*time.Millisecond, lockTTL/3)
		next := token
		done, err := l.ask(lockEvent{Key: key, Do: doRefresh, Holder: holder.Run, Revision: token}, func() (uint64, error) {
			var err error
			next, err = l.queue.Refresh(ctx, key, holder, token, lockTTL)
			return next, err
		})
		if err != nil || done == doneFenced {
			return err
		}
		if done == doneOK {
			token = next
		}
	}
	if l.random.IntN(8) == 0 {
		return nil // it is left to expire
	}
	l.pause(ctx, 0, 100*time.Millisecond)
	_, err = l.ask(lockEvent{Key: key, Do: doUnlock, Holder: holder.Run, Revision: token}, func() (uint64, error) {
		return 0, l.queue.Unlock(ctx, key, token)
	})
	return err
}

// ask writes down the question, asks it, and writes down the answer. Only the writing can fail.
func (l *locker) ask(question lockEvent, do func() (uint64, error)) (done string, err error) {
	l.asked++
	question.ID = fmt.Sprintf("%s/%d", l.name, l.asked)
	question.At = time.Now().UnixNano()
	if err := l.write(question); err != nil {
		return "", err
	}
	revision, failed := do()
	answer := lockEvent{ID: question.ID, At: time.Now().UnixNano(), Revision: revision, Done: doneOK}
	var held *executor.HeldError
	switch {
	case failed == nil:
	case errors.As(failed, &held):
		answer.Done = doneHeld
	case errors.Is(failed, executor.ErrFenced):
		answer.Done = doneFenced
	default:
		answer.Done = doneError
	}
	return answer.Done, l.write(answer)
}

// write appends a whole line.
func (l *locker) write(event lockEvent) error {
	line, err := json.Marshal(event)
	if err != nil {
		return err
	}
	_, err = l.history.Write(append(line, '\n'))
	return err
}

// pause waits for a random time.
func (l *locker) pause(ctx context.Context, least, most time.Duration) {
	select {
	case <-time.After(least + time.Duration(l.random.Int64N(int64(most-least)+1))):
	case <-ctx.Done():
	}
}
