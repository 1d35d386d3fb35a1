package executor

import (
	"context"
	"errors"
	"io"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/executor/output"
	"github.com/tidewheel/tidewheel/executor/process"
	"github.com/tidewheel/tidewheel/spec"
)

// ending reports why an attempt does not end by itself.
type ending uint8

const (
	endByItself  ending = iota
	endTimedOut         // it lasted longer than it may
	endCancelled        // a user or an engine asked for it
	endDrained          // the executor shuts down
	endOrdered          // an operator drains the executor
	endLost             // another executor may soon take its lock
)

// errEnded is the cause with which an attempt's context ends.
var errEnded = errors.New("the attempt is to end")

// attempt is one attempt from its claim to its report.
type attempt struct {
	e         *Executor
	task      engine.Task
	token     uint64
	claimedAt time.Time
	lease     *lease

	// ctx ends when the attempt is to end before its program has begun.
	ctx    context.Context
	cancel context.CancelCauseFunc

	output  *output.Capture
	log     spill
	live    live
	reports reports
	mask    *output.Mask   // of the program's token and secrets; nil before its start
	inputs  string         // the path of $TIDEWHEEL_INPUTS, "" without it
	beside  sync.WaitGroup // what runs beside the program: progress, live output

	fetchedAt time.Time
	startedAt time.Time

	mu      sync.Mutex
	why     ending
	program Running // nil before its start and after its end
	killer  *time.Timer

	confirm   string // why the engine must confirm that this attempt may begin; "" if it need not
	permit    sync.Once
	permitted chan struct{} // closed when the engine lets a program begin that must not begin without its word

	harmless atomic.Bool // its program has ended, or will not begin
}

// How long an attempt waits for a lock that another one holds. That may be the job's previous run, which has reported its
// end and unlocks in a moment.
const (
	firstLockWait = 2 * time.Millisecond
	lastLockWait  = 32 * time.Millisecond
	// heldDelay bounds how long a task is put back for while another run holds the lock, which it may release.
	heldDelay = time.Second
	// troubleDelay is how long a task is put back for when the queue does not answer as it should.
	troubleDelay = time.Second
)

// handle executes one task: lock, claim, acknowledge, run, report, unlock, in this order.
func (e *Executor) handle(delivery Delivery) {
	task, err := delivery.Task()
	var refused *RefusedError
	if errors.As(err, &refused) {
		e.refuse(refused)
		e.settled(&task, delivery.Refuse(refused))
		return
	}
	var notYet *NotYetError
	if errors.As(err, &notYet) {
		e.putBackUnverified(&task, delivery, notYet)
		return
	}
	if err != nil {
		e.log.Error("a task cannot be read and is dropped", keyError, err)
		e.settled(&task, delivery.Ack())
		return
	}
	if e.refuses() {
		e.settled(&task, delivery.Nak(0))
		return
	}
	holder := LockHolder{Run: task.Run, Attempt: task.Attempt, Executor: e.config.ID, Try: strconv.FormatUint(e.tries.Add(1), 36)}
	asked, token, err := e.lock(&task, holder)
	if err != nil {
		e.settled(&task, delivery.Nak(e.putBack(&task, err)))
		return
	}
	a := e.begin(task, holder, token, asked)
	a.confirm = delivery.Confirm()
	defer a.leave()
	if e.refuses() { // the drain may have looked before it was there
		a.unlock()
		e.settled(&task, delivery.Nak(0))
		return
	}
	if delivery.Outlived() { // this process was suspended, or was long in getting the lock
		a.unlock()
		e.settled(&task, delivery.Nak(0))
		return
	}
	switch err := a.claim(delivery, asked.Add(e.config.LockTTL-e.config.LockMargin)); {
	case errors.Is(err, ErrClaimed):
		a.unlock()
		e.settled(&task, delivery.Ack())
		return
	case err != nil:
		// It may be claimed or not. The lock is left to expire: then either the task comes again, or the engine
		// finds the claim without a lock.
		e.log.Error("an attempt could not be claimed", keyRun, task.Run, keyAttempt, task.Attempt, keyError, err)
		a.lease.stop()
		return
	}
	e.settled(&task, delivery.Ack())
	finish := a.masked(a.execute())
	a.finish(finish)
	a.unlock()
}

// lock takes the task's lock, and returns when it was asked for. Where the queue does not answer it is retried for as
// long as a lock lives: one that was made although the answer was lost would be in everybody's way for that long.
func (e *Executor) lock(task *engine.Task, holder LockHolder) (asked time.Time, token uint64, err error) {
	limit, certain := time.Now().Add(e.config.LockTTL), true
	for held, failed := firstLockWait, firstRetry; ; {
		if certain { // else the lock may be the one that was asked for before, and is found again
			asked = time.Now()
		}
		token, err = e.queue.Lock(e.base, task.Lock, holder, e.config.LockTTL)
		var other *HeldError
		switch {
		case err == nil:
			return asked, token, nil
		case errors.As(err, &other):
			if other.Holder.Run == task.Run || held > lastLockWait || waited(e.intake, held) {
				return asked, 0, err
			}
			held *= 2
			certain = true
		default:
			certain = false
			if !time.Now().Before(limit) || waited(e.intake, failed) {
				return asked, 0, err
			}
			failed = min(2*failed, lastRetry)
		}
	}
}

// putBack returns the delay of a task that is put back because its lock is held.
func (e *Executor) putBack(task *engine.Task, err error) time.Duration {
	var held *HeldError
	switch {
	case !errors.As(err, &held):
		e.log.Warn("a lock could not be taken; the task is put back", keyRun, task.Run, keyError, err)
		return troubleDelay
	case held.Holder.Run == task.Run && held.Holder.Attempt == task.Attempt:
		// A copy of the task, or an executor that died between lock and claim: only time can show which.
		return min(max(time.Until(held.Until), 0)+e.config.LockMargin, e.config.LockTTL+e.config.LockMargin)
	}
	return min(max(time.Until(held.Until), firstLockWait), heldDelay)
}

// settled records that the queue was not informed of what happened to a task. A task that comes again finds lock or claim.
func (e *Executor) settled(task *engine.Task, err error) {
	if err != nil {
		e.log.Warn("a task could not be settled", keyRun, task.Run, keyAttempt, task.Attempt, keyError, err)
	}
}

func (e *Executor) begin(task engine.Task, holder LockHolder, token uint64, asked time.Time) *attempt {
	a := &attempt{e: e, task: task, token: token, claimedAt: time.Now().UTC(), permitted: make(chan struct{})}
	a.ctx, a.cancel = context.WithCancelCause(e.base)
	a.output = output.New(output.Config{Limit: a.outputLimit(), Spill: a.spill, Progress: a.progress})
	a.lease = newLease(e.base, e, task.Lock, holder, token, asked, func() { a.end(endLost) })
	e.mu.Lock()
	e.running[attemptKey{task.Run, task.Attempt}] = a
	e.mu.Unlock()
	return a
}

func (a *attempt) leave() {
	a.cancel(errEnded)
	key := attemptKey{a.task.Run, a.task.Attempt}
	a.e.mu.Lock()
	if a.e.running[key] == a {
		delete(a.e.running, key)
	}
	a.e.mu.Unlock()
	// A watch that has begun just now must end too.
	a.quiet()
}

// quiet ends what runs beside the program.
func (a *attempt) quiet() {
	a.output.End()
	a.endProgress()
	a.live.end()
	a.beside.Wait()
}

func (a *attempt) unlock() {
	revision := a.lease.stop()
	unlock := func(ctx context.Context) error { return a.e.queue.Unlock(ctx, a.task.Lock, revision) }
	err := unlock(a.e.base)
	if err != nil { // the job's next run waits for it
		ctx, cancel := context.WithDeadline(a.e.base, a.lease.until)
		defer cancel()
		err = a.persist(ctx, unlock)
	}
	if err != nil {
		a.e.log.Warn("a lock could not be released; it expires by itself", keyRun, a.task.Run, keyError, err)
	}
}

// end asks the attempt to end. The first reason counts, but for a lost lock, which leaves no time.
func (a *attempt) end(why ending) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.why != endByItself && (why != endLost || a.why == endLost) {
		return
	}
	if a.program == nil {
		a.endBefore(why)
		return
	}
	a.why = why
	a.cancel(errEnded)
	if why == endLost {
		a.program.Kill()
		return
	}
	a.program.Signal(syscall.SIGTERM)
	a.killer = time.AfterFunc(a.task.Grace, a.program.Kill)
}

// endBefore ends an attempt whose program does not run. It must be called with the lock.
func (a *attempt) endBefore(why ending) {
	a.why = why
	a.harmless.Store(true)
	a.cancel(errEnded)
}

// handBack ends the attempt if its program has not begun.
func (a *attempt) handBack(why ending) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.why == endByItself && a.program == nil && !a.harmless.Load() {
		a.endBefore(why)
	}
}

// reason returns why the attempt is to end.
func (a *attempt) reason() ending {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.why
}

// execute fetches and runs the program, keeps what it hands on, and says how it went.
func (a *attempt) execute() *engine.Finish {
	if a.task.Refused != "" {
		return a.unbegun(&failure{noRetry: true, message: a.task.Refused})
	}
	file, failed := a.fetch()
	if failed != nil {
		return a.unbegun(failed)
	}
	defer func() { file.Release() }()
	folder, err := a.e.folders.TakeFolder()
	if err != nil {
		return a.unbegun(&failure{unfetched: true, message: "executor " + a.e.config.ID + " cannot make a work folder: " + cause(err)})
	}
	defer func() {
		if err := a.e.folders.ReturnFolder(folder); err != nil {
			a.e.log.Warn("a work folder stays behind", keyRun, a.task.Run, keyAttempt, a.task.Attempt, keyError, err)
		}
	}()
	if a.inputs, failed = a.bring(folder); failed != nil {
		return a.unbegun(failed)
	}
	a.fetchedAt = now()
	if failed := a.awaitBegin(); failed != nil {
		return a.unbegun(failed)
	}
	exit, failed := a.run(file, folder)
	if failed != nil && failed.vanished {
		// The file is gone from the cache, outside our control.
		a.e.cache.Evict(file)
		again, refused := a.fetch()
		if refused != nil {
			return a.unbegun(refused)
		}
		file.Release()
		file = again
		exit, failed = a.run(file, folder)
	}
	if failed != nil {
		return a.unbegun(failed)
	}
	a.blame(exit)
	finish := a.ended(exit)
	if finish.Status == engine.StatusSucceeded {
		a.handOn(finish, folder)
	}
	return finish
}

// start starts the program, unless the attempt is to end.
func (a *attempt) start(command process.Command) (Running, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.why == endByItself && !time.Now().Before(a.lease.killBy()) {
		// This executor was stopped for a while, and is faster now than the timer that is to signal it.
		a.endBefore(endLost)
	}
	if a.why != endByItself {
		return nil, errEnded
	}
	a.e.watch.let(a)
	command.Before = a.lease.killBy()
	var stdout, stderr io.Writer = a.output.Both(), nil
	if a.task.Stderr == spec.StderrMarked {
		stdout, stderr = a.output.Apart()
	}
	program, err := a.e.runner.Start(command, stdout, stderr)
	if errors.Is(err, process.ErrLate) { // it was stopped since
		a.endBefore(endLost)
		return nil, errEnded
	}
	if err != nil {
		return nil, err
	}
	a.program, a.startedAt = program, program.Started().UTC()
	return program, nil
}

// stopped reports that the program can be signalled no more.
func (a *attempt) stopped() {
	a.mu.Lock()
	a.program = nil
	a.harmless.Store(true)
	if a.killer != nil {
		a.killer.Stop()
	}
	lost := a.why == endLost
	a.mu.Unlock()
	if lost { // or the guardian would end all others, too
		a.e.speak()
	}
}

// now is the time as it is reported.
func now() time.Time { return time.Now().UTC() }
