package executor

import (
	"errors"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

// askAgain is how often the engine is asked for its permission: the question, or the answer, may be lost.
const askAgain = time.Second

// asks reports whether the program waits for the engine's permission: it may begin once at most, or its task is so old that
// the claim of a copy may be forgotten.
func (a *attempt) asks() bool { return a.task.Once || a.confirm != "" }

// letBegin takes the engine's permission to begin the program.
func (a *attempt) letBegin() { a.permit.Do(func() { close(a.permitted) }) }

// awaitBegin waits for the engine's permission to begin a program that must not begin without it. The engine gives it when the
// claim is durable in the store, so that no loss of messages, nor of a whole NATS, begins the program a second time. The claim
// asks for it; without an answer for twice the life of a lock, longer than another engine takes to come to the shard, the attempt is
// handed back.
func (a *attempt) awaitBegin() *failure {
	if !a.asks() {
		return nil
	}
	ask := time.NewTicker(askAgain)
	defer ask.Stop()
	late := time.NewTimer(2 * a.e.config.LockTTL)
	defer late.Stop()
	for {
		select {
		case <-a.permitted:
			return nil
		case <-a.ctx.Done():
			return a.stoppedBefore()
		case <-ask.C:
			question := a.result(engine.ResultProgress)
			question.Asks = true
			if err := a.report(question); errors.Is(err, ErrFenced) {
				a.end(endLost) // the engine has given the attempt up
			}
		case <-late.C:
			if a.confirm != "" {
				a.e.refuse(&RefusedError{
					Reason: engine.RefusedReplayed, Subject: a.task.Run,
					Err: errors.New(a.confirm + ", and no engine confirmed that its run waits: it was sent a second time, or no engine was at work"),
				})
			}
			return &failure{unfetched: true, message: "the engine did not tell executor " + a.e.config.ID + " that it may begin"}
		}
	}
}
