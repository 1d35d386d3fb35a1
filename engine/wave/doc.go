// Package wave knows the life of a wave: which of its tasks may run, what each of them is given, what the end of one closes,
// and how the wave ends. Wave is one in memory; Standing derives the same from what is stored, for pages; Backfill plans
// those of a range of slots.
//
// It is pure, and calls no other part: engine/core calls it, and acts on what it returns.
package wave
