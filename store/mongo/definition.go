package mongo

import (
	"encoding/json"
	"errors"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/tidewheel/tidewheel/spec"
)

// A definition is kept in the shape of its YAML, so that people can read and edit it in the database. Two things
// differ: keys that users choose are escaped where a server might refuse them (see escapeKey), and a payload that
// BSON would change is kept as a text of JSON in payload_json.

func newDefinition(job *spec.Job) (bson.Raw, error) {
	rest := *job
	rest.Payload = nil
	definition, err := definitionOf(&rest)
	if err != nil {
		return nil, err
	}
	if definition, err = withPayload(definition, job.Payload); err != nil {
		return nil, err
	}
	return bson.Marshal(definition)
}

func readDefinition(document bson.Raw) (job spec.Job, err error) {
	rest, data, err := splitPayload(document)
	if err != nil {
		return job, fmt.Errorf("definition: %w", err)
	}
	if err := readRest(rest, &job); err != nil {
		return job, err
	}
	job.Payload = data
	return job, nil
}

// newDAGDefinition does for the payload of each task what newDefinition does for a job's. The order of the tasks is kept.
func newDAGDefinition(dag *spec.DAG) (bson.Raw, error) {
	rest := *dag
	rest.Payload = nil
	rest.Tasks = append(spec.Tasks(nil), dag.Tasks...)
	for i := range rest.Tasks {
		rest.Tasks[i].Payload = nil
	}
	definition, err := definitionOf(&rest)
	if err != nil {
		return nil, err
	}
	for _, element := range definition {
		tasks, ok := element.Value.(bson.D)
		if element.Key != "tasks" || !ok {
			continue
		}
		for i := range tasks {
			task, _ := tasks[i].Value.(bson.D)
			if tasks[i].Value, err = withPayload(task, dag.Tasks[i].Payload); err != nil {
				return nil, fmt.Errorf("task %s: %w", dag.Tasks[i].Name, err)
			}
		}
	}
	if definition, err = withPayload(definition, dag.Payload); err != nil {
		return nil, err
	}
	return bson.Marshal(definition)
}

func readDAGDefinition(document bson.Raw) (dag spec.DAG, err error) {
	rest, data, err := splitPayload(document)
	if err != nil {
		return dag, fmt.Errorf("definition: %w", err)
	}
	var payloads []json.RawMessage
	for i, element := range rest {
		value, _ := element.Value.(bson.RawValue)
		tasks, ok := value.DocumentOK()
		if element.Key != "tasks" || !ok {
			continue
		}
		elements, err := tasks.Elements()
		if err != nil {
			return dag, fmt.Errorf("definition: tasks: %w", err)
		}
		without := bson.D{}
		for _, task := range elements {
			document, _ := task.Value().DocumentOK()
			rest, data, err := splitPayload(document)
			if err != nil {
				return dag, fmt.Errorf("definition: task %s: %w", task.Key(), err)
			}
			without, payloads = append(without, bson.E{Key: task.Key(), Value: rest}), append(payloads, data)
		}
		rest[i].Value = without
	}
	if err := readRest(rest, &dag); err != nil {
		return dag, err
	}
	dag.Payload = data
	for i := range dag.Tasks {
		dag.Tasks[i].Payload = payloads[i]
	}
	return dag, nil
}

// definitionOf returns what is written as JSON as a document.
func definitionOf(written any) (bson.D, error) {
	data, err := json.Marshal(written)
	if err != nil {
		return nil, err
	}
	converted, err := toBSON(data, func(key string) (string, error) { return escapeKey(key), nil })
	if err != nil {
		return nil, err
	}
	definition, ok := converted.(bson.D)
	if !ok {
		return nil, errors.New("a definition is not an object")
	}
	return definition, nil
}

// readRest is the way back.
func readRest(rest bson.D, into any) error {
	raw, err := bson.Marshal(rest)
	if err != nil {
		return fmt.Errorf("definition: %w", err)
	}
	data, err := toJSON(bson.RawValue{Type: bson.TypeEmbeddedDocument, Value: raw}, unescapeKey)
	if err != nil {
		return fmt.Errorf("definition: %w", err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("definition: %w", err)
	}
	return nil
}

// withPayload adds a payload, if there is any.
func withPayload(document bson.D, data json.RawMessage) (bson.D, error) {
	held, err := newPayload(data)
	if err != nil {
		return nil, err
	}
	if !held.value.IsZero() {
		document = append(document, bson.E{Key: "payload", Value: held.value})
	}
	if !held.text.IsZero() {
		document = append(document, bson.E{Key: "payload_json", Value: held.text})
	}
	return document, nil
}

// splitPayload takes a payload out of a document.
func splitPayload(document bson.Raw) (rest bson.D, data json.RawMessage, err error) {
	elements, err := document.Elements()
	if err != nil {
		return nil, nil, err
	}
	var held payload
	rest = bson.D{}
	for _, element := range elements {
		switch element.Key() {
		case "payload":
			held.value = element.Value()
		case "payload_json":
			held.text = element.Value()
		default:
			rest = append(rest, bson.E{Key: element.Key(), Value: element.Value()})
		}
	}
	data, err = held.json()
	return rest, data, err
}
