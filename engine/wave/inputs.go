package wave

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"github.com/tidewheel/tidewheel/dag/condition"
	"github.com/tidewheel/tidewheel/engine"
)

// maxInputs bounds the outputs that a task receives, in bytes: a message of the queue holds no more than a mebibyte.
const maxInputs = 512 << 10

// keepResult remembers what a succeeded run hands on.
func (w *Wave) keepResult(r *engine.Run) {
	if len(r.Outputs) == 0 && len(r.Artifacts) == 0 {
		return
	}
	w.results[r.ID] = taskResult{run: r.ID, attempt: r.Attempt, outputs: r.Outputs, artifacts: r.Artifacts}
}

// Arguments are those of the definition, with the wave's own over them.
func (w *Wave) Arguments() map[string]string {
	given := w.Definition.Spec.Args
	if len(w.Args) == 0 {
		return given
	}
	all := make(map[string]string, len(given)+len(w.Args))
	maps.Copy(all, given)
	maps.Copy(all, w.Args)
	return all
}

// holds evaluates a task's when.
func (w *Wave) holds(task int) (bool, error) {
	compiled := w.Definition.conditions[task]
	if compiled == nil {
		var err error
		if compiled, err = condition.Compile(w.Definition.Spec.Tasks[task].When); err != nil {
			return false, err
		}
		w.Definition.conditions[task] = compiled
	}
	environment, err := w.environment(task, compiled.Tasks())
	if err != nil {
		return false, err
	}
	return compiled.Eval(environment)
}

// items evaluates a task's for_each.
func (w *Wave) items(task int) ([]json.RawMessage, error) {
	compiled := w.Definition.lists[task]
	if compiled == nil {
		var err error
		if compiled, err = condition.CompileList(w.Definition.Spec.Tasks[task].ForEach); err != nil {
			return nil, err
		}
		w.Definition.lists[task] = compiled
	}
	environment, err := w.environment(task, compiled.Tasks())
	if err != nil {
		return nil, err
	}
	return compiled.Eval(environment)
}

// environment is what an expression of a task sees of these tasks. What a mapped task has put out under a key is the
// list of what its items have, null where one has not.
func (w *Wave) environment(task int, names []string) (condition.Environment, error) {
	e := condition.Environment{
		Outputs: map[string]map[string]any{}, Epoch: w.Epoch, Slot: w.SlotOf(task), Args: w.Arguments(),
	}
	if e.Slot.IsZero() {
		e.Slot = w.Planned()
	}
	payload := w.Payload
	if len(payload) == 0 {
		payload = w.Definition.Spec.Payload
	}
	if len(payload) > 0 {
		value, err := condition.Value(payload)
		if err != nil {
			return e, fmt.Errorf("cannot be evaluated: the payload is not JSON: %w", err)
		}
		e.Payload = value
	}
	for _, name := range names {
		outputs, err := w.outputsOf(name)
		if err != nil {
			return e, fmt.Errorf("cannot be evaluated: the outputs of %s are no JSON object: %w", name, err)
		}
		e.Outputs[name] = outputs
	}
	return e, nil
}

func (w *Wave) outputsOf(name string) (map[string]any, error) {
	task, ok := w.Definition.Task(name)
	if !ok {
		return nil, nil
	}
	f := w.fans[task]
	if f == nil {
		return object(w.results[engine.TaskRunID(w.ID, name)].outputs)
	}
	all := map[string]any{}
	for item := range f.Len() {
		outputs, err := object(w.results[engine.ItemRunID(w.ID, item, name)].outputs)
		if err != nil {
			return nil, err
		}
		for key, value := range outputs {
			list, _ := all[key].([]any)
			if list == nil {
				list = make([]any, f.Len())
				all[key] = list
			}
			list[item] = value
		}
	}
	return all, nil
}

func object(outputs json.RawMessage) (map[string]any, error) {
	if len(outputs) == 0 {
		return nil, nil
	}
	value, err := condition.Value(outputs)
	if err != nil {
		return nil, err
	}
	made, ok := value.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("they are %T", value)
	}
	return made, nil
}

// inputs are what the tasks that a task needs have left. It fails where that is more than a message holds.
func (w *Wave) inputs(task int) ([]engine.Input, error) {
	var all []engine.Input
	size := 0
	add := func(need string, item *int, items int, id string) {
		l, ok := w.results[id]
		if !ok {
			return
		}
		size += len(l.outputs)
		for i := range l.artifacts {
			size += len(l.artifacts[i].Name) + len(l.artifacts[i].SHA256) + 40
		}
		all = append(all, engine.Input{
			Task: need, Item: item, Items: items, Run: l.run, Attempt: l.attempt, Outputs: l.outputs, Artifacts: l.artifacts,
		})
	}
	for need := range w.Definition.Graph.Needs(task) {
		name := w.Definition.Graph.Name(need)
		f := w.fans[need]
		if f == nil {
			add(name, nil, 0, engine.TaskRunID(w.ID, name))
			continue
		}
		for item := range f.Len() {
			add(name, &item, f.Len(), engine.ItemRunID(w.ID, item, name))
		}
	}
	if size > maxInputs {
		return nil, fmt.Errorf("the tasks that it needs have put out %d bytes together, and a task receives at most %d: "+
			"hand on files by $TIDEWHEEL_ARTIFACTS instead", size, maxInputs)
	}
	return all, nil
}

// Describe adds to the message of a run what belongs to its wave.
func (w *Wave) Describe(t *engine.Task, r *engine.Run) {
	if r.Slot.IsZero() { // all tasks of a wave are for one instant
		t.Slot = w.Planned()
	}
	task, ok := w.TaskOf(r)
	if !ok {
		return
	}
	t.Inputs, _ = w.inputs(task) // start has seen that they are not too many
	if r.Item != nil && t.ItemValue == nil {
		if f := w.fans[task]; f != nil && *r.Item < len(f.items) {
			t.ItemValue = f.items[*r.Item]
		}
	}
	t.Args = w.expandAll(t.Args)
	if strings.Contains(strings.Join(mapValues(t.Env), ""), outputsMark) {
		env := make(map[string]string, len(t.Env))
		for key, value := range t.Env {
			env[key] = w.expand(value)
		}
		t.Env = env
	}
}

func mapValues(m map[string]string) []string {
	values := make([]string, 0, len(m))
	for _, value := range m {
		values = append(values, value)
	}
	return values
}

// outputsMark begins a reference to an output in an argument or a variable: ${outputs.join.rows}.
const outputsMark = "${outputs."

func (w *Wave) expandAll(texts []string) []string {
	for i, text := range texts {
		if strings.Contains(text, outputsMark) {
			expanded := make([]string, len(texts))
			copy(expanded, texts)
			for k := i; k < len(texts); k++ {
				expanded[k] = w.expand(texts[k])
			}
			return expanded
		}
	}
	return texts
}

// expand puts outputs in the place of references to them: a text as it is, everything else as JSON. A reference to
// something that is not there becomes nothing.
func (w *Wave) expand(text string) string {
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(text, outputsMark)
		out.WriteString(before)
		if !found {
			return out.String()
		}
		reference, after, closed := strings.Cut(rest, "}")
		task, key, named := strings.Cut(reference, ".")
		if !closed || !named {
			out.WriteString(outputsMark)
			text = rest
			continue
		}
		outputs, err := w.outputsOf(task)
		if err == nil {
			out.WriteString(plain(outputs[key]))
		}
		text = after
	}
}

func plain(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case string:
		return v
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return ""
	}
	return strings.TrimSuffix(out.String(), "\n")
}
