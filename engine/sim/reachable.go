package sim

import "github.com/tidewheel/tidewheel/engine"

// Reachable lists what many worlds together must reach, lest something goes untested.
func Reachable() []Count {
	var all []Count
	add := func(kind string, what ...string) {
		for _, one := range what {
			all = append(all, Count{Kind: kind, What: one})
		}
	}
	add("fault", Faults()...)
	add("action", "Recover", "Listen", "Leave", "Poll", "Load", "Sweep", "LoadCommands", "ReadBinaries", "ReadAlerts", "Perform", "Commit",
		"Acknowledge")
	add("effect", "Publish", "Revoke", "Inspect", "DeclareLost", "Ask", "LookUpRuns", "Notify")
	add("event", "AttemptInspected", "AttemptRevoked", "RunsLookedUp", "TaskPublished", "IncidentNotified")
	add("result", "started", "progress", "finished", "revoked", "lost")
	add("process", "exit", "timeout", "cancelled", "drained", "watchdog", "executor killed")
	add("queue", "second copy refused", "claim refused", "outlived copy dropped", "lock is held", "attempt trimmed",
		"lock found again", "lock made late", "refresh found again")
	add("lane", "light premium", "light standard", "medium premium", "medium standard", "heavy premium", "heavy standard")
	add("input", "BinariesRead")
	add("fenced", "a shard")
	add("gate", "a full window", "a namespace at its bound")
	add("owners", "one alone", "by leases", "at random")
	add("lease", "Acquire", "Renew", "Release", "Announce", "Own", "acquisition refused", "renewal refused", "release refused", "renewal found again",
		"released", "entry ended", "taken over", "two at work", "handed over in time")
	add("trigger", "schedule", "catch_up", "manual", "backfill", "upstream")
	add("cancel", "scheduled", "queued", "running", "retrying")
	add("retry", "retrying", "failed", "timed_out", "cancelled", "lost", "dead")
	add("user", "create", "edit", "edit twice", "pause", "resume", "delete", "run", "cancel", "retry", "backfill", "move alias",
		"create DAG", "edit DAG", "pause or resume DAG", "delete DAG", "start wave", "cancel wave", "resume wave", "mark task", "clear task", "backfill DAG")
	add("wave trigger", "schedule", "catch_up", "manual", "backfill")
	add("wave", " → scheduled", " → running", "scheduled → running", "scheduled → cancelled", "running → succeeded",
		"running → failed", "running → cancelled", "failed → running", "cancelled → running", "succeeded → running", "stays open", "begins later")
	add("cancel wave", "scheduled", "running")
	add("resume wave", "failed", "cancelled")
	add("mark in wave", "running", "failed", "cancelled")
	add("clear in wave", "succeeded", "failed", "cancelled", "skipped", "upstream_failed", "succeeded item", "failed item")
	add("task ends", "succeeded", "failed", "cancelled", "skipped", "upstream_failed")
	add("incident begins", "failed", "dead", "missed", "skipped", "late", "slow", "silent")
	add("incident ends", "failed", "dead", "missed", "skipped", "late", "slow", "silent")
	add("notified", "beginning", "end", "beginning once more", "end once more")
	add("incident", "dropped", "waits for the end of the one before", "lies ahead", "of a task", "of a wave")
	for _, reason := range []engine.SlotReason{
		engine.ReasonOverlap, engine.ReasonPaused, engine.ReasonBlackout, engine.ReasonReplaced, engine.ReasonQueueFull,
		engine.ReasonEdited, engine.ReasonCancelled,
	} {
		add("slots", string(engine.OutcomeSkipped)+" "+string(reason))
	}
	add("slots", string(engine.OutcomeMissed)+" "+string(engine.ReasonOutage))
	for _, way := range [][2]engine.Status{
		{engine.StatusInvalid, engine.StatusScheduled}, {engine.StatusInvalid, engine.StatusQueued},
		{engine.StatusScheduled, engine.StatusQueued}, {engine.StatusScheduled, engine.StatusCancelled},
		{engine.StatusQueued, engine.StatusRunning}, {engine.StatusQueued, engine.StatusCancelled},
		{engine.StatusQueued, engine.StatusSucceeded}, {engine.StatusRunning, engine.StatusSucceeded},
		{engine.StatusRunning, engine.StatusFailed}, {engine.StatusRunning, engine.StatusTimedOut},
		{engine.StatusRunning, engine.StatusCancelled}, {engine.StatusRunning, engine.StatusLost},
		{engine.StatusRunning, engine.StatusDead}, {engine.StatusRunning, engine.StatusRetrying},
		{engine.StatusRetrying, engine.StatusQueued}, {engine.StatusRetrying, engine.StatusCancelled},
		{engine.StatusFailed, engine.StatusQueued}, {engine.StatusTimedOut, engine.StatusQueued},
		{engine.StatusCancelled, engine.StatusQueued}, {engine.StatusDead, engine.StatusQueued},
		{engine.StatusLost, engine.StatusQueued},
	} {
		add("transition", way[0].String()+" → "+way[1].String())
	}
	return all
}
