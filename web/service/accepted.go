package service

import (
	"context"
	"errors"

	"github.com/tidewheel/tidewheel/engine"
)

// Only the engine writes runs and waves. A request for one leaves a command that says what to make, under the id that it
// will have. Until the engine has acted, the service answers a request for that id from the command.

// accepted is why a run or a wave has not begun while it is only a command.
const accepted = "accepted, waiting for the engine"

// made reads what the engine makes from commands: runs or waves.
type made[T any] struct {
	command func(ctx context.Context, id string) (engine.Command, error)
	stored  func(ctx context.Context, id string) (T, error)
	// of returns what a command makes, as it is while the engine has not acted; false if it makes nothing of this kind.
	of func(engine.Command) (T, bool)
}

func (s *Service) runs() made[engine.Run] {
	return made[engine.Run]{s.store.Command, s.store.Run, func(command engine.Command) (engine.Run, bool) {
		if command.Run == nil {
			return engine.Run{}, false
		}
		run := command.Run.Clone()
		run.Reason = accepted
		return run, true
	}}
}

func (s *Service) waves() made[engine.Wave] {
	return made[engine.Wave]{s.store.Command, s.store.Wave, func(command engine.Command) (engine.Wave, bool) {
		if command.Wave == nil {
			return engine.Wave{}, false
		}
		wave := *command.Wave
		wave.Reason = accepted
		return wave, true
	}}
}

// get reads one, or what its command says; engine.ErrNotFound. What is made counts for more than a command: a request that
// came again may have left another one, of which the engine makes nothing.
func (m made[T]) get(ctx context.Context, id string) (T, error) {
	one, err := m.stored(ctx, id)
	if !errors.Is(err, engine.ErrNotFound) {
		return one, err
	}
	command, err := m.command(ctx, engine.StartCommand(id))
	switch {
	case err == nil:
		if one, ok := m.of(command); ok {
			return one, nil
		}
	case !errors.Is(err, engine.ErrNotFound):
		return one, err
	}
	return m.stored(ctx, id) // the engine may have acted in between
}

// start leaves the command that makes one, and returns what there is under its id then: of requests with the same key the
// first one's. existed reports whether that was there before. keyed is false where no other request can have the id.
func (m made[T]) start(ctx context.Context, s *Service, command engine.Command, keyed bool) (one T, existed bool, err error) {
	if keyed {
		if one, err = m.get(ctx, command.RunID); !errors.Is(err, engine.ErrNotFound) {
			return one, err == nil, err
		}
	}
	if err := s.command(ctx, command); err != nil {
		return one, false, err
	}
	if keyed { // another request may have come in between: then that stands
		if one, err = m.get(ctx, command.RunID); !errors.Is(err, engine.ErrNotFound) {
			return one, false, err
		}
	}
	one, _ = m.of(command)
	return one, false, nil
}
