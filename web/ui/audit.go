package ui

import (
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/audit"
	"github.com/tidewheel/tidewheel/templates"
)

const auditPerPage = 50

func (u *UI) auditList(c echo.Context) error {
	view := templates.Audit{
		Page: u.page(c, templates.SectionAudit, "Audit log"),
		Filter: templates.AuditFilter{
			By: c.QueryParam("by"), Namespace: c.QueryParam("in"), Outcome: c.QueryParam("outcome"), Since: c.QueryParam("since"), Text: c.QueryParam("q"), Spans: spans,
		},
	}
	filter := audit.Filter{By: view.Filter.By, Outcome: audit.Outcome(view.Filter.Outcome), Text: view.Filter.Text, Limit: auditPerPage}
	if view.Filter.Namespace != "" {
		filter.Namespaces = []string{view.Filter.Namespace}
	}
	if view.Filter.Since != "" {
		span, err := time.ParseDuration(view.Filter.Since)
		if err != nil || span <= 0 {
			view.Problem = "The time " + strconv.Quote(view.Filter.Since) + " is not understood: changes of any time are shown."
			view.Filter.Since = ""
		} else {
			filter.Since = u.now().Add(-span)
		}
	}
	cursor := c.QueryParam("cursor")
	if cursor != "" {
		var err error
		if filter.Below, err = strconv.ParseInt(cursor, 10, 64); err != nil || filter.Below < 1 {
			view.Problem = "This page of the list cannot be found any more: here is the first."
			cursor, filter.Below = "", 0
		}
	}
	entries, below, err := u.service.AuditEntries(c.Request().Context(), filter)
	if err != nil {
		return err
	}
	next := ""
	if below > 0 {
		next = strconv.FormatInt(below, 10)
	}
	view.Pager = pager(c, cursor, next)
	for i := range entries {
		view.Rows = append(view.Rows, auditRow(&entries[i]))
	}
	return u.render(c, http.StatusOK, templates.AuditPage(view))
}

func auditRow(e *audit.Entry) templates.AuditRow {
	row := templates.AuditRow{
		Number: e.Number, At: e.At, By: e.By, Remote: e.Remote, Agent: e.Agent, Namespace: e.Namespace, Action: e.Action, Target: e.Target,
		RequestID: e.RequestID, Outcome: string(e.Outcome),
	}
	for _, change := range e.Changes {
		row.Changes = append(row.Changes, templates.AuditChange(change))
	}
	return row
}
