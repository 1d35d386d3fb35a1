package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// tableOfJobs lists jobs, one a line. narrowed reports whether a filter left others out.
func (c *cli) tableOfJobs(w io.Writer, jobs []wire.Job, narrowed bool) {
	switch {
	case len(jobs) == 0 && narrowed:
		fmt.Fprintln(w, "No jobs found: `tidewheel get jobs` lists all of them.")
		return
	case len(jobs) == 0:
		fmt.Fprintln(w, "There are no jobs yet: define one with `tidewheel apply -f FILE`.")
		return
	}
	t := newTable(w, "NAME", "SCHEDULE", "NEXT", "STATE", "BINARY", "TIER", "UPDATED")
	for i := range jobs {
		j := &jobs[i]
		t.row(j.Name, j.Schedule, c.ago(j.NextSlot), definitionState(&j.Definition), j.Spec.Binary, j.Spec.Tier, c.ago(j.UpdatedAt))
	}
	t.flush()
}

func definitionState(d *wire.Definition) string {
	if d.Paused {
		return "paused"
	}
	return "active"
}

// describeDefinition begins a table with what is known of a job or a DAG, before what it consists of.
func (c *cli) describeDefinition(t *table, d *wire.Definition) {
	t.field("Name", d.Name)
	t.field("Namespace", d.Namespace)
	t.field("UID", d.UID)
	state := definitionState(d)
	if d.Paused {
		state += fmt.Sprintf(" since %s by %s", stamp(d.PausedAt), d.PausedBy)
	}
	if d.PausedReason != "" {
		state += ": " + d.PausedReason
	}
	t.field("State", state)
}

// describeHistory ends that table with who made and changed it, and shows its text.
func (c *cli) describeHistory(w io.Writer, t *table, d *wire.Definition, text []byte) {
	t.field("Generation", d.Generation)
	t.field("Created", by(c.ago(d.CreatedAt), d.CreatedBy))
	t.field("Updated", by(c.ago(d.UpdatedAt), d.UpdatedBy))
	t.field("Message", d.Message)
	t.flush()
	fmt.Fprintf(w, "\nDefinition:\n%s", indent(string(text)))
}

// describeJob prints all about one job: its state, its definition, and its last runs.
func (c *cli) describeJob(w io.Writer, j *wire.Job, preview *wire.Preview, runs []wire.Run) error {
	t := newTable(w)
	c.describeDefinition(t, &j.Definition)
	t.field("Schedule", j.Schedule)
	text, err := spec.Text(&j.Spec, j.Source)
	if err != nil {
		return fmt.Errorf("write the definition: %w", err)
	}
	c.describeHistory(w, t, &j.Definition, text)
	if preview != nil && len(preview.Items) > 0 {
		fmt.Fprintln(w, "\nNext slots:")
		t = newTable(w)
		for _, slot := range preview.Items {
			t.row("  "+slot.Local.Format("Mon 2006-01-02 15:04:05 -07:00"), c.ago(slot.Slot), slot.Note)
		}
		t.flush()
	}
	if len(runs) > 0 {
		fmt.Fprintln(w, "\nLatest runs:")
		c.tableOfRuns(w, runs)
	}
	return nil
}

func by(when, who string) string {
	switch {
	case who == "":
		return when
	case when == string(engine.TriggerEvent):
		return who // "webhook", "after etl"
	}
	return when + " by " + who
}

func indent(text string) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return "  " + strings.Join(lines, "\n  ") + "\n"
}

// tableOfLedger lists what happened to slots.
func (c *cli) tableOfLedger(w io.Writer, entries []wire.LedgerEntry) {
	if len(entries) == 0 {
		fmt.Fprintln(w, "No slot has passed yet.")
		return
	}
	headings := []string{"SLOT", "UNTIL", "COUNT", "OUTCOME", "REASON", "STATUS", "RUN"}
	roots := slices.ContainsFunc(entries, func(e wire.LedgerEntry) bool { return e.Root != "" })
	if roots {
		headings = append([]string{"ROOT"}, headings...)
	}
	t := newTable(w, headings...)
	for _, e := range entries {
		until := ""
		if !e.To.Equal(e.From) {
			until = stamp(e.To)
		}
		cells := []any{stamp(e.From), until, e.Count, e.Outcome, e.Reason, e.Status, e.Run}
		if roots {
			cells = append([]any{e.Root}, cells...)
		}
		t.row(cells...)
	}
	t.flush()
}

// tableOfExecutors lists who works.
func (c *cli) tableOfExecutors(w io.Writer, executors []wire.Executor) {
	if len(executors) == 0 {
		fmt.Fprintln(w, "No executor is alive: nothing will run until one is started.")
		return
	}
	t := newTable(w, "ID", "HOST", "TIERS", "RUNNING", "SLOTS", "STATE", "ISOLATION", "RIGHTS", "LABELS", "VERSION", "SINCE")
	for i := range executors {
		e := &executors[i]
		state := "ready"
		if e.Draining {
			state = "draining"
		}
		tiers := make([]string, len(e.Tiers))
		for i, tier := range e.Tiers {
			tiers[i] = string(tier)
		}
		t.row(e.ID, e.Host, strings.Join(tiers, ","), len(e.Running), e.Slots, state, e.Isolation, e.Rights, labelsOf(e), e.Version, c.ago(e.Since))
	}
	t.flush()
}

// labelsOf writes what jobs may ask for, without the host, which stands beside it.
func labelsOf(e *wire.Executor) string {
	labels := maps.Clone(e.Labels)
	if labels["host"] == e.Host {
		delete(labels, "host")
	}
	return spec.RunsOnText(labels)
}

// tableOfQueues lists what waits, and below each tier and class what of it asks for labels.
func (c *cli) tableOfQueues(w io.Writer, queues []wire.Queue) {
	t := newTable(w, "TIER", "CLASS", "WAITING", "DELIVERED", "IDLE PULLS", "OLDEST", "NOTE")
	for _, q := range queues {
		t.row(q.Tier, q.Class, q.Waiting, q.Claimed, q.Pulls, c.ago(q.Oldest), "")
		for _, p := range q.Pools {
			if p.Waiting == 0 {
				continue
			}
			note := "of these for " + spec.RunsOnText(p.RunsOn)
			if p.Unserved != "" {
				note += ": " + p.Unserved
			}
			t.row("", "", p.Waiting, p.Claimed, p.Pulls, c.ago(p.Oldest), note)
		}
	}
	t.flush()
}

// tableOfDeadLetters lists runs that used up their retries.
func (c *cli) tableOfDeadLetters(w io.Writer, letters []wire.DeadLetter) {
	if len(letters) == 0 {
		fmt.Fprintln(w, "There are no dead letters.")
		return
	}
	t := newTable(w, "RUN", "JOB", "ATTEMPTS", "WHEN", "ERROR")
	for _, l := range letters {
		t.row(l.ID, l.Job, l.Attempts, c.ago(l.At), l.Error)
	}
	t.flush()
}

// fieldPlace returns where a faulty field is.
func fieldPlace(fault wire.FieldError) string {
	switch {
	case fault.File != "" && fault.Line > 0:
		return fmt.Sprintf("%s:%d:%d: ", fault.File, fault.Line, fault.Column)
	case fault.Line > 0:
		return fmt.Sprintf("%d:%d: ", fault.Line, fault.Column)
	case fault.Location != "" && !slices.Contains([]string{"body", "path.name"}, fault.Location):
		return strings.TrimPrefix(fault.Location, "body.") + ": "
	}
	return ""
}
