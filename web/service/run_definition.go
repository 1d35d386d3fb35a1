package service

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// DefinitionOf returns the definition that a run executes, as it was when the run was made; known is false where there is
// none: the run has yet to be looked at by the engine, or the definition is not kept any more.
func (s *Service) DefinitionOf(ctx context.Context, run *engine.Run) (definition engine.Generation, known bool, err error) {
	if run.Generation == 0 {
		return definition, false, nil
	}
	if run.Task != "" {
		return s.taskDefinition(ctx, run)
	}
	definition, err = s.store.Jobs().Generation(ctx, run.JobUID, run.Generation)
	if errors.Is(err, engine.ErrNotFound) {
		return engine.Generation{}, false, nil
	}
	if err != nil {
		return definition, false, fmt.Errorf("read generation %d of job %s: %w", run.Generation, run.Job, err)
	}
	return definition, true, nil
}

// taskDefinition is DefinitionOf a task of a DAG: the task as a job.
func (s *Service) taskDefinition(ctx context.Context, run *engine.Run) (definition engine.Generation, known bool, err error) {
	of, err := s.store.DAGs().Generation(ctx, run.JobUID, run.Generation)
	if errors.Is(err, engine.ErrNotFound) {
		return definition, false, nil
	}
	if err != nil {
		return definition, false, fmt.Errorf("read generation %d of DAG %s: %w", run.Generation, run.DAG, err)
	}
	task := slices.IndexFunc(of.Spec.Tasks, func(t spec.Task) bool { return t.Name == run.Task })
	if task < 0 {
		return definition, false, nil
	}
	return engine.Generation{Generation: of.Generation, Spec: *of.Spec.TaskJob(task), At: of.At, By: of.By, Message: of.Message}, true, nil
}

// LastGoodRun returns the latest run of the same job that was made before this one and succeeded; found is false where
// none is near.
func (s *Service) LastGoodRun(ctx context.Context, run *engine.Run) (good engine.Run, found bool, err error) {
	runs, _, err := s.store.Runs(ctx, engine.RunFilter{
		Namespace: run.Namespace, JobUID: run.JobUID, Task: run.Task, Statuses: []engine.Status{engine.StatusSucceeded}, Until: run.CreatedAt, Limit: 1,
	})
	if err != nil || len(runs) == 0 {
		return engine.Run{}, false, err
	}
	return runs[0], true, nil
}

// secretNames are parts of the names of environment variables whose values are secret.
var secretNames = regexp.MustCompile(`(?i)(passw|passphrase|secret|token|credential|private|api_?key|access_?key|(^|_)(key|pass|pwd|auth|dsn|cookie|salt|pin)(_|$))`)

// secretValues are the forms of values that are known to be secret.
var secretValues = regexp.MustCompile(`^(AKIA|ASIA)[A-Z0-9]{12,}$|^gh[pousr]_\w{20,}$|^xox[abprs]-|^eyJ[\w-]+\.[\w-]+\.|^sk-[\w-]{16,}$|^AGE-SECRET-KEY-|-----BEGIN [A-Z ]*PRIVATE KEY`)

// LooksSecret reports whether an environment variable is better not shown, by its name or by its value.
func LooksSecret(name, value string) bool {
	if secretNames.MatchString(name) || secretValues.MatchString(value) {
		return true
	}
	if address, err := url.Parse(value); err == nil && address.User != nil {
		if _, password := address.User.Password(); password {
			return true
		}
	}
	return len(value) >= 24 && !strings.ContainsAny(value, " /:.") && entropy(value) > 4
}

// entropy is how many bits each character of a text tells, by how often each is in it (C. E. Shannon, 1948).
func entropy(text string) (bits float64) {
	var counts [256]float64
	for i := range len(text) {
		counts[text[i]]++
	}
	for _, count := range counts {
		if count > 0 {
			p := count / float64(len(text))
			bits -= p * math.Log2(p)
		}
	}
	return bits
}
