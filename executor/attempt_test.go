package executor_test

import (
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/executor"
	"github.com/tidewheel/tidewheel/executor/process"
)

func TestStepsAreInOrder(t *testing.T) {
	r := newRig(t)
	r.run(r.task("exit 0"))
	r.saw("unlock", 1)
	if got, want := r.history(), []string{"lock", "claim", "ack", "finished", "unlock"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if len(r.locks) != 0 {
		t.Errorf("locks are left: %v", r.locks)
	}
}

// program is a Running whose end and signals a test decides on.
type program struct {
	exit    chan process.Exit
	signals chan syscall.Signal
	began   time.Time
}

// programs is a Runner of such.
type programs struct{ started chan *program }

func newPrograms() *programs { return &programs{started: make(chan *program, 100)} }

func (p *programs) Start(process.Command, io.Writer, io.Writer) (executor.Running, error) {
	one := &program{exit: make(chan process.Exit, 1), signals: make(chan syscall.Signal, 10), began: time.Now()}
	p.started <- one
	return one, nil
}

func (p *program) Wait() process.Exit      { return <-p.exit }
func (p *program) Started() time.Time      { return p.began }
func (p *program) Signal(s syscall.Signal) { p.signals <- s }
func (p *program) Kill()                   { p.signals <- syscall.SIGKILL; p.end(process.Exit{Signal: syscall.SIGKILL}) }
func (p *program) end(exit process.Exit) {
	select {
	case p.exit <- exit:
	default: // it has ended
	}
}

// bubble runs a test with a clock of its own and without processes.
func bubble(t *testing.T, test func(t *testing.T, r *rig, p *programs)) {
	synctest.Test(t, func(t *testing.T) {
		p := newPrograms()
		test(t, newRig(t, func(c *executor.Config) { c.Runner = p }), p)
	})
}

func TestAttemptThatIsClaimedIsDropped(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig, p *programs) {
		task := r.task("")
		r.subjects[subject(task.Run, 1)] = []engine.Result{{Kind: engine.ResultRevoked, Run: task.Run, Attempt: 1, Sequence: 7}}
		r.send(task)
		r.saw("ack", 1)
		if got, want := r.history(), []string{"lock", "claim", "unlock", "ack"}; !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
		if len(p.started) > 0 {
			t.Error("the program was started")
		}
	})
}

func TestTaskThatCannotBeReadIsDropped(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig, _ *programs) {
		r.tasks <- &delivery{q: r.queue, bad: errors.New("no JSON")}
		r.saw("ack", 1)
	})
}

func TestHeldLockPutsTheTaskBack(t *testing.T) {
	for name, test := range map[string]struct {
		holder      executor.LockHolder
		least, most time.Duration
	}{
		"by another run: it may end soon":            {executor.LockHolder{Run: "uid1-s0", Attempt: 1, Executor: "there"}, time.Millisecond, time.Second},
		"by this very attempt: its executor is dead": {executor.LockHolder{Run: "uid1-s1", Attempt: 1, Executor: "here"}, 8 * time.Second, 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig, _ *programs) {
				r.locks["uid1"] = lock{test.holder, 1, time.Now().Add(8 * time.Second)}
				d := r.send(r.task(""))
				if delay := <-d.nak; delay < test.least || delay > test.most {
					t.Errorf("put back for %v", delay)
				}
			})
		})
	}
}

func TestLockThatIsReleasedInAMomentIsAwaited(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig, p *programs) {
		r.locks["uid1"] = lock{executor.LockHolder{Run: "uid1-s0"}, 1, time.Now().Add(10 * time.Millisecond)}
		r.send(r.task(""))
		(<-p.started).end(process.Exit{})
		r.saw("unlock", 1)
	})
}

func TestClaimWithoutAnAnswerIsFoundAgain(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig, p *programs) {
		r.lostReply["claim"], r.lostReply["finished"] = 2, 2
		task := r.task("")
		r.send(task)
		(<-p.started).end(process.Exit{})
		if finish := r.finish(task); finish.Status != engine.StatusSucceeded {
			t.Errorf("%+v", finish)
		}
		r.saw("unlock", 1)
		if n := len(r.subjects[subject(task.Run, 1)]); n != 2 {
			t.Errorf("%d messages", n)
		}
	})
}

func TestDeliveryThatIsTooOldIsNotClaimed(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig, p *programs) {
		d := &delivery{q: r.queue, task: r.task(""), nak: make(chan time.Duration, 1), outlived: true}
		r.tasks <- d
		if delay := <-d.nak; delay != 0 {
			t.Errorf("put back for %v", delay)
		}
		r.saw("unlock", 1)
		if events := r.history(); slices.Contains(events, "claim") || len(p.started) > 0 {
			t.Errorf("got %v", events)
		}
	})
}

func TestClaimThatStaysUncertainLeavesTheLockToExpire(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig, p *programs) {
		r.setAway(true, "claim")
		task := r.task("")
		r.send(task)
		pass(time.Minute)
		synctest.Wait()
		if events := r.history(); slices.Contains(events, "ack") || slices.Contains(events, "unlock") || len(p.started) > 0 {
			t.Errorf("got %v", events)
		}
		if until := r.locks["uid1"].until; time.Until(until) > 0 {
			t.Errorf("the lock lasts for another %v", time.Until(until))
		}
	})
}

func TestLockIsRefreshedWhileTheProgramRuns(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig, p *programs) {
		task := r.task("", func(task *engine.Task) { task.Timeout = time.Hour })
		r.send(task)
		running := <-p.started
		for range 100 {
			pass(777 * time.Millisecond)
			r.queue.mu.Lock()
			if left := time.Until(r.locks["uid1"].until); left < 6*time.Second {
				t.Fatalf("only %v are left of the lock", left)
			}
			r.queue.mu.Unlock()
		}
		running.end(process.Exit{})
		r.saw("unlock", 1)
		if len(r.locks) > 0 {
			t.Error("the lock is still there")
		}
	})
}

func TestProgramIsKilledBeforeItsLockCanPassToAnother(t *testing.T) {
	for name, hang := range map[string]bool{"refused": false, "without an answer": true} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig, p *programs) {
				task := r.task("", func(task *engine.Task) { task.Timeout = time.Hour })
				r.send(task)
				running := <-p.started
				pass(5 * time.Second) // it has been refreshed once
				r.queue.mu.Lock()
				until := r.locks["uid1"].until
				if hang {
					r.away["refresh"] = true
				} else {
					r.locks["uid1"] = lock{revision: 1000, until: time.Now().Add(time.Hour)}
				}
				r.queue.mu.Unlock()
				if signal := <-running.signals; signal != syscall.SIGKILL {
					t.Errorf("got %v first", signal)
				}
				if left := time.Until(until); left < 500*time.Millisecond {
					t.Errorf("killed %v before the lock could expire", left)
				}
				finish := r.finish(task)
				if finish.Status != engine.StatusFailed || !finish.HandedBack || !strings.Contains(finish.Error, "could not keep the lock") {
					t.Errorf("%+v", finish)
				}
			})
		})
	}
}

func TestShortOutageDoesNotEndAProgram(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig, p *programs) {
		task := r.task("", func(task *engine.Task) { task.Timeout = time.Hour })
		r.send(task)
		running := <-p.started
		for range 5 {
			r.setAway(true, "refresh")
			pass(4 * time.Second)
			r.setAway(false, "refresh")
			pass(4 * time.Second)
		}
		if len(running.signals) > 0 {
			t.Error("the program was signalled")
		}
		running.end(process.Exit{})
		r.finish(task)
	})
}

func TestEndIsReportedThroughAnOutage(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig, p *programs) {
		task := r.task("")
		r.send(task)
		running := <-p.started
		r.setAway(true, "finished", "refresh")
		running.end(process.Exit{Code: 3})
		pass(time.Minute) // the lock has long expired, and no watch has reported it
		r.setAway(false, "finished", "refresh")
		if finish := r.finish(task); finish.ExitCode == nil || *finish.ExitCode != 3 || finish.HandedBack {
			t.Errorf("%+v", finish)
		}
	})
}

func TestEndOfALostAttemptIsDropped(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig, p *programs) {
		task := r.task("")
		r.send(task)
		running := <-p.started
		r.queue.mu.Lock()
		key := subject(task.Run, 1)
		r.subjects[key] = append(r.subjects[key], engine.Result{Kind: engine.ResultLost, Run: task.Run, Attempt: 1, Sequence: 1000})
		r.queue.mu.Unlock()
		running.end(process.Exit{})
		r.saw("unlock", 1)
		if all := r.subjects[key]; all[len(all)-1].Kind != engine.ResultLost {
			t.Errorf("got %+v", all)
		}
	})
}

func TestTimeoutAndCancelGiveGrace(t *testing.T) {
	for name, test := range map[string]struct {
		cancel bool
		want   engine.Status
		after  time.Duration
	}{
		"timeout": {false, engine.StatusTimedOut, time.Minute},
		"cancel":  {true, engine.StatusCancelled, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig, p *programs) {
				task := r.task("")
				r.send(task)
				running := <-p.started
				begin := time.Now()
				if test.cancel {
					pass(time.Second)
					r.control(engine.ControlCancel, task.Run, 2)
					r.control(engine.ControlCancel, task.Run, 1)
					r.control(engine.ControlCancel, task.Run, 1)
				}
				if signal, after := <-running.signals, time.Since(begin); signal != syscall.SIGTERM || after != test.after {
					t.Errorf("%v after %v", signal, after)
				}
				if signal, after := <-running.signals, time.Since(begin); signal != syscall.SIGKILL || after != test.after+task.Grace {
					t.Errorf("%v after %v", signal, after)
				}
				if finish := r.finish(task); finish.Status != test.want || finish.Signal != "SIGKILL" {
					t.Errorf("%+v", finish)
				}
			})
		})
	}
}

func TestDrainGivesTimeAndHandsBack(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig, p *programs) {
		quick, slow, waiting := r.task("1"), r.task("2"), r.task("3")
		r.send(quick)
		one := <-p.started
		r.send(slow)
		two := <-p.started
		r.stop()
		synctest.Wait()
		r.send(waiting)
		pass(29 * time.Second)
		one.end(process.Exit{})
		if finish := r.finish(quick); finish.Status != engine.StatusSucceeded {
			t.Errorf("%+v", finish)
		}
		if signal := <-two.signals; signal != syscall.SIGTERM {
			t.Errorf("got %v first", signal)
		}
		two.end(process.Exit{})
		if finish := r.finish(slow); !finish.HandedBack || finish.StartedAt.IsZero() {
			t.Errorf("%+v", finish)
		}
		r.saw("unlock", 2)
		synctest.Wait()
		if len(r.subjects[subject(waiting.Run, 1)]) > 0 {
			t.Error("a task was taken after the end of the intake")
		}
		last := len(r.ttls) - 1
		if r.ttls[last] != 0 || !r.presences[last].Draining {
			t.Errorf("the last presence is %+v for %v", r.presences[last], r.ttls[last])
		}
	})
}

func TestPresenceListsRunningAttempts(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig, p *programs) {
		task := r.task("")
		r.send(task)
		running := <-p.started
		pass(4 * time.Second)
		synctest.Wait()
		presence := r.presences[len(r.presences)-1]
		if presence.ID != "here" || presence.Slots != 8 || presence.PID != os.Getpid() || len(presence.Running) != 1 || presence.Running[0].Run != task.Run {
			t.Errorf("%+v", presence)
		}
		running.end(process.Exit{})
	})
}

func TestConfigIsChecked(t *testing.T) {
	err := executor.New(executor.Config{ID: "a b", RunAs: &executor.User{}}, newQueue(), newBlobs(), discard, nil).Run(t.Context())
	for _, want := range []string{`id "a b"`, "no tier", "0 slots", "no work folder", "as root"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
}

// pass lets time pass, of a bubble's clock.
func pass(d time.Duration) { <-time.After(d) }
