package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
)

// Traces and spans have derived identities, as runs have: engine, executor, program and page mean the same ones, and nothing is kept.

// TraceID is the W3C trace of a run, or of a wave, by its id.
func TraceID(id string) [16]byte {
	sum := sha256.Sum256([]byte(id))
	return [16]byte(sum[:16])
}

// SpanID is the span of a part of a run or a wave.
func SpanID(id, part string) [8]byte {
	sum := sha256.Sum256([]byte(id + "/" + part))
	return [8]byte(sum[:8])
}

// AttemptSpanID is the span of an attempt, which the program continues.
func AttemptSpanID(run string, attempt int) [8]byte { return SpanID(run, strconv.Itoa(attempt)) }

// TraceParent is a sampled W3C trace context: the trace is the run, the span the attempt.
// Source: W3C Trace Context, Recommendation of 23 November 2021.
func TraceParent(run string, attempt int) string {
	trace, span := TraceID(run), AttemptSpanID(run, attempt)
	return "00-" + hex.EncodeToString(trace[:]) + "-" + hex.EncodeToString(span[:]) + "-01"
}
