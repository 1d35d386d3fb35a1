package ui

import (
	"context"
	"fmt"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/templates"
	"github.com/tidewheel/tidewheel/web/service"
)

// terminal are the statuses of runs with which nothing more happens.
func terminal() (ended []engine.Status) {
	for _, status := range engine.Statuses() {
		if status.Terminal() {
			ended = append(ended, status)
		}
	}
	return ended
}

// bad are the final statuses that may need a user's attention.
var bad = []engine.Status{engine.StatusFailed, engine.StatusTimedOut, engine.StatusLost, engine.StatusDead}

func viewRun(run *engine.Run) templates.RunRow {
	row := templates.RunRow{
		ID: run.ID, Job: run.Job, Of: waveRun(run), Status: run.Status.String(), Reason: reason(run), Trigger: triggerWords(run),
		Slot: run.Slot, Created: run.CreatedAt, Started: begun(run), Attempt: run.Attempt, Ended: run.Status.Terminal(),
	}
	if row.Ended {
		row.Finished = run.FinishedAt
	} else {
		row.Progress = viewProgress(run.Progress)
	}
	return row
}

// begun returns when a run began. The executor reports the start of the process with its end: until then begun returns
// when an executor took the run.
func begun(run *engine.Run) time.Time {
	if attempt := run.Current(); run.StartedAt.IsZero() && attempt != nil {
		return attempt.ClaimedAt
	}
	return run.StartedAt
}

func viewRuns(runs []engine.Run) []templates.RunRow {
	rows := make([]templates.RunRow, len(runs))
	for i := range runs {
		rows[i] = viewRun(&runs[i])
	}
	return rows
}

// viewLiving is viewRuns, and adds to waiting runs why no executor takes them.
func (u *UI) viewLiving(ctx context.Context, runs []engine.Run) []templates.RunRow {
	rows := viewRuns(runs)
	why := u.service.UnschedulableReasons(ctx, runs)
	for i := range rows {
		if rows[i].Reason == "" {
			rows[i].Reason = why[rows[i].ID]
		}
	}
	return rows
}

// labelList writes labels as "key=value", in order.
func labelList(labels map[string]string) (list []string) {
	for _, key := range sortedKeys(labels) {
		list = append(list, key+"="+labels[key])
	}
	return list
}

// reason is why a run stands where it stands: its own words, or those of its last attempt.
func reason(run *engine.Run) string {
	if run.Reason != "" || run.Status == engine.StatusSucceeded {
		return run.Reason
	}
	attempt := run.Current()
	switch {
	case attempt == nil:
		return ""
	case attempt.Error != "":
		return attempt.Error
	case attempt.Signal != "":
		return "ended by signal " + attempt.Signal
	case attempt.ExitCode != nil && *attempt.ExitCode != 0:
		return fmt.Sprintf("exit code %d", *attempt.ExitCode)
	}
	return ""
}

func viewProgress(p *engine.Progress) *templates.Progress {
	if p == nil {
		return nil
	}
	return &templates.Progress{Fraction: min(max(p.Fraction, 0), 1), Message: readable([]byte(p.Message))}
}

func triggerWords(run *engine.Run) string {
	switch run.Trigger {
	case engine.TriggerSchedule:
		return "schedule"
	case engine.TriggerCatchUp:
		return "catch-up"
	case engine.TriggerBackfill:
		return "backfill"
	case engine.TriggerManual:
		return "manual"
	case engine.TriggerEvent:
		return run.By // "webhook", "after etl"
	case engine.TriggerUpstream:
		return "upstream"
	}
	return string(run.Trigger)
}

// byWhom says who asked for a run or wave; an event is said by triggerWords.
func byWhom(trigger engine.Trigger, by string) string {
	if trigger == engine.TriggerEvent {
		return ""
	}
	return by
}

// reasonWords puts the reasons of the ledger into sentences.
func reasonWords(reason string) string { return service.ReasonWords(reason) }

// kindWords names a program's kind for people.
func kindWords(kind, arch string) string {
	words := map[string]string{"elf": "ELF", "script": "script", "jar": "JAR", "macho": "Mach-O", "pe": "Windows", "unknown": "unknown"}[kind]
	if words == "" {
		words = kind
	}
	if arch != "" {
		words += ", " + arch
	}
	return words
}

// binaryName returns the name in a reference to a program; "" where it is a digest.
func binaryName(reference string) string {
	ref, err := spec.ParseBinary(reference)
	if err != nil {
		return ""
	}
	return ref.Name
}

// lag reports how long after its slot a run started.
func lag(run *engine.Run) string {
	if run.Trigger != engine.TriggerSchedule || run.Slot.IsZero() || run.StartedAt.IsZero() {
		return ""
	}
	return templates.Span(max(run.StartedAt.Sub(run.Slot), time.Duration(0))) + " after its slot"
}

// many is a number that is known up to a limit only: "100+".
func many(n int, more bool) string {
	if more {
		return fmt.Sprintf("%d+", n)
	}
	return fmt.Sprint(n)
}
