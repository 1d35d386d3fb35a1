package condition

import (
	"errors"
	"fmt"
	"strings"

	"github.com/expr-lang/expr/ast"
)

// reader finds the tasks whose outputs an expression reads, and what it must
// not name. Every task is to be named outright: what an expression needs is
// known before it runs.
type reader struct {
	tasks   []string
	whole   map[*ast.IdentifierNode]bool // outputs without a task, so far
	guarded error
}

// Visit is called for children first.
func (r *reader) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.IdentifierNode:
		switch {
		case n.Value == "outputs":
			if r.whole == nil {
				r.whole = map[*ast.IdentifierNode]bool{}
			}
			r.whole[n] = true
		case n.Value == "$env" || strings.HasPrefix(n.Value, "__"):
			r.guarded = fmt.Errorf("does not compile: unknown name %s", n.Value)
		}
	case *ast.MemberNode:
		base, ok := n.Node.(*ast.IdentifierNode)
		if !ok || base.Value != "outputs" {
			return
		}
		if task, named := n.Property.(*ast.StringNode); named {
			r.tasks = append(r.tasks, task.Value)
			delete(r.whole, base)
		}
	case *ast.BinaryNode:
		if n.Operator == "/" || n.Operator == "%" {
			if isZero(n.Right) {
				r.guarded = errDivision
			}
		}
	}
}

func (r *reader) fault() error {
	switch {
	case r.guarded != nil:
		return r.guarded
	case len(r.whole) > 0:
		return errors.New(`must name the task whose output it reads: write outputs.join.rows, or outputs["my-task"].rows`)
	default:
		return nil
	}
}

func isZero(node ast.Node) bool {
	switch n := node.(type) {
	case *ast.IntegerNode:
		return n.Value == 0
	case *ast.FloatNode:
		return n.Value == 0
	default:
		return false
	}
}
