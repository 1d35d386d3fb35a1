// Package wheel is a hierarchical timing wheel: it holds any number of timers and says which are due.
//
// The structure is scheme 7 of G. Varghese and T. Lauck, "Hashed and Hierarchical Timing Wheels: Data
// Structures for the Efficient Implementation of a Timer Facility", SOSP 1987. Time is cut into ticks of one
// millisecond, and the bits of a tick, six at a time, choose a slot in each of eleven levels of 64 slots. A
// timer lies at the highest level where its tick differs from the wheel's, so eleven levels cover every instant
// there is and no overflow list is needed. When time enters a slot of a higher level, its timers move down.
//
// Two things are added to the paper:
//
//   - A bitmap per level marks the occupied slots, so that crossing a year of empty slots costs what crossing
//     one costs: work grows with the timers and the levels, never with the ticks that pass.
//   - A slot holds a pairing heap (M. Fredman, R. Sedgewick, D. Sleator and R. Tarjan, "The Pairing Heap: A New
//     Form of Self-Adjusting Heap", Algorithmica 1986) where the paper has a list. Adding is as cheap as to a list,
//     and the earliest timer of a slot is at hand. So Next is exact however coarse the slot, timers inside one tick
//     fire in order, and cancelling the earliest timer again and again stays cheap.
//
// # Promises
//
// A timer fires in the first Advance whose now has reached it, never before, not even by a nanosecond; timers fire
// ordered by their instant, and those of one instant in the order in which they were scheduled. The same calls give
// the same firings: the package reads no clock, starts no goroutine, ranges over no map and draws no random number.
//
// A Wheel belongs to one goroutine at a time.
//
// The package imports the standard library alone.
package wheel
