// Package plan knows the slots of a job: which comes next, which have passed and what becomes of them, what an edit or a pause
// takes away, and what a run does that meets another.
//
// It is pure, works on schedules, scheduled tasks and plain values, and calls no other part: engine/core calls it, and acts
// on what it returns.
package plan
