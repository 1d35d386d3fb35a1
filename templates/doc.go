// Package templates holds what the pages look like: templ components, and the plain structs that they show.
//
// A view struct holds words, numbers and instants that are ready to be shown; a component decides nothing but their
// form. So the package imports nothing of Tidewheel: web/ui turns the engine's types into views. Everything is escaped
// by templ; there is no inline script or style, for the pages are served under a content security policy without them.
//
// Each page is a .templ file with the structs of its own beside it in a .go file; layout.templ frames them all.
// `make generate` writes the *_templ.go files, which are committed. Golden tests hold the HTML.
package templates
