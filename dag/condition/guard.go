package condition

import (
	"fmt"
	"reflect"

	"github.com/expr-lang/expr/ast"
)

// The library bounds the elements that an evaluation makes, but not how long it
// goes round in predicates over lists that are there already, nor how long texts
// grow. So every round of a predicate, and every variable, passes its value
// through a function that counts.
const (
	stepFunction    = "__step"
	divisorFunction = "__divisor"
	meterName       = "__meter"

	// A round costs 100 units, and one more for each element of the data if its predicate has an operation that may
	// look at all of them; a unit is at most some 50 ns.
	maxSteps  = 50_000_000
	roundCost = 100
	// maxValue is the largest value of a round, and maxKept of all rounds together, in bytes as measure counts them.
	maxValue = 1 << 20
	maxKept  = 64 << 20
)

// refusal is an error that was meant for people, among those that expr makes of panics.
type refusal struct{ words string }

func (r *refusal) Error() string { return r.words }

var (
	errDivision error = &refusal{"divides by zero: test the divisor first, as in n != 0 && total / n > 2"}
	errWork     error = &refusal{"takes too long or too much memory over this data: let a task work out the answer, and read its output"}
)

// meter counts one evaluation.
type meter struct {
	left   int // units of work
	memory int // bytes
	data   int // elements that the expression can look at
}

// guard puts the functions into the tree.
type guard struct{ heavy bool }

// Visit is called for children first.
func (g *guard) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.PredicateNode:
		heavy := isHeavy(n.Node)
		g.heavy = g.heavy || heavy
		n.Node = stepCall(n.Node, heavy)
	case *ast.VariableDeclaratorNode:
		n.Value = stepCall(n.Value, false)
	case *ast.BinaryNode:
		if n.Operator == "/" || n.Operator == "%" {
			n.Right = &ast.CallNode{Callee: &ast.IdentifierNode{Value: divisorFunction}, Arguments: []ast.Node{n.Right}}
		}
	}
}

func stepCall(value ast.Node, heavy bool) ast.Node {
	weight := &ast.IntegerNode{}
	if heavy {
		weight.Value = 1
	}
	return &ast.CallNode{
		Callee:    &ast.IdentifierNode{Value: stepFunction},
		Arguments: []ast.Node{&ast.IdentifierNode{Value: meterName}, weight, value},
	}
}

// isHeavy reports whether a round may cost more than its nodes: the operation
// of a builtin, a search, or a comparison of whole values.
func isHeavy(body ast.Node) bool {
	finder := &heavyFinder{}
	ast.Walk(&body, finder)
	return finder.found
}

type heavyFinder struct{ found bool }

func (h *heavyFinder) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.BuiltinNode:
		h.found = h.found || n.Name != "len"
	case *ast.CallNode:
		callee, ok := n.Callee.(*ast.IdentifierNode)
		h.found = h.found || !ok || callee.Value != divisorFunction
	case *ast.SliceNode:
		h.found = true
	case *ast.BinaryNode:
		switch n.Operator {
		case "in", "not in", "matches", "contains", "startsWith", "endsWith", "+", "..":
			h.found = true
		case "==", "!=":
			h.found = h.found || !isLiteral(n.Left) && !isLiteral(n.Right)
		}
	}
}

func isLiteral(node ast.Node) bool {
	switch node.(type) {
	case *ast.IntegerNode, *ast.FloatNode, *ast.StringNode, *ast.BoolNode, *ast.NilNode:
		return true
	default:
		return false
	}
}

// step counts a value that passes: __step(__meter, weight, value).
func step(arguments ...any) (any, error) {
	m, value := arguments[0].(*meter), arguments[2]
	size, fits := measure(value, maxValue)
	m.memory -= size
	m.left -= roundCost + size/64
	if arguments[1].(int) > 0 {
		m.left -= m.data
	}
	if !fits || m.memory < 0 || m.left < 0 {
		return nil, errWork
	}
	return value, nil
}

// divisor passes a value by which something is divided; the library would
// divide numbers by zero to infinity.
func divisor(arguments ...any) (any, error) {
	switch value := reflect.ValueOf(arguments[0]); {
	case value.CanInt() && value.Int() == 0, value.CanUint() && value.Uint() == 0, value.CanFloat() && value.Float() == 0:
		return nil, errDivision
	}
	return arguments[0], nil
}

// elements is about how much there is to look at.
func (v *variables) elements() int {
	const most = 1 << 30
	size, _ := measure(v.Payload, most)
	for _, output := range v.Outputs {
		more, _ := measure(output, most)
		size += more
	}
	more, _ := measure(v.Args, most)
	return (size + more) / elementSize
}

const elementSize = 16

// measure is about how many bytes a value takes as JSON: texts by their length,
// everything else by elementSize. It stops, and fits is false, past most.
func measure(value any, most int) (size int, fits bool) {
	m := measurer{most: most}
	m.add(reflect.ValueOf(value), 0)
	return m.size, m.size <= most
}

type measurer struct{ size, most int }

func (m *measurer) add(value reflect.Value, depth int) {
	const deepest = 200
	if m.size += elementSize; m.size > m.most || depth > deepest {
		m.size = max(m.size, m.most+1)
		return
	}
	switch value.Kind() {
	case reflect.Interface, reflect.Pointer:
		m.add(value.Elem(), depth+1)
	case reflect.String:
		m.size += value.Len()
	case reflect.Slice, reflect.Array:
		for i := 0; i < value.Len() && m.size <= m.most; i++ {
			m.add(value.Index(i), depth+1)
		}
	case reflect.Map:
		// The sum is the same in any order; only where it stops is not.
		for entries := value.MapRange(); m.size <= m.most && entries.Next(); {
			m.add(entries.Key(), depth+1)
			m.add(entries.Value(), depth+1)
		}
	default:
	}
}

// kindWord names a type to a person.
func kindWord(kind reflect.Kind) string {
	switch kind {
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "text"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Map:
		return "a mapping, such as all outputs of a task"
	case reflect.Struct:
		return "a time"
	case reflect.Int, reflect.Int64, reflect.Float64:
		return "a number"
	default:
		return "something else (" + kind.String() + ")"
	}
}

// valueWord shows a value to a person.
func valueWord(value any) string {
	if value == nil {
		return "nothing: the output is missing"
	}
	word := kindWord(reflect.TypeOf(value).Kind())
	switch value := value.(type) {
	case string:
		const longest = 60
		if text := []rune(value); len(text) > longest {
			value = string(text[:longest]) + "…"
		}
		return fmt.Sprintf("the text %q", value)
	case int, int64, float64:
		return fmt.Sprintf("the number %v", value)
	case bool:
		return fmt.Sprintf("%v", value)
	}
	return word
}
