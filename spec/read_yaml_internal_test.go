package spec

import (
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

type panickingReader struct{}

func (panickingReader) Read([]byte) (int, error) { panic("out of order") }

// The reader stands for the states that the parser believes impossible.
func TestAPanicOfTheParserIsAnError(t *testing.T) {
	err := parseYAML(panickingReader{}, func(*yaml.Node) { t.Error("a document came") })
	if err == nil || !strings.Contains(err.Error(), "the parser cannot read this: out of order") {
		t.Errorf("got %v", err)
	}
}
