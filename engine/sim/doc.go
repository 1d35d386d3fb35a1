// Package sim is a deterministic simulator of Tidewheel's engine: one world in virtual time, made of a seed.
//
// In it runs the production code of the engine (engine, engine/shard's Machine and Loader) over store/memory, among
// models of all that surrounds it: a queue with its streams and locks, executors with the programs they run, users who
// write as web/service does, and a clock that jumps. Everything takes a random virtual time and much of it fails: see
// Faults. Engines and executors are killed between any two of their effects and started again.
//
// The executor is modelled, not the production code, which is made of processes and goroutines: executor.go follows the
// order that the design demands (lock, claim, ack, run, finish, unlock; its process ends before its lock can). So is the
// queue: queue.go promises what queue/queuetest promises, and no more.
//
// While the world turns, safety is checked at every write and at every start of a process. Then the faults end, the
// world comes to rest, and liveness is checked: every run ended, every slot accounted for exactly once.
//
// One seed gives one history, bit for bit: there is one *rand.Rand, no order comes from a map, and of the coroutines
// (iter.Pull) only one runs at a time, chosen by the agenda. A seed that once failed is kept in testdata/seeds.txt.
//
// It imports the engine, engine/shard and store/memory; nothing but its own mutation check (mutants) imports it.
package sim
