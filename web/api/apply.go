package api

import (
	"context"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/web/service"
)

// maxFiles is how many bytes the files of one request may have together.
const maxFiles = 4 * spec.MaxFile

type applyAnswer struct {
	Body wire.Applied
}

func (a *API) apply() {
	register(a, huma.Operation{
		OperationID: "apply", Method: http.MethodPost, Path: "/apply", Tags: []string{"documents"},
		Summary: "Create and change what files define",
		Description: "The body is a file of YAML documents, a JSON document, or a form of many files. Nothing at all is done unless every document is without fault; " +
			"otherwise errors holds every fault with its file, line and column. Applied twice it changes nothing the second time.",
	}, func(ctx context.Context, in *struct {
		InNamespace
		Content
		Keyed
		File    string `query:"file" maxLength:"4096" doc:"What to call the body in messages"`
		DryRun  bool   `query:"dry_run" doc:"Only tell what would be done"`
		Prune   bool   `query:"prune" doc:"Delete the jobs and DAGs of the namespace that no document names"`
		Message string `query:"message" maxLength:"500" doc:"Why, for the history of generations"`
	}) (*applyAnswer, error) {
		documents, err := in.documents(in.File)
		if err != nil {
			return nil, err
		}
		request := service.Request{Namespace: in.Namespace, Operation: "apply", Key: in.Key, Asked: applyRequest(documents, in.Prune)}
		if in.DryRun {
			request.Key = "" // it does nothing
		}
		dryRun := in.DryRun
		apply := func() ([]service.Applied, error) {
			return a.service.ApplyDocuments(ctx, in.Namespace, documents, service.Apply{
				By: service.Actor(ctx), Message: in.Message, DryRun: dryRun, Prune: in.Prune,
			})
		}
		applied, err := once(ctx, a.service, request, func() ([]service.Applied, error) {
			dryRun = true // it was done before: tell how the definitions stand now, and do nothing
			return apply()
		}, apply)
		if err != nil {
			return nil, err
		}
		answer := &applyAnswer{Body: wire.Applied{Items: []wire.AppliedDocument{}, DryRun: dryRun}}
		for i := range applied {
			answer.Body.Items = append(answer.Body.Items, wire.AppliedDocument{
				Kind: applied[i].Kind, Name: applied[i].Name, Change: string(applied[i].Change), Generation: applied[i].Generation,
				File: applied[i].Document.File, Line: applied[i].Document.Line, Warnings: applied[i].Warnings,
			})
		}
		return answer, nil
	})
	a.takes(http.MethodPost, "/apply", "The documents", filesContent())
}

// applyRequest is what distinguishes one apply from another: what the documents define, however they are written.
func applyRequest(documents []spec.Document, prune bool) any {
	definitions := make([]any, len(documents))
	for i := range documents {
		definitions[i] = []any{documents[i].Job, documents[i].DAG}
	}
	return []any{definitions, prune}
}

func (a *API) validate() {
	register(a, huma.Operation{
		OperationID: "validate", Method: http.MethodPost, Path: "/validate", Tags: []string{"documents"},
		Summary: "Check files of definitions", Description: "As apply would, and nothing is done: the binaries that they name must be there.",
	}, func(ctx context.Context, in *struct {
		InNamespace
		Content
		File string `query:"file" maxLength:"4096" doc:"What to call the body in messages"`
	}) (*struct{ Body wire.Validated }, error) {
		documents, err := in.documents(in.File)
		if err != nil {
			return nil, err
		}
		if err := a.service.CheckDocuments(ctx, in.Namespace, documents); err != nil {
			return nil, err
		}
		answer := &struct{ Body wire.Validated }{wire.Validated{Items: []wire.ValidatedDocument{}}}
		for _, d := range documents {
			valid := wire.ValidatedDocument{Kind: d.Kind(), Name: d.Name(), File: d.File, Line: d.Line, Warnings: a.service.Warnings(ctx, in.Namespace, d)}
			if d.DAG != nil {
				valid.Schedule = d.DAG.Summary()
			} else {
				planned := engine.Job{Namespace: in.Namespace, Name: d.Job.Name, Spec: *d.Job, CreatedAt: a.config.Now()}
				valid.Schedule = inWords(&planned)
			}
			answer.Body.Items = append(answer.Body.Items, valid)
		}
		return answer, nil
	})
	a.takes(http.MethodPost, "/validate", "The documents", filesContent())
}

func filesContent() map[string]*huma.MediaType {
	return map[string]*huma.MediaType{
		"application/yaml": {Schema: anyText, Example: exampleYAML},
		"application/json": {Schema: &huma.Schema{AnyOf: []*huma.Schema{
			{Ref: "#/components/schemas/" + definitionName}, {Ref: "#/components/schemas/" + dagDefinitionName},
		}}, Example: exampleDefinition()},
		"multipart/form-data": {Schema: &huma.Schema{Type: huma.TypeObject, Properties: map[string]*huma.Schema{
			"file": {Type: huma.TypeArray, Items: &huma.Schema{Type: huma.TypeString, Format: "binary"}, Description: "The files; their names are used in messages"},
		}}},
	}
}

// documents reads the documents of a body, or of the files in it.
func (c *Content) documents(file string) ([]spec.Document, error) {
	data, err := c.small(maxFiles)
	if err != nil {
		return nil, err
	}
	if !strings.HasPrefix(c.mediaType, "multipart/") {
		documents, problems := spec.Decode(file, data)
		return documents, service.Faults(problems)
	}
	form := multipart.NewReader(strings.NewReader(string(data)), c.parameters["boundary"])
	var documents []spec.Document
	var problems spec.Problems
	files := 0
	for {
		part, err := form.NextPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			data, err = io.ReadAll(part)
		}
		if err != nil {
			return nil, invalid("invalid_request", "body", "the form is not understood: %s", err)
		}
		files++
		name := fileName(part)
		more, faults := spec.Decode(name, data)
		documents, problems = append(documents, more...), append(problems, faults...)
	}
	if files == 0 {
		return nil, invalid("file_missing", "body.file", "the form holds no file")
	}
	return documents, service.Faults(problems)
}

// fileName keeps the folders of a file's name, which multipart.Part cuts off: it names a place in messages, and is
// never opened.
func fileName(part *multipart.Part) string {
	if name, err := url.PathUnescape(part.Header.Get("X-File")); err == nil && name != "" {
		return name
	}
	return part.FileName()
}
