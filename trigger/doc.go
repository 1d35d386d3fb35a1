// Package trigger starts runs and waves by events: a signed request (a webhook), the success of another job or DAG,
// a message of the queue, or an object of S3 that appears.
//
// Each event has an id, and the run that it starts has an id derived from the event's (see [Event.Key]), so an event that comes again
// starts nothing more. The package decides what an event is and whether it is genuine; what it starts is the service's work.
//
// A success must not be lost when an engine dies between the commit of a run and the start of what comes after it. So the [Outbox]
// writes a record of the success before that commit. The record is a hint, not the truth: the [Watcher] looks at the run itself, and
// removes the record once everything that waits for the success has been started.
package trigger
