package spec

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"sync"

	"github.com/invopop/jsonschema"

	"github.com/tidewheel/tidewheel/dag"
)

// SchemaID is the identity of the schema, not a place to fetch it from: a
// server gives it at /schema.json.
const SchemaID = "https://github.com/tidewheel/tidewheel/schema.json"

const timePattern = `^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2})$`

// Schema is the JSON Schema (draft 2020-12) of a document, made from the Go
// types and the texts and bounds of this package. What it refuses, Decode
// refuses; Decode refuses more, such as a schedule that never fires. The
// caller owns the bytes.
func Schema() []byte { return append([]byte(nil), schemaBytes()...) }

var schemaBytes = sync.OnceValue(func() []byte {
	reflector := &jsonschema.Reflector{
		Anonymous:      true,
		DoNotReference: true,
		Mapper:         mapType,
	}
	job := reflector.ReflectFromType(jobType)
	job.Version = ""
	job.Description = "A program, when it runs, and under which policies."
	annotate(job, "")
	// Editors show the first fault only: pairs say more than a oneOf would.
	job.Not = &jsonschema.Schema{AnyOf: pairsOf("schedule", "every", "after", "at")}

	graph := reflector.ReflectFromType(dagType)
	graph.Version = ""
	graph.Description = "Tasks that need each other: a wave passes from those that need nothing to the last."
	annotate(graph, "DAG:")

	isDAG := jsonschema.NewProperties()
	isDAG.Set("kind", &jsonschema.Schema{Const: KindDAG})
	root := &jsonschema.Schema{
		Version: jsonschema.Version,
		ID:      SchemaID,
		Title:   "Tidewheel definition",
		// An editor then shows the faults of the kind that was meant.
		If:          &jsonschema.Schema{Properties: isDAG, Required: []string{"kind"}},
		Then:        &jsonschema.Schema{Ref: "#/$defs/DAG"},
		Else:        &jsonschema.Schema{Ref: "#/$defs/Job"},
		Definitions: jsonschema.Definitions{"Job": job, "DAG": graph},
	}
	// Nothing in the tree can fail to encode.
	data, _ := json.MarshalIndent(root, "", "  ")
	return append(data, '\n')
})

// mapType returns the schema of the types that are written as something else.
func mapType(kind reflect.Type) *jsonschema.Schema {
	switch kind {
	case durationType:
		return &jsonschema.Schema{Type: "string", Pattern: durationPattern}
	case sizeType:
		return &jsonschema.Schema{Type: "string", Pattern: sizePattern}
	case timeType:
		return &jsonschema.Schema{Type: "string", Format: "date-time", Pattern: timePattern}
	case rawType:
		return &jsonschema.Schema{}
	case stringsType:
		return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{
			{Type: "string", MinLength: number(1)},
			{Type: "array", MinItems: number(1), MaxItems: number(maxExpressions), Items: &jsonschema.Schema{Type: "string", MinLength: number(1)}},
		}}
	case tasksType:
		reflector := &jsonschema.Reflector{Anonymous: true, DoNotReference: true, Mapper: mapType}
		task := reflector.ReflectFromType(taskType)
		task.Version = ""
		task.Description = "One task."
		annotate(task, "DAG:tasks.*")
		return &jsonschema.Schema{
			Type: "object", PropertyNames: &jsonschema.Schema{Pattern: namePattern}, AdditionalProperties: task,
			MinProperties: number(1), MaxProperties: number(dag.MaxTasks),
		}
	case exclusionType:
		reflector := &jsonschema.Reflector{Anonymous: true, DoNotReference: true, Mapper: mapType}
		written := reflector.ReflectFromType(reflect.TypeFor[span]())
		written.Version = ""
		written.Description = "A span of time."
		written.Properties.Value("from").Description = "The first instant of the span."
		written.Properties.Value("to").Description = "The first instant after the span."
		return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{{Type: "string", MinLength: number(1)}, written}}
	}
	if choices := choicesOf(kind); choices != nil {
		return &jsonschema.Schema{Type: "string", Enum: anySlice(choices)}
	}
	return nil
}

// annotate adds the texts and bounds of schemaFields to the properties of an
// object. What a DAG or a task has as a job does is described as the job's.
func annotate(object *jsonschema.Schema, path string) {
	for pair := object.Properties.Oldest(); pair != nil; pair = pair.Next() {
		property, at := pair.Value, join(path, pair.Key)
		field := fieldAt(at)
		property.Description = field.text
		property.Default = field.standard
		property.Examples = field.examples
		if field.bound != nil {
			field.bound(property)
		}
		if property.Properties != nil {
			annotate(property, at)
		}
	}
}

func fieldAt(path string) schemaField {
	if field, own := schemaFields[path]; own {
		return field
	}
	path = strings.TrimPrefix(path, "DAG:.")
	for _, prefix := range []string{"DAG:tasks.*.", "defaults."} {
		if inner, found := strings.CutPrefix(path, prefix); found {
			field := schemaFields[inner]
			field.standard = nil // it is that of the defaults first
			return field
		}
	}
	return schemaFields[path]
}

func pairsOf(names ...string) []*jsonschema.Schema {
	var pairs []*jsonschema.Schema
	for i, first := range names {
		for _, second := range names[i+1:] {
			pairs = append(pairs, &jsonschema.Schema{Required: []string{first, second}})
		}
	}
	return pairs
}

func number(n uint64) *uint64 { return &n }

func anySlice(words []string) []any {
	values := make([]any, len(words))
	for i, word := range words {
		values[i] = word
	}
	return values
}

// The bounds that schemaFields uses.

func pattern(expression string) func(*jsonschema.Schema) {
	return func(s *jsonschema.Schema) { s.Pattern = expression }
}

func between(least, most float64) func(*jsonschema.Schema) {
	return func(s *jsonschema.Schema) {
		s.Minimum = json.Number(strconv.FormatFloat(least, 'f', -1, 64))
		s.Maximum = json.Number(strconv.FormatFloat(most, 'f', -1, 64))
	}
}

func longest(characters uint64) func(*jsonschema.Schema) {
	return func(s *jsonschema.Schema) { s.MaxLength = &characters }
}

func constant(value string) func(*jsonschema.Schema) {
	return func(s *jsonschema.Schema) { s.Const = value }
}

// scalars is what a value may be that is taken as it is written.
func scalars() *jsonschema.Schema {
	return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{{Type: "string"}, {Type: "number"}, {Type: "boolean"}}}
}

func variables(value *jsonschema.Schema) func(*jsonschema.Schema) {
	return func(s *jsonschema.Schema) {
		s.PropertyNames = &jsonschema.Schema{
			Pattern:   environmentKey,
			MaxLength: number(maxLabelValue),
			Not:       &jsonschema.Schema{AnyOf: []*jsonschema.Schema{{Pattern: "^" + reservedPrefix}, {Const: traceVariable}}},
		}
		s.AdditionalProperties = value
		s.MaxProperties = number(maxEnvironment)
	}
}

func distinct(s *jsonschema.Schema) { s.UniqueItems = true }

func exitCodeList(s *jsonschema.Schema) {
	s.Items = &jsonschema.Schema{Type: "integer"}
	between(1, 255)(s.Items)
	s.UniqueItems = true
}

func binaryPattern() string {
	name := strings.TrimSuffix(strings.TrimPrefix(namePattern, "^"), "$")
	return `^(sha256:[0-9a-f]{64}|` + name + `(@` + name + `)?)$`
}
