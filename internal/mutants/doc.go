// Mutants takes the engine's guards out, one at a time, and proves that the simulator turns red without each: a guard
// that no world needs is not one. `make sim-mutants` runs it.
//
// A guard is a line of code that one of Tidewheel's promises hangs on: the claim, the attempt fence, the order of
// commit and acknowledgement. The lists of this package (guards_*.go) name each with the text that is replaced to take
// it out. The text must be in its file exactly once: where the code has moved on, the list must follow, which a test
// sees to on each `make test`.
//
// Nothing in the working tree is touched: the mutation goes to the compiler as an overlay. What is compiled with it is
// this command itself, which then runs worlds of engine/sim, from seed 1 on, until one is red or the bound is reached.
// The seed that killed a mutant is run without the mutation too: one that is red anyhow proves nothing, and is passed over.
//
// Where no world needs a guard, because another makes good for it there, the list names the test that holds it instead: it
// is run with the guard, and must be green, and without it, and must be red.
//
// A guard whose production code the simulator has a model for (queue/jetstream, the executor) is taken out of the model:
// that shows that the promise is needed, and the field also names the test that holds the production code to it.
//
// It imports engine/sim; nothing imports it.
package main
