package service

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// SaveDAG creates or edits a DAG, as SaveJob does a job. A wave that is open ends on the generation that it began with.
func (s *Service) SaveDAG(ctx context.Context, namespace string, definition *spec.DAG, how Save) (engine.DAG, Change, error) {
	if err := s.CheckDAG(ctx, namespace, definition); err != nil {
		return engine.DAG{}, "", err
	}
	for range 5 {
		old, err := s.store.DAG(ctx, namespace, definition.Name)
		switch {
		case errors.Is(err, engine.ErrNotFound):
			if how.IfRevision != 0 {
				return engine.DAG{}, "", explain(err, "DAG", definition.Name)
			}
			dag, err := s.createDAG(ctx, namespace, definition, how)
			if errors.Is(err, engine.ErrExists) && !how.Create {
				continue // somebody else was first: then this is an edit
			}
			return dag, Created, explain(err, "DAG", definition.Name)
		case err != nil:
			return engine.DAG{}, "", fmt.Errorf("read DAG %s: %w", definition.Name, err)
		case how.Create:
			if old.Spec.Equal(definition) {
				return old, Unchanged, nil // the same creation sent twice
			}
			return engine.DAG{}, "", explain(engine.ErrExists, "DAG", definition.Name)
		case how.IfRevision != 0 && how.IfRevision != old.Revision:
			return engine.DAG{}, "", explain(engine.ErrConflict, "DAG", definition.Name)
		case old.Spec.Equal(definition) && dagWordedAs(how.Source, &old):
			return old, Unchanged, nil
		}
		edit := s.editDAG
		if old.Spec.Equal(definition) {
			edit = s.rewordDAG
		}
		dag, err := edit(ctx, old, definition, how)
		if errors.Is(err, engine.ErrConflict) && how.IfRevision == 0 {
			continue
		}
		return dag, Changed, explain(err, "DAG", definition.Name)
	}
	return engine.DAG{}, "", explain(engine.ErrConflict, "DAG", definition.Name)
}

func (s *Service) createDAG(ctx context.Context, namespace string, definition *spec.DAG, how Save) (engine.DAG, error) {
	if err := s.nameFree(ctx, namespace, spec.KindDAG, definition.Name); err != nil {
		return engine.DAG{}, err
	}
	now := s.now()
	dag := engine.DAG{
		UID: NewUID(), Namespace: namespace, Name: definition.Name, Spec: *definition.Clone(), Source: how.Source,
		Generation: 1, Revision: 1, Pending: true,
		CreatedAt: now, CreatedBy: how.By, UpdatedAt: now, UpdatedBy: how.By, Message: how.Message,
	}
	dag.Shard = engine.ShardOf(dag.UID)
	if how.DryRun {
		return dag, nil
	}
	if err := s.store.CreateDAG(ctx, dag); err != nil {
		return engine.DAG{}, err
	}
	s.wake(ctx, engine.Wake{Shard: dag.Shard, Kind: engine.WakeDAG, Key: dag.UID})
	return dag, nil
}

func (s *Service) editDAG(ctx context.Context, dag engine.DAG, definition *spec.DAG, how Save) (engine.DAG, error) {
	dag.Spec, dag.Source = *definition.Clone(), how.Source
	dag.Generation++
	dag.UpdatedAt, dag.UpdatedBy, dag.Message = s.now(), how.By, how.Message
	if how.DryRun {
		return dag, nil
	}
	return s.replaceDAG(ctx, dag)
}

// dagWordedAs is wordedAs for a DAG.
func dagWordedAs(source string, dag *engine.DAG) bool {
	if source == "" || source == dag.Source {
		return true
	}
	shown, err := spec.TextDAG(&dag.Spec, dag.Source)
	return err == nil && source == string(shown)
}

// rewordDAG does for a DAG what rewordJob does.
func (s *Service) rewordDAG(ctx context.Context, dag engine.DAG, _ *spec.DAG, how Save) (engine.DAG, error) {
	dag.Source = how.Source
	if how.DryRun {
		return dag, nil
	}
	dag.Revision++
	if err := s.store.ReplaceDAG(ctx, dag); err != nil {
		return engine.DAG{}, err
	}
	return dag, nil
}

func (s *Service) replaceDAG(ctx context.Context, dag engine.DAG) (engine.DAG, error) {
	dag.Revision++
	dag.Pending = true
	if err := s.store.ReplaceDAG(ctx, dag); err != nil {
		return engine.DAG{}, err
	}
	s.wake(ctx, engine.Wake{Shard: dag.Shard, Kind: engine.WakeDAG, Key: dag.UID})
	return dag, nil
}

// CheckDAG says whether a definition could be saved: its own rules, and programs that exist for all its tasks.
func (s *Service) CheckDAG(ctx context.Context, namespace string, definition *spec.DAG) error {
	if problems := append(definition.Validate(), definition.Unsupported()...); len(problems) > 0 {
		return invalid(problems)
	}
	faults, err := s.taskFaults(ctx, namespace, definition)
	if err != nil || len(faults) == 0 {
		return err
	}
	detail := faults[0].Message
	if len(faults) > 1 {
		detail = fmt.Sprintf("the definition has %d problems; the first: %s", len(faults), detail)
	}
	return &Error{Kind: KindInvalid, Code: faults[0].code, Detail: detail, Fields: fieldsOf(faults)}
}

// taskFault is a faulty field of a task, with the code of its error.
type taskFault struct {
	Field
	code string
}

func fieldsOf(faults []taskFault) []Field {
	fields := make([]Field, len(faults))
	for i := range faults {
		fields[i] = faults[i].Field
	}
	return fields
}

// taskFaults tells which programs and secrets of tasks are not there, at most spec.MaxProblems. Each program is looked
// up once.
func (s *Service) taskFaults(ctx context.Context, namespace string, definition *spec.DAG) ([]taskFault, error) {
	var faults []taskFault
	known := map[[3]string]*Error{} // by binary, interpreter and the task's own
	for i := range definition.Tasks {
		task := &definition.Tasks[i]
		path := "body.tasks." + task.Name
		for _, name := range slices.Sorted(maps.Values(task.Secrets)) {
			missing := noSecret(path+".secrets", name)
			faults = append(faults, taskFault{missing.Fields[0], missing.Code})
		}
		job := definition.TaskJob(i)
		fault, err := s.programFault(ctx, namespace, job, task.Interpreter, known)
		if err != nil {
			return nil, err
		}
		if fault != nil {
			at := fault.Fields[0]
			at.Location = path + "." + at.Location[len("body."):]
			at.Message = fmt.Sprintf("task %s: %s", task.Name, at.Message)
			faults = append(faults, taskFault{at, fault.Code})
		}
		if len(faults) >= spec.MaxProblems {
			break
		}
	}
	return faults, nil
}

// programFault judges the program of a task. own is the interpreter that the task itself names: the one of the defaults
// may be meant for other tasks.
func (s *Service) programFault(ctx context.Context, namespace string, job *spec.Job, own string, known map[[3]string]*Error) (*Error, error) {
	key := [3]string{job.Binary, job.Interpreter, own}
	if fault, looked := known[key]; looked {
		return fault, nil
	}
	version, err := s.ResolveBinary(ctx, namespace, job)
	if err == nil {
		err = unusedInterpreter(own, job.Binary, version.Kind)
	}
	fault, refused := errors.AsType[*Error](err)
	if err != nil && (!refused || fault.Kind != KindInvalid) {
		return nil, err
	}
	known[key] = fault
	return fault, nil
}

// nameFree refuses a name that a definition of the other kind has: `run NAME` means one thing.
func (s *Service) nameFree(ctx context.Context, namespace, kind, name string) error {
	var err error
	other := "job"
	if kind == spec.KindDAG {
		_, err = s.store.Job(ctx, namespace, name)
	} else {
		other = "DAG"
		_, err = s.store.DAG(ctx, namespace, name)
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
