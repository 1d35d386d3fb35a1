package api_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// sentExamples counts the examples of bodies that are sent at least: a description that loses them is noticed.
const sentExamples = 6

// The server accepts each example of a body in the description, and its answers are as the description says.
func TestExamplesOfBodiesAreTaken(t *testing.T) {
	document := description(t, newSite(t))
	schemas := compiler(t, document)
	sent := 0
	for name, operation := range operations(document) {
		body, _ := operation["requestBody"].(object)
		content, _ := body["content"].(object)
		for media, described := range content {
			for _, example := range examplesOf(described.(object)) {
				sent++
				s := newSite(t) // what one example makes is not in the way of another
				for _, binary := range []string{"report", "fetch", "join", "shop-total"} {
					s.PutBinary(t, binary, "stable")
				}
				text, isText := example.(string)
				if !isText || media == "application/json" {
					encoded, err := json.Marshal(example)
					if err != nil {
						t.Fatal(err)
					}
					text = string(encoded)
				}
				method, template, _ := strings.Cut(name, " ")
				path := template
				if strings.HasSuffix(path, "/{name}") {
					path = strings.TrimSuffix(path, "{name}") + example.(object)["name"].(string)
				}
				got := s.ask(method, path, text, "Content-Type", media)
				if got.status != http.StatusOK && got.status != http.StatusCreated {
					t.Errorf("%s refuses its example of %s: %d %s", name, media, got.status, got.body)
				}
				holdAnswer(t, document, schemas, method, template, got)
			}
		}
	}
	if sent < sentExamples {
		t.Errorf("only %d examples were sent", sent)
	}
}

// examplesOf are the examples of a media type.
func examplesOf(media object) (examples []any) {
	if example, ok := media["example"]; ok {
		examples = append(examples, example)
	}
	named, _ := media["examples"].(object)
	for _, example := range named {
		examples = append(examples, example.(object)["value"])
	}
	return examples
}
