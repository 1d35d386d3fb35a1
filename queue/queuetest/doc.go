// Package queuetest holds a queue to its promises: each subtest of Run is one of them, by name. Whatever carries
// Tidewheel's work must keep them all, because the engine and the executors are built on nothing else.
//
// It may import engine, engine/shard and executor for their ports and words, and spec.
package queuetest
