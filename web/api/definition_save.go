package api

import (
	"context"
	"errors"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/web/service"
)

func (r *definitionRoutes[S, V, G]) create() {
	op := r.operation("create-"+r.id, http.MethodPost, "", "Create a "+r.noun,
		"201 when it is created, 200 when a "+r.noun+" with just this definition is there already, 409 when the name is taken: jobs and DAGs share their names.")
	op.DefaultStatus = http.StatusCreated
	register(r.API, op, func(ctx context.Context, in *struct {
		InNamespace
		Content
		Keyed
		Message string `query:"message" maxLength:"500" doc:"Why, for the history of generations"`
	}) (*definitionAnswer[V], error) {
		definition, document, err := r.read(&in.Content, "")
		if err != nil {
			return nil, err
		}
		request := service.Request{Namespace: in.Namespace, Operation: "create-" + r.id, Key: in.Key, Asked: definition}
		return once(ctx, r.API.service, request, func() (*definitionAnswer[V], error) {
			present, err := r.service.Get(ctx, in.Namespace, document.Name())
			if err != nil {
				return nil, err
			}
			return r.answer(ctx, present, false)
		}, func() (*definitionAnswer[V], error) {
			made, change, err := r.service.Save(ctx, in.Namespace, definition, service.Save{
				By: service.Actor(ctx), Message: in.Message, Source: document.Source, Create: true,
			})
			if err != nil {
				return nil, err
			}
			return r.answer(ctx, made, change == service.Created)
		})
	})
	r.takes(http.MethodPost, r.path, "The definition", r.content())
}

func (r *definitionRoutes[S, V, G]) replace() {
	op := r.operation("put-"+r.id, http.MethodPut, "/{name}", "Create or replace a "+r.noun,
		"201 when it is created, 200 otherwise. A definition that means the same as before changes nothing."+r.replaceWords)
	register(r.API, op, func(ctx context.Context, in *struct {
		DefinitionPath
		Content
		IfMatch     string `header:"If-Match" doc:"The ETag that was read: 412 if the definition was changed since"`
		IfNoneMatch string `header:"If-None-Match" doc:"*: 409 if there is a definition of this name"`
		Message     string `query:"message" maxLength:"500" doc:"Why, for the history of generations"`
	}) (*definitionAnswer[V], error) {
		revision, err := ifMatch(in.IfMatch)
		if err != nil {
			return nil, err
		}
		definition, document, err := r.read(&in.Content, in.Name)
		if err != nil {
			return nil, err
		}
		saved, change, err := r.service.Save(ctx, in.Namespace, definition, service.Save{
			By: service.Actor(ctx), Message: in.Message, Source: document.Source, IfRevision: revision, Create: in.IfNoneMatch == "*",
		})
		if err != nil {
			return nil, precondition(err, revision)
		}
		return r.answer(ctx, saved, change == service.Created)
	})
	r.takes(http.MethodPut, r.path+"/{name}", "The definition; its name may be left out", r.content())
}

// precondition reports a conflict as a failed If-Match, where one was given.
func precondition(err error, revision int64) error {
	var known *service.Error
	if revision == 0 || !errors.As(err, &known) || known.Kind != service.KindConflict {
		return err
	}
	return NewProblem(http.StatusPreconditionFailed, known.Code, known.Detail)
}

func (r *definitionRoutes[S, V, G]) content() map[string]*huma.MediaType {
	schema := &huma.Schema{Ref: "#/components/schemas/" + r.schema}
	return map[string]*huma.MediaType{
		"application/json": {Schema: schema, Example: r.example()},
		"application/yaml": {Schema: schema},
	}
}

// read reads the body as one definition, and the document that it stands in. name is the definition's where the path says
// it, else "".
func (r *definitionRoutes[S, V, G]) read(c *Content, name string) (*S, spec.Document, error) {
	data, err := c.small(spec.MaxFile)
	if err != nil {
		return nil, spec.Document{}, err
	}
	read := oneDocument
	if !isYAML(c.mediaType) {
		read = func(data []byte, name string) (spec.Document, error) {
			document, problems := r.decode(name, data)
			return document, service.Faults(problems)
		}
	}
	document, err := read(data, name)
	if err != nil {
		return nil, spec.Document{}, err
	}
	definition := r.of(document)
	if definition == nil {
		return nil, spec.Document{}, invalid("invalid_definition", "body.kind", "kind must be %s here, not %s", r.kind, document.Kind())
	}
	return definition, document, nil
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

func isYAML(mediaType string) bool {
	switch mediaType {
	case "application/yaml", "application/x-yaml", "text/yaml", "text/x-yaml":
		return true
	}
	return false
}
