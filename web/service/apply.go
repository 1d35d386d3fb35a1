package service

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// Deleted is the change of a job or DAG that was pruned.
const Deleted Change = "deleted"

// Apply defines how documents are to be applied.
type Apply struct {
	By      string
	Message string
	DryRun  bool
	// Prune deletes the jobs and DAGs of the namespace that no document names.
	Prune bool
}

// Applied is what happened to one document, or of a job or DAG that was pruned.
type Applied struct {
	Document   spec.Document // it is empty where something was pruned
	Kind       string
	Name       string
	Generation int64
	Change     Change
	// Warnings are what may be intended: that no executor is there that would run it.
	Warnings []string
}

// CheckDocuments reports whether documents could be saved together. The error holds every fault, each with its file and
// line.
func (s *Service) CheckDocuments(ctx context.Context, namespace string, documents []spec.Document) error {
	var faults []Field
	first := map[string]spec.Document{}
	for _, document := range documents {
		if before, twice := first[document.Name()]; twice {
			faults = append(faults, located(document, Field{Location: "body.name", Message: fmt.Sprintf(
				"%s %q is defined twice, here and at %s:%d: give one of them another name", noun(document), document.Name(), before.File, before.Line)}))
			continue
		}
		first[document.Name()] = document
		err := s.checkDocument(ctx, namespace, document)
		var known *Error
		switch {
		case err == nil:
		case errors.As(err, &known) && (known.Kind == KindInvalid || known.Kind == KindExists):
			for _, fault := range known.Fields {
				faults = append(faults, located(document, fault))
			}
		default:
			return err
		}
	}
	return faulty(faults)
}

func (s *Service) checkDocument(ctx context.Context, namespace string, document spec.Document) error {
	check := func() error { return s.Jobs.Check(ctx, namespace, document.Job) }
	if document.DAG != nil {
		check = func() error { return s.DAGs.Check(ctx, namespace, document.DAG) }
	}
	if err := check(); err != nil {
		return err
	}
	return s.nameFree(ctx, namespace, document.Kind(), document.Name())
}

func noun(document spec.Document) string {
	if document.DAG != nil {
		return "DAG"
	}
	return "job"
}

// ApplyDocuments creates and edits the jobs and DAGs that documents define. It does nothing at all unless every document
// could be saved.
func (s *Service) ApplyDocuments(ctx context.Context, namespace string, documents []spec.Document, how Apply) ([]Applied, error) {
	if err := s.CheckDocuments(ctx, namespace, documents); err != nil {
		return nil, err
	}
	if err := s.mayDefineAll(ctx, namespace, documents); err != nil {
		return nil, err
	}
	var applied []Applied
	named := map[string]bool{}
	for _, document := range documents {
		named[document.Name()] = true
		one, err := s.applyDocument(ctx, namespace, document, Save{By: how.By, Message: how.Message, DryRun: how.DryRun})
		if err != nil {
			return applied, interrupted(err, document, len(applied), len(documents))
		}
		one.Warnings = s.Warnings(ctx, namespace, document)
		applied = append(applied, one)
	}
	if !how.Prune {
		return applied, nil
	}
	pruned, err := s.Jobs.prune(ctx, namespace, named, how)
	applied = append(applied, pruned...)
	if err != nil {
		return applied, err
	}
	pruned, err = s.DAGs.prune(ctx, namespace, named, how)
	return append(applied, pruned...), err
}

func (s *Service) applyDocument(ctx context.Context, namespace string, document spec.Document, how Save) (Applied, error) {
	how.Source = document.Source
	one := Applied{Document: document, Kind: document.Kind(), Name: document.Name()}
	if document.DAG != nil {
		dag, change, err := s.DAGs.Save(ctx, namespace, document.DAG, how)
		one.Generation, one.Change = dag.Generation, change
		return one, err
	}
	job, change, err := s.Jobs.Save(ctx, namespace, document.Job, how)
	one.Generation, one.Change = job.Generation, change
	return one, err
}

// prune deletes the definitions of a kind that no document names.
func (d *Definitions[S]) prune(ctx context.Context, namespace string, named map[string]bool, how Apply) (pruned []Applied, err error) {
	for cursor := ""; ; {
		page, next, err := d.store.List(ctx, engine.DefinitionFilter{Namespace: namespace, Cursor: cursor, Limit: prunedAtOnce})
		if err != nil {
			return pruned, fmt.Errorf("list every %s: %w", d.noun, err)
		}
		for i := range page {
			name := page[i].Name
			if named[name] {
				continue
			}
			if !how.DryRun {
				if err := d.Delete(ctx, namespace, name, how.By, 0); err != nil && !missing(err) { // or another user has just deleted it
					return pruned, fmt.Errorf("prune %s %s: %w", d.noun, name, err)
				}
			}
			pruned = append(pruned, Applied{Kind: d.name, Name: name, Generation: page[i].Generation, Change: Deleted})
		}
		if cursor = next; next == "" {
			return pruned, nil
		}
	}
}

// prunedAtOnce is few: a DAG may have thousands of tasks.
const prunedAtOnce = 100

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
		if line, column := document.Locate(strings.TrimPrefix(fault.Location, "body.")); line > 0 {
			fault.Line, fault.Column = line, column
		}
	}
	return fault
}

func interrupted(err error, document spec.Document, done, all int) error {
	var known *Error
	if errors.As(err, &known) {
		refused := *known
		refused.Detail = fmt.Sprintf("%s %q: %s (%d of %d documents had been applied: apply again)", noun(document), document.Name(), known.Detail, done, all)
		return &refused
	}
	return fmt.Errorf("apply %s %s, after %d of %d documents: %w", noun(document), document.Name(), done, all, err)
}
