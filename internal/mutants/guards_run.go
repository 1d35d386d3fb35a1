package main

const (
	coreRun       = "engine/core_run.go"
	coreSupervise = "engine/core_supervise.go"
	coreRetry     = "engine/core_retry.go"
	coreCancel    = "engine/core_cancel.go"
	coreCommand   = "engine/core_command.go"
)

// runGuards are those of attempts: publishing, supervision, retries, ends.
var runGuards = []mutant{
	{
		name: "attempt-fence", guard: "a result of another attempt changes nothing",
		also: "transcript loss",
		file: coreRun,
		old:  "	if m.Attempt != r.Attempt {\n		return // the attempt fence",
		new:  "	if false {\n		return // the attempt fence",
	},
	{
		name: "result-once", guard: "what comes again after an attempt's end changes nothing",
		file: coreRun,
		old:  "	if a == nil || a.Status.Terminal() {",
		new:  "	if a == nil {",
	},
	{
		name: "publish-after-commit", guard: "an attempt that depends on others is published after their commit",
		also: "transcripts, TestClockGoesBack",
		file: coreRun,
		old:  "		c.afterCommit(r, c.publish(r, again))\n	}\n}",
		new:  "		c.atOnce(c.publish(r, again))\n	}\n}",
	},
	{
		name: "both-locks", guard: "an attempt is not lost while it holds the lock that another owner published it under",
		held: test{"engine", "^TestARefusedRunIsLookedAfterUnderItsOwnLock$"},
		file: coreSupervise,
		old:  "	return []string{lock, r.ID}",
		new:  "	return []string{lock}",
	},
	{
		name: "nobody-before-all-are-seen", guard: "nothing of a job that is read goes before all its runs have been looked at",
		held: test{"engine", "^TestNothingGoesBeforeAllHasBeenLookedAt$"},
		file: "engine/core_job.go",
		old:  "	j.draining = true // nobody goes",
		new:  "	j.draining = false // nobody goes",
	},
	{
		name: "after-edit", guard: "no slot of a fixed delay comes again after an edit",
		held: test{"engine", "^TestNoSlotOfAFixedDelayComesAgain$"},
		file: "engine/core_after.go",
		old:  "later(j.task.Slot, j.def.UpdatedAt)",
		new:  "j.task.Slot",
	},
	{
		name: "publish-again", guard: "what may have been published before is marked",
		held: test{"engine", "^TestWhatMayHaveBeenPublishedIsMarked$"},
		file: coreRun,
		old:  "	task.Again = again\n",
		new:  "	_ = again\n",
	},
	{
		name: "publish-settled", guard: "only a run of which no write is open is published at once",
		also: "ten transcripts",
		file: coreRun,
		old:  "	settled := r.Attempt == 0 && !waited && r.job.writes == 0 && ",
		new:  "	settled := r.Attempt == 0 && !waited && ",
	},
	{
		name: "publish-first-attempt", guard: "only a first attempt is published at once",
		held: test{"engine", "^TestTranscripts$/^retry$"},
		file: coreRun,
		old:  "	settled := r.Attempt == 0 && !waited",
		new:  "	settled := !waited",
	},
	{
		name: "attempt-before-crash", guard: "an attempt that was published before a crash is taken up by what it reports",
		file: coreRun,
		old:  "	if m.Attempt == r.Attempt+1 && (",
		new:  "	if false && (",
	},
	{
		name: "doubt", guard: "a run that a crashed engine may have published is revoked before it is dropped",
		also: "transcripts",
		file: corePrepared,
		old:  "	if r.doubt {\n		c.takeBack",
		new:  "	if false {\n		c.takeBack",
	},
	{
		name: "revoked-tried-again", guard: "an attempt that was revoked, and not on somebody's wish, is followed by another",
		file: coreRun,
		old:  "	c.retryAt(r, c.now, why)",
		new:  "	c.touch(r)",
	},
	{
		name: "keeps-its-place", guard: "what waits in the queue is not published again",
		held: test{"engine", "^TestTranscripts$/^waits$"},
		file: coreSupervise,
		old:  "		case e.State.Last == \"\" && e.State.Waits:",
		new:  "		case false:",
	},
	{
		name: "dropped-anew", guard: "a task that the queue has let go is not published again under its number",
		held: test{"engine", "^TestTranscripts$/^waits$"},
		file: coreSupervise,
		old:  "	r.outlived = true\n",
		new:  "	c.afterCommit(r, c.publish(r, true))\n	return\n",
	},
	{
		name: "republish", guard: "what is queued, and neither waits nor is claimed, is published again",
		file: coreSupervise,
		old:  "			c.afterCommit(r, c.publish(r, true))\n",
		new:  "",
	},
	{
		name: "supervise", guard: "a running attempt is looked after",
		file: coreRun,
		old:  "	c.setTimer(&r.timer, c.now.Add(c.config.LockTTL+c.config.Margin), timer{kind: timerSupervise, run: r})\n	c.askToCancel(r)",
		new:  "	c.stopTimer(&r.timer)\n	c.askToCancel(r)",
	},
	{
		name: "supervise-after-restart", guard: "what ran when an engine died is looked after by the next",
		file: coreRun,
		old:  "	case StatusRunning:\n		c.inspect(r)\n		c.askToCancel(r)\n",
		new:  "	case StatusRunning:\n		c.askToCancel(r)\n",
	},
	{
		name: "loss-lock-held", guard: "no loss is declared while the lock is held",
		also: "transcripts loss, delete",
		file: coreSupervise,
		old:  "		case e.State.LockHeld:",
		new:  "		case e.State.LockHeld && false:",
	},
	{
		name: "loss-queue-away", guard: "no loss is declared while who lived through an outage of the queue may report",
		file: coreSupervise,
		old:  "heard.After(c.now) {",
		new:  "heard.After(c.now) && false {",
	},
	{
		name: "loss-names-sequence", guard: "a loss is declared of what was heard last",
		file: coreSupervise,
		old:  "After: e.State.Sequence})",
		new:  "After: e.State.Sequence + 1})",
	},
	{
		name: "inspected-fence", guard: "an answer about an attempt that has ended changes nothing",
		held: test{"engine", "^TestTranscripts$"},
		file: coreSupervise,
		old:  "	if r == nil || r.Attempt != e.Attempt || (r.Status != StatusQueued && r.Status != StatusRunning) {",
		new:  "	if r == nil {",
	},
	{
		name: "loss-bound", guard: "lost attempts are bounded",
		held: test{"engine", "^TestTranscripts$/^loss$"},
		file: coreRetry,
		old:  "	case r.Losses > c.config.MaxLosses:\n		c.die(r, fmt.Sprintf(\"%s; %d attempts have been lost like this\"",
		new:  "	case r.Losses > 100*c.config.MaxLosses:\n		c.die(r, fmt.Sprintf(\"%s; %d attempts have been lost like this\"",
	},
	{
		name: "unfetched-bound", guard: "attempts whose program was not fetched are counted",
		also: "transcript loss",
		file: coreRetry,
		old:  "func (c *Core) unfetched(r *run, f *Finish) {\n	r.Losses++",
		new:  "func (c *Core) unfetched(r *run, f *Finish) {",
	},
	{
		name: "retry-bound", guard: "failed attempts are bounded by max_attempts",
		file: coreRetry,
		old:  "	case r.Failures < most:",
		new:  "	case r.Failures < 2*most:",
	},
	{
		name: "retry-exit", guard: "an exit that says so is not tried again",
		file: coreRetry,
		old:  "(code >= 0 && !RetriableExit(code, r.spec.Retry)) {",
		new:  "false {",
	},
	{
		name: "retry-backoff", guard: "a retry waits for its delay, within its bound",
		file: coreRetry,
		old:  "	if most > 0 && limit > most {\n		limit = most\n	}",
		new:  "	limit *= 1000",
	},
	{
		name: "at-most-once", guard: "what is delivered at most once is not tried again after a loss",
		file: coreRetry,
		old:  "	case r.job.def == nil || r.spec == nil || r.spec.Delivery == spec.DeliveryAtMostOnce:\n		c.end(r, StatusLost, why)",
		new:  "	case r.job.def == nil || r.spec == nil:\n		c.end(r, StatusLost, why)",
	},
	{
		name: "at-most-once-drained", guard: "nor after a drain of the executor that ran it",
		file: coreRetry,
		old:  "	case !f.StartedAt.IsZero() && r.spec.Delivery == spec.DeliveryAtMostOnce:\n		c.end(r, StatusLost, \"its executor",
		new:  "	case false:\n		c.end(r, StatusLost, \"its executor",
	},
	{
		name: "dead-letter", guard: "a run whose tries are used up leaves a dead letter",
		file: coreRetry,
		old:  "	p.letters = append(p.letters, DeadLetter{",
		new:  "	_ = append(p.letters, DeadLetter{",
	},
	{
		name: "cancelled-not-retried", guard: "a run that is being cancelled is not tried again",
		file: coreRetry,
		old:  "	if r.CancelBy != \"\" {\n		c.end(r, StatusCancelled, cancelReason(&r.Run))\n		return\n	}\n	r.Failures++",
		new:  "	r.Failures++",
	},
	{
		name: "cancel-resent", guard: "a cancellation is asked for until the attempt ends",
		held: test{"engine", "^TestTranscripts$/^cancel$"},
		file: coreCancel,
		old:  "		c.atOnce(Ask{Control{Kind: ControlCancel, Run: r.ID, Attempt: r.Attempt}})\n		c.setTimer(&r.resend, c.now.Add(c.config.Resend), timer{kind: timerResend, run: r})",
		new:  "		c.atOnce(Ask{Control{Kind: ControlCancel, Run: r.ID, Attempt: r.Attempt}})",
	},
	{
		name: "retry-by-hand", guard: "an operator's retry is of the end that they saw",
		file: coreCommand,
		old:  "j.def != nil && e.Run.Revision == e.Command.Revision:",
		new:  "j.def != nil:",
	},
	{
		name: "terminal", guard: "a run that has ended is not taken up again by an old read",
		file: coreCommand,
		old:  "	if e.Run != nil && e.Run.Revision < j.ended[e.Run.ID] {",
		new:  "	if false {",
	},
	{
		name: "revoke-looks", guard: "an attempt that cannot be taken back is looked at again",
		held: test{"engine", "^TestTranscripts$/^corner-delete-while-queued$"},
		file: "engine/core_cancel.go",
		old:  "		} else if r.Status == StatusQueued {\n			c.setTimer",
		new:  "		} else if false {\n			c.setTimer",
	},
	{
		name: "start-terminal", guard: "a start asked for again does not start what has ended",
		file: coreCommand,
		old:  "r == nil && e.Run == nil && e.Command.Run != nil && !ended {",
		new:  "r == nil && e.Command.Run != nil {",
	},
	{
		name: "backfill-existing", guard: "a backfill makes only the runs that are missing",
		file: coreCommand,
		old:  "asked && !exists {",
		new:  "!exists {",
	},
}
