// Package audit keeps a log of who changed what, when and from where. Nothing of it is ever changed: each entry holds the
// SHA-256 of the previous one, so that an entry that was altered, taken out or put in between is found by Verify.
//
// What it promises:
//   - An entry that was appended is in the store when Append returns.
//   - Entries are numbered without gaps over all nodes; two nodes that append at once both succeed.
//   - That the newest entries were removed from the store shows only against a hash that was kept elsewhere: Verify
//     takes one.
//
// It imports engine alone: the store is a port.
package audit
