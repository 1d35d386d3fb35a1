package service

import (
	"context"
	"fmt"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// BinaryUser is a job, or a task of a DAG, whose definition refers to a binary.
type BinaryUser struct {
	Job       string // "" for a task
	DAG, Task string
	Paused    bool
	Reference spec.BinaryRef
	// Version is what the reference means now; 0 where it means nothing, as an alias that is not there.
	Version int
}

// Label names the user for people: a job, or "dag/task".
func (u BinaryUser) Label() string {
	if u.DAG != "" {
		return u.DAG + "/" + u.Task
	}
	return u.Job
}

func (u BinaryUser) noun() string {
	if u.DAG != "" {
		return "task"
	}
	return "job"
}

// Follows reports whether the user's next run moves with an alias.
func (u BinaryUser) Follows(alias string) bool { return u.Reference.Alias == alias }

// JobsUsing lists the jobs, and then the tasks of DAGs, whose definition refers to a binary, by name. It reads every job
// and DAG of the namespace.
func (s *Service) JobsUsing(ctx context.Context, binary *engine.Binary) ([]BinaryUser, error) {
	var users []BinaryUser
	add := func(user BinaryUser, reference string) {
		ref, err := spec.ParseBinary(reference)
		if err != nil || ref.Name != binary.Name {
			return
		}
		user.Reference = ref
		if version, err := binary.Resolve(ref); err == nil {
			user.Version = version.N
		}
		users = append(users, user)
	}
	for cursor := ""; ; {
		jobs, next, err := s.store.Jobs().List(ctx, engine.DefinitionFilter{Namespace: binary.Namespace, Cursor: cursor, Limit: 1000})
		if err != nil {
			return nil, fmt.Errorf("list jobs: %w", err)
		}
		for i := range jobs {
			add(BinaryUser{Job: jobs[i].Name, Paused: jobs[i].Paused}, jobs[i].Spec.Binary)
		}
		if cursor = next; next == "" {
			break
		}
	}
	for cursor := ""; ; {
		dags, next, err := s.store.DAGs().List(ctx, engine.DefinitionFilter{Namespace: binary.Namespace, Cursor: cursor, Limit: 100})
		if err != nil {
			return nil, fmt.Errorf("list DAGs: %w", err)
		}
		for i := range dags {
			for k := range dags[i].Spec.Tasks {
				reference := dags[i].Spec.Tasks[k].Binary
				if reference == "" {
					reference = dags[i].Spec.Defaults.Binary
				}
				add(BinaryUser{DAG: dags[i].Name, Task: dags[i].Spec.Tasks[k].Name, Paused: dags[i].Paused}, reference)
			}
		}
		if cursor = next; next == "" {
			return users, nil
		}
	}
}

// AliasChange is what moving an alias would do, for people to read before they do it.
type AliasChange struct {
	Alias    string
	From, To engine.BinaryVersion // From is zero where the alias is new
	// Users are the jobs whose next run would be of another version.
	Users []BinaryUser
}

// PreviewAlias reports what pointing an alias at version to would change; to 0 asks for a rollback. It changes nothing.
func (s *Service) PreviewAlias(ctx context.Context, namespace, name, alias string, to int) (AliasChange, error) {
	if err := validAlias(alias); err != nil {
		return AliasChange{}, err
	}
	binary, err := s.Binary(ctx, namespace, name)
	if err != nil {
		return AliasChange{}, err
	}
	change := AliasChange{Alias: alias}
	change.From, _ = binary.Version(binary.Aliases[alias])
	if to == 0 {
		if to, err = rollBackTo(&binary, alias); err != nil {
			return AliasChange{}, err
		}
	}
	var ok bool
	if change.To, ok = binary.Version(to); !ok {
		return AliasChange{}, field("version_not_found", "body.version", "binary %q has no version %d", name, to)
	}
	users, err := s.JobsUsing(ctx, &binary)
	if err != nil {
		return AliasChange{}, err
	}
	for _, user := range users {
		if user.Follows(alias) && user.Version != to {
			change.Users = append(change.Users, user)
		}
	}
	return change, nil
}

// RollsBackTo returns the version that a rollback of an alias would lead to, 0 if there is none.
func RollsBackTo(binary *engine.Binary, alias string) int {
	to, err := rollBackTo(binary, alias)
	if err != nil {
		return 0
	}
	return to
}

// rollBackTo finds where an alias pointed before its latest move, among the versions that are still there.
func rollBackTo(binary *engine.Binary, alias string) (int, error) {
	now := binary.Aliases[alias]
	for i := len(binary.AliasHistory) - 1; i >= 0; i-- {
		h := binary.AliasHistory[i]
		if h.Alias != alias || h.To != now || h.From == 0 {
			continue
		}
		if _, ok := binary.Version(h.From); ok {
			return h.From, nil
		}
	}
	if now == 0 {
		return 0, conflict("alias_not_found", "binary %q has no alias %q: there is nothing to roll back", binary.Name, alias)
	}
	return 0, conflict("nothing_to_roll_back", "alias %q of binary %q has pointed to version %d ever since it was made", alias, binary.Name, now)
}
