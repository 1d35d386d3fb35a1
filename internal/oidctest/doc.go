// Package oidctest signs users in at a real provider of OpenID Connect, the one of github.com/zitadel/oidc, which runs in the
// test's process: once through the built program, and once for each way in which a login is refused. It has tests only.
//
// It is a module of its own, so that the provider stays out of the product's.
package oidctest
