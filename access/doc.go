// Package access says who may do what: roles, in which namespaces they are held, and by whom. It decides and keeps nothing:
// web/auth finds out who makes a request, web asks this package whether the request may be made, and a store keeps users,
// tokens and namespaces as records.
//
// It imports nothing of Tidewheel.
package access
