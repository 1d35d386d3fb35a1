package spec

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// Encode writes a job as one YAML document, in the order of the fields of
// [Job], without what the defaults give anyway. For a valid job, [Decode]
// reads it back as an [Job.Equal] one.
func Encode(j *Job) ([]byte, error) {
	job := j.Clone()
	job.ApplyDefaults()
	job.dropDefaults()
	written, err := encode(job)
	if err != nil {
		return nil, fmt.Errorf("spec: encode job %s: %w", quote(j.Name), err)
	}
	return written, nil
}

// EncodeDAG is Encode for a DAG; its tasks keep their order.
func EncodeDAG(d *DAG) ([]byte, error) {
	dag := d.Clone()
	dag.ApplyDefaults()
	dag.dropDefaults()
	written, err := encode(dag)
	if err != nil {
		return nil, fmt.Errorf("spec: encode DAG %s: %w", quote(d.Name), err)
	}
	return written, nil
}

func encode(document any) ([]byte, error) {
	written, err := json.Marshal(document)
	if err != nil {
		return nil, err
	}
	reader := &jsonReader{data: written, line: 1, column: 1}
	root, problem := reader.read()
	if problem != nil {
		return nil, problem
	}
	for i := 0; i+1 < len(root.Content); i += 2 {
		style(root.Content[i], "")
		style(root.Content[i+1], root.Content[i].Value)
	}
	var out bytes.Buffer
	for i := 0; i+1 < len(root.Content); i += 2 {
		if err := emitPair(&out, root.Content[i], root.Content[i+1]); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), nil
}

// emitAtOnce is about how many nodes the YAML library is given at once. It keeps an event of some hundred bytes for each
// until the end of the document: a gigabyte for a large DAG.
const emitAtOnce = 4096

// emitPair writes a key of the document with its value, and tasks in pieces that read as one.
func emitPair(out *bytes.Buffer, key, value *yaml.Node) error {
	whole := []*yaml.Node{key, value}
	if key.Value != "tasks" || value.Kind != yaml.MappingNode || value.Style == yaml.FlowStyle {
		return emit(out, whole)
	}
	for from := 0; from < len(value.Content); {
		piece, nodes := *value, 0
		to := from
		for ; to < len(value.Content) && nodes < emitAtOnce; to += 2 {
			nodes += countNodes(value.Content[to+1])
		}
		piece.Content = value.Content[from:to]
		begin := out.Len()
		if err := emit(out, []*yaml.Node{key, &piece}); err != nil {
			return err
		}
		if from > 0 { // the key stands there already
			written := out.Bytes()[begin:]
			line := bytes.IndexByte(written, '\n') + 1
			copy(written, written[line:])
			out.Truncate(out.Len() - line)
		}
		from = to
	}
	return nil
}

func emit(out *bytes.Buffer, pairs []*yaml.Node) error {
	encoder := yaml.NewEncoder(out)
	encoder.SetIndent(2)
	if err := encoder.Encode(&yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Content: pairs}); err != nil {
		return err
	}
	return encoder.Close()
}

func countNodes(n *yaml.Node) int {
	count := 1
	for _, child := range n.Content {
		count += countNodes(child)
	}
	return count
}

var (
	plainSyntax = regexp.MustCompile(`^[A-Za-z0-9_/][A-Za-z0-9_@/.+-]*( [A-Za-z0-9_@/.+-]+)*$`)
	// Other YAML readers take these for booleans.
	oldBoolean = regexp.MustCompile(`^(?i:y|n|yes|no|on|off)$`)

	onKey          = regexp.MustCompile(`^((defaults|tasks\.[^.]+)\.)?retry$|^(tasks\.[^.]+\.)?alerts$`)
	descriptionKey = regexp.MustCompile(`^(tasks\.[^.]+\.)?description$`)
)

// style makes a node look as a person would write it. path has no indexes.
func style(n *yaml.Node, path string) {
	n.Line, n.Column = 0, 0
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i]
			style(key, "")
			if key.Value == "on" && onKey.MatchString(path) {
				key.Style = 0
			}
			style(n.Content[i+1], join(path, key.Value))
		}
		if n.Style = containerStyle(n); path == "tasks" && len(n.Content) > 0 {
			n.Style = 0 // a line for each task
		}
	case yaml.SequenceNode:
		for _, element := range n.Content {
			style(element, path)
		}
		n.Style = containerStyle(n)
	default:
		scalarStyle(n, path)
	}
}

func scalarStyle(n *yaml.Node, path string) {
	switch {
	case n.Tag != "!!str":
		// A number may be another type to YAML than to JSON; the value is the same.
		if actual := untagged(n); n.Tag != "!!null" && actual != "!!str" {
			n.Tag = actual
		}
		n.Style = 0
	case path == "at":
		n.Tag, n.Style = untagged(n), 0
	case descriptionKey.MatchString(path) && readsAsBlock(n.Value):
		n.Style = yaml.LiteralStyle
	case plainSyntax.MatchString(n.Value) && untagged(n) == "!!str" && !oldBoolean.MatchString(n.Value):
		n.Style = 0
	default:
		n.Style = yaml.DoubleQuotedStyle
	}
}

// containerStyle puts what is short on one line.
func containerStyle(n *yaml.Node) yaml.Style {
	const line = 70
	if width(n, line) <= line {
		return yaml.FlowStyle
	}
	return 0
}

// width is about how many characters a node takes on one line; it stops
// counting somewhere past most.
func width(n *yaml.Node, most int) int {
	total := 2 + utf8.RuneCountInString(n.Value)
	for _, child := range n.Content {
		if total > most {
			break
		}
		total += width(child, most-total)
	}
	return total
}

// readsAsBlock reports whether text of several lines survives as a literal
// block: no line begins or ends with space, and all is printable.
func readsAsBlock(text string) bool {
	if !strings.Contains(text, "\n") {
		return false
	}
	for line := range strings.SplitSeq(text, "\n") {
		if line == "" || line != strings.TrimSpace(line) {
			return false
		}
	}
	return !strings.ContainsFunc(text, func(c rune) bool { return c != '\n' && !unicode.IsPrint(c) })
}
