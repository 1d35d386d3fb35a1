package executor

import (
	"cmp"
	"context"
	"os"
	"slices"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

// present announces this executor until done is closed, and then withdraws it.
func (e *Executor) present(done <-chan struct{}) {
	ticker := time.NewTicker(e.config.PresenceEvery)
	defer ticker.Stop()
	draining := e.intake.Done()
	for {
		e.obey()
		e.announce(3 * e.config.PresenceEvery)
		select {
		case <-done:
			e.announce(0)
			return
		case <-draining:
			draining = nil
		case <-e.ordered:
		case <-ticker.C:
		}
	}
}

func (e *Executor) announce(ttl time.Duration) {
	// The last one comes after base has ended.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(e.base), e.config.PresenceEvery)
	defer cancel()
	if err := e.queue.Announce(ctx, e.presence(), ttl); err != nil {
		e.log.Warn("this executor could not be announced; it is tried again", keyError, err)
	}
}

func (e *Executor) presence() engine.Presence {
	presence := engine.Presence{
		ID: e.config.ID, Host: e.config.Host, PID: os.Getpid(), Version: e.config.Version,
		Tiers: e.config.Tiers, Slots: e.config.Slots, Labels: e.config.Labels,
		Isolation: string(e.isolation), Rights: e.config.Rights, Draining: e.refuses(), Drain: e.drainOrder(), Since: e.since, Seen: time.Now().UTC(),
		Running: []engine.RunningAttempt{}, Refused: e.refusals(),
	}
	for _, a := range e.attempts() {
		presence.Running = append(presence.Running, engine.RunningAttempt{
			Run: a.task.Run, Attempt: a.task.Attempt, Job: a.task.Job, Since: a.claimedAt,
		})
	}
	slices.SortFunc(presence.Running, func(a, b engine.RunningAttempt) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Run, b.Run))
	})
	return presence
}

// hear acts on what is asked of running attempts until base ends.
func (e *Executor) hear() {
	for e.base.Err() == nil {
		err := e.queue.Controls(e.base, e.control)
		if e.base.Err() != nil {
			return
		}
		e.log.Warn("requests to cancel or watch do not arrive; it is tried again", keyError, err)
		wait(e.base.Done(), time.Second)
	}
}

func (e *Executor) control(control engine.Control) {
	if control.Kind == engine.ControlDrain {
		if control.Executor == e.config.ID {
			select {
			case e.ordered <- struct{}{}:
			default: // it has not looked at the last one yet
			}
		}
		return
	}
	e.mu.Lock()
	a := e.running[attemptKey{control.Run, control.Attempt}]
	e.mu.Unlock()
	if a == nil {
		return // all executors hear everything
	}
	switch control.Kind {
	case engine.ControlCancel:
		a.end(endCancelled)
	case engine.ControlBegin:
		if control.Executor == e.config.ID && control.Token == a.token {
			a.letBegin()
		}
	case engine.ControlWatch:
		a.watch()
	case engine.ControlDrain: // of no attempt
	}
}
