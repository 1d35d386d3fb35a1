package importer

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/tidewheel/tidewheel/spec"
)

// node is a value of a YAML document, nil where there is none. Its methods never fail: what is not of the kind that is asked for is
// as good as not there.
type node struct{ *yaml.Node }

// documents reads all documents of a file, the items of Kubernetes' lists among them.
func documents(text string) ([]node, error) {
	decoder := yaml.NewDecoder(strings.NewReader(text))
	var found []node
	for {
		var document yaml.Node
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			return found, nil
		}
		if err != nil {
			return nil, fmt.Errorf("this is not YAML: %w", err)
		}
		if len(document.Content) == 0 {
			continue
		}
		root := node{resolve(document.Content[0], 0)}
		if root.get("kind").text() == "List" {
			found = append(found, root.get("items").list()...)
			continue
		}
		if root.Kind == yaml.MappingNode {
			found = append(found, root)
		}
	}
}

// resolve follows an alias. One that leads round in a circle is nothing.
func resolve(n *yaml.Node, depth int) *yaml.Node {
	if n != nil && n.Kind == yaml.AliasNode {
		if depth > 20 {
			return nil
		}
		return resolve(n.Alias, depth+1)
	}
	return n
}

func (n node) none() bool { return n.Node == nil || n.Tag == "!!null" }

// get returns the value at a path of keys.
func (n node) get(path ...string) node {
	for _, key := range path {
		if n.Node == nil || n.Kind != yaml.MappingNode {
			return node{}
		}
		var found *yaml.Node
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == key {
				found = n.Content[i+1]
			}
		}
		n = node{resolve(found, 0)}
	}
	return n
}

// line is that of the value, 0 for none.
func (n node) line() int {
	if n.Node == nil {
		return 0
	}
	return n.Line
}

// text is a scalar as it was written, otherwise "".
func (n node) text() string {
	if n.none() || n.Kind != yaml.ScalarNode {
		return ""
	}
	return n.Value
}

// texts are the scalars of a list, or the one scalar.
func (n node) texts() []string {
	if text := n.text(); text != "" {
		return []string{text}
	}
	var texts []string
	for _, item := range n.list() {
		texts = append(texts, item.text())
	}
	return texts
}

func (n node) list() []node {
	if n.Node == nil || n.Kind != yaml.SequenceNode {
		return nil
	}
	items := make([]node, len(n.Content))
	for i, item := range n.Content {
		items[i] = node{resolve(item, 0)}
	}
	return items
}

// pair is a key of a mapping with its value.
type pair struct {
	key   string
	line  int
	value node
}

func (n node) pairs() []pair {
	if n.Node == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	var pairs []pair
	for i := 0; i+1 < len(n.Content); i += 2 {
		pairs = append(pairs, pair{n.Content[i].Value, n.Content[i].Line, node{resolve(n.Content[i+1], 0)}})
	}
	return pairs
}

func (n node) number() (int, bool) {
	number, err := strconv.Atoi(n.text())
	return number, err == nil
}

func (n node) yes() bool { return n.text() == "true" }

// seconds is a number of seconds; 0 for anything else.
func (n node) seconds() spec.Duration {
	number, ok := n.number()
	if !ok || number < 0 || number > math.MaxInt32 {
		return 0
	}
	return spec.Duration(time.Duration(number) * time.Second)
}

// labels are the pairs that Tidewheel can keep as labels; the others are noted.
func (b *builder) labels(n node) map[string]string {
	labels := map[string]string{}
	for _, p := range n.pairs() {
		labels[p.key] = p.value.text()
	}
	if len(labels) == 0 {
		return nil
	}
	return labels
}

// unmapped notes all keys of a mapping but those that are known, with what they are part of.
func (b *builder) unmapped(n node, of string, known ...string) {
	for _, p := range n.pairs() {
		if !contains(known, p.key) {
			b.note(p.line, "%s%s has no counterpart and is left out", of, p.key)
		}
	}
}

func contains(list []string, word string) bool {
	for _, item := range list {
		if item == word {
			return true
		}
	}
	return false
}
