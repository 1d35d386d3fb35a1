// Package output keeps what a program prints: all of it while it is small, and a tail of it, for the result and for
// those who watch, once it has outgrown that and goes elsewhere.
//
// What it promises:
//   - Any bytes are taken: binary, without a newline, invalid UTF-8. Writing never fails, because a program is not to
//     blame for where its output goes.
//   - Memory stays flat: Keep bytes, and what the writer behind holds.
//   - Offsets are those of the whole output, whatever is still in memory.
//
// It imports no other package of Tidewheel.
package output
