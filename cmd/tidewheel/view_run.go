package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/engine"
)

// tableOfRuns lists runs, one a line.
func (c *cli) tableOfRuns(w io.Writer, runs []wire.Run) {
	if len(runs) == 0 {
		fmt.Fprintln(w, "There are no such runs.")
		return
	}
	t := newTable(w, "RUN", "JOB", "STATUS", "TRIGGER", "SLOT", "STARTED", "TOOK", "TRY")
	for i := range runs {
		r := &runs[i]
		began := began(r)
		t.row(r.ID, r.Job, c.runStatus(r), r.Trigger, stamp(r.Slot), c.ago(began), c.took(r), r.Attempt)
	}
	t.flush()
}

// runStatus is a run's status with what there is to say about it in few words.
func (c *cli) runStatus(r *wire.Run) string {
	status := r.Status.String()
	switch {
	case r.Waiting:
		return status + " (waiting)"
	case r.Status == engine.StatusRetrying:
		return status + " " + c.ago(r.RetryAt)
	case r.Status.Terminal() && r.ExitCode != nil && *r.ExitCode != 0:
		return fmt.Sprintf("%s (exit %d)", status, *r.ExitCode)
	case r.CancelBy != "" && !r.Status.Terminal():
		return status + " (cancelling)"
	}
	return status
}

// began tells when a run began. The start of a process is reported with its end, so until then it is when the attempt
// was claimed or, in a list, queued: some milliseconds before.
func began(r *wire.Run) time.Time {
	switch {
	case !r.StartedAt.IsZero() || r.Status != engine.StatusRunning:
		return r.StartedAt
	case !lastAttempt(r).ClaimedAt.IsZero():
		return lastAttempt(r).ClaimedAt
	}
	return r.QueuedAt
}

// took tells how long a run has taken, so far where it has not ended.
func (c *cli) took(r *wire.Run) string {
	began := began(r)
	switch {
	case began.IsZero():
		return ""
	case !r.FinishedAt.IsZero():
		return roughly(r.FinishedAt.Sub(began))
	}
	return roughly(max(c.now().Sub(began), 0))
}

// describeRun tells all about one run.
func (c *cli) describeRun(w io.Writer, r *wire.Run) {
	t := newTable(w)
	t.field("Run", r.ID)
	t.field("Job", r.Job)
	t.field("Namespace", r.Namespace)
	t.field("Status", c.runStatus(r))
	t.field("Reason", r.Reason)
	t.field("Error", r.Error)
	t.field("Trigger", by(string(r.Trigger), r.By))
	t.field("Slot", stamp(r.Slot))
	t.field("Created", stamp(r.CreatedAt))
	t.field("Not before", stamp(r.NotBefore))
	t.field("Queued", stamp(r.QueuedAt))
	t.field("Started", stamp(began(r)))
	t.field("Finished", stamp(r.FinishedAt))
	t.field("Retry at", stamp(r.RetryAt))
	t.field("Took", c.took(r))
	t.field("Cancelled by", r.CancelBy)
	binary := r.Binary
	if r.Version > 0 {
		binary += fmt.Sprintf(" (version %d)", r.Version)
	}
	t.field("Binary", binary)
	t.field("SHA256", r.Digest)
	t.field("Tier", fmt.Sprintf("%s, %s", r.Tier, r.Class))
	if len(r.Payload) > 0 {
		t.field("Payload", compact(r.Payload))
	}
	for _, key := range slices.Sorted(maps.Keys(r.Args)) {
		t.field("Argument", key+"="+r.Args[key])
	}
	if p := r.Progress; p != nil {
		t.field("Progress", strings.TrimSpace(fmt.Sprintf("%.0f%% %s", 100*p.Fraction, p.Message)))
	}
	t.flush()
	if len(r.Attempts) == 0 {
		return
	}
	fmt.Fprintln(w, "\nAttempts:")
	t = newTable(w, "TRY", "STATUS", "EXECUTOR", "STARTED", "TOOK", "EXIT", "OUTPUT", "ERROR")
	for i := range r.Attempts {
		a := &r.Attempts[i]
		took, exit, output := "", a.Signal, ""
		if !a.StartedAt.IsZero() && !a.FinishedAt.IsZero() {
			took = roughly(a.FinishedAt.Sub(a.StartedAt))
		}
		if a.ExitCode != nil {
			exit = fmt.Sprint(*a.ExitCode)
		}
		if a.Output != nil {
			output = bytesOf(a.Output.Size)
			if a.Output.Truncated > 0 {
				output += fmt.Sprintf(" (%s more were not kept: limits.output)", bytesOf(a.Output.Truncated))
			}
		}
		t.row(a.N, a.Status, a.Executor, stamp(a.StartedAt), took, exit, output, a.Error)
	}
	t.flush()
	if last := r.Attempts[len(r.Attempts)-1].Output; last != nil && last.Tail != "" {
		fmt.Fprintf(w, "\nEnd of the output (all of it: tidewheel logs %s):\n", r.ID)
		for line := range strings.SplitSeq(strings.TrimRight(last.Tail, "\n"), "\n") {
			fmt.Fprintln(w, "  "+printable(line))
		}
	}
}

func compact(text json.RawMessage) string {
	var out bytes.Buffer
	if json.Compact(&out, text) != nil {
		return string(text)
	}
	return out.String()
}

// differences tells in which fields two runs differ.
func (c *cli) differences(a, b *wire.Run) [][3]string {
	var rows [][3]string
	add := func(name, left, right string) {
		if left != right {
			rows = append(rows, [3]string{name, left, right})
		}
	}
	span := func(from, to time.Time) string {
		if from.IsZero() || to.IsZero() {
			return ""
		}
		return roughly(to.Sub(from))
	}
	number := func(n int64) string {
		if n == 0 {
			return ""
		}
		return fmt.Sprint(n)
	}
	add("job", a.Job, b.Job)
	add("status", c.runStatus(a), c.runStatus(b))
	add("reason", a.Reason, b.Reason)
	add("error", a.Error, b.Error)
	add("trigger", by(string(a.Trigger), a.By), by(string(b.Trigger), b.By))
	add("slot", stamp(a.Slot), stamp(b.Slot))
	add("generation", number(a.Generation), number(b.Generation))
	add("binary", a.Binary, b.Binary)
	add("version", number(int64(a.Version)), number(int64(b.Version)))
	add("sha256", a.Digest, b.Digest)
	add("tier", string(a.Tier), string(b.Tier))
	add("class", string(a.Class), string(b.Class))
	add("payload", compact(a.Payload), compact(b.Payload))
	for _, key := range slices.Sorted(maps.Keys(union(a.Args, b.Args))) {
		add("argument "+key, a.Args[key], b.Args[key])
	}
	add("attempts", number(int64(a.Attempt)), number(int64(b.Attempt)))
	add("started", stamp(a.StartedAt), stamp(b.StartedAt))
	add("start lag", span(a.Slot, a.StartedAt), span(b.Slot, b.StartedAt))
	add("took", c.took(a), c.took(b))
	left, right := lastAttempt(a), lastAttempt(b)
	add("executor", left.Executor, right.Executor)
	if left.Usage != nil && right.Usage != nil {
		add("cpu", left.Usage.CPU.String(), right.Usage.CPU.String())
		add("memory", bytesOf(left.Usage.MaxRSS), bytesOf(right.Usage.MaxRSS))
	}
	if left.Output != nil && right.Output != nil {
		add("output", fmt.Sprintf("%s, %s", bytesOf(left.Output.Size), count(left.Output.Lines, "line")),
			fmt.Sprintf("%s, %s", bytesOf(right.Output.Size), count(right.Output.Lines, "line")))
	}
	return rows
}

func lastAttempt(r *wire.Run) wire.Attempt {
	if n := len(r.Attempts); n > 0 {
		return r.Attempts[n-1]
	}
	return wire.Attempt{}
}

func union(a, b map[string]string) map[string]string {
	all := maps.Clone(a)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, b)
	return all
}
