// Package shard is the shell around the pure core: it loads what is due, writes what the core decides, publishes and
// acknowledges, each in the order that a crash between any two steps survives.
//
// It has two halves. Machine decides: which commit is under way, what must wait for it, when to poll, when to try
// again, which results may be acknowledged. It is stepped, like the core, and does no I/O, so that the simulator runs
// the very code that production runs. Runner acts: goroutines, timers, the ports. It decides nothing.
//
// The ports it needs of the store and of the queue are declared in ports.go.
package shard
