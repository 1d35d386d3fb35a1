// Package client is the Go client of the REST API, which the command line uses. What is sent and received is package
// client/wire's.
//
// It promises: uploads, downloads and logs pass through in pieces; an answer that is no success is an *APIError; a
// server that cannot be reached is ErrUnreachable; nothing is retried behind the caller's back.
//
// It may import client/wire, spec and engine, and nothing else of Tidewheel.
package client
