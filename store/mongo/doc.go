// Package mongo keeps Tidewheel's state in MongoDB, or in a server that speaks its protocol.
//
// What it promises is what store/storetest demands of every store. How it keeps that without transactions: each write
// is an insert under a derived _id or a replacement of one document under a condition (its revision), retried by
// the same rule. A write whose fate is not known, because the connection broke, the server reported an error, or fewer
// documents matched than were sent, is decided by reading the document again: the same revision with the same content
// was done, anything else by another writer is a conflict, and what is not there yet is written again, a bounded number
// of times. So the same code is right on a replica set, a sharded cluster and the servers that imitate them.
//
// What the engine commits goes to a journal first (journal.go): one document for each shard and commit, whose _id is the
// shard and the position, so that inserting it is the whole commit, and fences earlier owners. A projector (projector.go)
// brings the journal to the collections that pages and the API read, some tens of milliseconds later, merged; taking a
// shard over (take.go) does the rest of that first. What the engine reads waits for it, pages do not.
//
// Of the server it asks: atomic changes of single documents, unique indexes, $in, $lt and friends, sorting, and
// unordered bulk writes. It uses no transactions, sessions of its own, change streams, update pipelines, $where,
// $expr, arrayFilters, upserts or findAndModify.
//
// Writes are acknowledged by a majority and its journals. The engine's reads come from the primary with majority read
// concern: what the engine acts upon must not be rolled back by a failover afterwards, and what a majority
// acknowledged is visible to the next such read. History may come from secondaries: it may be a little old.
//
// Documents are for people too: fields have the names of the API, instants are dates (to the millisecond, which is
// what every store keeps; those of attempts are integers in microseconds, named …_us, because start lag is measured
// with them), and a job's definition has the shape of its YAML.
//
// It is the only package that may see the MongoDB driver; of Tidewheel it imports engine and spec.
package mongo
