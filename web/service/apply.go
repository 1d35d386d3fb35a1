package service

import (
	"context"
	"errors"
	"fmt"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// Deleted is the change of a job that was pruned.
const Deleted Change = "deleted"

// Apply says how documents are to be applied.
type Apply struct {
	By      string
	Message string
	DryRun  bool
	// Prune deletes the jobs of the namespace that no document names.
	Prune bool
}

// Applied is what became of one document, or of a job that was pruned.
type Applied struct {
	Document spec.Document // its Job is nil where a job was pruned
	Job      engine.Job
	Change   Change
}

// CheckDocuments says whether documents could be saved together. The error holds every fault, each with its file and
// line.
func (s *Service) CheckDocuments(ctx context.Context, namespace string, documents []spec.Document) error {
	var faults []Field
	first := map[string]spec.Document{}
	for _, document := range documents {
		if before, twice := first[document.Job.Name]; twice {
			faults = append(faults, located(document, Field{Location: "body.name", Message: fmt.Sprintf(
				"job %q is defined twice, here and at %s:%d: give one of them another name", document.Job.Name, before.File, before.Line)}))
			continue
		}
		first[document.Job.Name] = document
		err := s.CheckJob(ctx, namespace, document.Job)
		var known *Error
		switch {
		case err == nil:
		case errors.As(err, &known) && known.Kind == KindInvalid:
			for _, fault := range known.Fields {
				faults = append(faults, located(document, fault))
			}
		default:
			return err
		}
	}
	return faulty(faults)
}

// ApplyDocuments creates and edits the jobs that documents define. It does nothing at all unless every document could
// be saved.
func (s *Service) ApplyDocuments(ctx context.Context, namespace string, documents []spec.Document, how Apply) ([]Applied, error) {
	if err := s.CheckDocuments(ctx, namespace, documents); err != nil {
		return nil, err
	}
	var applied []Applied
	named := map[string]bool{}
	for _, document := range documents {
		named[document.Job.Name] = true
		job, change, err := s.SaveJob(ctx, namespace, document.Job, Save{By: how.By, Message: how.Message, DryRun: how.DryRun})
		if err != nil {
			return applied, interrupted(err, document.Job.Name, len(applied), len(documents))
		}
		applied = append(applied, Applied{Document: document, Job: job, Change: change})
	}
	if !how.Prune {
		return applied, nil
	}
	pruned, err := s.prune(ctx, namespace, named, how)
	return append(applied, pruned...), err
}

func (s *Service) prune(ctx context.Context, namespace string, named map[string]bool, how Apply) ([]Applied, error) {
	var pruned []Applied
	for cursor := ""; ; {
		jobs, next, err := s.store.Jobs(ctx, engine.JobFilter{Namespace: namespace, Cursor: cursor, Limit: 1000})
		if err != nil {
			return pruned, fmt.Errorf("list jobs: %w", err)
		}
		for i := range jobs {
			if named[jobs[i].Name] {
				continue
			}
			if !how.DryRun {
				err := s.DeleteJob(ctx, namespace, jobs[i].Name, how.By, 0)
				var known *Error
				if errors.As(err, &known) && known.Kind == KindNotFound {
					continue // somebody else has just deleted it
				}
				if err != nil {
					return pruned, fmt.Errorf("prune job %s: %w", jobs[i].Name, err)
				}
			}
			pruned = append(pruned, Applied{Job: jobs[i], Change: Deleted})
		}
		if cursor = next; next == "" {
			return pruned, nil
		}
	}
}

// Faults turns the problems that reading files gave into an error; nil if there are none.
func Faults(problems spec.Problems) error {
	var faults []Field
	for _, problem := range problems {
		faults = append(faults, fieldOf(problem))
	}
	return faulty(faults)
}

func faulty(faults []Field) error {
	if len(faults) == 0 {
		return nil
	}
	detail := faults[0].place() + faults[0].Message
	if len(faults) > 1 {
		detail = fmt.Sprintf("there are %d problems; the first: %s", len(faults), detail)
	}
	return &Error{Kind: KindInvalid, Code: "invalid_definition", Detail: detail, Fields: faults}
}

// located says in which document a fault lies.
func located(document spec.Document, fault Field) Field {
	if fault.Line == 0 {
		fault.File, fault.Line, fault.Column = document.File, document.Line, 1
	}
	return fault
}

func interrupted(err error, name string, done, all int) error {
	var known *Error
	if errors.As(err, &known) {
		told := *known
		told.Detail = fmt.Sprintf("job %q: %s (%d of %d documents had been applied: apply again)", name, known.Detail, done, all)
		return &told
	}
	return fmt.Errorf("apply job %s, after %d of %d documents: %w", name, done, all, err)
}
