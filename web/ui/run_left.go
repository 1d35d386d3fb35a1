package ui

import (
	"encoding/json"
	"net/url"
	"strings"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/templates"
	"github.com/tidewheel/tidewheel/web/service"
)

const (
	leftFiles = 100 // shown of a run's files
	leftValue = 300 // runes shown of a value
)

// viewLeft shows what a run has handed on.
func viewLeft(run *engine.Run) templates.Left {
	left := templates.Left{Run: run.ID}
	var values map[string]json.RawMessage
	if len(run.Outputs) > 0 && json.Unmarshal(run.Outputs, &values) == nil {
		shown := make(map[string]string, len(values))
		for name, value := range values {
			shown[name] = valueWords(name, value)
		}
		for _, name := range sortedKeys(shown) {
			left.Values = append(left.Values, templates.Fact{Name: name, Value: shown[name]})
		}
	}
	for _, artifact := range run.Artifacts[:min(len(run.Artifacts), leftFiles)] {
		left.Files = append(left.Files, templates.LeftFile{
			Name: artifact.Name, Link: artifactLink(run.ID, artifact.Name), Bytes: artifact.Size, Digest: artifact.SHA256,
		})
	}
	left.More = len(run.Artifacts) - len(left.Files)
	return left
}

// valueWords shows a value: a text without its quotes, everything else as JSON.
func valueWords(name string, value json.RawMessage) string {
	words := string(value)
	var text string
	if json.Unmarshal(value, &text) == nil {
		words = text
	}
	if service.LooksSecret(name, words) {
		return hiddenValue
	}
	words = readable([]byte(words))
	if runes := []rune(words); len(runes) > leftValue {
		return string(runes[:leftValue]) + "…"
	}
	return words
}

// artifactLink is where a file is downloaded; its name may hold anything but a zero byte.
func artifactLink(run, name string) string {
	parts := strings.Split(name, "/")
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	return "/api/v1/runs/" + url.PathEscape(run) + "/artifacts/" + strings.Join(parts, "/")
}
