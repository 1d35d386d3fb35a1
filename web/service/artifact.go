package service

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/tidewheel/tidewheel/engine"
)

// StoredArtifact says where the bytes of an artifact lie.
type StoredArtifact struct {
	Run     string
	Attempt int
	engine.Artifact
}

// Artifact finds a file that a run has left, by its name.
func (s *Service) Artifact(ctx context.Context, namespace, id, name string) (StoredArtifact, error) {
	run, err := s.Run(ctx, namespace, id)
	if err != nil {
		return StoredArtifact{}, err
	}
	at := slices.IndexFunc(run.Artifacts, func(a engine.Artifact) bool { return a.Name == name })
	if at < 0 {
		detail := fmt.Sprintf("run %s has left no artifact %q; it has left %d", id, name, len(run.Artifacts))
		if !run.Status.Terminal() {
			detail = fmt.Sprintf("run %s has not ended, and its artifacts are kept at its end", id)
		}
		return StoredArtifact{}, &Error{Kind: KindNotFound, Code: "artifact_not_found", Detail: detail}
	}
	return StoredArtifact{Run: id, Attempt: succeeded(&run), Artifact: run.Artifacts[at]}, nil
}

// succeeded returns the attempt that a run's artifacts are from.
func succeeded(run *engine.Run) int {
	for i := len(run.Attempts) - 1; i >= 0; i-- {
		if run.Attempts[i].Status == engine.StatusSucceeded {
			return run.Attempts[i].N
		}
	}
	return run.Attempt
}

// OpenArtifact opens length bytes of an artifact from an offset; the caller closes it. A negative length is all of it,
// and then reading fails where the bytes are not those that the run has left.
func (s *Service) OpenArtifact(ctx context.Context, artifact *StoredArtifact, offset, length int64) (io.ReadCloser, error) {
	content, err := s.blobs.OpenArtifact(ctx, artifact, offset, length)
	if errors.Is(err, engine.ErrNotFound) {
		return nil, &Error{Kind: KindNotFound, Code: "artifact_gone", Err: err,
			Detail: fmt.Sprintf("the artifact %q of run %s is not in S3 any more", artifact.Name, artifact.Run)}
	}
	if err != nil {
		return nil, fmt.Errorf("open artifact %s of run %s: %w", artifact.Name, artifact.Run, err)
	}
	return content, nil
}
