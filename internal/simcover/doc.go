// Simcover reports how often each branch of the engine's core was reached by the worlds of the simulator, and which never
// was: what no world reaches, no invariant holds. `make sim-coverage` runs it.
//
// A branch is a block of statements that is entered as a whole, as the compiler's coverage counts them (golang.org/x/tools/cover
// reads its profile). Of every function it prints how often it was entered and its rarest branch, with -blocks every branch;
// then those that were never reached, with place and text. What worlds do not run at all is left out: outside.txt names those
// files and functions, each with the reason, and an entry of which there is nothing any more fails.
//
// It imports nothing of Tidewheel: it runs the simulator's own test. Nothing imports it.
package main
