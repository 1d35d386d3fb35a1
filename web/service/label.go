package service

import (
	"context"
	"errors"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// Label changes the labels of a definition, as an edit of its own: the rest of its text stays as its user wrote it.
func (d *Definitions[S]) Label(ctx context.Context, namespace, name, by string, change spec.LabelChange) (saved engine.Definition[S], what Change, err error) {
	for range 5 {
		old, err := d.Get(ctx, namespace, name)
		if err != nil {
			return saved, "", err
		}
		labelled := d.clone(&old.Spec)
		labels := d.labels(labelled)
		*labels = change.Of(*labels)
		source := spec.Relabel(old.Source, *labels)
		if text, err := d.text(labelled, source); err != nil || string(text) != source {
			source = "" // its text has labels that cannot be changed alone: it is written anew
		}
		saved, what, err = d.Save(ctx, namespace, labelled, Save{By: by, Message: "labels " + change.Words(), Source: source, IfRevision: old.Revision})
		if known, is := errors.AsType[*Error](err); is && known.Kind == KindConflict {
			continue // another edit was faster
		}
		return saved, what, err
	}
	return saved, "", explain(engine.ErrConflict, d.noun, name)
}
