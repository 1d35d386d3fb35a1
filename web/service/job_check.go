package service

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tidewheel/tidewheel/cron"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// editJob refuses a one-off whose time has passed; old is nil for a new job.
func (s *Service) editJob(old, definition *spec.Job) error {
	if definition.At == nil || old != nil && old.At != nil && old.At.Equal(*definition.At) || !definition.At.Before(s.now().Add(-time.Minute)) {
		return nil
	}
	return field("at_in_the_past", "body.at", "at is %s, which has passed: give a time to come", definition.At.Format(time.RFC3339))
}

// checkJob reports whether a job could be saved: its own rules, a schedule that fires, a binary that exists.
func (s *Service) checkJob(ctx context.Context, namespace string, definition *spec.Job) error {
	if problems := append(definition.Validate(), definition.Unsupported()...); len(problems) > 0 {
		return invalid(problems)
	}
	if _, err := cron.Compile(definition.Definition(namespace+"/"+definition.Name, s.now())); err != nil {
		return field("invalid_schedule", "body.schedule", "%s", err)
	}
	if faults, err := s.secretFaults(ctx, namespace, "body.secrets", definition.Secrets); err != nil || len(faults) > 0 {
		return refusedFor(faults, err)
	}
	if faults, err := s.jobAlertFaults(ctx, namespace, definition); err != nil || len(faults) > 0 {
		return refusedFor(faults, err)
	}
	if faults, err := s.triggerFaults(ctx, namespace, definition.Name, definition.Triggers); err != nil || len(faults) > 0 {
		return refusedFor(faults, err)
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

// ResolveBinary reports which version a definition would run now.
func (s *Service) ResolveBinary(ctx context.Context, namespace string, definition *spec.Job) (engine.BinaryVersion, error) {
	ref, err := definition.Binding()
	if err != nil {
		return engine.BinaryVersion{}, field("invalid_binary", "body.binary", "%s", err)
	}
	if ref.Digest != "" {
		return s.binaryOfDigest(ctx, namespace, ref.Digest)
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

// binaryOfDigest finds the version of a namespace's binary that has a digest. Namespaces share the bytes, not the right to run
// them: a digest alone opens nothing.
func (s *Service) binaryOfDigest(ctx context.Context, namespace, digest string) (engine.BinaryVersion, error) {
	have, err := s.blobs.HasBinary(ctx, digest)
	if err != nil {
		return engine.BinaryVersion{}, fmt.Errorf("look for binary %s: %w", digest, err)
	}
	for cursor := ""; have; {
		binaries, next, err := s.store.Binaries(ctx, namespace, cursor, 1000)
		if err != nil {
			return engine.BinaryVersion{}, fmt.Errorf("list binaries: %w", err)
		}
		for i := range binaries {
			for _, version := range binaries[i].Versions {
				if version.SHA256 == digest {
					return engine.BinaryVersion{SHA256: digest}, nil
				}
			}
		}
		if cursor = next; next == "" {
			break
		}
	}
	return engine.BinaryVersion{}, field("binary_not_found", "body.binary",
		"no binary of the namespace has sha256 %s: push it first with `tidewheel binary push NAME FILE`", digest)
}
