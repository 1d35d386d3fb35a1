// Package cache keeps downloaded programs on the executor's disk.
//
// What it promises:
//   - What Get gives has the digest that was asked for: it was hashed while it came, or, if it was there when the cache
//     was opened, at its first use.
//   - A file appears whole or not at all, and stays as long as somebody uses it.
//   - However many ask for one digest at once, it is fetched once.
//   - The files take no more room than the limit, but for those in use; what was used least recently goes first.
//
// It imports no other package of Tidewheel.
package cache
