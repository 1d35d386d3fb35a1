package executor_test

import (
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/executor/process"
)

// What has been claimed and still waits for its program is of no use to an executor that ends: another one begins it.
func TestDrainHandsBackAtOnceWhatHasNotBegun(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig, p *programs) {
		running := r.task("1")
		r.send(running)
		program := <-p.started
		r.fail(1 << 30) // the store is unavailable
		fetching := r.task("2")
		r.send(fetching)
		r.saw("ack", 2)
		began := time.Now()
		r.stop()
		finish := r.finish(fetching)
		if !finish.HandedBack || !finish.StartedAt.IsZero() || !strings.Contains(finish.Error, "was shut down") {
			t.Errorf("%+v", finish)
		}
		r.saw("unlock", 1)
		if after := time.Since(began); after > 0 {
			t.Errorf("it was handed back after %s", after)
		}
		synctest.Wait()
		if len(program.signals) > 0 {
			t.Error("the program that runs was not given its time")
		}
		program.end(process.Exit{})
		if finish := r.finish(running); finish.Status != engine.StatusSucceeded {
			t.Errorf("%+v", finish)
		}
	})
}

// A task whose lock was being taken as the executor was asked to end is neither claimed nor left to wait.
func TestTaskThatComesWithTheEndIsPutBack(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig, p *programs) {
		r.onLock = r.stop
		d := r.send(r.task(""))
		if delay := <-d.nak; delay != 0 {
			t.Errorf("it is put back for %s", delay)
		}
		if got, want := r.history(), []string{"lock", "unlock", "nak"}; !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
		if len(p.started) > 0 || len(r.locks) > 0 {
			t.Errorf("%d programs were started, the locks %v are left", len(p.started), r.locks)
		}
	})
}

// A program that was ended from outside is the program's failure; one that the executor's silence may have ended is not.
func TestKilledProgramFails(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig, p *programs) {
		task := r.task("")
		r.send(task)
		(<-p.started).end(process.Exit{Signal: syscall.SIGKILL})
		if finish := r.finish(task); finish.HandedBack || finish.Signal != "SIGKILL" {
			t.Errorf("%+v", finish)
		}
	})
}
