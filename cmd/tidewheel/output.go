package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"go.yaml.in/yaml/v3"
)

// print writes a value as the user asked: as JSON or YAML with the API's own names, or by table.
func (c *cli) print(value any, table func(w io.Writer)) error {
	switch c.output {
	case "json":
		text, err := marshal(value)
		if err != nil {
			return err
		}
		_, err = c.out.Write(text)
		return err
	case "yaml":
		return writeYAML(c.out, value)
	}
	text := page{coloured: c.coloured()}
	table(&text)
	_, err := c.out.Write(text.Bytes())
	return err
}

// marshal returns indented JSON that leaves <, > and & as they are.
func marshal(value any) ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(value); err != nil {
		return nil, fmt.Errorf("encode the output: %w", err)
	}
	return text.Bytes(), nil
}

// writeYAML goes by way of JSON, so that both forms have the same names in the same order.
func writeYAML(w io.Writer, value any) error {
	text, err := marshal(value)
	if err != nil {
		return err
	}
	var node yaml.Node
	if err := yaml.Unmarshal(text, &node); err != nil {
		return fmt.Errorf("encode the output: %w", err)
	}
	plain(&node)
	encoder := yaml.NewEncoder(w)
	encoder.SetIndent(2)
	if err := encoder.Encode(&node); err != nil {
		return fmt.Errorf("encode the output: %w", err)
	}
	return encoder.Close()
}

// plain takes JSON's braces and quotes away where YAML needs none.
func plain(node *yaml.Node) {
	switch node.Kind {
	case yaml.MappingNode, yaml.SequenceNode:
		if len(node.Content) > 0 {
			node.Style = 0
		}
	case yaml.ScalarNode:
		if node.Style == yaml.DoubleQuotedStyle {
			node.Style = 0
			node.Tag = "!!str" // a text that looks like a number keeps its quotes
			if strings.Contains(strings.TrimSuffix(node.Value, "\n"), "\n") {
				node.Style = yaml.LiteralStyle
			}
		}
	}
	for _, child := range node.Content {
		plain(child)
	}
}

// table lines up columns.
type table struct {
	writer   *tabwriter.Writer
	coloured bool
	painted  map[int]bool // columns whose words have colours
}

func newTable(w io.Writer, headings ...string) *table {
	t := &table{writer: tabwriter.NewWriter(w, 0, 0, 3, ' ', 0), painted: map[int]bool{}}
	if onto, ok := w.(*page); ok {
		t.coloured = onto.coloured
	}
	for i, heading := range headings {
		t.painted[i] = t.coloured && colouredHeadings[heading]
	}
	if len(headings) > 0 {
		t.row(toAny(headings)...)
	}
	return t
}

func toAny(words []string) []any {
	cells := make([]any, len(words))
	for i, word := range words {
		cells[i] = word
	}
	return cells
}

// row writes a line; an empty cell is shown as "-", unless it is among the last.
func (t *table) row(cells ...any) {
	words := make([]string, len(cells))
	last := 0
	for i, cell := range cells {
		words[i] = printable(fmt.Sprint(cell))
		if words[i] == "" {
			words[i] = "-"
		} else {
			last = i
		}
		if t.painted[i] {
			words[i] = paint(words[i])
		}
	}
	fmt.Fprintln(t.writer, strings.Join(words[:last+1], "\t"))
}

// field writes a line of a description, unless it has nothing to say.
func (t *table) field(name string, value any) {
	if text := printable(fmt.Sprint(value)); text != "" {
		if t.coloured && colouredHeadings[strings.ToUpper(name)] {
			text = paint(text)
		}
		fmt.Fprintf(t.writer, "%s:\t%s\n", name, text)
	}
}

func (t *table) flush() { _ = t.writer.Flush() } // into memory: cannot fail

// printable keeps what others wrote from moving the cursor or breaking a line.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || (r >= 0x80 && r < 0xa0) {
			return ' '
		}
		return r
	}, text)
}
