package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/web/service"
)

func (a *API) jobCreate() {
	register(a, huma.Operation{
		OperationID: "create-job", Method: http.MethodPost, Path: "/jobs", Tags: []string{"jobs"}, DefaultStatus: http.StatusCreated,
		Summary:     "Create a job",
		Description: "201 when it is created, 200 when a job with just this definition is there already, 409 when the name is taken by another.",
	}, func(ctx context.Context, in *struct {
		InNamespace
		Content
		Key     string `header:"Idempotency-Key" doc:"Accepted; a definition is its own key"`
		Message string `query:"message" maxLength:"500" doc:"Why, for the history of generations"`
	}) (*jobAnswer, error) {
		definition, err := in.definition("")
		if err != nil {
			return nil, err
		}
		job, change, err := a.service.SaveJob(ctx, in.Namespace, definition, service.Save{By: service.Actor(ctx), Message: in.Message, Create: true})
		if err != nil {
			return nil, err
		}
		return a.answerJob(ctx, job, change == service.Created)
	})
	a.takes(http.MethodPost, "/jobs", "The definition", definitionContent())
}

func definitionContent() map[string]*huma.MediaType {
	schema := &huma.Schema{Ref: "#/components/schemas/" + definitionName}
	return map[string]*huma.MediaType{
		"application/json": {Schema: schema, Example: exampleDefinition()},
		"application/yaml": {Schema: schema},
	}
}

// definition reads the body as one definition. name is the job's where the path says it, else "".
func (c *Content) definition(name string) (*spec.Job, error) {
	data, err := c.small(spec.MaxFile)
	if err != nil {
		return nil, err
	}
	if !isYAML(c.mediaType) {
		definition, problems := spec.DecodeJob(name, data)
		if err := service.Faults(problems); err != nil {
			return nil, err
		}
		return definition, nil
	}
	documents, problems := spec.Decode("", data)
	if err := service.Faults(problems); err != nil {
		return nil, err
	}
	switch {
	case len(documents) != 1:
		return nil, invalid("invalid_definition", "body", "the body holds %d documents, and must hold one: give many to %s/apply", len(documents), Prefix)
	case name != "" && documents[0].Job.Name != name:
		return nil, invalid("invalid_definition", "body.name", "name is %q, but the request is for %q: make both the same", documents[0].Job.Name, name)
	}
	return documents[0].Job, nil
}

func isYAML(mediaType string) bool {
	switch mediaType {
	case "application/yaml", "application/x-yaml", "text/yaml", "text/x-yaml":
		return true
	}
	return false
}
