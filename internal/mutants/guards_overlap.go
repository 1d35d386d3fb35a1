package main

// overlapGuards keep the runs of one job apart, as its policy says.
var overlapGuards = []mutant{
	{
		name: "overlap", guard: "a run waits for the one before it",
		file: "engine/core/admit.go",
		old:  "	if blocker == nil || j.dag != nil {\n		c.enqueue(r)\n		return\n	}\n	switch plan",
		new:  "	if blocker == nil || j.dag != nil || r.spec != nil {\n		c.enqueue(r)\n		return\n	}\n	switch plan",
	},
	{
		name: "overlap-lock", guard: "runs of a job that may not overlap share its lock",
		file: "engine/attempt/message.go",
		old:  "	return r.JobUID\n}",
		new:  "	return r.ID\n}",
	},
	{
		name: "overlap-skip", guard: "overlap skip gives up the slot",
		file: "engine/core/admit.go",
		old:  "		c.giveUp(r, engine.ReasonOverlap)\n	case spec.OverlapReplace:",
		new:  "		c.wait(r, blocker)\n	case spec.OverlapReplace:",
	},
	{
		name: "overlap-heard", guard: "a slot is not skipped for a run that may have ended before a take-over",
		held: test{"engine/core", "^TestTranscripts$/^overlap$"},
		file: "engine/core/admit.go",
		old:  "!blocker.underWay() || blocker.unheard && ",
		new:  "!blocker.underWay() || false && ",
	},
	{
		name: "overlap-published", guard: "a run waits for one that may have been published before a take-over",
		held: test{"engine/core", "^TestARetryWaitsForARunThatMayHaveBeenPublished$"},
		file: "engine/core/state_run.go",
		old:  "	if r.maybePublished && !other.maybePublished && (r",
		new:  "	if false && (r",
	},
	{
		name: "overlap-queue", guard: "overlap queue gives up nothing",
		file: "engine/core/admit.go",
		old:  "	default:\n		if r.Trigger",
		new:  "	default:\n		if r.Trigger == engine.TriggerSchedule && r.Status == engine.StatusScheduled {\n			c.giveUp(r, engine.ReasonOverlap)\n			return\n		}\n		if r.Trigger",
	},
	{
		name: "overlap-replace", guard: "overlap replace ends the run before",
		file: "engine/core/admit.go",
		old:  "			c.cancel(other, attempt.ReplacedBy(r.ID))",
		new:  "			_ = other",
	},
	{
		name: "overlap-queue-full", guard: "so many runs of a job wait, and no more",
		file: "engine/core/admit.go",
		old:  "j.countWaiting() >= c.config.MaxWaiting {",
		new:  "false {",
	},
	{
		name: "overlap-next", guard: "what waited goes when the run before it ends",
		file: "engine/core/ended.go",
		old:  "		c.enqueue(next)\n	}\n",
		new:  "		break\n	}\n",
	},
	{
		name: "hears-in-order", guard: "no slot goes before an earlier one that waits for news of the run before",
		held: test{"engine/core", "^TestALaterSlotDoesNotGoBeforeOneThatWaitsForNews$"},
		file: "engine/core/admit.go",
		old:  "			r.hearing = true\n",
		new:  "",
	},
}
