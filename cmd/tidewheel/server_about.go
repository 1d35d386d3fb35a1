package main

import (
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/store/mongo"
	"github.com/tidewheel/tidewheel/store/sqlite"
	"github.com/tidewheel/tidewheel/templates"
)

// aboutParts says what this node is made of, for the page about it. Addresses may hold credentials, and are left out.
func (s *Server) aboutParts() []templates.Part {
	store := fmt.Sprintf("SQLite, embedded; schema %d", sqlite.SchemaVersion)
	if s.config.MongoURI != "" {
		store = fmt.Sprintf("MongoDB; schema %d", mongo.SchemaVersion)
	}
	kind := func(external bool) string {
		if external {
			return "a service of its own"
		}
		return "embedded"
	}
	roles := make([]string, 0, 3)
	for _, role := range []string{roleEngine, roleExecutor, roleWeb} {
		if s.config.has(role) {
			roles = append(roles, role)
		}
	}
	signIn := "on"
	if !s.config.Auth {
		signIn = "off"
	}
	return []templates.Part{
		{Name: "Roles of this node", Value: strings.Join(roles, ", ")},
		{Name: "Store", Value: store},
		{Name: "NATS JetStream", Value: kind(s.config.NATSURL != "")},
		{Name: "S3", Value: kind(s.config.S3Endpoint != "")},
		{Name: "Authentication", Value: signIn},
		{Name: "Built with", Value: fmt.Sprintf("%s for %s/%s", runtime.Version(), runtime.GOOS, runtime.GOARCH)},
	}
}

// keptFor says how long the server keeps what, for the page about it.
func (c *ServerConfig) keptFor() []templates.Kept {
	words := func(d time.Duration) string {
		if d == 0 {
			return "for ever"
		}
		if d%(24*time.Hour) == 0 {
			return templates.Plural(int64(d/(24*time.Hour)), "day", "days")
		}
		return spec.Duration(d).String()
	}
	asRuns := func(d time.Duration) string {
		if d == 0 {
			return "as long as runs"
		}
		return words(d)
	}
	return []templates.Kept{
		{What: "Runs and waves", Note: "with the slot ledger and effects; a namespace, a job or a DAG may say otherwise", For: words(c.Retention), Flag: "--retention"},
		{What: "Output and artifacts", Note: "of runs, in S3; a namespace, a job or a DAG may say otherwise", For: asRuns(c.RetentionOutput), Flag: "--retention-output"},
		{What: "Dead letters", For: asRuns(c.RetentionDeadLetters), Flag: "--retention-dead-letters"},
		{What: "One-off jobs", Note: "of the one-call form, after their run", For: words(c.RetentionOneOff), Flag: "--retention-one-off"},
		{What: "Earlier generations of definitions", Note: "at least as long as runs", For: words(c.RetentionGenerations), Flag: "--retention-generations"},
		{What: "Binaries that nothing refers to", For: words(c.RetentionBinaries), Flag: "--retention-binaries"},
		{What: "Notifications", Note: "that were delivered, failed or silenced", For: words(c.RetentionNotifications), Flag: "--retention-notifications"},
		{What: "Audit log", For: words(c.RetentionAudit), Flag: "--retention-audit"},
	}
}
