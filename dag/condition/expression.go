package condition

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/vm"
)

// Bounds of an expression and of its evaluation.
const (
	// MaxText is the longest expression, in bytes.
	MaxText = 4096
	// MaxItems is the longest list that for_each may give.
	MaxItems = 10_000
	// MaxList is the size of that list, in bytes of JSON.
	MaxList = 8 << 20

	maxNodes  = 500
	maxMemory = 1_000_000 // in the units of expr: elements of lists and mappings
)

// Environment is what an expression sees. Values are as [Value] makes them. It
// is not changed.
type Environment struct {
	// Outputs are those of the tasks that Tasks names, by task and key; a task without outputs may be left out.
	Outputs map[string]map[string]any
	Payload any
	Epoch   int64
	Slot    time.Time
	Args    map[string]string
}

// variables is the environment in the form that package expr reads.
type variables struct {
	Outputs map[string]map[string]any `expr:"outputs"`
	Payload any                       `expr:"payload"`
	Epoch   int                       `expr:"epoch"`
	Slot    time.Time                 `expr:"slot"`
	Args    map[string]string         `expr:"args"`
	Meter   *meter                    `expr:"__meter"`
}

// Expression is what was compiled. It is never changed.
type Expression struct {
	program *vm.Program
	tasks   []string
	heavy   bool
}

// Tasks are those whose outputs the expression reads, sorted. The caller owns
// the slice.
func (e *Expression) Tasks() []string { return slices.Clone(e.tasks) }

// Condition is a compiled when.
type Condition struct{ Expression }

// List is a compiled for_each.
type List struct{ Expression }

// Compile compiles a when. Its error is a predicate, to follow the name of the
// field.
func Compile(text string) (*Condition, error) {
	compiled, kind, err := compile(text)
	if err != nil {
		return nil, err
	}
	if kind != reflect.Bool && kind != reflect.Interface {
		return nil, fmt.Errorf("must be true or false, and this is %s: compare it with something", kindWord(kind))
	}
	return &Condition{*compiled}, nil
}

// CompileList compiles a for_each. Its error is a predicate, to follow the name
// of the field.
func CompileList(text string) (*List, error) {
	compiled, kind, err := compile(text)
	if err != nil {
		return nil, err
	}
	if kind != reflect.Slice && kind != reflect.Array && kind != reflect.Interface {
		return nil, fmt.Errorf("must be a list, and this is %s: name an output that holds one, such as outputs.join.shops", kindWord(kind))
	}
	return &List{*compiled}, nil
}

// Eval reports whether the task runs. Its error says what is wrong with the data,
// as a predicate like that of Compile.
func (c *Condition) Eval(environment Environment) (bool, error) {
	value, err := c.run(environment)
	if err != nil {
		return false, err
	}
	answer, ok := value.(bool)
	if !ok {
		return false, fmt.Errorf("must be true or false, and gave %s: compare it with something", valueWord(value))
	}
	return answer, nil
}

// Eval returns the items, each as JSON. Its error says what is wrong with the
// data, as a predicate like that of CompileList. The caller owns the items.
func (l *List) Eval(environment Environment) ([]json.RawMessage, error) {
	value, err := l.run(environment)
	if err != nil {
		return nil, err
	}
	list := reflect.ValueOf(value)
	if kind := list.Kind(); kind != reflect.Slice && kind != reflect.Array {
		return nil, fmt.Errorf("must be a list, and gave %s", valueWord(value))
	}
	if list.Len() > MaxItems {
		return nil, fmt.Errorf("gave a list of %d items: a task runs over at most %d, so let one run do several of them", list.Len(), MaxItems)
	}
	if _, fits := measure(value, MaxList); !fits {
		return nil, fmt.Errorf("gave a list of more than %d bytes: pass larger data as artifacts", MaxList)
	}
	items := make([]json.RawMessage, list.Len())
	for i := range items {
		if items[i], err = json.Marshal(list.Index(i).Interface()); err != nil {
			return nil, fmt.Errorf("gave a list whose item %d has no JSON: %w", i, err)
		}
	}
	return items, nil
}

// compile checks the text as it was written first, and then once more with the
// guards in it, which hide types.
func compile(text string) (*Expression, reflect.Kind, error) {
	if len(text) > MaxText {
		return nil, 0, fmt.Errorf("is %d bytes long: use at most %d", len(text), MaxText)
	}
	if strings.TrimSpace(text) == "" {
		return nil, 0, errors.New("is empty: give it an expression, or remove the key")
	}
	if !utf8.ValidString(text) {
		return nil, 0, errors.New("is not UTF-8 text")
	}
	plain, err := expr.Compile(text, options(nil)...)
	if err != nil {
		return nil, 0, explainCompile(text, err)
	}
	root := plain.Node()
	kind := root.Type().Kind()
	reader := &reader{}
	ast.Walk(&root, reader)
	if err := reader.fault(); err != nil {
		return nil, 0, err
	}
	guard := &guard{}
	guarded, err := expr.Compile(text, options(guard)...)
	if err != nil {
		return nil, 0, explainCompile(text, err)
	}
	slices.Sort(reader.tasks)
	return &Expression{program: guarded, tasks: slices.Compact(reader.tasks), heavy: guard.heavy}, kind, nil
}

func options(guards *guard) []expr.Option {
	list := []expr.Option{
		expr.Env(variables{}),
		expr.MaxNodes(maxNodes),
		expr.Optimize(false), // it may fold or merge what the guards count
		// An expression gives the same whenever and wherever it is evaluated.
		expr.DisableBuiltin("now"),
		expr.DisableBuiltin("timezone"),
		expr.Function(stepFunction, step, new(func(*meter, int, any) any)),
		expr.Function(divisorFunction, divisor, new(func(any) any)),
	}
	if guards != nil {
		list = append(list, expr.Patch(guards))
	}
	return list
}

func (e *Expression) run(environment Environment) (any, error) {
	visible := variables{
		Outputs: environment.Outputs, Payload: environment.Payload, Epoch: int(environment.Epoch), Slot: environment.Slot,
		Args: environment.Args, Meter: &meter{left: maxSteps, memory: maxKept},
	}
	if e.heavy {
		visible.Meter.data = visible.elements()
	}
	machine := vm.VM{MemoryBudget: maxMemory}
	value, err := machine.Run(e.program, visible)
	if err != nil {
		return nil, explainRun(err)
	}
	return value, nil
}

var dashedName = regexp.MustCompile(`outputs\??\.([0-9][A-Za-z0-9_-]*|[A-Za-z0-9_]+-[A-Za-z0-9_-]+)`)

func explainCompile(text string, err error) error {
	fault := "does not compile: " + words(err)
	if at, ok := errors.AsType[*file.Error](err); ok && at.Line > 0 {
		fault += fmt.Sprintf(" (at character %d", at.Column+1)
		if at.Line > 1 {
			fault += fmt.Sprintf(" of line %d", at.Line)
		}
		fault += ")"
	}
	if name := dashedName.FindStringSubmatch(text); name != nil {
		fault += fmt.Sprintf("; a name with '-', or with a digit first, is written outputs[%q]", name[1])
	}
	return errors.New(fault)
}

func explainRun(err error) error {
	if refused, ok := errors.AsType[*refusal](err); ok {
		return refused
	}
	text := words(err)
	switch {
	case strings.Contains(text, "divide by zero"):
		return errDivision
	case strings.Contains(text, "memory budget"):
		return errWork
	case strings.Contains(text, "<nil>"), strings.Contains(text, "from nil"), strings.Contains(text, "nil pointer"):
		text += "; a value is missing: give one in its place with ??, as in (outputs.join.rows ?? 0) > 0"
	case strings.Contains(text, "string") && (strings.Contains(text, "int") || strings.Contains(text, "float")):
		text += "; text is made a number with int() or float()"
	}
	return errors.New("cannot be evaluated: " + text)
}

// words is the first line of what package expr says, without its picture of
// the place.
func words(err error) string {
	text := err.Error()
	if at, ok := errors.AsType[*file.Error](err); ok {
		text = at.Message
	}
	text, _, _ = strings.Cut(text, "\n")
	const longest = 300
	if len(text) > longest {
		text = strings.ToValidUTF8(text[:longest], "") + "…"
	}
	return strings.TrimPrefix(strings.TrimPrefix(text, "compilation failed: "), "reflect: ")
}
