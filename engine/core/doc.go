// Package core is the engine's state machine.
//
// Step takes the time and an Event and returns what is to be done at once; Ready hands out what is to be written, with
// what may be done once that is durable. The core opens no socket, reads no clock, starts no goroutine and draws no hidden
// randomness, so that the same events give the same effects in production, in a test and in the simulator. The shell
// around it is engine/shard.
//
// What it promises: one run a slot; no attempt starts twice; terminal stays terminal unless an operator asks for a
// retry; every slot ends as fired, skipped or missed, and the ledger says which and why.
package core
