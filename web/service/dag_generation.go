package service

import (
	"context"
	"errors"
	"fmt"

	udiff "github.com/aymanbagabas/go-udiff"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// dagGenerationsList is the kind of their cursors.
const dagGenerationsList = "dag-generations"

// DAGGenerationsPage lists the forms a DAG has had, newest first, with the cursor of the next page.
func (s *Service) DAGGenerationsPage(ctx context.Context, namespace, name, cursor string, limit int) ([]engine.DAGGeneration, string, error) {
	before, err := generationsBefore(dagGenerationsList, cursor)
	if err != nil {
		return nil, "", err
	}
	dag, err := s.DAG(ctx, namespace, name)
	if err != nil {
		return nil, "", err
	}
	generations, err := s.store.DAGGenerations(ctx, dag.UID, before, limit+1)
	if err != nil || len(generations) <= limit {
		return generations, "", err
	}
	generations = generations[:limit]
	return generations, generationsAfter(dagGenerationsList, generations[limit-1].Generation), nil
}

// DAGGeneration gives one form that a DAG has had.
func (s *Service) DAGGeneration(ctx context.Context, namespace, name string, number int64) (engine.DAGGeneration, error) {
	dag, err := s.DAG(ctx, namespace, name)
	if err != nil {
		return engine.DAGGeneration{}, err
	}
	return s.dagGeneration(ctx, &dag, number)
}

func (s *Service) dagGeneration(ctx context.Context, dag *engine.DAG, number int64) (engine.DAGGeneration, error) {
	generation, err := s.store.DAGGeneration(ctx, dag.UID, number)
	if errors.Is(err, engine.ErrNotFound) {
		return engine.DAGGeneration{}, &Error{
			Kind: KindNotFound, Code: "generation_not_found", Err: err,
			Detail: fmt.Sprintf("DAG %q has no generation %d: its last is %d", dag.Name, number, dag.Generation),
		}
	}
	if err != nil {
		return engine.DAGGeneration{}, fmt.Errorf("read generation %d of DAG %s: %w", number, dag.Name, err)
	}
	return generation, nil
}

// DAGDifference tells how two forms of a DAG differ, as a unified difference of what DAGTexts gives.
func (s *Service) DAGDifference(ctx context.Context, namespace, name string, from, to int64) (string, error) {
	dag, err := s.DAG(ctx, namespace, name)
	if err != nil {
		return "", err
	}
	var forms [2]engine.DAGGeneration
	for i, number := range []int64{from, to} {
		if forms[i], err = s.dagGeneration(ctx, &dag, number); err != nil {
			return "", err
		}
	}
	texts, err := DAGTexts(&forms[0].Spec, forms[0].Source, &forms[1].Spec, forms[1].Source)
	if err != nil {
		return "", fmt.Errorf("write generations %d and %d of DAG %s: %w", from, to, name, err)
	}
	return udiff.Unified(fmt.Sprintf("generation %d", from), fmt.Sprintf("generation %d", to), texts[0], texts[1]), nil
}

// DAGTexts is JobTexts for DAGs.
func DAGTexts(from *spec.DAG, fromSource string, to *spec.DAG, toSource string) (texts [2]string, err error) {
	if fromSource == "" || toSource == "" {
		fromSource, toSource = "", ""
	}
	first, err := spec.TextDAG(from, fromSource)
	if err != nil {
		return texts, err
	}
	second, err := spec.TextDAG(to, toSource)
	return [2]string{string(first), string(second)}, err
}

// RestoreDAG gives a DAG the form again that it had: that is an edit, so a new generation. message may be "".
func (s *Service) RestoreDAG(ctx context.Context, namespace, name string, number int64, by, message string) (engine.DAG, Change, error) {
	generation, err := s.DAGGeneration(ctx, namespace, name, number)
	if err != nil {
		return engine.DAG{}, "", err
	}
	if message == "" {
		message = fmt.Sprintf("restored generation %d", number)
	}
	return s.SaveDAG(ctx, namespace, &generation.Spec, Save{By: by, Message: message, Source: generation.Source})
}
