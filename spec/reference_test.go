package spec_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tidewheel/tidewheel/spec"
)

const referenceFile = "../docs/definitions.md"

func TestCommittedReferenceIsMadeOfTheSchema(t *testing.T) {
	generated := reference(t)
	if *update {
		if err := os.WriteFile(referenceFile, generated, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	committed, err := os.ReadFile(referenceFile)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(committed), string(generated)); diff != "" {
		t.Errorf("docs/definitions.md is stale; run go test ./spec -run Reference -update\n(-committed +generated):\n%s", diff)
	}
}

// field is a part of the JSON Schema.
type field struct {
	Type        string          `json:"type"`
	Description string          `json:"description"`
	Default     json.RawMessage `json:"default"`
	Enum        []string        `json:"enum"`
	Examples    []any           `json:"examples"`
	Required    []string        `json:"required"`
	Properties  ordered         `json:"properties"`
	AnyOf       []field         `json:"anyOf"`
	Items       *field          `json:"items"`
	Additional  json.RawMessage `json:"additionalProperties"`
}

// ordered keeps the order in which the schema names its fields.
type ordered []namedField

type namedField struct {
	name string
	field
}

func (o *ordered) UnmarshalJSON(source []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(source))
	if _, err := decoder.Token(); err != nil { // {
		return err
	}
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return err
		}
		var f field
		if err := decoder.Decode(&f); err != nil {
			return err
		}
		*o = append(*o, namedField{fmt.Sprint(name), f})
	}
	return nil
}

func (o ordered) find(name string) (field, bool) {
	i := slices.IndexFunc(o, func(f namedField) bool { return f.name == name })
	if i < 0 {
		return field{}, false
	}
	return o[i].field, true
}

func reference(t *testing.T) []byte {
	t.Helper()
	var schema struct {
		Defs map[string]field `json:"$defs"`
	}
	if err := json.Unmarshal(spec.Schema(), &schema); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	fmt.Fprint(&out, "# Definitions\n\nAll that a job and a DAG can say, in YAML or JSON. An unknown field is refused, with its line. This page is made of "+
		"`schema.json`, which a server has at `/schema.json` for your editor. A duration is written as `90s`, `10m` or `26h`, a time as `2026-12-31T23:59:59Z`.\n")
	dag := schema.Defs["DAG"]
	tasks, ok := dag.Properties.find("tasks")
	var task field
	if !ok || json.Unmarshal(tasks.Additional, &task) != nil || len(task.Properties) == 0 {
		t.Fatal("the schema has no tasks of a DAG")
	}
	for _, section := range []struct {
		title, before string
		of            field
	}{{"Job", "kind: Job", schema.Defs["Job"]}, {"DAG", "kind: DAG", dag}, {"Task", "tasks.NAME of a DAG", task}} {
		fmt.Fprintf(&out, "\n## %s\n\n`%s`: %s\n\n| field | type | default | |\n|---|---|---|---|\n", section.title, section.before, section.of.Description)
		rows(&out, "", section.of)
	}
	return out.Bytes()
}

func rows(out *bytes.Buffer, prefix string, of field) {
	for _, f := range of.Properties {
		name := prefix + f.name
		text := f.Description
		if slices.Contains(of.Required, f.name) {
			text += " Required."
		}
		if len(f.Enum) > 0 {
			text += " One of `" + strings.Join(slices.DeleteFunc(slices.Clone(f.Enum), func(s string) bool { return s == "" }), "`, `") + "`."
		}
		if len(f.Examples) > 0 {
			example, _ := json.Marshal(f.Examples[0])
			text += " Example: `" + string(example) + "`."
		}
		fmt.Fprintf(out, "| `%s` | %s | %s | %s |\n", name, typeOf(f.field), defaultOf(f.field), cell.Replace(strings.TrimSpace(text)))
		rows(out, name+".", f.field)
	}
}

var cell = strings.NewReplacer("|", `\|`, "\n", " ")

func typeOf(f field) string {
	switch {
	case len(f.AnyOf) > 0:
		var types []string
		for _, one := range f.AnyOf {
			if name := typeOf(one); !slices.Contains(types, name) {
				types = append(types, name)
			}
		}
		return strings.Join(types, " or ")
	case f.Type == "array":
		return "list"
	case f.Type == "":
		return "any"
	}
	return f.Type
}

func defaultOf(f field) string {
	if len(f.Default) == 0 {
		return ""
	}
	return "`" + strings.Trim(string(f.Default), `"`) + "`"
}
