package executor_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/executor/process"
)

// announced waits for everything that can happen now, and returns what the executor said of itself last.
func (r *rig) announced() engine.Presence {
	synctest.Wait()
	r.queue.mu.Lock()
	defer r.queue.mu.Unlock()
	return r.presences[len(r.presences)-1]
}

// An executor that an operator drains takes nothing new, lets end what runs, hands on what has not begun, and says so;
// when it gets the order to resume, it does, whether its programs have ended or not.
func TestOrderedDrain(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig, p *programs) {
		running := r.task("1")
		r.send(running)
		program := <-p.started
		r.fail(1 << 30) // the store is unavailable
		fetching := r.task("2")
		r.send(fetching)
		r.saw("ack", 2)
		r.drain(true, true)
		if finish := r.finish(fetching); !finish.HandedBack || !strings.Contains(finish.Error, "is being drained") {
			t.Errorf("what had not begun ended so: %+v", finish)
		}
		r.fail(0)
		pass(4 * time.Second) // until it speaks again
		said := r.announced()
		if !said.Draining || said.Drain == nil || said.Drain.By != "ada" || len(said.Running) != 1 {
			t.Errorf("it says %+v", said)
		}
		waiting := r.task("3")
		r.send(waiting)
		pass(50 * time.Second) // its program may take as long as its timeout lets it
		synctest.Wait()
		if len(p.started) > 0 || len(r.tasks) != 1 {
			t.Fatal("it takes tasks")
		}
		if len(program.signals) > 0 {
			t.Error("the program that runs was not let end")
		}
		r.drain(false, true)
		second := <-p.started
		if said := r.announced(); said.Draining || said.Drain == nil || said.Drain.Draining {
			t.Errorf("it says %+v", said)
		}
		program.end(process.Exit{})
		second.end(process.Exit{})
		for _, task := range []engine.Task{running, waiting} {
			if finish := r.finish(task); finish.Status != engine.StatusSucceeded {
				t.Errorf("%+v", finish)
			}
		}
	})
}

// The word that there is an order may be lost, and the queue may be away: the executor finds the order all the same.
func TestOrderIsFoundWithoutTheWord(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig, _ *programs) {
		r.setAway(true, "order")
		r.drain(true, false)
		pass(time.Minute)
		if r.announced().Draining {
			t.Fatal("it knows of the order")
		}
		r.setAway(false, "order")
		pass(4 * time.Second)
		if !r.announced().Draining {
			t.Error("it does not find the order")
		}
		r.queue.mu.Lock()
		r.order = nil // kept for long enough
		r.queue.mu.Unlock()
		pass(time.Minute)
		if !r.announced().Draining {
			t.Error("it continues because the order is not kept any more")
		}
	})
}
