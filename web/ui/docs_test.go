package ui_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

func TestDocumentsArePages(t *testing.T) {
	s := newSite(t)
	list := s.see(t, "/docs")
	for _, words := range []string{`href="/docs/guarantees"`, `href="/docs/api"`, "What is promised"} {
		if !strings.Contains(list, words) {
			t.Errorf("the list of documents lacks %s", words)
		}
	}
	page := s.see(t, "/docs/guarantees")
	for _, words := range []string{"<h1>What is promised</h1>", `aria-current="page"`, `id="jobs-are-kept-apart"`, "<title>What is promised"} {
		if !strings.Contains(page, words) {
			t.Errorf("the page lacks %s", words)
		}
	}
	if strings.Count(page, "<h1") != 1 {
		t.Error("the page has more than one h1")
	}
	s.see(t, "/docs/adr/0001-libraries")
	for _, path := range []string{"/docs/absent", "/docs/images/absent.png", "/docs/images/..%2fpages.go", "/docs/../docs/pages.go"} {
		if code := s.ask(t, http.MethodGet, path, nil).Code; code != http.StatusNotFound {
			t.Errorf("GET %s: %d, want 404", path, code)
		}
	}
	picture := s.ask(t, http.MethodGet, "/docs/images/job.png", nil)
	if kind := picture.Header().Get("Content-Type"); picture.Code != http.StatusOK || kind != "image/png" {
		t.Errorf("the picture: %d, %s", picture.Code, kind)
	}
}

func TestReferenceHasEachOperationAndSchema(t *testing.T) {
	s := newSite(t)
	page := s.see(t, "/docs/api")
	var api struct {
		Paths map[string]map[string]struct {
			Summary    string
			Parameters []struct{ Name string }
		}
		Components struct {
			Schemas map[string]struct{ Properties map[string]any }
		}
	}
	if err := json.Unmarshal([]byte(s.see(t, "/api/v1/openapi.json")), &api); err != nil {
		t.Fatal(err)
	}
	operations := 0
	for path, methods := range api.Paths {
		for method, operation := range methods {
			operations++
			if !strings.Contains(page, "<code>"+path+"</code>") || !strings.Contains(page, ">"+strings.ToUpper(method)+"</span>") {
				t.Errorf("%s %s is missing", method, path)
			}
			for _, parameter := range operation.Parameters {
				if !strings.Contains(page, "<code>"+parameter.Name+"</code>") {
					t.Errorf("%s %s: parameter %s is missing", method, path, parameter.Name)
				}
			}
		}
	}
	if shown := strings.Count(page, `<details class="operation"`); shown != operations || operations < 50 {
		t.Errorf("%d operations are shown, want %d", shown, operations)
	}
	for name := range api.Components.Schemas {
		if !strings.Contains(page, `id="schema-`+name+`"`) {
			t.Errorf("schema %s is missing", name)
		}
	}
}
