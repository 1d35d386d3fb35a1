package spec

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxDepth bounds how deep a payload nests.
const maxDepth = 100

// payload writes a node as compact JSON, keys in the order of the file.
func (b *binder) payload(n *yaml.Node, path string, field *json.RawMessage) {
	writer := &payloadWriter{binder: b, before: len(b.problems)}
	writer.node(n, path, 0)
	if len(b.problems) == writer.before && !writer.stopped {
		*field = writer.out.Bytes()
	}
}

type payloadWriter struct {
	*binder
	out     bytes.Buffer
	before  int
	stopped bool // too deep or too large: the rest is not looked at
}

func (w *payloadWriter) node(n *yaml.Node, path string, depth int) {
	if w.stopped {
		return
	}
	place := n
	n, done := w.resolve(n, path)
	if n == nil {
		w.stopped = true
		return
	}
	defer done()
	switch {
	case depth > maxDepth:
		w.stop(place, fmt.Sprintf("payload is nested more than %d levels deep", maxDepth))
		return
	case w.out.Len() > MaxPayload:
		w.stop(place, fmt.Sprintf("payload is more than %d bytes of JSON: pass larger data by reference", MaxPayload))
		return
	case !w.tagged(n, path):
		return
	}
	switch n.Kind {
	case yaml.MappingNode:
		w.out.WriteByte('{')
		empty := true
		w.pairs(n, path, func(key, value *yaml.Node) {
			if !empty {
				w.out.WriteByte(',')
			}
			empty = false
			w.text(key.Value)
			w.out.WriteByte(':')
			w.node(value, below(path, join(path, key.Value)), depth+1)
		})
		w.out.WriteByte('}')
	case yaml.SequenceNode:
		w.out.WriteByte('[')
		for i, element := range n.Content {
			if i > 0 {
				w.out.WriteByte(',')
			}
			w.node(element, below(path, path+"["+strconv.Itoa(i)+"]"), depth+1)
		}
		w.out.WriteByte(']')
	default:
		w.scalar(n, path)
	}
}

// below is the path of a value in a payload, or that of what holds it where it
// grows long: every one of a million values has a path.
func below(path, longer string) string {
	const most = 200
	if len(longer) > most {
		return path
	}
	return longer
}

func (w *payloadWriter) stop(n *yaml.Node, message string) {
	w.stopped = true
	w.fault(n, "payload", message)
}

func (w *payloadWriter) scalar(n *yaml.Node, path string) {
	switch n.ShortTag() {
	case "!!null":
		w.out.WriteString("null")
	case "!!bool":
		w.out.WriteString(strings.ToLower(n.Value))
	case "!!int", "!!float":
		w.number(n, path)
	default: // a date has no JSON of its own
		w.text(n.Value)
	}
}

// number keeps what is a JSON number as it is written, and writes the other
// integers of YAML (0x1f, 1_000) in decimal.
func (w *payloadWriter) number(n *yaml.Node, path string) {
	if isJSONNumber(n.Value) {
		w.out.WriteString(n.Value)
		return
	}
	plain := strings.TrimPrefix(strings.ReplaceAll(n.Value, "_", ""), "+")
	switch integer, ok := new(big.Int).SetString(plain, 0); {
	case leadingZero(n.Value):
		w.wrong(n, path, ambiguousNumber(n.Value))
	case n.ShortTag() == "!!int" && ok:
		w.out.WriteString(integer.String())
	case isJSONNumber(plain):
		w.out.WriteString(plain)
	default:
		w.wrong(n, path, "is "+quoteBare(n.Value)+", which is not a number in JSON: put it in quotes, or write it out")
	}
}

func (w *payloadWriter) text(value string) {
	encoder := json.NewEncoder(&w.out)
	encoder.SetEscapeHTML(false)
	// Encoding a string to memory cannot fail.
	_ = encoder.Encode(value)
	w.out.Truncate(w.out.Len() - 1) // the line break of Encode
}

func isJSONNumber(text string) bool {
	return text != "" && (text[0] == '-' || text[0] >= '0' && text[0] <= '9') && json.Valid([]byte(text))
}
