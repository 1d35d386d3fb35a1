// Package cache keeps downloaded programs on the executor's disk.
//
// What it promises:
//   - Get returns a file with the digest that the caller asked for: the cache hashes it while it comes, or, if it was there
//     when the cache was opened, at its first use.
//   - A file appears whole or not at all, and stays as long as a caller uses it.
//   - However many ask for one digest at once, it is fetched once.
//   - The files take no more room than the limit, but for those in use; what was used least recently goes first.
//
// It imports no other package of Tidewheel.
package cache
