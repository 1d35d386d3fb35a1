// Package web is the HTTP server: it puts the REST API (web/api) and the pages (web/ui) behind one guard (web/auth),
// with request ids, an access log, security headers, limits and health.
//
// It promises: a request that fails inside is answered, is logged under an id that the answer names, and ends no other
// request; a client that sends headers or a body, or takes an answer, too slowly is disconnected; streams end when the
// server stops, and a request in progress is not cut before the time it is given to finish.
//
// It may import web/api, web/ui, web/auth, web/service, static and the vocabulary; only the command imports it.
package web
