// Package issuer signs users in at an OpenID Connect provider: the authorization code flow with PKCE, state and nonce, and the
// mapping from groups to roles.
//
// What it promises:
//   - An Account is what a verified ID token says: its signature, issuer, audience, time and nonce were checked.
//   - What it returns as a *Refusal has a text for the user that says what to do, and holds no secret.
//   - It asks the provider when a user signs in, not before: a provider that is unavailable stops nothing else.
//
// It keeps no state about logins under way: the browser brings its Attempt back. It may import access.
package issuer
