package dag

import (
	"fmt"
	"strings"
)

// Kind is what is wrong with a task.
type Kind uint8

// The kinds of faults. The zero value is invalid.
const (
	TooManyTasks Kind = iota + 1
	NoTasks
	RepeatedName
	// NamesByCase: two names that differ in nothing but upper and lower case.
	NamesByCase
	UnknownNeed
	SelfNeed
	RepeatedNeed
	Cycle
	// Unreachable: no root leads to the task, because it needs one in a cycle.
	Unreachable
	// Unscheduled: a root without a schedule, where another root has one.
	Unscheduled
	UnknownTrigger
	// RootTrigger: a rule on a task that needs nothing to judge by.
	RootTrigger
)

// Fault is one thing that is wrong.
type Fault struct {
	Kind Kind
	// Task is the index of the task, -1 for the DAG as a whole.
	Task int
	// Need is the index in the task's Needs that is at fault, -1 if none is.
	Need int
	// Name is the other name that the fault is about: the unknown or repeated need, the earlier task.
	Name string
	// Message is a predicate that follows the name of what is at fault: the need, the task, or the list of tasks.
	Message string
	task    string
}

// Error is a sentence that names the task.
func (f Fault) Error() string {
	switch {
	case f.Task < 0:
		return "tasks " + f.Message
	case f.Need >= 0:
		return fmt.Sprintf("tasks.%s.needs[%d] %s", f.task, f.Need, f.Message)
	default:
		return fmt.Sprintf("tasks.%s %s", f.task, f.Message)
	}
}

// Faults are all that is wrong with a DAG: in the order of its tasks, but that
// what needs sound names (cycles and what follows) comes after the rest.
type Faults []Fault

// Error is one fault per line.
func (f Faults) Error() string {
	lines := make([]string, len(f))
	for i, fault := range f {
		lines[i] = fault.Error()
	}
	return strings.Join(lines, "\n")
}
