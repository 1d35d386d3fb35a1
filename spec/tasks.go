package spec

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// Tasks are the tasks of a DAG in the order in which they are written. In JSON
// and YAML they are a mapping from names to tasks; the order means nothing to
// the engine, but is kept for people.
type Tasks []Task

// MarshalJSON writes an object, in order.
func (t Tasks) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false) // the caller that marshals the DAG decides whether a payload is escaped
	out.WriteByte('{')
	for i := range t {
		if i > 0 {
			out.WriteByte(',')
		}
		if err := encoder.Encode(t[i].Name); err != nil {
			return nil, err
		}
		out.WriteByte(':')
		if err := encoder.Encode(&t[i]); err != nil {
			return nil, err
		}
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

// UnmarshalJSON reads an object, and keeps its order.
func (t *Tasks) UnmarshalJSON(data []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	opening, err := decoder.Token()
	if err != nil {
		return fmt.Errorf("spec: tasks: %w", err)
	}
	if opening != json.Delim('{') {
		return errors.New("spec: tasks must be an object of names to tasks")
	}
	var tasks Tasks
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return fmt.Errorf("spec: tasks: %w", err)
		}
		task := Task{Name: name.(string)} // the keys of an object are strings
		if err := decoder.Decode(&task); err != nil {
			return fmt.Errorf("spec: task %s: %w", quote(task.Name), err)
		}
		tasks = append(tasks, task)
	}
	*t = tasks
	return nil
}
