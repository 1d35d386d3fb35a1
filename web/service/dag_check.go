package service

import (
	"context"
	"errors"
	"fmt"

	"github.com/tidewheel/tidewheel/spec"
)

// checkDAG reports whether a DAG could be saved: its own rules, and programs that exist for all its tasks.
func (s *Service) checkDAG(ctx context.Context, namespace string, definition *spec.DAG) error {
	if problems := append(definition.Validate(), definition.Unsupported()...); len(problems) > 0 {
		return invalid(problems)
	}
	faults, err := s.taskFaults(ctx, namespace, definition)
	if err == nil {
		var more []taskFault
		more, err = s.dagAlertFaults(ctx, namespace, definition)
		faults = append(faults, more...)
	}
	if err == nil {
		var more []taskFault
		more, err = s.triggerFaults(ctx, namespace, definition.Name, definition.Triggers)
		faults = append(faults, more...)
	}
	return refusedFor(faults, err)
}

// refusedFor refuses a definition for faults of it; nil if there are none.
func refusedFor(faults []taskFault, err error) error {
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

// taskFaults reports which programs and secrets of tasks are not there, at most spec.MaxProblems. Each program is looked
// up once.
func (s *Service) taskFaults(ctx context.Context, namespace string, definition *spec.DAG) ([]taskFault, error) {
	var faults []taskFault
	known := map[[3]string]*Error{} // by binary, interpreter and the task's own
	for i := range definition.Tasks {
		task := &definition.Tasks[i]
		path := "body.tasks." + task.Name
		missing, err := s.secretFaults(ctx, namespace, path+".secrets", task.Secrets)
		if err != nil {
			return nil, err
		}
		for _, fault := range missing {
			fault.Message = fmt.Sprintf("task %s: %s", task.Name, fault.Message)
			faults = append(faults, fault)
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
