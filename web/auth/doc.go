// Package auth decides who may come in: a bearer token for programs, a session cookie for browsers, and a link with a
// code that works once to get the first session. Without any of them only what is public is served.
//
// It promises: tokens are compared in constant time and are never logged or put into a URL; a session is signed, ends
// by itself, at logout, and with the token that it came from; a request that changes something and comes from another site
// is refused; where authentication is off, only requests that name this machine are taken, so that no page on the web
// can reach in by a name of its own.
//
// Running programs have a door of their own, which opens the effects of their run and nothing else (RunTokens).
//
// It may import web/service, for the name of who acts, and internal/runtoken. What is answered to those who
// stay outside is package web's.
package auth
