// Package secret keeps values that programs need and that no user can read back: passwords, tokens, keys.
//
// What it promises:
//   - A store, the queue and a backup hold ciphertext only. The client that sets a value seals it with age for the cluster's
//     key, and the executor that passes it to a program opens it. Engines pass it on and cannot open it.
//   - A sealed value says whose it is: that of one name put in the place of another's does not open.
//   - A node with a wrong key, or none, overwrites nothing (Vault.Establish).
//   - Keys rotate during operation: a process that holds both keys reseals the values (Vault.Tend).
//
// It imports engine, and it alone sees the library of age.
package secret
