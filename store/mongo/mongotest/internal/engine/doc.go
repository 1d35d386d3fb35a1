// Package engine keeps MongoDB collections in memory: documents, indexes, queries and updates.
//
// What a query matches, what an update does, how values compare and which documents a unique or partial index
// refuses is lungo's (packages mongokit and bsonkit). What lungo's own collections do not have is added here: reads
// that follow an index instead of scanning, single-document changes whose cost does not grow with the collection,
// a change that is undone when an index refuses it, and one lock per collection instead of one copy of the catalog
// per operation.
//
// It promises: every single-document change is atomic, also against all its indexes; a Find is a consistent snapshot;
// an operator that is not implemented is refused with a MongoDB error code, never ignored.
//
// Values are those of mongo-driver v1's bson package, which lungo is built on. The package knows nothing of the wire
// protocol and may not import the server above it.
package engine
