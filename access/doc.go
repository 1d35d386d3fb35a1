// Package access says who may do what: roles, the identities that act, and the users, sessions and API tokens that are kept as
// records.
//
// What it promises:
//   - A password, a session and a token are kept as hashes only.
//   - An Identity holds all that a decision needs: May is the only function that decides.
//   - What is taken away (a role, a user, a session, a token) opens nothing from the next request on, on each node.
//   - There is always an enabled user who is admin for all namespaces, once there was one.
//
// It imports engine alone: the store is a port.
package access
