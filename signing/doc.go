// Package signing proves that an engine of this Tidewheel made a message, and that it is unchanged since.
//
// What it promises:
//   - An attacker who can write to the queue and has no private key can make no message that Ring.Verify accepts: not a new
//     one, not a changed one, not one of another subject or for another purpose.
//   - A signature says when it was made. The caller of Verify decides how old is too old.
//   - Keys rotate during operation: a Ring trusts several keys, signs with the first private one, and reads its
//     source again when it meets a key that it does not know.
//
// Signatures are Ed25519. One signature serves all messages that are signed at once: it is made over the root of a Merkle
// tree, and each message carries the path from its leaf to the root (tree.go). ADR 47 has the reasons.
//
// It imports nothing of Tidewheel.
package signing
