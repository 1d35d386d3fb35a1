// Package tracing sends what runs, waves and requests of programs did to an OpenTelemetry collector, as spans.
//
// What it promises: the spans of a run are made of the run as it was committed, when it has ended; their identities are derived
// (engine.TraceID), so that a program, which continues the span of its attempt, needs no answer from another process. Nothing waits for the collector:
// spans wait in a queue of bounded size, and are dropped when it is full.
//
// It alone sees the OpenTelemetry SDK. Of Tidewheel it imports the engine's words.
package tracing
