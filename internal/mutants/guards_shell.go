package main

const (
	machine       = "engine/shard/machine.go"
	machineCommit = "engine/shard/machine_commit.go"
	machineLoad   = "engine/shard/machine_load.go"
	machineOwn    = "engine/shard/machine_own.go"
)

// shellGuards are the orders that the shard's machine keeps.
var shellGuards = []mutant{
	{
		name: "result-ack-order", guard: "results are acknowledged after the commit of what they led to",
		also: "TestResultsAreAcknowledgedOnlyWhenTheirEffectIsDurable",
		file: "engine/shard/machine.go",
		old:  "			u.arrive(in.Receipt)",
		new:  "			out.add(Acknowledge{Receipt: in.Receipt})",
	},
	{
		name: "result-ack-mark", guard: "a commit acknowledges no results that led to something it does not hold",
		held: test{"engine/shard", "^TestResultsThatComeDuringACommitWaitForTheNext$"},
		file: "engine/shard/unit.go",
		old:  "u.arrived[n].mark <= u.durable && ",
		new:  "",
	},
	{
		name: "results-wait", guard: "results of a shard that was taken over wait until all of it that has not ended is read",
		held: test{"engine/shard", "^TestWhatIsDueFiresBeforeAllThatHasNotEndedIsRead$"},
		file: machineOwn,
		old:  "if u.unread != nil && len(u.unread) == 0 {",
		new:  "if u.unread != nil {",
	},
	{
		name: "read-on", guard: "what has not ended is read a bounded number of runs at a time, so that what is due fires meanwhile",
		held: test{"engine/shard", "^TestWhatIsDueFiresBeforeAllThatHasNotEndedIsRead$"},
		file: machineOwn,
		old:  "len(uids) > 0 && runs > readMost {",
		new:  "false {",
	},
	{
		name: "left-unread", guard: "a shard that is lost while it is read does not keep those after it waiting",
		held: test{"engine/shard", "^TestWhatIsLeftIsNotReadOn$"},
		file: machineOwn,
		old:  "u == nil || !u.unread[next.UID] {",
		new:  "u == nil && next.UID == \"\" {",
	},
	{
		name: "sweep-acts", guard: "what has been acted upon is not read again because the store does not know yet",
		held: test{"engine/shard", "^TestWhatHasBeenActedUponIsNotReadAgain$"},
		file: machineLoad,
		old:  "!u.loading[uid] && !u.core.Acts(uid) {",
		new:  "!u.loading[uid] {",
	},
	{
		name: "publish-awaited", guard: "what is to be published after a commit is still wanted then",
		file: machineCommit,
		old:  "ok && !u.core.Awaits(publish.Task.Run, publish.Task.Attempt) {",
		new:  "ok && publish.Task == nil {",
	},
	{
		name: "answer-epoch", guard: "an answer from before a reset is not listened to",
		file: "engine/shard/unit.go",
		old:  "u != nil && u.seat == seat {",
		new:  "u != nil {",
	},
	{
		name: "hold-while-read", guard: "a job that is being read is not forgotten",
		also: "engine's tests: what is forgotten",
		file: machineLoad,
		old:  "			u.core.Hold(uid)\n			fresh",
		new:  "			fresh",
	},
	{
		name: "sweep-commands", guard: "a command whose wake was lost is found",
		file: machineLoad,
		old:  "	for _, command := range commands {\n		uid",
		new:  "	for _, command := range commands[:0] {\n		uid",
	},
	{
		name: "clock-back-shell", guard: "what waits for a time to pass does not wait longer when the clock goes back",
		file: machine,
		old:  "	if by < clockSlack {",
		new:  "	if by < clockSlack*1000 {",
	},
	{
		name: "effects-after-commit", guard: "what waits for a commit is done after it",
		file: machineCommit,
		old:  "	u.commit, u.begun = ready, now\n",
		new:  "	for _, effect := range ready.After {\n		u.perform(out, effect)\n	}\n	ready.After = nil\n	u.commit, u.begun = ready, now\n",
	},
	{
		name: "fenced-leaves", guard: "a shard that another engine has taken over is left",
		file: machineCommit,
		old:  "		case errors.Is(err, engine.ErrFenced):\n",
		new:  "		case false && errors.Is(err, engine.ErrFenced):\n",
	},
	{
		name: "stood-still", guard: "an engine that stood still performs nothing before a commit that it began later",
		held: test{"engine/shard", "^TestWhatAMachineThatStoodStillPublishesWaitsForALaterCommit$"},
		file: machine,
		old:  "			u.stood, u.stoodAt = true, u.number\n",
		new:  "			u.stoodAt = u.number\n",
	},
	{
		name: "begun-before", guard: "a commit that was begun before a standstill proves nothing",
		held: test{"engine/shard", "^TestACommitThatWasBegunBeforeAStandstillProvesNothing$"},
		file: machineCommit,
		old:  "	if u.stood && u.stoodAt < u.proved {",
		new:  "	if u.stood {",
	},
	{
		name: "news-proved", guard: "news is acknowledged only while the shard is surely this engine's",
		held: test{"engine/shard", "^TestNewsIsAcknowledgedOnlyWhileTheShardIsSurelyThisEngines$"},
		file: "engine/shard/unit.go",
		old:  " && (!shared || u.arrived[n].number < u.proved)",
		new:  "",
	},
	{
		name: "check-every", guard: "an engine finds out that a shard is another's also where it has nothing to write",
		held: test{"engine/shard", "^TestACommitThatChecksFindsAFenceWithoutWork$"},
		file: machineCommit,
		old:  "		due := checkEvery > 0 && ",
		new:  "		due := false && ",
	},
	{
		name: "same-again", guard: "a commit of which nothing is known is given again as it was",
		file: machineCommit,
		old:  "			u.commitAt = now.Add(m.wait(u.commitFail))\n",
		new:  "			u.position++\n			u.commitAt = now.Add(m.wait(u.commitFail))\n",
	},
	{
		name: "commands-in-order", guard: "commands of one job are acted upon one after the other",
		held: test{"engine/shard", "^TestCommandsOfAJobAreActedUponInTheirOrder$"},
		file: machineLoad,
		old:  "!u.commands[command.ID] && !u.asking[uid] {",
		new:  "!u.commands[command.ID] {",
	},
	{
		name: "gate-again", guard: "what the queue loses of more tasks than the window lets in waits for room",
		held: test{"engine/shard", "^TestTasksOfAFormerOwnerThatTheQueueLosesWaitForRoom$"},
		file: "engine/shard/machine_gate.go",
		old:  "	case p != nil && p.inside && p.lane.inside <= p.lane.window:",
		new:  "	case p != nil && p.inside:",
	},
}
