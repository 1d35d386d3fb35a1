package ui

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/tidewheel/tidewheel/templates"
	"github.com/tidewheel/tidewheel/web/service"
)

// viewConcern says what is the matter, and what can be done about it.
func viewConcern(c *service.Concern) templates.Concern {
	job, run := templates.OwnerHref(c.Job), "/runs/"+url.PathEscape(c.Run)
	view := templates.Concern{ID: "concern-" + string(c.Kind) + "-" + c.Job + c.Executor + string(c.Tier), At: c.At}
	if c.Dismissible() {
		view.Dismiss = c.ID()
	}
	see := templates.Cure{Name: "See the run", Icon: "right", Href: run}
	pause := templates.Cure{Name: "Pause the job", Icon: "pause", Href: job + "/pause", Post: true}
	edit := templates.Cure{Name: "Edit the job", Icon: "edit", Href: job + "/edit"}
	fleet := templates.Cure{Name: "Executors and queues", Icon: "executors", Href: "/executors"}
	count := int64(c.Count)
	switch c.Kind {
	case service.ConcernDisk:
		view.Status, view.Title = "failed", "The server's disk is full"
		view.Words = "Free some space: " + c.Reason + ". The server then resumes on its own, and slots that passed are handled as after any other outage."
	case service.ConcernNoExecutor:
		view.Status, view.Title = "silent", "No executor is alive"
		view.Words = "Runs wait in the queue until an executor starts: start one with tidewheel server --roles executor."
		view.Cures = []templates.Cure{fleet}
	case service.ConcernLedger:
		view.Status, view.Title, view.Href = "missed", templates.Plural(count, "slot of the ledger is", "slots of the ledger are")+" wrong", job
		view.Words = "The newest is " + c.At.UTC().Format("2006-01-02 15:04:05") + " UTC of " + c.Job + ": it is " + c.Reason + ". This must not happen: the log names each slot; please report it."
		view.Cures = []templates.Cure{{Name: "See the ledger", Icon: "right", Href: job + "/slots"}}
	case service.ConcernOverdue:
		view.Status, view.Title, view.Href = "late", templates.Plural(count, "slot has", "slots have")+" passed without an engine firing", job
		view.Words = "The first is of " + c.Job + ". Is an engine running? tidewheel doctor checks."
		view.Cures = []templates.Cure{{Name: "See the job", Icon: "right", Href: job}}
	case service.ConcernUnserved:
		view.Status, view.Title = "late", fmt.Sprintf("%s in tier %s, which no executor serves", templates.Plural(count, "run waits", "runs wait"), c.Tier)
		view.Words = fmt.Sprintf("Start an executor with --tier %s, or change the tier of the jobs.", c.Tier)
		if c.RunsOn != "" {
			view.ID += "-" + c.RunsOn
			view.Title = fmt.Sprintf("%s in tier %s: %s", templates.Plural(count, "run waits", "runs wait"), c.Tier, c.Reason)
			view.Words = fmt.Sprintf("Start an executor with --tier %s%s, or change what the jobs run on.", c.Tier, labelFlags(c.RunsOn))
		}
		view.Cures = []templates.Cure{fleet}
	case service.ConcernSilent:
		view.Status, view.Title, view.Href = "silent", "Executor "+c.Executor+" does not respond", "/executors"
		view.Words = "It ran on host " + c.Host + ". Its runs are retried elsewhere once their locks expire."
		view.Cures = []templates.Cure{fleet}
	case service.ConcernRefused:
		view.Status, view.Title, view.Href = "failed", "Executor "+c.Executor+" refused "+templates.Plural(count, "task", "tasks"), "/executors"
		view.Words = "They did not run. The last: " + c.Reason + ". If all tasks are refused, its keys are out of date; if not, find out who else can write to NATS."
		view.Cures = []templates.Cure{fleet}
	case service.ConcernDead:
		view.Status, view.Title, view.Href = "dead", c.Job, run
		view.Words = ofRuns(c, "1 run failed all its attempts", "runs failed all their attempts") + because(c.Reason)
		view.Cures = []templates.Cure{
			{Name: "Try again", Icon: "retry", Href: run + "/retry", Post: true}, see, {Name: "Dismiss", Icon: "close", Href: run + "/dismiss", Post: true},
		}
		if c.Count > 1 {
			of := "?job=" + url.QueryEscape(c.Job)
			view.Href = "/dead-letters" + of
			view.Cures = []templates.Cure{
				{Name: "Try all again…", Icon: "retry", Href: "/dead-letters/replay" + of}, {Name: "See them", Icon: "right", Href: "/dead-letters" + of},
				{Name: "Purge all…", Icon: "trash", Href: "/dead-letters/purge" + of},
			}
		}
	case service.ConcernFailing:
		view.Status, view.Title, view.Href = c.Status.String(), c.Job, job
		view.Words = ofRuns(c, "1 run failed", "runs failed") + " in the last 24 hours" + because(c.Reason)
		view.Cures = []templates.Cure{see, pause, edit}
	case service.ConcernWave:
		wave := "/waves/" + url.PathEscape(c.Run)
		view.Status, view.Title, view.Href = c.Status.String(), c.Job, wave
		view.Words = ofRuns(c, "1 wave failed", "waves failed") + " in the last 24 hours, including the last one" + because(readable([]byte(c.Reason)))
		view.Cures = []templates.Cure{
			{Name: "Resume from failure", Icon: "retry", Href: wave + "/resume", Post: true}, {Name: "See the wave", Icon: "right", Href: wave},
			{Name: "Edit the DAG", Icon: "edit", Href: "/dags/" + url.PathEscape(c.Job) + "/edit"},
		}
	case service.ConcernMissed:
		view.Status, view.Title, view.Href = "missed", c.Job, job
		view.Words = templates.Plural(count, "slot was", "slots were") + " missed in the last 24 hours: " + reasonWords(c.Reason)
		view.Cures = []templates.Cure{{Name: "See the ledger", Icon: "right", Href: job + "/slots"}, edit}
	case service.ConcernLate:
		view.Status, view.Title, view.Href = "late", ofRuns(c, "1 run waits", "runs wait")+" for more than "+service.LateAfter.String(), "/runs?status=queued"
		view.Words = fmt.Sprintf("The oldest is of %s, in tier %s. Are there enough executors of that tier?", c.Job, c.Tier)
		view.Cures = []templates.Cure{see, fleet}
	case service.ConcernHeldUp:
		view.Status, view.Title, view.Href = "skipped", c.Job, job
		view.Words = templates.Plural(count, "slot", "slots") + " of the last 24 hours did not fire, because the previous run was still waiting for an executor. Is an executor of its tier running, with free slots, and not draining?"
		view.Cures = []templates.Cure{fleet, {Name: "See the ledger", Icon: "right", Href: job + "/slots"}}
	case service.ConcernOverlap:
		view.Status, view.Title, view.Href = "skipped", c.Job, job
		view.Words = templates.Plural(count, "slot", "slots") + " of the last 24 hours did not fire, because the previous run had not finished."
		view.Cures = []templates.Cure{{Name: "See the ledger", Icon: "right", Href: job + "/slots"}, edit}
	case service.ConcernOutlasts:
		view.Status, view.Title, view.Href = "skipped", c.Job, job
		view.Words = templates.Plural(count, "slot", "slots") + " of the last 24 hours did not fire, because the previous run was still running: it takes longer than the interval between slots. Schedule it less often, or lower its timeout."
		view.Cures = []templates.Cure{edit, pause}
	case service.ConcernStream:
		view.Status, view.Title, view.Href = "failed", "A stream of the queue grows", "/executors"
		view.Words = c.Reason + "."
		view.Cures = []templates.Cure{fleet}
	case service.ConcernDrained:
		view.Status, view.Title, view.Href = "draining", "Executor "+c.Executor+" is drained", "/executors"
		view.Words = "It takes no new runs, as " + c.By + " wants it to" + map[bool]string{true: "; " + templates.Plural(count, "run", "runs") + " go on there"}[count > 0] + "."
		view.Cures = []templates.Cure{{Name: "Let it take runs again", Icon: "play", Href: "/executors/" + url.PathEscape(c.Executor) + "/resume", Post: true, Root: true}, fleet}
	case service.ConcernPaused:
		viewPaused(c, &view)
	case service.ConcernNoEngine, service.ConcernOwnerless, service.ConcernClocks, service.ConcernBehind:
		viewEngineConcern(c, &view)
	}
	return view
}

// viewPaused says what is paused, by whom and why.
func viewPaused(c *service.Concern, view *templates.Concern) {
	list, noun, at := "/jobs", "job is", "/jobs/"+url.PathEscape(c.Job)
	if c.DAG {
		view.ID += "-dag"
		list, noun, at = "/dags", "DAG is", "/dags/"+url.PathEscape(c.Job)
	}
	view.Status = "paused"
	if c.Job == "" {
		view.Title, view.Href = many(c.Count, c.More)+" "+strings.Replace(noun, " is", "s are", 1)+" paused", list+"?state=paused"
		view.Words = "Their slots do not fire until they are resumed."
		view.Cures = []templates.Cure{{Name: "See them", Icon: "right", Href: view.Href}}
		return
	}
	view.Title, view.Href = c.Job, at
	view.Words = "Its slots do not fire"
	if c.By != "" {
		view.Words += "; paused by " + c.By
	}
	if view.Words += because(readable([]byte(c.Reason))); c.Reason == "" {
		view.Words += "."
	}
	view.Cures = []templates.Cure{{Name: "Resume", Icon: "play", Href: at + "/resume", Post: true}}
}

// labelFlags are those that give an executor labels.
func labelFlags(runsOn string) string {
	flags := ""
	for label := range strings.SplitSeq(runsOn, ",") {
		flags += " --label " + label
	}
	return flags
}

func ofRuns(c *service.Concern, one, more string) string {
	if c.Count == 1 && !c.More {
		return one
	}
	return many(c.Count, c.More) + " " + more
}

func because(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + reason
}
