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
	see := templates.Cure{Name: "See the run", Icon: "right", Href: run}
	pause := templates.Cure{Name: "Pause the job", Icon: "pause", Href: job + "/pause", Post: true}
	edit := templates.Cure{Name: "Edit the job", Icon: "edit", Href: job + "/edit"}
	fleet := templates.Cure{Name: "Executors and queues", Icon: "executors", Href: "/executors"}
	count := int64(c.Count)
	switch c.Kind {
	case service.ConcernDisk:
		view.Status, view.Title = "failed", "The server's disk is full"
		view.Words = "Free some space: " + c.Reason + ". It then resumes by itself, and slots that passed are judged as after any other outage."
	case service.ConcernNoExecutor:
		view.Status, view.Title = "silent", "No executor is alive"
		view.Words = "What is due waits until one comes: start one with tidewheel server --roles executor."
		view.Cures = []templates.Cure{fleet}
	case service.ConcernLedger:
		view.Status, view.Title, view.Href = "missed", templates.Plural(count, "slot of the ledger is", "slots of the ledger are")+" wrong", job
		view.Words = "The newest is " + c.At.UTC().Format("2006-01-02 15:04:05") + " UTC of " + c.Job + ": it is " + c.Reason + ". That must not happen: the log names each; please report it."
		view.Cures = []templates.Cure{{Name: "See the ledger", Icon: "right", Href: job + "/slots"}}
	case service.ConcernOverdue:
		view.Status, view.Title, view.Href = "late", templates.Plural(count, "slot has", "slots have")+" come that no engine takes up", job
		view.Words = "The first is of " + c.Job + ". Is an engine running? Ask tidewheel doctor."
		view.Cures = []templates.Cure{{Name: "See the job", Icon: "right", Href: job}}
	case service.ConcernUnserved:
		view.Status, view.Title = "late", fmt.Sprintf("%s in tier %s, which no executor serves", templates.Plural(count, "run waits", "runs wait"), c.Tier)
		view.Words = fmt.Sprintf("Start an executor with --tier %s, or give the jobs another tier.", c.Tier)
		if c.RunsOn != "" {
			view.ID += "-" + c.RunsOn
			view.Title = fmt.Sprintf("%s in tier %s: %s", templates.Plural(count, "run waits", "runs wait"), c.Tier, c.Reason)
			view.Words = fmt.Sprintf("Start an executor with --tier %s%s, or let the jobs run on others.", c.Tier, labelFlags(c.RunsOn))
		}
		view.Cures = []templates.Cure{fleet}
	case service.ConcernSilent:
		view.Status, view.Title, view.Href = "silent", "Executor "+c.Executor+" says nothing", "/executors"
		view.Words = "It ran on " + c.Host + ". What it ran is tried again elsewhere once its locks expire."
		view.Cures = []templates.Cure{fleet}
	case service.ConcernDead:
		view.Status, view.Title, view.Href = "dead", c.Job, run
		view.Words = ofRuns(c, "1 run used up its tries", "runs used up their tries") + because(c.Reason)
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
		view.Words = ofRuns(c, "1 wave failed", "waves failed") + " in the last 24 hours, the last one too" + because(readable([]byte(c.Reason)))
		view.Cures = []templates.Cure{
			{Name: "Go on from what failed", Icon: "retry", Href: wave + "/resume", Post: true}, {Name: "See the wave", Icon: "right", Href: wave},
			{Name: "Edit the DAG", Icon: "edit", Href: "/dags/" + url.PathEscape(c.Job) + "/edit"},
		}
	case service.ConcernMissed:
		view.Status, view.Title, view.Href = "missed", c.Job, job
		view.Words = templates.Plural(count, "slot was", "slots were") + " missed in the last 24 hours: " + reasonWords(c.Reason)
		view.Cures = []templates.Cure{{Name: "See the ledger", Icon: "right", Href: job}, edit}
	case service.ConcernLate:
		view.Status, view.Title, view.Href = "late", ofRuns(c, "1 run waits", "runs wait")+" for more than "+service.LateAfter.String(), "/runs?status=queued"
		view.Words = fmt.Sprintf("The oldest is of %s, in tier %s. Are there enough executors of it?", c.Job, c.Tier)
		view.Cures = []templates.Cure{see, fleet}
	case service.ConcernHeldUp:
		view.Status, view.Title, view.Href = "skipped", c.Job, job
		view.Words = templates.Plural(count, "slot", "slots") + " of the last 24 hours did not fire, because the run before still waited for an executor. Is one of its tier running, with free slots, and not draining?"
		view.Cures = []templates.Cure{fleet, {Name: "See the ledger", Icon: "right", Href: job + "/slots"}}
	case service.ConcernOverlap:
		view.Status, view.Title, view.Href = "skipped", c.Job, job
		view.Words = templates.Plural(count, "slot", "slots") + " of the last 24 hours did not fire, because the run before had not ended."
		view.Cures = []templates.Cure{{Name: "See the ledger", Icon: "right", Href: job + "/slots"}, edit}
	case service.ConcernOutlasts:
		view.Status, view.Title, view.Href = "skipped", c.Job, job
		view.Words = templates.Plural(count, "slot", "slots") + " of the last 24 hours did not fire, because the run before was still going: it lasts longer than the time between its slots. Fire it less often, or lower its timeout."
		view.Cures = []templates.Cure{edit, pause}
	case service.ConcernStream:
		view.Status, view.Title, view.Href = "failed", "A stream of the queue grows", "/executors"
		view.Words = c.Reason + "."
		view.Cures = []templates.Cure{fleet}
	case service.ConcernNoEngine, service.ConcernOwnerless, service.ConcernClocks, service.ConcernBehind:
		viewEngineConcern(c, &view)
	}
	return view
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
