package templates

import (
	"net/url"
	"time"
)

// Audit is the log of who changed what.
type Audit struct {
	Page    Page
	Filter  AuditFilter
	Rows    []AuditRow
	Pager   Pager
	Problem string
}

// AuditFilter is the form above it.
type AuditFilter struct {
	By, Namespace, Outcome, Since, Text string
	Spans                               []Option
}

func (f *AuditFilter) any() bool {
	return f.By != "" || f.Namespace != "" || f.Outcome != "" || f.Since != "" || f.Text != ""
}

// export is the same list for programs.
func (f *AuditFilter) export(namespace string) string {
	query := url.Values{}
	for name, value := range map[string]string{"by": f.By, "in": f.Namespace, "outcome": f.Outcome, "since": f.Since, "q": f.Text, "limit": "1000", "namespace": namespace} {
		if value != "" {
			query.Set(name, value)
		}
	}
	return "/api/v1/audit?" + query.Encode()
}

// AuditRow is one change.
type AuditRow struct {
	Number            int64
	At                time.Time
	By, Remote, Agent string
	Namespace, Action string
	Target, RequestID string
	Outcome           string
	Changes           []AuditChange
}

// AuditChange is one thing that was changed.
type AuditChange struct{ What, Before, After string }

func (c *AuditChange) words() string {
	switch {
	case c.Before != "" && c.After != "":
		return c.Before + " → " + c.After
	case c.Before != "":
		return c.Before + ", deleted"
	}
	return c.After
}

// source is where the request is found in the server's log, and what sent it.
func (r *AuditRow) source() string {
	if r.Agent == "" {
		return "request " + r.RequestID
	}
	return "request " + r.RequestID + " by " + r.Agent
}

var auditOutcomes = []Option{{Value: "done", Name: "Done"}, {Value: "refused", Name: "Refused"}, {Value: "failed", Name: "Failed"}}

// auditStatus is the status of a run that an outcome is shown like.
func auditStatus(outcome string) string {
	return map[string]string{"done": "succeeded", "refused": "skipped", "failed": "failed"}[outcome]
}
