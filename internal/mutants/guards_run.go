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
		old:  "		c.publish(r, again, c.afterCommit)\n	}\n}",
		new:  "		c.publish(r, again, c.atOnce)\n	}\n}",
	},
	{
		name: "publish-again", guard: "what may have been published before is marked",
		held: test{"engine/sim", "^TestKeptSeeds$"},
		file: coreRun,
		old:  "	task.Again = again\n",
		new:  "	_ = again\n",
	},
	{
		name: "publish-settled", guard: "only a run of which no write is open is published at once",
		also: "ten transcripts",
		file: coreRun,
		old:  "	settled := r.Attempt == 0 && r.job.writes == 0 && ",
		new:  "	settled := r.Attempt == 0 && ",
	},
	{
		name: "publish-first-attempt", guard: "only a first attempt is published at once",
		also: "transcripts loss, retry",
		file: coreRun,
		old:  "	settled := r.Attempt == 0 && r.job.writes == 0",
		new:  "	settled := r.job.writes == 0",
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
		old:  "	if r.doubt {\n		c.takeBack(r, reason)",
		new:  "	if false {\n		c.takeBack(r, reason)",
	},
	{
		name: "revoked-tried-again", guard: "an attempt that was revoked, and not on somebody's wish, is followed by another",
		file: coreRun,
		old:  "	c.retryAt(r, c.now, \"the attempt had been taken back before a restart: it is tried again\")",
		new:  "	c.touch(r)",
	},
	{
		name: "republish", guard: "what is queued, and neither waits nor is claimed, is published again",
		file: coreSupervise,
		old:  "			c.Affirm(r.ID)\n",
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
		name: "noted-deleted", guard: "a run that was to be dropped before a crash does not end otherwise",
		also: "the transcript crash",
		file: "engine/core_prepared.go",
		old:  " || r.Slot.IsZero()) && !noted {",
		new:  " || r.Slot.IsZero()) && (!noted || true) {",
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
		old:  "	c.pending.letters = append(c.pending.letters, DeadLetter{",
		new:  "	_ = append(c.pending.letters, DeadLetter{",
	},
	{
		name: "cancelled-not-retried", guard: "a run that is being cancelled is not tried again",
		file: coreRetry,
		old:  "	if r.CancelBy != \"\" {\n		c.end(r, StatusCancelled, cancelReason(&r.Run))\n		return\n	}\n	r.Failures++",
		new:  "	r.Failures++",
	},
	{
		name: "cancel-resent", guard: "a cancellation is asked for until the attempt ends",
		file: coreCancel,
		old:  "		c.atOnce(CancelAttempt{Run: r.ID, Attempt: r.Attempt})\n		c.setTimer(&r.resend, c.now.Add(c.config.Resend), timer{kind: timerResend, run: r})",
		new:  "		c.atOnce(CancelAttempt{Run: r.ID, Attempt: r.Attempt})",
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
		old:  "	if e.Run != nil && (e.Run.Revision < j.ended[e.Run.ID] || c.endsNow(e.Run.ID)) {",
		new:  "	if false {",
	},
	{
		name: "one-end", guard: "a run whose end is about to be written is not taken up again",
		also: "TestABatchDoesNotHoldTwoEndsOfARun",
		file: "engine/core_job.go",
		old:  "(revision <= last || c.endsNow(id))",
		new:  "(revision <= last)",
	},
	{
		name: "late-policy", guard: "an engine that stood still with a prepared run asks the catch-up policy",
		also: "the transcript catchup",
		file: coreRun,
		old:  " && !r.Waiting && c.superseded(r) { // the",
		new:  " && !r.Waiting && false { // the",
	},
	{
		name: "late-write", guard: "a prepared run that is late is published after it is written",
		also: "the transcript catchup",
		file: coreRun,
		old:  " && c.now.Sub(r.due()) < punctual // a run",
		new:  " // a run",
	},
	{
		name: "revoke-looks", guard: "an attempt that cannot be taken back is looked at again",
		also: "the transcript corner-delete-while-queued",
		file: "engine/core_cancel.go",
		old:  "		} else if r.Status == StatusQueued {\n			c.setTimer",
		new:  "		} else if false {\n			c.setTimer",
	},
	{
		name: "start-terminal", guard: "a start asked for again does not start what has ended",
		file: coreCommand,
		old:  "		if r == nil && e.Run != nil && !e.Run.Status.Terminal() {",
		new:  "		if r == nil && e.Run != nil {",
	},
	{
		name: "backfill-existing", guard: "a backfill makes only the runs that are missing",
		file: coreCommand,
		old:  "		if !e.Exists[SlotRunID(j.uid, slot)] {",
		new:  "		if true {",
	},
	{
		name: "handled-next", guard: "what was asked for is cleared only after what it led to is durable",
		file: "engine/ready.go",
		old:  "	if len(r.Batch.Waves) == 0 && len(r.Batch.Runs) == 0 && len(r.Batch.Tasks) == 0 { // nothing can be refused",
		new:  "	if true {",
	},
}
