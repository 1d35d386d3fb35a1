// Package ui serves the pages: what is running and what comes next, jobs, runs with their live output, programs and
// executors. Pages are HTML from the server: they can be read and used without a script, and refresh themselves with
// one.
//
// One file holds one page or one action: it parses what was asked, asks web/service, makes a view of package templates
// of the answer, and renders it. Actions are forms that are posted and answered by a redirect; who may post them, and
// from where, is web's business. Errors are returned to web, which shows them through Failure.
//
// It may import the vocabulary (engine, spec, cron), web/service, templates and static; it knows nothing of stores.
package ui
