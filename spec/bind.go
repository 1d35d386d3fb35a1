package spec

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/tidewheel/tidewheel/dag"
)

// maxExpanded bounds the nodes that one document reaches through aliases, so
// that a few lines of aliases of aliases cannot stand for millions.
const maxExpanded = 10_000

// binder copies the nodes of one document into a Job or a DAG and remembers where every
// value was written.
type binder struct {
	before   int // lines of the file before those that the nodes count
	problems Problems
	places   map[string]*yaml.Node // path to what is written there
	faulty   map[string]bool       // paths that have a problem already
	open     map[*yaml.Node]bool   // anchored nodes that are being read
	expanded int
	root     reflect.Type // of the document
}

func newBinder(before int) *binder {
	return &binder{
		before: before,
		places: map[string]*yaml.Node{},
		faulty: map[string]bool{},
		open:   map[*yaml.Node]bool{},
	}
}

var (
	jobType       = reflect.TypeFor[Job]()
	dagType       = reflect.TypeFor[DAG]()
	taskType      = reflect.TypeFor[Task]()
	tasksType     = reflect.TypeFor[Tasks]()
	triggerType   = reflect.TypeFor[dag.Trigger]()
	durationType  = reflect.TypeFor[Duration]()
	sizeType      = reflect.TypeFor[Size]()
	timeType      = reflect.TypeFor[time.Time]()
	stringsType   = reflect.TypeFor[Strings]()
	exclusionType = reflect.TypeFor[Exclusion]()
	rawType       = reflect.TypeFor[json.RawMessage]()
)

// bindDocument copies a document into a *Job or a *DAG.
func (b *binder) bindDocument(root *yaml.Node, document any) {
	value := reflect.ValueOf(document).Elem()
	b.root = value.Type()
	b.value(root, "", value, "")
}

// fault reports a whole sentence at a node.
func (b *binder) fault(n *yaml.Node, path, message string) {
	b.faultAt(n, Problem{Path: path, Message: message})
}

func (b *binder) faultAt(n *yaml.Node, problem Problem) {
	problem.Line, problem.Column = n.Line+b.before, n.Column
	b.faulty[problem.Path] = true
	if len(b.problems) < keptProblems {
		b.problems = append(b.problems, problem)
	}
}

// wrong reports a predicate about the value at a path.
func (b *binder) wrong(n *yaml.Node, path, predicate string) {
	b.faultAt(n, problemAt(path, predicate))
}

// resolve follows an alias. It returns nil, with the problem reported, if that
// would never end; done must be called when the node has been read.
func (b *binder) resolve(n *yaml.Node, path string) (target *yaml.Node, done func()) {
	if len(b.open) > 0 {
		b.expanded++
	}
	if b.expanded > maxExpanded {
		b.tooManyAliases(n, path)
		return nil, nil
	}
	if n.Kind != yaml.AliasNode {
		return n, func() {}
	}
	target = n.Alias
	if b.open[target] {
		b.fault(n, path, fmt.Sprintf("anchor %s contains itself", quote(n.Value)))
		return nil, nil
	}
	b.open[target] = true
	return target, func() { delete(b.open, target) }
}

func (b *binder) tooManyAliases(n *yaml.Node, path string) {
	if b.expanded == maxExpanded+1 {
		b.fault(n, path, fmt.Sprintf("aliases of this document stand for more than %d values: write them out", maxExpanded))
	}
	b.expanded = maxExpanded + 2 // reported once
	b.faulty[path] = true
}

// value copies a node into a field. option "scalar" lets numbers and booleans
// stand for the text they are written as.
func (b *binder) value(n *yaml.Node, path string, field reflect.Value, option string) {
	place := n
	n, done := b.resolve(n, path)
	if n == nil {
		return
	}
	defer done()
	b.places[path] = place
	kind := field.Type()
	if kind != rawType && !b.present(n, path) {
		return
	}
	if kind.Kind() == reflect.Pointer {
		kind = kind.Elem()
		field.Set(reflect.New(kind))
		field = field.Elem()
	}
	switch kind {
	case rawType:
		b.payload(n, path, field.Addr().Interface().(*json.RawMessage))
	case timeType:
		b.time(n, path, field.Addr().Interface().(*time.Time))
	case durationType:
		parsed(b, n, path, "a duration such as 90s or 1h30m", parseDuration, field)
	case sizeType:
		parsed(b, n, path, "a size such as 256MiB", parseSize, field)
	case stringsType:
		b.strings(n, path, field)
	case tasksType:
		b.tasks(n, path, field.Addr().Interface().(*Tasks))
	case exclusionType:
		b.exclusion(n, path, field.Addr().Interface().(*Exclusion))
	default:
		b.ordinary(n, path, field, option)
	}
}

func (b *binder) ordinary(n *yaml.Node, path string, field reflect.Value, option string) {
	switch field.Kind() {
	case reflect.Struct:
		b.structure(n, path, field)
	case reflect.Map:
		b.textMap(n, path, field, option)
	case reflect.Slice:
		b.list(n, path, field, option)
	case reflect.String:
		if text, ok := b.text(n, path, field, option); ok {
			field.SetString(text)
		}
	case reflect.Int:
		b.integer(n, path, field)
	case reflect.Float64:
		b.number(n, path, field)
	default:
		// A new field type needs its reader; a test reads a document with every field.
		b.wrong(n, path, "cannot be read by this version")
	}
}

// present refuses a key without a value, which is more often a slip than a wish.
func (b *binder) present(n *yaml.Node, path string) bool {
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" {
		b.wrong(n, path, "has no value: give it one, or remove the key")
		return false
	}
	return b.tagged(n, path)
}

func (b *binder) structure(n *yaml.Node, path string, field reflect.Value) {
	if n.Kind != yaml.MappingNode {
		b.wrong(n, path, "must be a mapping of "+orList(keysOf(field.Type()))+", not "+describe(n))
		return
	}
	b.pairs(n, path, func(key, value *yaml.Node) {
		index, known := fieldNamed(field.Type(), key.Value)
		if !known {
			b.unknownKey(key, path, field.Type())
			return
		}
		at, option := join(path, key.Value), optionOf(field.Type().Field(index))
		b.value(value, at, field.Field(index), option)
	})
}

// pairs calls for each key that is text and is there for the first time.
func (b *binder) pairs(n *yaml.Node, path string, each func(key, value *yaml.Node)) {
	first := make(map[string]*yaml.Node, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		switch {
		case key.ShortTag() == "!!merge":
			b.fault(key, path, "merge keys (<<) are not supported: write the keys out")
			continue
		case key.Kind != yaml.ScalarNode || key.ShortTag() == "!!null":
			b.fault(key, path, "a key must be text, not "+describe(key))
			continue
		}
		if earlier, repeated := first[key.Value]; repeated {
			b.fault(key, join(path, key.Value), fmt.Sprintf("key %s is given twice: the first is on line %d", quote(key.Value), earlier.Line+b.before))
			continue
		}
		first[key.Value] = key
		if b.tagged(key, path) {
			each(key, value)
		}
	}
}

func (b *binder) unknownKey(key *yaml.Node, path string, kind reflect.Type) {
	known := keysOf(kind)
	where := ""
	if path != "" {
		where = " in " + path
	}
	message := fmt.Sprintf("unknown key %s%s", quote(key.Value), where)
	if near := nearest(key.Value, known); near != "" {
		message += ": did you mean " + near + "?"
	} else if (kind == dagType || kind == taskType) && (key.Value == "every" || key.Value == "after" || key.Value == "at") {
		message += ": the roots of a DAG have cron expressions, as in schedule: \"@every 90s\""
	} else if elsewhere := b.elsewhere(key.Value, path); elsewhere != "" {
		message += ": did you mean " + elsewhere + "?"
	} else if kind == jobType && (key.Value == "tasks" || key.Value == "needs" || key.Value == "defaults") {
		message += ": it belongs to kind: DAG"
	} else if len(known) < 10 {
		message += ": it has " + strings.Join(known, ", ")
	}
	b.fault(key, join(path, key.Value), message)
}

// elsewhere finds a key that was given on the wrong level.
func (b *binder) elsewhere(key, path string) string {
	if len(key) > longKey {
		return ""
	}
	for _, known := range knownPaths[b.root] {
		last := known[strings.LastIndex(known, ".")+1:]
		if last != known && last == key || path != "" && known == key {
			return known
		}
		// retry_max_attempts, retryDelay
		if strings.Contains(known, ".") && fold(strings.ReplaceAll(known, ".", "")) == fold(key) {
			return known
		}
	}
	return ""
}

// tasks reads the mapping of a DAG's tasks, in order. The place of a task is
// that of its name.
func (b *binder) tasks(n *yaml.Node, path string, field *Tasks) {
	if n.Kind != yaml.MappingNode {
		b.wrong(n, path, "must be a mapping of names to tasks, such as {fetch: {binary: fetch}}, not "+describe(n))
		return
	}
	if count := len(n.Content) / 2; count > dag.MaxTasks {
		// Not read at all: the faults of so many would say nothing more.
		b.wrong(n, path, dag.Check(make([]dag.Task, count))[0].Message)
		return
	}
	b.pairs(n, path, func(key, value *yaml.Node) {
		at := join(path, key.Value)
		task := Task{Name: key.Value}
		if value.Kind == yaml.ScalarNode && value.ShortTag() == "!!null" {
			b.wrong(key, at, "has no value: give it at least a binary, as in {binary: fetch}")
		} else {
			b.value(value, at, reflect.ValueOf(&task).Elem(), "")
			b.places[at] = key
		}
		*field = append(*field, task)
	})
}

func (b *binder) textMap(n *yaml.Node, path string, field reflect.Value, option string) {
	if n.Kind != yaml.MappingNode {
		b.wrong(n, path, "must be a mapping of names to text, not "+describe(n))
		return
	}
	values := make(map[string]string, len(n.Content)/2)
	b.pairs(n, path, func(key, value *yaml.Node) {
		var text string
		entry := reflect.ValueOf(&text).Elem()
		b.value(value, join(path, key.Value), entry, option+" empty")
		values[key.Value] = text
	})
	if len(values) > 0 {
		field.Set(reflect.ValueOf(values))
	}
}

func (b *binder) list(n *yaml.Node, path string, field reflect.Value, option string) {
	if n.Kind != yaml.SequenceNode {
		hint := ""
		if n.Kind == yaml.ScalarNode {
			hint = ": write [" + n.Value + "]"
			if len(n.Value) > 20 || strings.ContainsAny(n.Value, "\n[]{},\"") {
				hint = ": write it in [ ]"
			}
		}
		b.wrong(n, path, "must be a list, not "+describe(n)+hint)
		return
	}
	values := reflect.MakeSlice(field.Type(), len(n.Content), len(n.Content))
	for i, element := range n.Content {
		b.value(element, path+"["+strconv.Itoa(i)+"]", values.Index(i), option+" empty")
	}
	if values.Len() > 0 {
		field.Set(values)
	}
}

// describe names what a node is, to a person.
func describe(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "an alias"
	}
	switch n.ShortTag() {
	case "!!null":
		return "nothing"
	case "!!bool":
		return "the boolean " + n.Value
	case "!!int", "!!float":
		return "the number " + quoteBare(n.Value)
	case "!!timestamp":
		return "the date " + quoteBare(n.Value)
	default:
		return "the text " + quote(n.Value)
	}
}

// quoteBare is quote for what cannot hold a quote or a line break.
func quoteBare(text string) string { return strings.Trim(quote(text), `"`) }

// join is the path of a key. Keys are the user's: a long one is shortened, so
// that paths and messages stay short.
func join(path, key string) string {
	if len(key) > longKey {
		key = strings.ToValidUTF8(key[:longKey], "") + "…"
	}
	if path == "" {
		return key
	}
	return path + "." + key
}

const longKey = 100
