// Package jetstream carries Tidewheel's work over NATS JetStream: it is the adapter behind the queue ports of
// engine/shard and of executor, and behind what the web asks of a queue. It also embeds a NATS server, for users who
// run everything in one process.
//
// Where things are:
//
//	TASKS    work-queue stream, tasks.<tier>.<class>.<run>; one message per subject, a second one is refused
//	RESULTS  stream, results.<shard>.<run>.<attempt>; an attempt is decided on its own subject by compare and set
//	LOCKS    KV bucket, lock.<key>; an entry's revision is the fencing token
//	LEASES   KV bucket, executor.<id>: presence; floor.<shard>: how far its results are dealt with
//	logs.<run>.<attempt>, control, wake   core NATS: hints that may be lost
//
// What it promises is listed, promise by promise, in queue/queuetest. In short: of any number of copies of a task one
// is claimed; an attempt's subject ends in Finished or Lost and never in both; a lock excludes until it expires, and
// tokens grow over restarts; results come to their shard in order, and from the first unacknowledged on after any
// restart of either side. What it does not promise: that an acknowledged message survives a power cut. The store is
// the truth, and the publisher can publish again.
//
// It is written to be cheap, because the queue is most of what a run costs (BenchmarkWholePath). Every request that
// JetStream answers goes through one subscription and one table (requests.go), because a future, a subscription or a
// goroutine for each message costs more than the message. One consumer reads the results of all shards that a process
// owns (reader.go). Tasks and results are JSON, encoded and decoded by code of our own (codec.go). ADR 5 has the measurements.
//
// It may import engine, engine/shard and executor for their ports and words, spec, nats.go and nats-server. Nothing
// else of Tidewheel may see NATS.
package jetstream
