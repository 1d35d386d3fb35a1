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

func newDefinition(job *spec.Job) (bson.D, error) {
	held, err := newPayload(job.Payload)
	if err != nil {
		return nil, err
	}
	rest := *job
	rest.Payload = nil
	data, err := json.Marshal(&rest)
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
	if !held.value.IsZero() {
		definition = append(definition, bson.E{Key: "payload", Value: held.value})
	}
	if !held.text.IsZero() {
		definition = append(definition, bson.E{Key: "payload_json", Value: held.text})
	}
	return definition, nil
}

func readDefinition(document bson.Raw) (job spec.Job, err error) {
	elements, err := document.Elements()
	if err != nil {
		return job, fmt.Errorf("definition: %w", err)
	}
	var held payload
	rest := bson.D{}
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
	raw, err := bson.Marshal(rest)
	if err != nil {
		return job, fmt.Errorf("definition: %w", err)
	}
	data, err := toJSON(bson.RawValue{Type: bson.TypeEmbeddedDocument, Value: raw}, unescapeKey)
	if err != nil {
		return job, fmt.Errorf("definition: %w", err)
	}
	if err := json.Unmarshal(data, &job); err != nil {
		return job, fmt.Errorf("definition: %w", err)
	}
	if job.Payload, err = held.json(); err != nil {
		return job, fmt.Errorf("definition: %w", err)
	}
	return job, nil
}
