// Package condition compiles and evaluates the expressions of a DAG: when, which
// reports whether a task runs, and for_each, which gives the list that it runs over.
//
// The language is that of github.com/expr-lang/expr. An expression sees
//
//	outputs.<task>.<key>   what a task upstream has put out; outputs["my-task"].key for names with '-'
//	payload                the payload of the wave
//	epoch                  the number of the wave
//	slot                   the planned instant, as a time: slot.Hour(), slot.Weekday()
//	args                   the arguments of the wave, as text: args.day
//
// and nothing else: no clock, no file, no environment. So it gives the same
// whenever it is evaluated.
//
// # What it promises
//
//   - [Compile] and [CompileList] refuse what cannot be meant: unknown names,
//     types that do not fit, division by a literal zero, a for_each that can be
//     no list. [Expression.Tasks] returns whose outputs are read, for the caller
//     to hold against the DAG.
//   - Evaluation ends soon and takes little memory, whatever the expression and
//     the data: steps, the size of each intermediate value and the result are
//     bounded. What goes wrong is an error with words, never a panic.
//
// An expression may be evaluated by many at once.
package condition
