package service

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tidewheel/tidewheel/audit"
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
		to, err := rollBackTo(binary, alias)
		if err != nil {
			return false, err
		}
		move = engine.AliasMove{Alias: alias, From: binary.Aliases[alias], To: to, By: by}
		return s.moveAliases(binary, []string{alias}, to, by), nil
	})
	return binary, move, err
}

// DeleteBinary removes a binary's name and versions, unless a job uses it. The bytes stay as long as runs that have not
// ended, definitions or other binaries refer to them, and a while longer: see --retention-binaries.
func (s *Service) DeleteBinary(ctx context.Context, namespace, name string) error {
	if _, err := s.unusedBinary(ctx, namespace, name); err != nil {
		return err
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
		if err == nil {
			audit.Describe(ctx, namespace, audit.Change{What: "binary " + name, Before: fmt.Sprintf("%d versions", len(binary.Versions))})
		}
		s.wake(ctx, engine.Wake{Kind: engine.WakeBinary, Key: binary.Key()})
		return explain(err, "binary", name)
	}
	return explain(engine.ErrConflict, "binary", name)
}

// unusedBinary returns a binary that no job uses.
func (s *Service) unusedBinary(ctx context.Context, namespace, name string) (engine.Binary, error) {
	binary, err := s.Binary(ctx, namespace, name)
	if err != nil {
		return engine.Binary{}, err
	}
	users, err := s.JobsUsing(ctx, &binary)
	if err == nil && len(users) > 0 {
		err = conflict("binary_in_use", "binary %q is used by %s %q (%d in all): change or delete them first", name, users[0].noun(), users[0].Label(), len(users))
	}
	return binary, err
}

func (s *Service) changeBinary(ctx context.Context, namespace, name string, change func(*engine.Binary) (bool, error)) (engine.Binary, error) {
	for range 20 {
		binary, err := s.Binary(ctx, namespace, name)
		if err != nil {
			return engine.Binary{}, err
		}
		before := binary.Aliases
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
		audit.Describe(ctx, namespace, audit.Change{What: "binary " + name, Before: aliasesInWords(before), After: aliasesInWords(binary.Aliases)})
		s.wake(ctx, engine.Wake{Kind: engine.WakeBinary, Key: binary.Key()})
		return binary, nil
	}
	return engine.Binary{}, explain(engine.ErrConflict, "binary", name)
}

// aliasesInWords lists what aliases point at: "latest 4, stable 3".
func aliasesInWords(aliases map[string]int) string {
	words := make([]string, 0, len(aliases))
	for _, alias := range slices.Sorted(maps.Keys(aliases)) {
		words = append(words, fmt.Sprintf("%s %d", alias, aliases[alias]))
	}
	return strings.Join(words, ", ")
}
