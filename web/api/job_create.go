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
		Key     string `header:"Idempotency-Key" maxLength:"255" doc:"The same key is the same request: sent again it changes nothing, and with another body it is refused (422, key_reused)"`
		Message string `query:"message" maxLength:"500" doc:"Why, for the history of generations"`
	}) (*jobAnswer, error) {
		document, err := in.definition("")
		if err != nil {
			return nil, err
		}
		request := service.Request{Namespace: in.Namespace, Operation: "create-job", Key: in.Key, Asked: document.Job}
		return once(ctx, a.service, request, func() (*jobAnswer, error) {
			job, err := a.service.Job(ctx, in.Namespace, document.Job.Name)
			if err != nil {
				return nil, err
			}
			return a.answerJob(ctx, job, false)
		}, func() (*jobAnswer, error) {
			job, change, err := a.service.SaveJob(ctx, in.Namespace, document.Job, service.Save{
				By: service.Actor(ctx), Message: in.Message, Source: document.Source, Create: true,
			})
			if err != nil {
				return nil, err
			}
			return a.answerJob(ctx, job, change == service.Created)
		})
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
func (c *Content) definition(name string) (spec.Document, error) {
	data, err := c.small(spec.MaxFile)
	if err != nil {
		return spec.Document{}, err
	}
	if !isYAML(c.mediaType) {
		definition, problems := spec.DecodeJob(name, data)
		if err := service.Faults(problems); err != nil {
			return spec.Document{}, err
		}
		return spec.Document{Job: definition}, nil
	}
	document, err := oneDocument(data, name)
	switch {
	case err != nil:
		return spec.Document{}, err
	case document.Job == nil:
		return spec.Document{}, invalid("invalid_definition", "body.kind", "kind must be Job here, not %s", document.Kind())
	}
	return document, nil
}

func isYAML(mediaType string) bool {
	switch mediaType {
	case "application/yaml", "application/x-yaml", "text/yaml", "text/x-yaml":
		return true
	}
	return false
}
