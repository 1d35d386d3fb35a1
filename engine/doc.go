// Package engine holds the words of Tidewheel (Job, Run, Attempt, Status, Batch, Task, Result) and its pure core.
//
// The core is a state machine: Step takes the time and an Event and returns what is to be written and what is to be
// done. It opens no socket, reads no clock, starts no goroutine and draws no hidden randomness, so that the same
// events give the same effects in production, in a test and in the simulator. The shell around it is engine/shard.
//
// What it promises: one run a slot; no attempt starts twice; terminal stays terminal unless an operator asks for a
// retry; every slot ends as fired, skipped or missed, and the ledger says which and why.
//
// It may import spec, cron, dag and the standard library's pure packages; nothing else of Tidewheel.
package engine
