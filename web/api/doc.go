// Package api is the REST API under /api/v1: one file for each resource or action, each of them parse → call the
// service → respond. Its answers are package client/wire's types, and the OpenAPI document at /api/v1/openapi.json is made
// from the same code that answers.
//
// It promises: every answer that is not a success is an RFC 9457 problem with a stable code, through one mapping
// (problem.go); programs and logs of any size pass through in pieces and are never held in memory; a stream ends when
// its client goes, when it stops reading, and when the server stops.
//
// It may import spec, engine, cron, web/service and client/wire. Who may call it is decided before it, by web/auth.
package api
