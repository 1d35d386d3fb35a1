package ui

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/templates"
)

// openAPI is what the page shows of a description of the API.
type openAPI struct {
	Info  struct{ Description string }
	Tags  []struct{ Name, Description string }
	Paths map[string]map[string]struct {
		OperationID          string
		Tags                 []string
		Summary, Description string
		Parameters           []struct {
			Name, In, Description string
			Required              bool
			Schema                apiSchema
		}
		RequestBody struct {
			Content map[string]apiContent
		}
		Responses map[string]struct {
			Description string
			Content     map[string]apiContent
		}
	}
	Components struct{ Schemas map[string]apiSchema }
}

type apiContent struct {
	Schema   apiSchema
	Example  json.RawMessage
	Examples map[string]struct{ Value json.RawMessage }
}

// apiSchema is a schema; one that is true or false says nothing.
type apiSchema struct {
	Ref         string `json:"$ref"`
	Type        any    // a word, or a list of them
	Format      string
	Description string
	Enum        []any
	Items       *apiSchema
	Properties  map[string]apiSchema
	Required    []string
	OneOf       []apiSchema
}

// UnmarshalJSON takes schemas that are true or false, too.
func (s *apiSchema) UnmarshalJSON(text []byte) error {
	if string(text) == "true" || string(text) == "false" {
		return nil
	}
	type plain apiSchema
	return json.Unmarshal(text, (*plain)(s))
}

func (u *UI) docsReference(c echo.Context) error {
	view, err := u.reference()
	if err != nil {
		return err
	}
	if view.Docs, err = u.docsView(c, referenceSlug, "REST API"); err != nil {
		return err
	}
	for _, tag := range view.Tags {
		view.Docs.Headings = append(view.Docs.Headings, templates.DocsLink{Name: tag.Name, Href: "#tag-" + tag.Name})
	}
	view.Docs.Headings = append(view.Docs.Headings, templates.DocsLink{Name: "Schemas", Href: "#schemas"})
	return u.render(c, http.StatusOK, templates.ReferencePage(view))
}

// readReference turns the description of the API into what its page shows.
func readReference(text []byte) (templates.Reference, error) {
	var api openAPI
	if err := json.Unmarshal(text, &api); err != nil {
		return templates.Reference{}, fmt.Errorf("read the description of the API: %w", err)
	}
	view := templates.Reference{Intro: strings.Split(api.Info.Description, "\n\n")}
	operations := map[string][]templates.ReferenceOperation{}
	for _, path := range slices.Sorted(maps.Keys(api.Paths)) {
		for _, method := range []string{"get", "post", "put", "delete"} {
			item, ok := api.Paths[path][method]
			if !ok {
				continue
			}
			operation := templates.ReferenceOperation{
				ID: item.OperationID, Method: strings.ToUpper(method), Path: path, Summary: item.Summary, Text: item.Description,
				Body: contents(item.RequestBody.Content),
			}
			for _, p := range item.Parameters {
				operation.Parameters = append(operation.Parameters, templates.ReferenceField{
					Name: p.Name, In: p.In, Required: p.Required, Of: typeOf(&p.Schema), Text: p.Description,
				})
			}
			for _, status := range slices.Sorted(maps.Keys(item.Responses)) {
				answer := item.Responses[status]
				operation.Answers = append(operation.Answers, templates.ReferenceAnswer{Status: status, Text: answer.Description, Content: contents(answer.Content)})
			}
			operation.Example = exampleOf(item.RequestBody.Content["application/json"])
			tag := "other"
			if len(item.Tags) > 0 {
				tag = item.Tags[0]
			}
			operations[tag] = append(operations[tag], operation)
		}
	}
	for _, tag := range api.Tags {
		if len(operations[tag.Name]) > 0 {
			view.Tags = append(view.Tags, templates.ReferenceTag{Name: tag.Name, Text: tag.Description, Operations: operations[tag.Name]})
			delete(operations, tag.Name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(operations)) {
		view.Tags = append(view.Tags, templates.ReferenceTag{Name: name, Operations: operations[name]})
	}
	for _, name := range slices.Sorted(maps.Keys(api.Components.Schemas)) {
		schema := api.Components.Schemas[name]
		view.Schemas = append(view.Schemas, templates.ReferenceSchema{Name: name, Text: schema.Description, Fields: fieldsOf(&schema)})
	}
	return view, nil
}

func contents(content map[string]apiContent) []templates.ReferenceContent {
	var list []templates.ReferenceContent
	for _, name := range slices.Sorted(maps.Keys(content)) {
		schema := content[name].Schema
		list = append(list, templates.ReferenceContent{Type: name, Of: typeOf(&schema)})
	}
	return list
}

// exampleOf is the first example of a body, indented.
func exampleOf(content apiContent) string {
	text := content.Example
	for _, name := range slices.Sorted(maps.Keys(content.Examples)) {
		if len(text) == 0 {
			text = content.Examples[name].Value
		}
	}
	if len(text) == 0 {
		return ""
	}
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		return string(text)
	}
	if indented, err := json.MarshalIndent(value, "", "  "); err == nil {
		return string(indented)
	}
	return string(text)
}

func fieldsOf(schema *apiSchema) []templates.ReferenceField {
	var fields []templates.ReferenceField
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		if strings.HasPrefix(name, "$") {
			continue
		}
		property := schema.Properties[name]
		fields = append(fields, templates.ReferenceField{
			Name: name, Required: slices.Contains(schema.Required, name), Of: typeOf(&property), Text: property.Description,
		})
	}
	return fields
}

// typeOf says in a word what a schema asks for.
func typeOf(schema *apiSchema) templates.ReferenceType {
	switch {
	case schema.Ref != "":
		name := schema.Ref[strings.LastIndexByte(schema.Ref, '/')+1:]
		return templates.ReferenceType{Name: name, Schema: name}
	case schema.Items != nil:
		of := typeOf(schema.Items)
		of.Name = "list of " + of.Name
		return of
	case len(schema.Enum) > 0:
		words := make([]string, len(schema.Enum))
		for i, word := range schema.Enum {
			words[i] = fmt.Sprint(word)
		}
		return templates.ReferenceType{Name: strings.Join(words, ", ")}
	case len(schema.OneOf) > 0:
		words := make([]string, len(schema.OneOf))
		for i := range schema.OneOf {
			words[i] = typeOf(&schema.OneOf[i]).Name
		}
		return templates.ReferenceType{Name: strings.Join(words, " or ")}
	}
	name := "any"
	switch word := schema.Type.(type) {
	case string:
		name = word
	case []any:
		var words []string
		for _, w := range word {
			if w != "null" {
				words = append(words, fmt.Sprint(w))
			}
		}
		name = strings.Join(words, " or ")
	}
	if schema.Format != "" {
		name += " (" + schema.Format + ")"
	}
	return templates.ReferenceType{Name: name}
}
