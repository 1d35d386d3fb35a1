// Package mongotest is a MongoDB-protocol server for tests: an in-memory engine made of lungo's parts behind the wire
// codec of FerretDB, on a real TCP socket, for the real driver.
//
//	server, err := mongotest.Start(ctx, mongotest.Config{})
//	client, err := mongo.Connect(options.Client().ApplyURI(server.URI()))
//
// It promises what a store may ask of a MongoDB replica set: atomic changes of single documents; unique, partial and
// TTL indexes that hold; retryable writes that are applied once; cursors; reads of one moment (the read concern snapshot);
// and MongoDB's error codes. What it does not do (transactions, change streams, update pipelines, collations, text search)
// it refuses with a code that says so.
// The data lives in memory, as long as the server; with a journal, what was acknowledged outlives one that is killed.
//
// Faults make it misbehave on demand: stop answering, refuse connections, lose a write before or after doing it,
// report a write that was done as failed. A process started from cmd/mongotest takes the same faults by the command
// mongotestFault.
//
// It lives in a module of its own so that the product never depends on it.
package mongotest
