package executor

import (
	"context"
	"errors"
	"io"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/executor/output"
	"github.com/tidewheel/tidewheel/executor/process"
)

// noRunner must not be asked.
type noRunner struct{ t *testing.T }

func (r noRunner) Start(process.Command, io.Writer, io.Writer) (Running, error) {
	r.t.Error("the program was started")
	return nil, errors.New("it must not be started")
}

// An executor that continues after a stop may come to the start of a program before any timer signals that the lock is
// no longer its own.
func TestStartChecksTheLockWithoutATimer(t *testing.T) {
	const margin = time.Second
	a := &attempt{
		e:     &Executor{runner: noRunner{t}},
		lease: &lease{until: time.Now().Add(margin), margin: margin}, // no timer watches it
	}
	a.ctx, a.cancel = context.WithCancelCause(t.Context())
	if _, err := a.start(process.Command{}); !errors.Is(err, errEnded) {
		t.Errorf("the start says %v", err)
	}
	if a.reason() != endLost || a.ctx.Err() == nil {
		t.Errorf("the attempt is to end for reason %d, its context says %v", a.reason(), a.ctx.Err())
	}
}

// lateRunner starts what it is asked to, but for a stop of the executor that lasts until it is too late.
type lateRunner struct{ before time.Time }

func (r *lateRunner) Start(command process.Command, _, _ io.Writer) (Running, error) {
	r.before = command.Before
	return nil, process.ErrLate
}

// An executor may be stopped after its look at the lock, on its way to the start of the program.
func TestProgramThatWouldBeginTooLateIsHandedBack(t *testing.T) {
	runner := &lateRunner{}
	until := time.Now().Add(time.Hour)
	a := &attempt{e: &Executor{runner: runner}, lease: &lease{until: until, margin: time.Minute}, output: output.New(output.Config{})}
	a.ctx, a.cancel = context.WithCancelCause(t.Context())
	if _, err := a.start(process.Command{}); !errors.Is(err, errEnded) {
		t.Errorf("the start says %v", err)
	}
	if want := until.Add(-time.Minute); !runner.before.Equal(want) {
		t.Errorf("it must begin before %v, want %v", runner.before, want)
	}
	if a.reason() != endLost || a.ctx.Err() == nil {
		t.Errorf("the attempt is to end for reason %d, its context says %v", a.reason(), a.ctx.Err())
	}
}

// recorder is a Runner and a speaker that records its calls in order.
type recorder struct{ events []string }

func (o *recorder) Start(process.Command, io.Writer, io.Writer) (Running, error) {
	o.events = append(o.events, "start")
	return began{}, nil
}

func (o *recorder) Speak(until time.Time) {
	o.events = append(o.events, "speak until "+time.Until(until).Round(time.Second).String())
}

func (*recorder) Silenced(time.Time) bool { return false }

// began is a program.
type began struct{ Running }

func (began) Started() time.Time { return time.Now() }

// The guardian has acted on an instant that passed, and waits for another: until it gets one it watches nothing.
func TestGuardianKnowsUntilWhenAProgramMayLiveBeforeItBegins(t *testing.T) {
	const ttl, margin = 20 * time.Second, 2 * time.Second
	for name, test := range map[string]struct {
		deadline time.Duration
		want     []string
	}{
		"its deadline is earlier than the lock": {deadline: 10 * time.Second, want: []string{"start"}},
		"its deadline has passed":               {deadline: -time.Second, want: []string{"speak until 15s", "start"}},
		"its deadline is later than the lock":   {deadline: ttl, want: []string{"speak until 15s", "start"}},
	} {
		t.Run(name, func(t *testing.T) {
			host := &recorder{}
			e := &Executor{config: Config{LockTTL: ttl, LockMargin: margin}, runner: host, host: host, running: map[attemptKey]*attempt{}}
			e.watch.deadline = time.Now().Add(test.deadline)
			a := &attempt{output: output.New(output.Config{}), e: e, lease: &lease{until: time.Now().Add(16 * time.Second), margin: margin}}
			e.running[attemptKey{"run", 1}] = a
			a.ctx, a.cancel = context.WithCancelCause(t.Context())
			if _, err := a.start(process.Command{}); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(host.events, test.want) {
				t.Errorf("got %v, want %v", host.events, test.want)
			}
		})
	}
}

// actor is a guardian that has acted at an instant.
type actor struct{ at time.Time }

func (actor) Speak(time.Time)                 {}
func (g actor) Silenced(began time.Time) bool { return !began.After(g.at) }

// Who has killed a program decides whether it is retried: by the guardian it was lost, by anybody else it failed.
func TestWhatTheGuardianHasKilledIsLost(t *testing.T) {
	acted := time.Now()
	for name, test := range map[string]struct {
		signal syscall.Signal
		began  time.Time
		why    ending
		want   ending
	}{
		"by the guardian":               {syscall.SIGKILL, acted.Add(-time.Second), endByItself, endLost},
		"begun after the guardian":      {syscall.SIGKILL, acted.Add(time.Second), endByItself, endByItself},
		"by another signal":             {syscall.SIGSEGV, acted.Add(-time.Second), endByItself, endByItself},
		"that was to end for a timeout": {syscall.SIGKILL, acted.Add(-time.Second), endTimedOut, endTimedOut},
	} {
		t.Run(name, func(t *testing.T) {
			e := &Executor{host: actor{acted}}
			e.watch.deadline = acted.Add(time.Hour) // a later deadline
			a := &attempt{e: e, startedAt: test.began, why: test.why}
			a.ctx, a.cancel = context.WithCancelCause(t.Context())
			a.blame(process.Exit{Signal: test.signal})
			if a.reason() != test.want {
				t.Errorf("it ends for reason %d, want %d", a.reason(), test.want)
			}
		})
	}
}
