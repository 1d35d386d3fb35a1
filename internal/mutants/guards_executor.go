package main

const (
	simExecutor = "engine/sim/executor.go"
	simJournal  = "engine/sim/journal.go"
	prodAttempt = "executor/attempt.go"
)

// executorGuards are those of the executor. They are taken out of the simulator's model of it, or out of the executor
// itself where a test of it is named.
var executorGuards = []mutant{
	{
		name: "lock-before-claim", guard: "nothing is claimed without the lock",
		also: "executor's tests",
		file: simExecutor,
		old:  "	if !ok {\n		q.giveBack(delivered, min(",
		new:  "	if !ok && w.odds(0.5) {\n		q.giveBack(delivered, min(",
	},
	{
		name: "claim-before-start", guard: "nothing is started without the claim",
		also: "executor's tests",
		file: simExecutor,
		old:  "	if !claimed {",
		new:  "	if false && !claimed {",
	},
	{
		name: "task-ack-order", guard: "a task is acknowledged after its claim",
		also: "executor's tests",
		file: simExecutor,
		old:  "	// Claim. A claim whose answer was lost is found again.\n",
		new:  "	q.acknowledge(delivered)\n",
	},
	{
		name: "lock-watchdog", guard: "a process whose lock cannot be refreshed is killed before the lock passes on",
		also: "executor's tests",
		file: simJournal,
		old:  "	p.watchdog = p.w.after(p.attempt.deadline-p.w.elapsed, func() { p.end(\"watchdog\") })",
		new:  "	p.watchdog = p.w.after(p.attempt.deadline-p.w.elapsed+2*lockMargin, func() { p.end(\"watchdog\") })",
	},
	{
		name: "lock-deadline", guard: "nothing starts under a lock that another executor may hold",
		also: "executor's tests",
		file: simExecutor,
		old:  "	case w.elapsed >= a.deadline:",
		new:  "	case false:",
	},
	{
		name: "lock-refresh", guard: "a running attempt refreshes its lock",
		also: "executor's tests",
		file: simExecutor,
		old:  "	revision, ok := w.queue.refresh(a.task.Lock, a.revision, a.task, a.x.group.name)",
		new:  "	revision, ok := a.revision, true",
	},
	{
		name: "refresh-unheard", guard: "a refresh without an answer gives a program no longer life",
		held: test{"executor", "^TestProgramIsKilledBeforeItsLockCanPassToAnother$"},
		file: "executor/lease.go",
		old:  "		default:\n			next = l.ttl / 40\n",
		new:  "		default:\n			l.until = asked.Add(l.ttl)\n			l.guard.Reset(time.Until(l.until) - l.margin)\n			next = l.ttl / 40\n",
	},
	{
		name: "claim-unsure", guard: "an executor that does not know whether its claim was stored leaves its lock to expire",
		held: test{"executor", "^TestClaimThatStaysUncertainLeavesTheLockToExpire$"},
		file: prodAttempt,
		old:  "keyAttempt, task.Attempt, keyError, err)\n		a.lease.stop()\n",
		new:  "keyAttempt, task.Attempt, keyError, err)\n		a.unlock()\n",
	},
	{
		name: "claimed-acknowledged", guard: "a copy of what is claimed is acknowledged, also where the first acknowledgement was lost",
		held: test{"executor", "^TestAttemptThatIsClaimedIsDropped$"},
		file: prodAttempt,
		old:  "		a.unlock()\n		e.settled(&task, delivery.Ack())\n",
		new:  "		a.unlock()\n",
	},
	{
		name: "outlived-claim", guard: "an executor that was long in getting the lock claims nothing that may have been claimed and forgotten",
		held: test{"executor", "^TestDeliveryThatIsTooOldIsNotClaimed$"},
		file: prodAttempt,
		old:  "	if delivery.Outlived() { // this process was suspended",
		new:  "	if false { // this process was suspended",
	},
}
