package service

import (
	"context"
	"errors"
	"fmt"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// MoveAlias points an alias at a version; runs that begin from now on follow it.
func (s *Service) MoveAlias(ctx context.Context, namespace, name, alias string, to int, by string) (engine.Binary, error) {
	if err := validAlias(alias); err != nil {
		return engine.Binary{}, err
	}
	return s.changeBinary(ctx, namespace, name, func(binary *engine.Binary) (bool, error) {
		if _, err := binary.Resolve(spec.BinaryRef{Name: name, Version: max(to, 1)}); err != nil || to < 1 {
			return false, field("version_not_found", "body.version", "binary %q has no version %d", name, to)
		}
		return s.moveAliases(binary, []string{alias}, to, by), nil
	})
}

// RollBack points an alias back to where it pointed before its latest move.
func (s *Service) RollBack(ctx context.Context, namespace, name, alias, by string) (engine.Binary, engine.AliasMove, error) {
	if alias == "" {
		alias = "stable"
	}
	var move engine.AliasMove
	binary, err := s.changeBinary(ctx, namespace, name, func(binary *engine.Binary) (bool, error) {
		now := binary.Aliases[alias]
		for i := len(binary.AliasHistory) - 1; i >= 0; i-- {
			h := binary.AliasHistory[i]
			if h.Alias != alias || h.To != now || h.From == 0 {
				continue
			}
			if _, ok := binary.Version(h.From); !ok {
				continue
			}
			move = engine.AliasMove{Alias: alias, From: now, To: h.From, By: by}
			return s.moveAliases(binary, []string{alias}, h.From, by), nil
		}
		if now == 0 {
			return false, conflict("alias_not_found", "binary %q has no alias %q: there is nothing to roll back", name, alias)
		}
		return false, conflict("nothing_to_roll_back", "alias %q of binary %q has pointed to version %d ever since it was made", alias, name, now)
	})
	return binary, move, err
}

// DeleteBinary removes a binary's name and versions, unless a job uses it. The bytes stay as long as history refers to
// them.
func (s *Service) DeleteBinary(ctx context.Context, namespace, name string) error {
	users, err := s.JobsUsing(ctx, namespace, name)
	if err != nil {
		return err
	}
	if len(users) > 0 {
		return conflict("binary_in_use", "binary %q is used by job %q (%d jobs in all): change or delete them first", name, users[0], len(users))
	}
	for range 5 {
		binary, err := s.Binary(ctx, namespace, name)
		if err != nil {
			return err
		}
		err = s.store.DeleteBinary(ctx, namespace, name, binary.Revision)
		if errors.Is(err, engine.ErrConflict) {
			continue
		}
		s.wake(ctx, engine.Wake{Kind: engine.WakeBinary, Key: binary.Key()})
		return explain(err, "binary", name)
	}
	return explain(engine.ErrConflict, "binary", name)
}

// JobsUsing names the jobs whose definition refers to a binary.
func (s *Service) JobsUsing(ctx context.Context, namespace, name string) ([]string, error) {
	var users []string
	cursor := ""
	for {
		jobs, next, err := s.store.Jobs(ctx, engine.JobFilter{Namespace: namespace, Cursor: cursor, Limit: 1000})
		if err != nil {
			return nil, fmt.Errorf("list jobs: %w", err)
		}
		for i := range jobs {
			if ref, err := jobs[i].Spec.Binding(); err == nil && ref.Name == name {
				users = append(users, jobs[i].Name)
			}
		}
		if next == "" {
			return users, nil
		}
		cursor = next
	}
}

func (s *Service) changeBinary(ctx context.Context, namespace, name string, change func(*engine.Binary) (bool, error)) (engine.Binary, error) {
	for range 20 {
		binary, err := s.Binary(ctx, namespace, name)
		if err != nil {
			return engine.Binary{}, err
		}
		changed, err := change(&binary)
		if err != nil || !changed {
			return binary, err
		}
		binary.Revision++
		binary.UpdatedAt = s.now()
		err = s.store.ReplaceBinary(ctx, binary)
		if errors.Is(err, engine.ErrConflict) {
			continue
		}
		if err != nil {
			return engine.Binary{}, explain(err, "binary", name)
		}
		s.wake(ctx, engine.Wake{Kind: engine.WakeBinary, Key: binary.Key()})
		return binary, nil
	}
	return engine.Binary{}, explain(engine.ErrConflict, "binary", name)
}
