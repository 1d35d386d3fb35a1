// Package service holds what users can do, once: define, run, pause, cancel, retry and backfill jobs; upload binaries
// and move their aliases; read runs and their output. The REST API (web/api) and the pages (web/ui) are two ways to
// call it, so that both obey the same rules and say the same words.
//
// It checks what is asked, writes definitions and intents to the store, and wakes the engine; it never decides what
// the engine decides. Errors that a user can do something about are *Error; all others are faults of ours or of a
// store.
//
// It may import spec, cron and engine; it knows nothing of HTTP.
package service
