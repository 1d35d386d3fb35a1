package service

import (
	"context"
	"errors"
	"fmt"

	udiff "github.com/aymanbagabas/go-udiff"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// Generation gives one form that a job has had.
func (s *Service) Generation(ctx context.Context, namespace, name string, number int64) (engine.Generation, error) {
	job, err := s.Job(ctx, namespace, name)
	if err != nil {
		return engine.Generation{}, err
	}
	return s.generation(ctx, &job, number)
}

func (s *Service) generation(ctx context.Context, job *engine.Job, number int64) (engine.Generation, error) {
	generation, err := s.store.Generation(ctx, job.UID, number)
	if errors.Is(err, engine.ErrNotFound) {
		return engine.Generation{}, &Error{
			Kind: KindNotFound, Code: "generation_not_found", Err: err,
			Detail: fmt.Sprintf("job %q has no generation %d: its last is %d", job.Name, number, job.Generation),
		}
	}
	if err != nil {
		return engine.Generation{}, fmt.Errorf("read generation %d of job %s: %w", number, job.Name, err)
	}
	return generation, nil
}

// GenerationDifference tells how two forms of a job differ, as a unified difference of what JobTexts gives.
func (s *Service) GenerationDifference(ctx context.Context, namespace, name string, from, to int64) (string, error) {
	job, err := s.Job(ctx, namespace, name)
	if err != nil {
		return "", err
	}
	var forms [2]engine.Generation
	for i, number := range []int64{from, to} {
		if forms[i], err = s.generation(ctx, &job, number); err != nil {
			return "", err
		}
	}
	texts, err := JobTexts(&forms[0].Spec, forms[0].Source, &forms[1].Spec, forms[1].Source)
	if err != nil {
		return "", fmt.Errorf("write generations %d and %d of job %s: %w", from, to, name, err)
	}
	return udiff.Unified(fmt.Sprintf("generation %d", from), fmt.Sprintf("generation %d", to), texts[0], texts[1]), nil
}

// JobTexts gives two definitions as YAML to be compared: as their users wrote them where the text of both is kept, else
// both written in the same way, for a difference in words alone would hide the one in meaning.
func JobTexts(from *spec.Job, fromSource string, to *spec.Job, toSource string) (texts [2]string, err error) {
	if fromSource == "" || toSource == "" {
		fromSource, toSource = "", ""
	}
	first, err := spec.Text(from, fromSource)
	if err != nil {
		return texts, err
	}
	second, err := spec.Text(to, toSource)
	return [2]string{string(first), string(second)}, err
}

// RestoreGeneration gives a job the form again that it had: that is an edit, so a new generation. message may be "".
func (s *Service) RestoreGeneration(ctx context.Context, namespace, name string, number int64, by, message string) (engine.Job, Change, error) {
	generation, err := s.Generation(ctx, namespace, name, number)
	if err != nil {
		return engine.Job{}, "", err
	}
	if message == "" {
		message = fmt.Sprintf("restored generation %d", number)
	}
	return s.SaveJob(ctx, namespace, &generation.Spec, Save{By: by, Message: message, Source: generation.Source})
}
