package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/web/service"
)

func (a *API) dagCreate() {
	register(a, huma.Operation{
		OperationID: "create-dag", Method: http.MethodPost, Path: "/dags", Tags: []string{"dags"}, DefaultStatus: http.StatusCreated,
		Summary:     "Create a DAG",
		Description: "201 when it is created, 200 when a DAG with just this definition is there already, 409 when the name is taken by another, or by a job.",
	}, func(ctx context.Context, in *struct {
		InNamespace
		Content
		Key     string `header:"Idempotency-Key" maxLength:"255" doc:"The same key is the same request: sent again it changes nothing, and with another body it is refused (422, key_reused)"`
		Message string `query:"message" maxLength:"500" doc:"Why, for the history of generations"`
	}) (*dagAnswer, error) {
		document, err := in.dagDefinition("")
		if err != nil {
			return nil, err
		}
		request := service.Request{Namespace: in.Namespace, Operation: "create-dag", Key: in.Key, Asked: document.DAG}
		return once(ctx, a.service, request, func() (*dagAnswer, error) {
			dag, err := a.service.DAG(ctx, in.Namespace, document.DAG.Name)
			if err != nil {
				return nil, err
			}
			return a.answerDAG(ctx, dag, false)
		}, func() (*dagAnswer, error) {
			dag, change, err := a.service.SaveDAG(ctx, in.Namespace, document.DAG, service.Save{
				By: service.Actor(ctx), Message: in.Message, Source: document.Source, Create: true,
			})
			if err != nil {
				return nil, err
			}
			return a.answerDAG(ctx, dag, change == service.Created)
		})
	})
	a.takes(http.MethodPost, "/dags", "The definition", dagContent())
}

func dagContent() map[string]*huma.MediaType {
	schema := &huma.Schema{Ref: "#/components/schemas/" + dagDefinitionName}
	return map[string]*huma.MediaType{
		"application/json": {Schema: schema, Example: exampleDAG()},
		"application/yaml": {Schema: schema},
	}
}

// dagDefinition is definition for a DAG.
func (c *Content) dagDefinition(name string) (spec.Document, error) {
	data, err := c.small(spec.MaxFile)
	if err != nil {
		return spec.Document{}, err
	}
	if !isYAML(c.mediaType) {
		definition, problems := spec.DecodeDAG(name, data)
		if err := service.Faults(problems); err != nil {
			return spec.Document{}, err
		}
		return spec.Document{DAG: definition}, nil
	}
	document, err := oneDocument(data, name)
	switch {
	case err != nil:
		return spec.Document{}, err
	case document.DAG == nil:
		return spec.Document{}, invalid("invalid_definition", "body.kind", "kind must be DAG here, not %s", document.Kind())
	}
	return document, nil
}

// oneDocument reads YAML that must hold one document, of this name where the path says it.
func oneDocument(data []byte, name string) (spec.Document, error) {
	documents, problems := spec.Decode("", data)
	if err := service.Faults(problems); err != nil {
		return spec.Document{}, err
	}
	switch {
	case len(documents) != 1:
		return spec.Document{}, invalid("invalid_definition", "body", "the body holds %d documents, and must hold one: give many to %s/apply", len(documents), Prefix)
	case name != "" && documents[0].Name() != name:
		return spec.Document{}, invalid("invalid_definition", "body.name", "name is %q, but the request is for %q: make both the same", documents[0].Name(), name)
	}
	return documents[0], nil
}
