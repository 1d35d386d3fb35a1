// Package attempt knows the life of a run: how its attempts begin and end, what follows when one ends, which lock one needs,
// what its message says, and what the queue's answer about it means.
//
// Its functions change a run, and answer with a plain value what is to follow: another attempt, or an end. It is pure, and
// calls no other part: engine/core calls it, writes the run and acts on what it returns.
package attempt
