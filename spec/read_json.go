package spec

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

func validJSON(data []byte) bool { return json.Valid(data) }

// readJSON reads one JSON document into the nodes that YAML gives, so that
// both are judged by the same code and know line and column.
func (d *decoder) readJSON(data []byte) {
	reader := &jsonReader{data: data, line: 1, column: 1}
	root, problem := reader.read()
	if problem != nil {
		d.report(*problem)
		return
	}
	d.document(root, 0, "")
}

// jsonReader keeps the place up to which it has counted lines and columns.
type jsonReader struct {
	data         []byte
	decoder      *json.Decoder
	offset       int
	line, column int
}

func (r *jsonReader) read() (*yaml.Node, *Problem) {
	if len(bytes.TrimSpace(r.data)) == 0 {
		return nil, &Problem{Line: 1, Column: 1, Message: "the document is empty: send a JSON object with at least name and binary"}
	}
	var whole json.RawMessage
	if err := json.Unmarshal(r.data, &whole); err != nil {
		return nil, r.syntaxProblem(err)
	}
	r.decoder = json.NewDecoder(bytes.NewReader(r.data))
	r.decoder.UseNumber()
	root, err := r.value(0)
	if err != nil {
		return nil, r.syntaxProblem(err)
	}
	return root, nil
}

func (r *jsonReader) syntaxProblem(err error) *Problem {
	at := len(r.data)
	var deep *depthError
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &deep):
		at = deep.offset
	case errors.As(err, &syntax):
		at = int(max(0, syntax.Offset-1))
		if strings.Contains(err.Error(), "unexpected end") {
			at = len(r.data)
		}
	}
	line, column := lineAndColumn(r.data, at)
	return &Problem{Line: line, Column: column, Message: "the document is not JSON: " + err.Error()}
}

type depthError struct{ offset int }

func (e *depthError) Error() string {
	return fmt.Sprintf("it is nested more than %d levels deep", maxDepth)
}

// value reads the next value; the document is known to be well formed.
func (r *jsonReader) value(depth int) (*yaml.Node, error) {
	n := r.place()
	if depth > maxDepth+2 {
		return nil, &depthError{r.offset}
	}
	token, err := r.decoder.Token()
	if err != nil {
		return nil, err
	}
	switch token := token.(type) {
	case json.Delim:
		n.Kind, n.Tag = yaml.SequenceNode, "!!seq"
		if token == '{' {
			n.Kind, n.Tag = yaml.MappingNode, "!!map"
		}
		for r.decoder.More() {
			// The keys of an object come as strings between its values.
			child, err := r.value(depth + 1)
			if err != nil {
				return nil, err
			}
			n.Content = append(n.Content, child)
		}
		_, err = r.decoder.Token()
		return n, err
	case string:
		n.Kind, n.Tag, n.Style, n.Value = yaml.ScalarNode, "!!str", yaml.DoubleQuotedStyle, token
	case json.Number:
		n.Kind, n.Tag, n.Value = yaml.ScalarNode, "!!int", token.String()
		if strings.ContainsAny(n.Value, ".eE") {
			n.Tag = "!!float"
		}
	case bool:
		n.Kind, n.Tag, n.Value = yaml.ScalarNode, "!!bool", fmt.Sprint(token)
	case nil:
		n.Kind, n.Tag, n.Value = yaml.ScalarNode, "!!null", "null"
	}
	return n, nil
}

// place is an empty node at the beginning of the next token.
func (r *jsonReader) place() *yaml.Node {
	next := int(r.decoder.InputOffset())
	for next < len(r.data) && strings.IndexByte(" \t\r\n,:", r.data[next]) >= 0 {
		next++
	}
	r.line, r.column = advance(r.line, r.column, r.data[r.offset:next])
	r.offset = next
	return &yaml.Node{Line: r.line, Column: r.column}
}

// lineAndColumn count from 1, in characters.
func lineAndColumn(data []byte, offset int) (line, column int) {
	return advance(1, 1, data[:min(offset, len(data))])
}

func advance(line, column int, passed []byte) (int, int) {
	if breaks := bytes.Count(passed, []byte("\n")); breaks > 0 {
		line += breaks
		column = 1
		passed = passed[bytes.LastIndexByte(passed, '\n')+1:]
	}
	return line, column + utf8.RuneCount(passed)
}
