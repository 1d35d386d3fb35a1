package api_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/web/webtest"
)

type object = map[string]any

// description reads the description as it is served.
func description(t *testing.T, s *site) object {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(s.ask("GET", "/api/v1/openapi.json", "").is(http.StatusOK).body))
	if err != nil {
		t.Fatal(err)
	}
	return value.(object)
}

func operations(document object) map[string]object {
	all := map[string]object{}
	for path, item := range document["paths"].(object) {
		for method, operation := range item.(object) {
			all[strings.ToUpper(method)+" "+path] = operation.(object)
		}
	}
	return all
}

// The surface is what users type: what it names is there.
func TestDescriptionHoldsTheSurface(t *testing.T) {
	s := newSite(t)
	document := description(t, s)
	if document["openapi"] != "3.1.0" || document["info"].(object)["version"] != "v0-test" {
		t.Errorf("document %v %v", document["openapi"], document["info"])
	}
	have := operations(document)
	for surface := range strings.FieldsFuncSeq(`GET /jobs|POST /jobs|GET /jobs/{name}|PUT /jobs/{name}|DELETE /jobs/{name}|POST /jobs/{name}/run
		|POST /jobs/{name}/pause|POST /jobs/{name}/resume|POST /jobs/{name}/backfill|GET /jobs/{name}/slots|GET /jobs/{name}/next
		|GET /jobs/{name}/generations|GET /jobs/{name}/difference|POST /jobs/{name}/restore|GET /jobs/{name}/statistics|GET /jobs/{name}/calendar
		|GET /dags|POST /dags|GET /dags/{name}|PUT /dags/{name}|DELETE /dags/{name}|POST /dags/{name}/run|POST /dags/{name}/pause|POST /dags/{name}/resume
		|POST /dags/{name}/backfill|GET /dags/{name}/waves|GET /dags/{name}/slots|GET /dags/{name}/calendar|GET /dags/{name}/next|GET /dags/{name}/graph|GET /dags/{name}/generations
		|GET /dags/{name}/difference|POST /dags/{name}/restore|GET /waves|GET /waves/{id}|POST /waves/{id}/cancel|POST /waves/{id}/resume|POST /waves/{id}/mark|POST /waves/{id}/clear
		|GET /runs|GET /runs/{id}|POST /runs/{id}/cancel|POST /runs/{id}/retry|GET /runs/{id}/logs|GET /runs/{id}/logs/search|GET /runs/diff|GET /runs/search|GET /runs/{id}/effects|POST /effects/{key}|PUT /effects/{key}|GET /runs/{id}/artifacts|GET /runs/{id}/artifacts/{name}
		|POST /binaries/{name}/versions|GET /binaries|GET /binaries/{name}|DELETE /binaries/{name}|GET /binaries/{name}/versions/{n}/content|GET /binaries/{name}/diff
		|PUT /binaries/{name}/aliases/{alias}|POST /binaries/{name}/rollback|GET /binary-check|GET /executors|POST /executors/{id}/drain|POST /executors/{id}/resume|GET /engines|GET /clocks|GET /queues|GET /streams|GET /ledger-check|POST /ledger-check|GET /dead-letters|GET /dead-letters/{id}|POST /dead-letters/replay|POST /dead-letters/purge
		|POST /dead-letters/{id}/replay|DELETE /dead-letters/{id}|POST /apply|POST /validate|POST /schedule/preview|GET /events|POST /v1/jobs|GET /version|GET /backup|GET /audit|GET /audit/verify
		|GET /secrets|GET /secrets/{name}|PUT /secrets/{name}|DELETE /secrets/{name}|POST /secrets-key/rotate
		|GET /users|POST /users|GET /users/me|GET /users/{name}|PUT /users/{name}|DELETE /users/{name}
		|GET /tokens|POST /tokens|DELETE /tokens/{id}|GET /sessions|DELETE /sessions/{id}
		|GET /namespaces|POST /namespaces|GET /namespaces/{name}|PUT /namespaces/{name}|DELETE /namespaces/{name}|GET /namespaces/{name}/members
		|PUT /namespaces/{name}/members/{user}|DELETE /namespaces/{name}/members/{user}
		|GET /notify/targets|GET /notify/targets/{name}|PUT /notify/targets/{name}|DELETE /notify/targets/{name}|POST /notify/targets/{name}/test
		|GET /scaling|GET /notify/deliveries|GET /notify/deliveries/{id}|POST /notify/deliveries/{id}/retry|GET /notify/incidents
		|GET /notify/silences|POST /notify/silences|DELETE /notify/silences/{id}|GET /notify/rules|PUT /notify/rules
		|POST /executor-tokens|GET /enrolled-executors|POST /enrolled-executors|DELETE /enrolled-executors/{name}|POST /enrolled-executors/{name}/renew
		|POST /jobs/{name}/labels|POST /dags/{name}/labels|GET /profile|PUT /profile|GET /favourites|PUT /favourites/{kind}/{name}|DELETE /favourites/{kind}/{name}
		|GET /timeline|GET /collisions|POST /collisions/spread|POST /hooks/{namespace}/{name}`,
		func(c rune) bool { return c == '|' }) {
		method, path, _ := strings.Cut(strings.TrimSpace(surface), " ")
		name := method + " /api/v1" + path
		if have[name] == nil {
			t.Errorf("%s is missing", name)
		}
		delete(have, name)
	}
	for name := range have {
		t.Errorf("%s is there and not looked for", name)
	}
}

func TestDescriptionIsSound(t *testing.T) {
	s := newSite(t)
	document := description(t, s)
	schemas := compiler(t, document)
	ids := map[string]string{}
	for name, operation := range operations(document) {
		id, _ := operation["operationId"].(string)
		if id == "" || ids[id] != "" {
			t.Errorf("%s has the id %q, as has %q", name, id, ids[id])
		}
		ids[id] = name
		if operation["summary"] == nil || operation["tags"] == nil || operation["security"] == nil {
			t.Errorf("%s lacks a summary, a tag or its security", name)
		}
		responses := operation["responses"].(object)
		if !slices.ContainsFunc([]string{"200", "201", "202", "204"}, func(status string) bool { return responses[status] != nil }) || responses["default"] == nil {
			t.Errorf("%s does not tell what it answers: %v", name, responses)
		}
		var declared []string
		for _, p := range list(operation["parameters"]) {
			if p.(object)["in"] == "path" {
				declared = append(declared, p.(object)["name"].(string))
			}
		}
		for segment := range strings.SplitSeq(name, "/") {
			if inner, ok := strings.CutPrefix(segment, "{"); ok && !slices.Contains(declared, strings.TrimSuffix(inner, "}")) {
				t.Errorf("%s does not declare %s", name, segment)
			}
		}
	}
	// Every schema, wherever it stands, can be used, and so every reference leads somewhere.
	walk(document, "", func(at string, node object) {
		if at == "" || !isSchema(at) {
			return
		}
		if _, err := schemas.Compile(root + "#" + at); err != nil {
			t.Errorf("%s: %v", at, err)
		}
	})
}

func TestExamplesAreTrue(t *testing.T) {
	s := newSite(t)
	document := description(t, s)
	schemas := compiler(t, document)
	checked := 0
	check := func(at string, example any) {
		schema, err := schemas.Compile(root + "#" + at)
		if err != nil {
			t.Errorf("%s: %v", at, err)
			return
		}
		checked++
		if err := schema.Validate(example); err != nil {
			t.Errorf("%s: the example %v is not what the schema says: %v", at, example, err)
		}
	}
	walk(document, "", func(at string, node object) {
		for _, example := range list(node["examples"]) {
			if isSchema(at) {
				check(at, example)
			}
		}
		if example, ok := node["example"]; ok && node["schema"] != nil {
			check(at+"/schema", example)
		}
	})
	if checked < 15 {
		t.Errorf("only %d examples were found", checked)
	}
}

// holdAnswer holds an answer against what the description says of it.
func holdAnswer(t *testing.T, document object, schemas *jsonschema.Compiler, method, template string, got *answer) {
	t.Helper()
	responses := document["paths"].(object)[template].(object)[strings.ToLower(method)].(object)["responses"].(object)
	key := fmt.Sprint(got.status)
	media, _, _ := strings.Cut(got.header.Get("Content-Type"), ";")
	if responses[key] == nil {
		for _, success := range []string{"200", "201", "202", "204"} {
			if responses[success] != nil && got.status < 300 {
				key = success // another success has the same body
			}
		}
	}
	if got.status >= 400 {
		key = "default"
	}
	schema, err := schemas.Compile(root + "#/paths/" + escape(template) + "/" + strings.ToLower(method) + "/responses/" + key + "/content/" + escape(media) + "/schema")
	if err != nil {
		t.Errorf("%s %s: %v", method, template, err)
		return
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(got.body))
	if err == nil {
		err = schema.Validate(value)
	}
	if err != nil {
		t.Errorf("%s %s answered %s: %v", method, template, got.body, err)
	}
}

// What is answered is what the description says: every kind of answer is held against its schema.
func TestAnswersAreAsDescribed(t *testing.T) {
	s := newSite(t)
	_, runs := history(s)
	document := description(t, s)
	schemas := compiler(t, document)
	hold := func(operation, path, body string) {
		t.Helper()
		method, template, _ := strings.Cut(operation, " ")
		got := s.ask(method, path, body)
		holdAnswer(t, document, schemas, method, "/api/v1"+template, got)
	}
	const job, run = "/api/v1/jobs/nightly-report", "/api/v1/runs/"
	hold("GET /jobs", "/api/v1/jobs", "")
	hold("POST /jobs", "/api/v1/jobs", `{"name":"b","binary":"report","env":{"A":"b"},"alerts":{"lag":"20s"},"exclude":["@daily"]}`)
	hold("POST /jobs", "/api/v1/jobs", `{"name":"/"}`)
	hold("GET /jobs/{name}", job, "")
	hold("GET /jobs/{name}", "/api/v1/jobs/x", "")
	hold("POST /jobs/{name}/pause", job+"/pause", "")
	hold("POST /jobs/{name}/run", job+"/run", `{"payload":{"a":[1]},"args":{"K":"v"}}`)
	hold("POST /jobs/{name}/backfill", job+"/backfill", `{"from":"2026-11-18T00:00:00Z","to":"2026-11-19T00:00:00Z"}`)
	hold("GET /jobs/{name}/slots", job+"/slots", "")
	hold("GET /jobs/{name}/next", job+"/next", "")
	hold("GET /jobs/{name}/generations", job+"/generations", "")
	hold("GET /runs", "/api/v1/runs", "")
	for i := range runs {
		hold("GET /runs/{id}", run+runs[i].ID, "")
	}
	hold("POST /runs/{id}/cancel", run+runs[2].ID+"/cancel", "")
	hold("POST /runs/{id}/retry", run+runs[1].ID+"/retry", "")
	hold("GET /dead-letters", "/api/v1/dead-letters", "")
	hold("POST /binaries/{name}/versions", "/api/v1/binaries/more/versions", program)
	hold("GET /binaries", "/api/v1/binaries", "")
	hold("GET /binaries/{name}", "/api/v1/binaries/report", "")
	hold("GET /binaries/{name}/diff", "/api/v1/binaries/report/diff?a=1&b=1", "")
	hold("PUT /binaries/{name}/aliases/{alias}", "/api/v1/binaries/report/aliases/blue", `{"version":1}`)
	hold("POST /binaries/{name}/rollback", "/api/v1/binaries/report/rollback", "")
	hold("GET /executors", "/api/v1/executors", "")
	hold("GET /queues", "/api/v1/queues", "")
	hold("POST /apply", "/api/v1/apply?dry_run=true&prune=true", twoJobs)
	hold("POST /validate", "/api/v1/validate", twoJobs)
	hold("POST /validate", "/api/v1/validate", "kind: Jobb")
	hold("POST /schedule/preview", "/api/v1/schedule/preview", `{"every":"90s"}`)
	hold("POST /v1/jobs", "/api/v1/v1/jobs", `{"job_type":"report"}`)
	dag := s.PutDAG(t, etl[:1]+`"kind":"DAG",`+etl[1:])
	wave := s.OpenWave(dag, 1, webtest.Start)
	s.PutWave(t, wave)
	s.PutRun(t, s.TaskRun(wave, "orders", engine.StatusRunning))
	hold("GET /dags", "/api/v1/dags", "")
	hold("POST /dags", "/api/v1/dags", `{"name":"f","tasks":{"a":{"binary":"report","env":{"A":"b"}},"b":{"binary":"report","needs":["a"],"when":"epoch > 1"}}}`)
	hold("POST /dags", "/api/v1/dags", `{"name":"f"}`)
	hold("GET /dags/{name}", "/api/v1/dags/etl", "")
	hold("POST /dags/{name}/pause", "/api/v1/dags/etl/pause", "")
	hold("POST /dags/{name}/run", "/api/v1/dags/etl/run", `{"payload":{"a":[1]},"args":{"K":"v"},"at":"2026-11-21T00:00:00Z"}`)
	hold("POST /dags/{name}/backfill", "/api/v1/dags/etl/backfill", `{"from":"2026-11-18T00:00:00Z","to":"2026-11-19T00:00:00Z"}`)
	hold("GET /dags/{name}/slots", "/api/v1/dags/etl/slots?root=orders", "")
	hold("GET /dags/{name}/calendar", "/api/v1/dags/etl/calendar?root=orders&month=2026-11", "")
	hold("GET /dags/{name}/next", "/api/v1/dags/etl/next", "")
	hold("GET /dags/{name}/graph", "/api/v1/dags/etl/graph", "")
	hold("GET /dags/{name}/generations", "/api/v1/dags/etl/generations", "")
	hold("GET /dags/{name}/waves", "/api/v1/dags/etl/waves", "")
	hold("GET /waves", "/api/v1/waves", "")
	hold("GET /waves/{id}", "/api/v1/waves/"+wave.ID, "")
	hold("POST /waves/{id}/mark", "/api/v1/waves/"+wave.ID+"/mark", `{"task":"join","as":"skipped"}`)
	hold("POST /waves/{id}/cancel", "/api/v1/waves/"+wave.ID+"/cancel", "")
	hold("GET /runs", "/api/v1/runs?dag=etl", "")
	hold("GET /version", "/api/v1/version", "")
}

const root = "https://example.invalid/openapi.json"

func compiler(t *testing.T, document object) *jsonschema.Compiler {
	t.Helper()
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	if err := c.AddResource(root, document); err != nil {
		t.Fatal(err)
	}
	return c
}

func list(value any) []any {
	items, _ := value.([]any)
	return items
}

func escape(key string) string {
	return strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D").Replace(key)
}

// isSchema reports whether a place in the document is that of a schema that has a name or is the whole schema of a field.
func isSchema(at string) bool {
	parts := strings.Split(at, "/")
	last := parts[len(parts)-1]
	inDefinition := strings.Contains(at, "/JobDefinition/") || strings.Contains(at, "/DAGDefinition/")
	return !inDefinition && (last == "schema" || len(parts) == 4 && parts[2] == "schemas" || len(parts) > 2 && parts[len(parts)-2] == "properties")
}

// walk visits every object of a document, with its place as a JSON pointer.
func walk(value any, at string, visit func(at string, node object)) {
	switch value := value.(type) {
	case object:
		visit(at, value)
		for key, inner := range value {
			if key != "example" && key != "examples" {
				walk(inner, at+"/"+escape(key), visit)
			}
		}
	case []any:
		for i, inner := range value {
			walk(inner, fmt.Sprintf("%s/%d", at, i), visit)
		}
	}
}

func TestDescriptionIsJSON(t *testing.T) {
	s := newSite(t)
	text, err := s.api.OpenAPI()
	if err != nil || !json.Valid(text) {
		t.Fatalf("%v", err)
	}
	again, err := s.api.OpenAPI()
	if err != nil || !bytes.Equal(text, again) {
		t.Errorf("the description is another each time: %v", err)
	}
}
