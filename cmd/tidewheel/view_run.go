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
	"github.com/tidewheel/tidewheel/spec"
)

// tableOfRuns lists runs, one a line.
func (c *cli) tableOfRuns(w io.Writer, runs []wire.Run) {
	if len(runs) == 0 {
		fmt.Fprintln(w, "No runs found.")
		return
	}
	t := newTable(w, "RUN", "JOB", "STATUS", "TRIGGER", "SLOT", "STARTED", "TOOK", "TRY")
	for i := range runs {
		r := &runs[i]
		began := began(r)
		t.row(r.ID, runLabel(r), c.runStatus(r), r.Trigger, stamp(r.Slot), c.ago(began), c.took(r), r.Attempt)
	}
	t.flush()
}

// runLabel names what a run is of: a job, or "dag/task".
func runLabel(r *wire.Run) string {
	switch {
	case r.DAG == "":
		return r.Job
	case r.Item != nil:
		return fmt.Sprintf("%s/%s[%d]", r.DAG, r.Task, *r.Item)
	}
	return r.DAG + "/" + r.Task
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

// began reports when a run began. The start of a process is reported with its end, so until then it is when the attempt
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

// took reports how long a run has taken, so far where it has not ended.
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

// describeRun prints all about one run.
func (c *cli) describeRun(w io.Writer, d *describedRun) {
	r := &d.Run
	t := newTable(w)
	t.field("Run", r.ID)
	t.field("Job", r.Job)
	if r.DAG != "" {
		t.field("Task", runLabel(r))
		t.field("Wave", r.Wave)
	}
	t.field("Namespace", r.Namespace)
	t.field("Status", c.runStatus(r))
	t.field("Reason", r.Reason)
	t.field("Waits", r.Unserved)
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
	t.field("Runs on", spec.RunsOnText(r.RunsOn))
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
	describeEffects(w, d.Effects)
	describeLeft(w, r)
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
			if a.Output.Lost > 0 {
				output += fmt.Sprintf(" (%s could not be stored)", bytesOf(a.Output.Lost))
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

// describeEffects prints what a run's program does once.
func describeEffects(w io.Writer, effects []wire.Effect) {
	if len(effects) == 0 {
		return
	}
	fmt.Fprintln(w, "\nEffects (each is done once, whatever the number of attempts):")
	t := newTable(w, "EFFECT", "STATE", "TRY", "WHEN", "RESULT")
	for i := range effects {
		e := &effects[i]
		at := e.OpenedAt
		if !e.DoneAt.IsZero() {
			at = e.DoneAt
		}
		t.row(e.Key, e.State, e.Attempt, stamp(at), printable(compact(e.Result)))
	}
	t.flush()
}

// describeLeft prints what a run has handed on.
func describeLeft(w io.Writer, r *wire.Run) {
	var outputs map[string]json.RawMessage
	if len(r.Outputs) > 0 && json.Unmarshal(r.Outputs, &outputs) == nil {
		fmt.Fprintln(w, "\nOutputs:")
		t := newTable(w, "KEY", "VALUE")
		for _, key := range slices.Sorted(maps.Keys(outputs)) {
			t.row(key, printable(compact(outputs[key])))
		}
		t.flush()
	}
	if len(r.Artifacts) > 0 {
		fmt.Fprintf(w, "\nArtifacts (download: tidewheel artifacts %s -d FOLDER):\n", r.ID)
		tableOfArtifacts(w, r.Artifacts)
	}
}

func compact(text json.RawMessage) string {
	var out bytes.Buffer
	if json.Compact(&out, text) != nil {
		return string(text)
	}
	return out.String()
}

func lastAttempt(r *wire.Run) wire.Attempt {
	if n := len(r.Attempts); n > 0 {
		return r.Attempts[n-1]
	}
	return wire.Attempt{}
}
