package service

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	udiff "github.com/aymanbagabas/go-udiff"

	"github.com/tidewheel/tidewheel/engine"
)

// Generations lists the versions that a definition has had, newest first, with the cursor of the next page.
func (d *Definitions[S]) Generations(
	ctx context.Context, namespace, name, cursor string, limit int,
) (generations []engine.GenerationOf[S], next string, err error) {
	before, err := d.generationsBefore(cursor)
	if err != nil {
		return nil, "", err
	}
	definition, err := d.Get(ctx, namespace, name)
	if err != nil {
		return nil, "", err
	}
	generations, err = d.store.Generations(ctx, definition.UID, before, limit+1)
	if err != nil || len(generations) <= limit {
		return generations, "", err
	}
	generations = generations[:limit]
	last := strconv.FormatInt(generations[limit-1].Generation, 10)
	return generations, engine.Cursor{ID: last}.Encode(d.generations), nil
}

// generationsBefore reads the cursor of a page: the generations before this number come next; 0 is the first page.
func (d *Definitions[S]) generationsBefore(cursor string) (int64, error) {
	after, given, err := engine.DecodeCursor(d.generations, cursor)
	if err != nil || !given {
		return 0, err
	}
	before, err := strconv.ParseInt(after.ID, 10, 64)
	if err != nil || before < 1 {
		return 0, engine.ErrCursor
	}
	return before, nil
}

// Generation returns one version that a definition has had.
func (d *Definitions[S]) Generation(ctx context.Context, namespace, name string, number int64) (engine.GenerationOf[S], error) {
	definition, err := d.Get(ctx, namespace, name)
	if err != nil {
		return engine.GenerationOf[S]{}, err
	}
	return d.generation(ctx, &definition, number)
}

func (d *Definitions[S]) generation(ctx context.Context, of *engine.Definition[S], number int64) (engine.GenerationOf[S], error) {
	generation, err := d.store.Generation(ctx, of.UID, number)
	if errors.Is(err, engine.ErrNotFound) {
		return engine.GenerationOf[S]{}, &Error{
			Kind: KindNotFound, Code: "generation_not_found", Err: err,
			Detail: fmt.Sprintf("%s %q has no generation %d: its last is %d", d.noun, of.Name, number, of.Generation),
		}
	}
	if err != nil {
		return engine.GenerationOf[S]{}, fmt.Errorf("read generation %d of %s %s: %w", number, d.noun, of.Name, err)
	}
	return generation, nil
}

// Difference compares two generations of a definition, as a unified difference of what Texts returns.
func (d *Definitions[S]) Difference(ctx context.Context, namespace, name string, from, to int64) (string, error) {
	definition, err := d.Get(ctx, namespace, name)
	if err != nil {
		return "", err
	}
	var forms [2]engine.GenerationOf[S]
	for i, number := range []int64{from, to} {
		if forms[i], err = d.generation(ctx, &definition, number); err != nil {
			return "", err
		}
	}
	texts, err := d.Texts(&forms[0].Spec, forms[0].Source, &forms[1].Spec, forms[1].Source)
	if err != nil {
		return "", fmt.Errorf("write generations %d and %d of %s %s: %w", from, to, d.noun, name, err)
	}
	return udiff.Unified(fmt.Sprintf("generation %d", from), fmt.Sprintf("generation %d", to), texts[0], texts[1]), nil
}

// Text returns a definition as YAML: as its user wrote it where source is what it was read from, else as it is encoded.
func (d *Definitions[S]) Text(definition *S, source string) (string, error) {
	text, err := d.text(definition, source)
	return string(text), err
}

// Texts returns two definitions as YAML to be compared: as their users wrote them where the text of both is kept, else
// both written in the same way, for a difference in words alone would hide the one in meaning.
func (d *Definitions[S]) Texts(from *S, fromSource string, to *S, toSource string) (texts [2]string, err error) {
	if fromSource == "" || toSource == "" {
		fromSource, toSource = "", ""
	}
	if texts[0], err = d.Text(from, fromSource); err != nil {
		return texts, err
	}
	texts[1], err = d.Text(to, toSource)
	return texts, err
}

// Restore makes an earlier version of a definition the current one: that is an edit, so a new generation. message may be "".
func (d *Definitions[S]) Restore(ctx context.Context, namespace, name string, number int64, by, message string) (engine.Definition[S], Change, error) {
	generation, err := d.Generation(ctx, namespace, name, number)
	if err != nil {
		return engine.Definition[S]{}, "", err
	}
	if message == "" {
		message = fmt.Sprintf("restored generation %d", number)
	}
	return d.Save(ctx, namespace, &generation.Spec, Save{By: by, Message: message, Source: generation.Source})
}
