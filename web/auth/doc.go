// Package auth reads which credentials a request brings: a bearer token of a program, the cookie of a browser's session, or a
// link with a code that works once. Whether they open anything says package access.
//
// It promises: a token is never logged or put into a URL; a cookie is kept from scripts and other sites; a request that changes
// something and comes from another site is refused; where authentication is off, only requests that name this machine are taken,
// so that no page on the web can reach in by a name of its own.
//
// Running programs have a door of their own, which opens the effects of their run and nothing else (RunTokens).
//
// It may import access, web/service, for the program that acts, and internal/runtoken. What is answered to those who
// stay outside is package web's.
package auth
