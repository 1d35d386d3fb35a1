package service

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/tidewheel/tidewheel/cron"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// Change is what saving a definition did.
type Change string

// The changes.
const (
	Created   Change = "created"
	Changed   Change = "changed"
	Unchanged Change = "unchanged"
)

// Save says how a definition is to be saved.
type Save struct {
	By      string
	Message string // why, for the history of generations
	// Source is the text that the definition was read from, as spec.Document has it; "" where there is none. A text that
	// means what is saved already replaces the one that was kept: that is Changed, of no new generation. None replaces
	// nothing then.
	Source string
	// Create refuses a name that is taken; IfRevision, when not 0, refuses a job that was changed since.
	Create     bool
	IfRevision int64
	DryRun     bool
	// OneOff marks a job that is made: it goes by itself once it has run.
	OneOff bool
}

// SaveJob creates or edits a job. The definition must have its defaults applied, as spec.Decode leaves it.
func (s *Service) SaveJob(ctx context.Context, namespace string, definition *spec.Job, how Save) (engine.Job, Change, error) {
	if err := s.CheckJob(ctx, namespace, definition); err != nil {
		return engine.Job{}, "", err
	}
	for range 5 {
		old, err := s.store.Job(ctx, namespace, definition.Name)
		switch {
		case errors.Is(err, engine.ErrNotFound):
			if how.IfRevision != 0 {
				return engine.Job{}, "", explain(err, "job", definition.Name)
			}
			job, err := s.createJob(ctx, namespace, definition, how)
			if errors.Is(err, engine.ErrExists) && !how.Create {
				continue // somebody else was first: then this is an edit
			}
			return job, Created, explain(err, "job", definition.Name)
		case err != nil:
			return engine.Job{}, "", fmt.Errorf("read job %s: %w", definition.Name, err)
		case how.Create:
			if old.Spec.Equal(definition) {
				return old, Unchanged, nil // the same creation sent twice
			}
			return engine.Job{}, "", explain(engine.ErrExists, "job", definition.Name)
		case how.IfRevision != 0 && how.IfRevision != old.Revision:
			return engine.Job{}, "", explain(engine.ErrConflict, "job", definition.Name)
		case old.Spec.Equal(definition) && wordedAs(how.Source, &old):
			return old, Unchanged, nil
		}
		edit := s.editJob
		if old.Spec.Equal(definition) {
			edit = s.rewordJob
		}
		job, err := edit(ctx, old, definition, how)
		if errors.Is(err, engine.ErrConflict) && how.IfRevision == 0 {
			continue
		}
		return job, Changed, explain(err, "job", definition.Name)
	}
	return engine.Job{}, "", explain(engine.ErrConflict, "job", definition.Name)
}

func (s *Service) createJob(ctx context.Context, namespace string, definition *spec.Job, how Save) (engine.Job, error) {
	now := s.now()
	if definition.At != nil && definition.At.Before(now.Add(-time.Minute)) {
		return engine.Job{}, field("at_in_the_past", "body.at", "at is %s, which has passed: give a time to come", definition.At.Format(time.RFC3339))
	}
	if err := s.nameFree(ctx, namespace, spec.KindJob, definition.Name); err != nil {
		return engine.Job{}, err
	}
	job := engine.Job{
		UID: NewUID(), Namespace: namespace, Name: definition.Name, Spec: *definition.Clone(), Source: how.Source,
		Generation: 1, Revision: 1, Pending: true, OneOff: how.OneOff,
		CreatedAt: now, CreatedBy: how.By, UpdatedAt: now, UpdatedBy: how.By, Message: how.Message,
	}
	job.Shard = engine.ShardOf(job.UID)
	if how.DryRun {
		return job, nil
	}
	if err := s.store.CreateJob(ctx, job); err != nil {
		return engine.Job{}, err
	}
	s.wake(ctx, engine.Wake{Shard: job.Shard, Kind: engine.WakeJob, Key: job.UID})
	return job, nil
}

func (s *Service) editJob(ctx context.Context, job engine.Job, definition *spec.Job, how Save) (engine.Job, error) {
	now := s.now()
	moved := job.Spec.At == nil || definition.At == nil || !job.Spec.At.Equal(*definition.At)
	if definition.At != nil && moved && definition.At.Before(now.Add(-time.Minute)) {
		return engine.Job{}, field("at_in_the_past", "body.at", "at is %s, which has passed: give a time to come", definition.At.Format(time.RFC3339))
	}
	job.Spec, job.Source = *definition.Clone(), how.Source
	job.Generation++
	job.UpdatedAt, job.UpdatedBy, job.Message = now, how.By, how.Message
	if how.DryRun {
		return job, nil
	}
	return s.replaceJob(ctx, job)
}

// wordedAs reports whether a text says nothing new of a job that it means: it is what a user who edits the job is shown.
func wordedAs(source string, job *engine.Job) bool {
	if source == "" || source == job.Source {
		return true
	}
	shown, err := spec.Text(&job.Spec, job.Source)
	return err == nil && source == string(shown)
}

// rewordJob keeps another text of the same definition. The engine has nothing to do: what is planned and since when stays.
func (s *Service) rewordJob(ctx context.Context, job engine.Job, _ *spec.Job, how Save) (engine.Job, error) {
	job.Source = how.Source
	if how.DryRun {
		return job, nil
	}
	job.Revision++
	if err := s.store.ReplaceJob(ctx, job); err != nil {
		return engine.Job{}, err
	}
	return job, nil
}

func (s *Service) replaceJob(ctx context.Context, job engine.Job) (engine.Job, error) {
	job.Revision++
	job.Pending = true
	if err := s.store.ReplaceJob(ctx, job); err != nil {
		return engine.Job{}, err
	}
	s.wake(ctx, engine.Wake{Shard: job.Shard, Kind: engine.WakeJob, Key: job.UID})
	return job, nil
}

// CheckJob says whether a definition could be saved: its own rules, a schedule that fires, a binary that exists.
func (s *Service) CheckJob(ctx context.Context, namespace string, definition *spec.Job) error {
	if problems := append(definition.Validate(), definition.Unsupported()...); len(problems) > 0 {
		return invalid(problems)
	}
	if _, err := cron.Compile(definition.Definition(namespace+"/"+definition.Name, s.now())); err != nil {
		return field("invalid_schedule", "body.schedule", "%s", err)
	}
	for _, name := range slices.Sorted(maps.Values(definition.Secrets)) {
		return noSecret("body.secrets", name)
	}
	version, err := s.ResolveBinary(ctx, namespace, definition)
	if err != nil {
		return err
	}
	return unusedInterpreter(definition.Interpreter, definition.Binary, version.Kind)
}

// unusedInterpreter refuses an interpreter for a program that starts by itself: the executor would not use it.
func unusedInterpreter(interpreter, binary, kind string) error {
	how := map[string]string{
		"elf": "an ELF program, which starts by itself", "macho": "a Mach-O program, which starts by itself",
		"pe": "a Windows program, which starts by itself", "jar": "a JAR, which java runs",
	}[kind]
	if interpreter == "" || how == "" {
		return nil
	}
	return field("interpreter_unused", "body.interpreter", "interpreter has no effect: binary %q is %s; remove interpreter", binary, how)
}

func noSecret(location, name string) *Error {
	return field("secret_not_found", location, "there is no secret %q: this version keeps none yet; put values that are not secret into env", name)
}

// ResolveBinary tells which version a definition would run now.
func (s *Service) ResolveBinary(ctx context.Context, namespace string, definition *spec.Job) (engine.BinaryVersion, error) {
	ref, err := definition.Binding()
	if err != nil {
		return engine.BinaryVersion{}, field("invalid_binary", "body.binary", "%s", err)
	}
	if ref.Digest != "" {
		have, err := s.blobs.HasBinary(ctx, ref.Digest)
		if err != nil {
			return engine.BinaryVersion{}, fmt.Errorf("look for binary %s: %w", ref.Digest, err)
		}
		if !have {
			return engine.BinaryVersion{}, field("binary_not_found", "body.binary", "no binary with sha256 %s has been uploaded", ref.Digest)
		}
		return engine.BinaryVersion{SHA256: ref.Digest}, nil
	}
	binary, err := s.store.Binary(ctx, namespace, ref.Name)
	if errors.Is(err, engine.ErrNotFound) {
		return engine.BinaryVersion{}, field("binary_not_found", "body.binary",
			"there is no binary %q: push it first with `tidewheel binary push %s FILE`", ref.Name, ref.Name)
	}
	if err != nil {
		return engine.BinaryVersion{}, fmt.Errorf("read binary %s: %w", ref.Name, err)
	}
	version, err := binary.Resolve(ref)
	if err != nil {
		return engine.BinaryVersion{}, field("binary_not_found", "body.binary", "%s", err)
	}
	if version.Kind == KindUnknown && definition.Interpreter == "" {
		return engine.BinaryVersion{}, field("interpreter_needed", "body.interpreter",
			"binary %q is neither an ELF program, nor a script with #!, nor a JAR: say what runs it, such as interpreter: python3", ref.Name)
	}
	return version, nil
}
