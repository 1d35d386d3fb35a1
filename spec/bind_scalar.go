package spec

import (
	"reflect"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// tagged refuses tags that would give a value another meaning than it shows.
func (b *binder) tagged(n *yaml.Node, path string) bool {
	if n.Style&yaml.TaggedStyle == 0 {
		return true
	}
	tag := n.ShortTag()
	switch {
	case tag == "!!str" && n.Kind == yaml.ScalarNode,
		tag == "!!map" && n.Kind == yaml.MappingNode,
		tag == "!!seq" && n.Kind == yaml.SequenceNode:
		return true
	case n.Kind == yaml.ScalarNode && untagged(n) == tag,
		(tag == "!!float" || tag == "!!int") && n.Kind == yaml.ScalarNode && isJSONNumber(n.Value):
		return true
	}
	b.fault(n, path, "tag "+quote(n.Tag)+" is not supported: remove it")
	return false
}

// untagged is the type that a scalar would have without its tag.
func untagged(n *yaml.Node) string {
	return (&yaml.Node{Kind: yaml.ScalarNode, Value: n.Value}).ShortTag()
}

// scalarText is the text of a scalar, and whether it was meant as text.
func scalarText(n *yaml.Node) (text string, isText, ok bool) {
	if n.Kind != yaml.ScalarNode {
		return "", false, false
	}
	switch n.ShortTag() {
	case "!!str":
		return n.Value, true, true
	case "!!null":
		return "", false, false
	default:
		return n.Value, false, true
	}
}

func (b *binder) text(n *yaml.Node, path string, field reflect.Value, option string) (string, bool) {
	choices := choicesOf(field.Type())
	text, isText, ok := scalarText(n)
	switch {
	case ok && (isText || strings.Contains(option, "scalar")):
	case choices != nil:
		b.wrong(n, path, "must be "+orList(choices)+", not "+describe(n))
		return "", false
	case ok:
		b.wrong(n, path, "must be text, not "+describe(n)+": put it in quotes")
		return "", false
	default:
		b.wrong(n, path, "must be text, not "+describe(n))
		return "", false
	}
	if text == "" && !strings.Contains(option, "empty") {
		b.wrong(n, path, "is empty: give it a value, or remove the key")
		return "", false
	}
	return text, true
}

func choicesOf(kind reflect.Type) []string {
	if kind == triggerType {
		return triggerWords()
	}
	if choice, ok := reflect.Zero(kind).Interface().(enumeration); ok {
		return choice.values()
	}
	return nil
}

// parsed reads a scalar by a function whose errors are predicates. A zero
// would mean "not given", so it cannot be given.
func parsed[T ~int64](b *binder, n *yaml.Node, path, what string, parse func(string) (T, error), field reflect.Value) {
	text, _, ok := scalarText(n)
	if !ok {
		b.wrong(n, path, "must be "+what+", not "+describe(n))
		return
	}
	value, err := parse(text)
	switch {
	case err != nil:
		b.wrong(n, path, err.Error())
	case value == 0:
		b.wrong(n, path, "must be more than "+text+": remove the key for the default")
	default:
		field.SetInt(int64(value))
	}
}

func (b *binder) integer(n *yaml.Node, path string, field reflect.Value) {
	tag := ""
	if n.Kind == yaml.ScalarNode {
		tag = n.ShortTag()
	}
	value, err := strconv.Atoi(n.Value)
	switch {
	case tag != "!!int" && tag != "!!float":
		b.wrong(n, path, "must be a whole number, not "+describe(n))
	case tag == "!!float" || err != nil:
		b.wrong(n, path, "must be a whole number, not "+quoteBare(n.Value))
	case leadingZero(n.Value):
		b.wrong(n, path, ambiguousNumber(n.Value))
	case value == 0 && !strings.HasSuffix(path, "]"):
		b.wrong(n, path, "must be more than 0")
	default:
		field.SetInt(int64(value))
	}
}

func (b *binder) number(n *yaml.Node, path string, field reflect.Value) {
	tag := ""
	if n.Kind == yaml.ScalarNode {
		tag = n.ShortTag()
	}
	if tag != "!!int" && tag != "!!float" {
		b.wrong(n, path, "must be a number, not "+describe(n))
		return
	}
	value, err := strconv.ParseFloat(n.Value, 64)
	switch {
	case err != nil || value != value:
		b.wrong(n, path, "must be a plain number such as 0.5, not "+quoteBare(n.Value))
	case leadingZero(n.Value):
		b.wrong(n, path, ambiguousNumber(n.Value))
	case value == 0:
		b.wrong(n, path, "must be more than 0")
	default:
		field.SetFloat(value)
	}
}

// leadingZero reports whether text is a number that YAML 1.1 reads as octal and people do not.
func leadingZero(text string) bool {
	text = strings.TrimLeft(text, "+-")
	return len(text) > 1 && text[0] == '0' && text[1] >= '0' && text[1] <= '9'
}

func ambiguousNumber(text string) string {
	return "is " + quoteBare(text) + ", which may be read as octal: remove the leading 0, or put text in quotes"
}

func (b *binder) time(n *yaml.Node, path string, field *time.Time) {
	text, _, ok := scalarText(n)
	if !ok {
		b.wrong(n, path, "must be a time such as 2026-12-31T23:59:59Z, not "+describe(n))
		return
	}
	instant, err := time.Parse(time.RFC3339Nano, text)
	switch {
	case err == nil && (instant.Year() < 1970 || instant.IsZero()):
		b.wrong(n, path, "must be a time since 1970, not "+quote(text))
	case err == nil:
		*field = instant
	default:
		fault := "must be a time such as 2026-12-31T23:59:59Z, not " + quote(text)
		for _, layout := range []string{"2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04", "2006-01-02"} {
			if local, err := time.Parse(layout, text); err == nil {
				fault += ": say which zone, as in " + local.Format("2006-01-02T15:04:05") + "Z or " + local.Format("2006-01-02T15:04:05") + "+06:00"
				break
			}
		}
		b.wrong(n, path, fault)
	}
}

func (b *binder) strings(n *yaml.Node, path string, field reflect.Value) {
	switch {
	case n.Kind == yaml.SequenceNode && len(n.Content) == 0:
		b.wrong(n, path, "is an empty list: give it an expression, or remove the key")
	case n.Kind == yaml.SequenceNode:
		expressions := make(Strings, len(n.Content))
		for i, element := range n.Content {
			b.value(element, path+"["+strconv.Itoa(i)+"]", reflect.ValueOf(&expressions[i]).Elem(), "")
		}
		field.Set(reflect.ValueOf(expressions))
	case n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str":
		if text, ok := b.text(n, path, reflect.ValueOf(""), ""); ok {
			field.Set(reflect.ValueOf(Strings{text}))
		}
	default:
		b.wrong(n, path, `must be an expression in quotes such as "0 3 * * *", or a list of them, not `+describe(n))
	}
}

func (b *binder) exclusion(n *yaml.Node, path string, field *Exclusion) {
	switch {
	case n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str":
		if text, ok := b.text(n, path, reflect.ValueOf(""), ""); ok {
			field.Cron = text
		}
	case n.Kind == yaml.MappingNode:
		var written span
		b.structure(n, path, reflect.ValueOf(&written).Elem())
		field.From, field.To = written.From, written.To
	default:
		b.wrong(n, path, `must be an expression in quotes such as "0 3 25 12 *", or {from, to}, not `+describe(n))
	}
}
