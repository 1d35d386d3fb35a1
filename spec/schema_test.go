package spec_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"github.com/tidewheel/tidewheel/spec"
)

var update = flag.Bool("update", false, "write docs/schema.json anew")

const schemaFile = "../docs/schema.json"

func TestCommittedSchemaIsTheGeneratedOne(t *testing.T) {
	if *update {
		if err := os.WriteFile(schemaFile, spec.Schema(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	committed, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(committed), string(spec.Schema())); diff != "" {
		t.Errorf("docs/schema.json is stale; run go test ./spec -run Schema -update\n(-committed +generated):\n%s", diff)
	}
}

func compileSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(spec.Schema()))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	if err := compiler.AddResource(spec.SchemaID, document); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile(spec.SchemaID)
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func TestSchemaDescribesEveryKey(t *testing.T) {
	type object struct {
		Description string
		Properties  map[string]*json.RawMessage
		Tasks       json.RawMessage `json:"additionalProperties"`
	}
	var check func(path string, data json.RawMessage)
	check = func(path string, data json.RawMessage) {
		var node object
		if err := json.Unmarshal(data, &node); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if node.Description == "" {
			t.Errorf("%s has no description", path)
		}
		for key, property := range node.Properties {
			check(path+"."+key, *property)
		}
		if path == "DAG.tasks" {
			check(path+".*", node.Tasks)
		}
	}
	var root struct {
		Definitions map[string]json.RawMessage `json:"$defs"`
	}
	if err := json.Unmarshal(spec.Schema(), &root); err != nil {
		t.Fatal(err)
	}
	check("Job", root.Definitions["Job"])
	check("DAG", root.Definitions["DAG"])
}

// What the schema says of its defaults and examples is true.
func TestSchemaDefaultsAndExamplesAreAccepted(t *testing.T) {
	var root struct {
		Definitions map[string]struct {
			Properties map[string]struct {
				Default  any
				Examples []any
			}
		} `json:"$defs"`
	}
	if err := json.Unmarshal(spec.Schema(), &root); err != nil {
		t.Fatal(err)
	}
	plain := decodeOne(t, head)
	for key, property := range root.Definitions["Job"].Properties {
		values := property.Examples
		if property.Default != nil {
			values = append(values, property.Default)
		}
		for _, value := range values {
			body := map[string]any{"name": "a", "binary": "b"}
			body[key] = value
			data, err := json.Marshal(body)
			if err != nil {
				t.Fatal(err)
			}
			job, problems := spec.DecodeJob("", data)
			if len(problems) > 0 {
				t.Errorf("example %s is refused: %v", data, problems)
			} else if property.Default != nil && value == property.Default && !job.Equal(plain) {
				t.Errorf("default %s is not what an empty job means", data)
			}
		}
	}
}

func TestSchemaAcceptsWhatDecodeAccepts(t *testing.T) {
	schema := compileSchema(t)
	for _, text := range []string{
		string(exampleYAML(t)),
		head,
		head + "schedule: [0 3 * * *, '@every 90s']\n",
		head + "every: 1.5h\nlabels: {a.b/c-d: 1}\nenv: {A: true}\n",
		head + "payload: null\nafter: 10ms\n",
		"kind: Job\nname: a\nbinary: b@12\ninterpreter: /usr/bin/perl\nat: 2026-12-31T23:59:59.25-03:30\n",
	} {
		decodeOne(t, text)
		if err := schema.Validate(asJSON(t, text)); err != nil {
			t.Errorf("%v\n%s", err, text)
		}
	}
}

func TestSchemaAcceptsDAGs(t *testing.T) {
	schema := compileSchema(t)
	if err := schema.Validate(asJSON(t, exampleDAG)); err != nil {
		t.Error(err)
	}
	for _, text := range []string{
		"  a: {binary: b, needs: a}\n", "  a: {binary: b, trigger: never}\n", "  a b: {binary: b}\n", "  a: {binary: b, for_each: [1]}\n",
		"  a: {binary: b, overlap: skip}\n", "  a: {binary: b}\noverlap: allow\n", "  a: {binary: b}\nevery: 5s\n", "  {}\n",
	} {
		if err := schema.Validate(asJSON(t, dagHead+text)); err == nil {
			t.Errorf("the schema accepts\n%s", text)
		}
	}
}

func TestSchemaRefusesWhatDecodeRefuses(t *testing.T) {
	schema := compileSchema(t)
	for _, bad := range badInputs {
		if bad.beyondSchema && !convertible(bad.input()) {
			continue // repeated keys, tags and the like have no JSON to judge
		}
		err := schema.Validate(asJSON(t, bad.input()))
		if refused := err != nil; refused == bad.beyondSchema {
			t.Errorf("%s: the schema says %v; beyondSchema is %v\n%s", bad.name, err, bad.beyondSchema, bad.input())
		}
	}
}

// asJSON is the value of a YAML document as a JSON reader sees it.
func asJSON(t *testing.T, text string) any {
	t.Helper()
	var node yaml.Node
	if err := yaml.Unmarshal([]byte(text), &node); err != nil {
		t.Fatal(err)
	}
	plainTimes(&node)
	var value any
	if err := node.Decode(&value); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return value
}

func convertible(text string) bool {
	var value any
	return yaml.Unmarshal([]byte(text), &value) == nil
}

// plainTimes makes dates text, as they are in JSON.
func plainTimes(n *yaml.Node) {
	if n.Tag == "!!timestamp" {
		n.Tag = "!!str"
	}
	for _, child := range n.Content {
		plainTimes(child)
	}
}
