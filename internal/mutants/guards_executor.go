package main

const (
	simExecutor = "engine/sim/executor.go"
	simJournal  = "engine/sim/journal.go"
)

// executorGuards are those of the executor, taken out of the simulator's model of it.
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
		name: "lock-deadline", guard: "nothing starts under a lock that may be somebody else's",
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
}
