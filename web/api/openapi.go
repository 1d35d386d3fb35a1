package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// OpenAPIPath is where the description of the API lies.
const OpenAPIPath = Prefix + "/openapi.json"

func (a *API) describe() huma.Config {
	registry := huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer)
	registry.RegisterTypeAlias(reflect.TypeFor[spec.Job](), reflect.TypeFor[definition]())
	registry.RegisterTypeAlias(reflect.TypeFor[spec.DAG](), reflect.TypeFor[dagDefinition]())
	registry.RegisterTypeAlias(reflect.TypeFor[engine.Status](), reflect.TypeFor[statusWord]())
	registry.RegisterTypeAlias(reflect.TypeFor[engine.Trigger](), reflect.TypeFor[triggerWord]())
	registry.RegisterTypeAlias(reflect.TypeFor[spec.Tier](), reflect.TypeFor[tierWord]())
	registry.RegisterTypeAlias(reflect.TypeFor[spec.Class](), reflect.TypeFor[classWord]())
	registry.RegisterTypeAlias(reflect.TypeFor[spec.Duration](), reflect.TypeFor[durationWord]())
	registry.RegisterTypeAlias(reflect.TypeFor[spec.Strings](), reflect.TypeFor[stringsWord]())
	registry.Map()[definitionName] = definitionSchema(spec.KindJob)
	registry.Map()[dagDefinitionName] = definitionSchema(spec.KindDAG)

	return huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI: "3.1.0",
			Info: &huma.Info{
				Title:   "Tidewheel",
				Version: a.config.Version,
				Description: "Runs uploaded programs on CRON schedules and as DAGs.\n\n" +
					"Times are RFC 3339 with fractions, durations are Go's (90s), sizes are bytes. Lists page by cursor: give next as cursor. " +
					"Every answer that is not a success is a problem (RFC 9457) with a stable code. " +
					"Idempotency-Key makes sending a POST twice the same as sending it once; a POST that does not describe it refuses it (400, key_not_supported).",
				License: &huma.License{Name: "Apache-2.0", Identifier: "Apache-2.0"},
			},
			Servers: []*huma.Server{{URL: "/"}},
			Tags: []*huma.Tag{
				{Name: "jobs", Description: "Definitions and what they plan"},
				{Name: "dags", Description: "Definitions of tasks that need each other"},
				{Name: "waves", Description: "Passes through a DAG"},
				{Name: "runs", Description: "What ran and runs"},
				{Name: "effects", Description: "What a running program does once, whatever the number of attempts"},
				{Name: "binaries", Description: "Uploaded programs"},
				{Name: "notifications", Description: "Who is notified when something fails, and what was sent"},
				{Name: "triggers", Description: "Requests that start jobs and DAGs"},
				{Name: "documents", Description: "Files of definitions"},
				{Name: "namespaces", Description: "Tenants: who owns jobs, DAGs, binaries and secrets"},
				{Name: "cluster", Description: "Who works and what waits"},
			},
			Components: &huma.Components{
				Schemas: registry,
				SecuritySchemes: map[string]*huma.SecurityScheme{
					"token":     {Type: "http", Scheme: "bearer", Description: "The token that the server made at its first start"},
					"run_token": {Type: "http", Scheme: "bearer", Description: "What a running program finds in TIDEWHEEL_RUN_TOKEN: it opens this and nothing else"},
					"session":   {Type: "apiKey", In: "cookie", Name: "tidewheel_session", Description: "Set by /login"},
				},
			},
		},
		Formats:       map[string]huma.Format{"application/json": huma.DefaultJSONFormat, "json": huma.DefaultJSONFormat},
		DefaultFormat: "application/json",
	}
}

// OpenAPI returns the description of the API as JSON.
func (a *API) OpenAPI() ([]byte, error) { return json.Marshal(a.huma.OpenAPI()) }

// document serves the description. It is made once, from all that was registered before.
func (a *API) document() error {
	text, err := a.OpenAPI()
	if err != nil {
		return fmt.Errorf("api: describe: %w", err)
	}
	a.huma.Adapter().Handle(&huma.Operation{Method: http.MethodGet, Path: OpenAPIPath}, func(ctx huma.Context) {
		ctx.SetHeader("Content-Type", "application/json")
		ctx.SetStatus(http.StatusOK)
		_, _ = ctx.BodyWriter().Write(text) // a client that has gone needs no answer
	})
	return nil
}

// operation finds an operation in the description, to tell of it what huma cannot know.
func (a *API) operation(method, path string) *huma.Operation {
	item := a.huma.OpenAPI().Paths[path]
	switch method {
	case http.MethodGet:
		return item.Get
	case http.MethodPut:
		return item.Put
	default:
		return item.Post
	}
}

// takes describes the bodies of an operation that reads them itself.
func (a *API) takes(method, path, what string, content map[string]*huma.MediaType) {
	a.operation(method, Prefix+path).RequestBody = &huma.RequestBody{Description: what, Required: true, Content: content}
}

// gives describes the answers of an operation that writes them itself.
func (a *API) gives(path, status, what string, content map[string]*huma.MediaType, headers map[string]*huma.Param) {
	a.operation(http.MethodGet, Prefix+path).Responses[status] = &huma.Response{Description: what, Content: content, Headers: headers}
}

var (
	anyBytes = &huma.Schema{Type: huma.TypeString, Format: "binary"}
	anyText  = &huma.Schema{Type: huma.TypeString}
)

const (
	definitionName    = "JobDefinition"
	dagDefinitionName = "DAGDefinition"
)

// definition stands for spec.Job in the description, whose schema package spec makes itself.
type definition struct{}

func (*definition) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Ref: "#/components/schemas/" + definitionName}
}

// dagDefinition stands for spec.DAG.
type dagDefinition struct{}

func (*dagDefinition) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Ref: "#/components/schemas/" + dagDefinitionName}
}

// definitionSchema is that of a definition. Its kind may be absent, as the path says it, but for apply and validate.
func definitionSchema(kind string) *huma.Schema {
	var all struct {
		Defs map[string]map[string]any `json:"$defs"`
	}
	if err := json.Unmarshal(spec.Schema(), &all); err != nil || all.Defs[kind] == nil {
		return &huma.Schema{Type: huma.TypeObject}
	}
	if required, is := all.Defs[kind]["required"].([]any); is {
		all.Defs[kind]["required"] = slices.DeleteFunc(required, func(name any) bool { return name == "kind" })
	}
	return &huma.Schema{Extensions: all.Defs[kind]}
}

type (
	statusWord   string
	triggerWord  string
	tierWord     string
	classWord    string
	durationWord string
	stringsWord  string
)

func words(list ...any) *huma.Schema { return &huma.Schema{Type: huma.TypeString, Enum: list} }

func (*statusWord) Schema(huma.Registry) *huma.Schema {
	var names []any
	for _, status := range engine.Statuses() {
		names = append(names, status.String())
	}
	return words(names...)
}

func (*triggerWord) Schema(huma.Registry) *huma.Schema {
	return words(string(engine.TriggerSchedule), string(engine.TriggerCatchUp), string(engine.TriggerBackfill), string(engine.TriggerManual), string(engine.TriggerEvent),
		string(engine.TriggerUpstream))
}

func (*tierWord) Schema(huma.Registry) *huma.Schema {
	return words(string(spec.TierLight), string(spec.TierMedium), string(spec.TierHeavy))
}

func (*classWord) Schema(huma.Registry) *huma.Schema {
	return words(string(spec.ClassStandard), string(spec.ClassPremium))
}

func (*durationWord) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Description: "A Go duration", Examples: []any{"1m30s"}, Pattern: `^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$`}
}

func (*stringsWord) Schema(huma.Registry) *huma.Schema {
	one := &huma.Schema{Type: huma.TypeString}
	return &huma.Schema{Description: "One text or a list of them", Examples: []any{"0 3 * * *"}, OneOf: []*huma.Schema{one, {Type: huma.TypeArray, Items: one}}}
}
