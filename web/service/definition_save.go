package service

import (
	"context"
	"errors"
	"fmt"

	"github.com/tidewheel/tidewheel/audit"
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

// Save defines how a definition is to be saved.
type Save struct {
	By      string
	Message string // why, for the history of generations
	// Source is the text that the definition was read from, as spec.Document has it; "" where there is none. A text that
	// means what is saved already replaces the one that was kept: that is Changed, of no new generation. None replaces
	// nothing then.
	Source string
	// Create refuses a name that is taken; IfRevision, when not 0, refuses a definition that was changed since.
	Create     bool
	IfRevision int64
	DryRun     bool
	// OneOff marks a job that is made: it goes by itself once it has run.
	OneOff bool
}

// Check reports whether a definition could be saved: its own rules, schedules that fire, binaries that exist.
func (d *Definitions[S]) Check(ctx context.Context, namespace string, definition *S) error {
	return d.check(ctx, namespace, definition)
}

// Save creates or edits a definition, which must have its defaults applied, as spec.Decode leaves it. An open wave of a DAG
// ends on the generation that it began with.
func (d *Definitions[S]) Save(ctx context.Context, namespace string, definition *S, how Save) (engine.Definition[S], Change, error) {
	var none engine.Definition[S]
	name := d.nameOf(definition)
	if err := d.check(ctx, namespace, definition); err != nil {
		return none, "", err
	}
	for range 5 {
		old, err := d.store.Get(ctx, namespace, name)
		switch {
		case errors.Is(err, engine.ErrNotFound):
			if how.IfRevision != 0 {
				return none, "", explain(err, d.noun, name)
			}
			made, err := d.create(ctx, namespace, definition, how)
			if errors.Is(err, engine.ErrExists) && !how.Create {
				continue // another writer was first: then this is an edit
			}
			return made, Created, explain(err, d.noun, name)
		case err != nil:
			return none, "", fmt.Errorf("read %s %s: %w", d.noun, name, err)
		case how.Create:
			if d.equal(&old.Spec, definition) {
				return old, Unchanged, nil // the same creation sent twice
			}
			return none, "", explain(engine.ErrExists, d.noun, name)
		case how.IfRevision != 0 && how.IfRevision != old.Revision:
			return none, "", explain(engine.ErrConflict, d.noun, name)
		case d.equal(&old.Spec, definition) && d.wordedAs(how.Source, &old):
			return old, Unchanged, nil
		}
		saved, err := d.rewrite(ctx, old, definition, how)
		if errors.Is(err, engine.ErrConflict) && how.IfRevision == 0 {
			continue
		}
		return saved, Changed, explain(err, d.noun, name)
	}
	return none, "", explain(engine.ErrConflict, d.noun, name)
}

func (d *Definitions[S]) create(ctx context.Context, namespace string, definition *S, how Save) (engine.Definition[S], error) {
	if err := d.edit(nil, definition); err != nil {
		return engine.Definition[S]{}, err
	}
	name := d.nameOf(definition)
	if err := d.s.nameFree(ctx, namespace, d.name, name); err != nil {
		return engine.Definition[S]{}, err
	}
	now := d.s.now()
	made := engine.Definition[S]{
		UID: NewUID(), Namespace: namespace, Name: name, Spec: *d.clone(definition), Source: how.Source,
		Generation: 1, Revision: 1, Pending: true, OneOff: how.OneOff,
		CreatedAt: now, CreatedBy: how.By, UpdatedAt: now, UpdatedBy: how.By, Message: how.Message,
	}
	made.Shard = engine.ShardOf(made.UID)
	done, err := d.s.mayDefine(ctx, namespace, 1)
	if err != nil {
		return engine.Definition[S]{}, err
	}
	defer done()
	if how.DryRun {
		return made, nil
	}
	if err := d.s.follow(ctx, namespace, name, d.triggers(definition)); err != nil {
		return engine.Definition[S]{}, err
	}
	if err := d.store.Create(ctx, made); err != nil {
		return engine.Definition[S]{}, err
	}
	d.describe(ctx, nil, &made)
	d.s.wake(ctx, engine.Wake{Shard: made.Shard, Kind: d.wake, Key: made.UID})
	return made, nil
}

// rewrite saves another definition over an old one, or another text of the same: then the engine has nothing to do, and what
// is planned and since when stays.
func (d *Definitions[S]) rewrite(ctx context.Context, old engine.Definition[S], definition *S, how Save) (engine.Definition[S], error) {
	if d.equal(&old.Spec, definition) {
		old.Source = how.Source
		if how.DryRun {
			return old, nil
		}
		old.Revision++
		d.describe(ctx, &old, &old)
		return old, d.store.Replace(ctx, old)
	}
	before := old
	if err := d.edit(&old.Spec, definition); err != nil {
		return engine.Definition[S]{}, err
	}
	old.Spec, old.Source = *d.clone(definition), how.Source
	old.Generation++
	old.UpdatedAt, old.UpdatedBy, old.Message = d.s.now(), how.By, how.Message
	if how.DryRun {
		return old, nil
	}
	if err := d.s.follow(ctx, old.Namespace, old.Name, d.triggers(definition)); err != nil {
		return engine.Definition[S]{}, err
	}
	saved, err := d.replace(ctx, old)
	if err == nil {
		d.describe(ctx, &before, &saved)
	}
	return saved, err
}

// describe records in the audit log what a definition was, nil for nothing, and what it is now.
func (d *Definitions[S]) describe(ctx context.Context, before, after *engine.Definition[S]) {
	state := func(of *engine.Definition[S]) string {
		switch {
		case of == nil || of.Deleted:
			return ""
		case of.Paused:
			return fmt.Sprintf("generation %d, paused", of.Generation)
		}
		return fmt.Sprintf("generation %d", of.Generation)
	}
	audit.Describe(ctx, after.Namespace, audit.Change{What: d.noun + " " + after.Name, Before: state(before), After: state(after)})
}

// wordedAs reports whether a text says nothing new of a definition that it means: it is what a user who edits it is shown.
func (d *Definitions[S]) wordedAs(source string, definition *engine.Definition[S]) bool {
	if source == "" || source == definition.Source {
		return true
	}
	shown, err := d.text(&definition.Spec, definition.Source)
	return err == nil && source == string(shown)
}

// nameFree refuses a name that a definition of the other kind has: `run NAME` means one thing.
func (s *Service) nameFree(ctx context.Context, namespace, kind, name string) error {
	var err error
	other := "job"
	if kind == spec.KindDAG {
		_, err = s.store.Jobs().Get(ctx, namespace, name)
	} else {
		other = "DAG"
		_, err = s.store.DAGs().Get(ctx, namespace, name)
	}
	switch {
	case errors.Is(err, engine.ErrNotFound):
		return nil
	case err != nil:
		return fmt.Errorf("look for a %s %s: %w", other, name, err)
	}
	message := fmt.Sprintf("there is a %s %q already, and jobs and DAGs share their names: take another name, or delete the %s first", other, name, other)
	return &Error{Kind: KindExists, Code: "name_taken", Detail: message, Fields: []Field{{Location: "body.name", Message: message}}}
}
