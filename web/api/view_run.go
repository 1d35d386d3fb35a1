package api

import (
	"bytes"
	"encoding/hex"
	"strings"
	"unicode/utf8"

	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// tailShown is how much of an attempt's output is shown with a run, in bytes.
const tailShown = 4 << 10

// viewRun shows a run; its output's last lines and what it has left only where it is asked for by itself.
func viewRun(run *engine.Run, alone bool) wire.Run {
	trace := engine.TraceID(run.ID)
	view := wire.Run{
		TraceID: hex.EncodeToString(trace[:]),
		ID:      run.ID, Namespace: run.Namespace, Job: run.Job, JobUID: run.JobUID,
		DAG: run.DAG, Wave: run.Wave, Epoch: run.Epoch, Task: run.Task, Item: run.Item, Generation: run.Generation, Revision: run.Revision,
		Trigger: run.Trigger, By: run.By, Slot: run.Slot, Status: run.Status, Reason: run.Reason, Waiting: run.Waiting,
		Tier: run.Tier, Class: run.Class, RunsOn: run.RunsOn,
		Binary: run.Binary, Version: run.Version, Digest: run.Digest, Kind: run.Kind, Size: run.Size,
		Payload: run.Payload, Args: run.Args,
		CreatedAt: run.CreatedAt, NotBefore: run.NotBefore, QueuedAt: run.QueuedAt, StartedAt: run.StartedAt,
		FinishedAt: run.FinishedAt, RetryAt: run.RetryAt,
		Attempt: run.Attempt, Failures: run.Failures, Losses: run.Losses, CancelBy: run.CancelBy,
	}
	for i := range run.Attempts {
		view.Attempts = append(view.Attempts, viewAttempt(&run.Attempts[i], alone))
	}
	if current := run.Current(); current != nil {
		view.ExitCode, view.Error = current.ExitCode, current.Error
	}
	if p := run.Progress; p != nil {
		view.Progress = &wire.Progress{Fraction: p.Fraction, Message: strings.ToValidUTF8(p.Message, "\uFFFD"), At: p.At}
	}
	if alone {
		view.Outputs = run.Outputs
		view.Artifacts = viewArtifacts(run.Artifacts)
	}
	return view
}

func viewAttempt(a *engine.Attempt, alone bool) wire.Attempt {
	view := wire.Attempt{
		N: a.N, Status: a.Status, Executor: a.Executor, Token: a.Token,
		QueuedAt: a.QueuedAt, ClaimedAt: a.ClaimedAt, FetchedAt: a.FetchedAt, StartedAt: a.StartedAt, FinishedAt: a.FinishedAt,
		ExitCode: a.ExitCode, Signal: a.Signal, Error: a.Error,
	}
	if a.Usage != nil {
		view.Usage = &wire.Usage{CPU: spec.Duration(a.Usage.CPU), MaxRSS: a.Usage.MaxRSS}
	}
	if o := a.Output; o != nil {
		view.Output = &wire.Output{Size: o.Size, Lines: o.Lines, Truncated: o.Truncated, Lost: o.Lost}
		if alone {
			view.Output.Tail = lastLines(o.Tail)
		}
	}
	return view
}

// lastLines cuts output to what is shown, at the beginning of a line where there is one.
func lastLines(tail []byte) string {
	if len(tail) > tailShown {
		tail = tail[len(tail)-tailShown:]
		if newline := bytes.IndexByte(tail, '\n'); newline >= 0 && newline+1 < len(tail) {
			tail = tail[newline+1:]
		}
		for len(tail) > 0 && !utf8.RuneStart(tail[0]) {
			tail = tail[1:]
		}
	}
	return strings.ToValidUTF8(string(tail), "\uFFFD")
}
