package service

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/secret"
	"github.com/tidewheel/tidewheel/spec"
)

// usersNamed is how many users of a secret an error names.
const usersNamed = 5

var errNoVault = &Error{Kind: KindUnavailable, Code: "no_secrets", Detail: "this server keeps no secrets"}

// explainSecret puts an error of the vault into words.
func explainSecret(err error, name string) error {
	var value *secret.ValueError
	switch {
	case errors.As(err, &value):
		return field("invalid_value", "body.value", "%s", value.Reason)
	case errors.Is(err, secret.ErrUnsettled), errors.Is(err, secret.ErrOtherKey), errors.Is(err, secret.ErrLost):
		return &Error{Kind: KindConflict, Code: "secrets_key", Detail: err.Error(), Err: err}
	}
	return explain(err, "secret", name)
}

// SetSecret gives a secret a value, and reports whether this created it. Runs that are queued from now on get it.
func (s *Service) SetSecret(ctx context.Context, namespace, name string, value []byte, by string) (secret.Secret, bool, error) {
	if s.config.Secrets == nil {
		return secret.Secret{}, false, errNoVault
	}
	if err := spec.ValidName("secret", name); err != nil {
		return secret.Secret{}, false, field("invalid_name", "path.name", "%s", err)
	}
	set, created, err := s.config.Secrets.Set(ctx, namespace, name, value, by)
	if err != nil {
		return secret.Secret{}, false, explainSecret(err, name)
	}
	s.log.Info("a secret was set", "namespace", namespace, "secret", name, "version", set.Version, "by", by)
	return set, created, nil
}

// Secrets lists the secrets of a namespace by name, without their values.
func (s *Service) Secrets(ctx context.Context, namespace, cursor string, limit int) ([]secret.Secret, string, error) {
	if s.config.Secrets == nil {
		return nil, "", errNoVault
	}
	secrets, err := s.config.Secrets.Secrets(ctx, namespace, cursor, limit)
	if err != nil || len(secrets) < limit {
		return secrets, "", err
	}
	return secrets, secrets[len(secrets)-1].Name, nil
}

// Secret returns what there is to say of a secret but its value.
func (s *Service) Secret(ctx context.Context, namespace, name string) (secret.Secret, error) {
	if s.config.Secrets == nil {
		return secret.Secret{}, errNoVault
	}
	found, err := s.config.Secrets.Secret(ctx, namespace, name)
	return found, explainSecret(err, name)
}

// DeleteSecret removes a secret. One that definitions refer to is removed by force only: their runs fail then.
func (s *Service) DeleteSecret(ctx context.Context, namespace, name, by string, force bool) error {
	if _, err := s.Secret(ctx, namespace, name); err != nil {
		return err
	}
	users, _, err := s.SecretUsers(ctx, namespace, 0)
	if err != nil {
		return err
	}
	if using := users[name]; len(using) > 0 && !force {
		named := using[:min(len(using), usersNamed)]
		return conflict("secret_in_use", "secret %q is used by %s (%d in all): change or delete them first, or delete it by force, and their runs fail",
			name, strings.Join(named, ", "), len(using))
	}
	if err := s.config.Secrets.Delete(ctx, namespace, name); err != nil {
		return explainSecret(err, name)
	}
	s.log.Info("a secret was deleted", "namespace", namespace, "secret", name, "by", by, "used_by", users[name])
	return nil
}

// RotateSecretsKey creates a new key, reseals all secrets with it, and returns the recipients of the seal and the number of secrets.
func (s *Service) RotateSecretsKey(ctx context.Context) (recipient string, resealed int, err error) {
	if s.config.RotateSecretsKey == nil {
		return "", 0, errNoVault
	}
	return s.config.RotateSecretsKey(ctx)
}

// SecretUsers lists the jobs and tasks (as dag/task) whose definitions refer to each secret of a namespace, in order. It looks
// at so many definitions, 0 for all, and says in more if there are others.
func (s *Service) SecretUsers(ctx context.Context, namespace string, most int) (users map[string][]string, more bool, err error) {
	users = map[string][]string{}
	add := func(user string, secrets map[string]string) {
		for _, name := range slices.Sorted(maps.Values(secrets)) {
			if n := len(users[name]); n == 0 || users[name][n-1] != user {
				users[name] = append(users[name], user)
			}
		}
	}
	addHook := func(user string, triggers *spec.Triggers) {
		if name := triggers.HookSecret(); name != "" {
			add(user, map[string]string{"": name})
		}
	}
	more, err = s.eachDefinition(ctx, namespace, most, func(job *engine.Job) {
		add(job.Name, job.Spec.Secrets)
		addHook(job.Name, job.Spec.Triggers)
	}, func(dag *engine.DAG) {
		addHook(dag.Name, dag.Spec.Triggers)
		for k := range dag.Spec.Tasks {
			add(dag.Name+"/"+dag.Spec.Tasks[k].Name, dag.Spec.Tasks[k].Secrets)
		}
	})
	return users, more, err
}

// secretFaults returns which secrets of a job or task are not there; path is of the variables.
func (s *Service) secretFaults(ctx context.Context, namespace, path string, secrets map[string]string) (faults []taskFault, err error) {
	for _, variable := range slices.Sorted(maps.Keys(secrets)) {
		name := secrets[variable]
		_, err := s.Secret(ctx, namespace, name)
		var known *Error
		switch {
		case err == nil:
		case errors.As(err, &known) && (known.Kind == KindNotFound || known == errNoVault):
			missing := field("secret_not_found", path+"."+variable, "there is no secret %q: set it first with `tidewheel secret set %s`", name, name)
			faults = append(faults, taskFault{missing.Fields[0], missing.Code})
		default:
			return nil, fmt.Errorf("look for secret %s: %w", name, err)
		}
	}
	return faults, nil
}
