// Package core is the engine's state machine.
//
// Step takes the time and an Event and returns what is to be done at once; Ready hands out what is to be written, with
// what may be done once that is durable. The core opens no socket, reads no clock, starts no goroutine and draws no hidden
// randomness, so that the same events give the same effects in production, in a test and in the simulator. The shell
// around it is engine/shard.
//
// What it promises: one run a slot; no attempt starts twice; terminal stays terminal unless an operator asks for a
// retry; every slot ends as fired, skipped or missed, and the ledger says which and why.
//
// The core holds jobs, DAGs and runs in memory and routes events; what they mean for a run, a wave and a schedule is decided
// in engine/attempt, engine/wave and engine/plan, and what users are notified of in engine/incident. Read its files from the bottom, each needs those before it only:
//
//   - event.go, effect.go, state*.go: what comes in, what goes out, what is held
//   - core.go, unwritten.go, write.go, ready.go, forget.go: what is to be written, until it is and can be forgotten
//   - alert.go: whom what happens is about, for incidents
//   - slot.go, run_*.go: the slots of a job and the ledger; a run from its making to its end
//   - task.go, wave_*.go: tasks as jobs, a wave from its opening to its end
//   - admit.go, begin.go, overdue.go, after.go, edit.go, prepare.go, plan.go: what a slot leads to, and which comes next
//   - ended.go, load_*.go, command*.go, clock.go, settle.go, step.go: what events lead to
package core
