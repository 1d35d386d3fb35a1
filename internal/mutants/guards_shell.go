package main

const (
	machine       = "engine/shard/machine.go"
	machineCommit = "engine/shard/machine_commit.go"
	machineLoad   = "engine/shard/machine_load.go"
)

// shellGuards are the orders that the shard's machine keeps.
var shellGuards = []mutant{
	{
		name: "result-ack-order", guard: "results are acknowledged after the commit of what they led to",
		also: "TestResultsAreAcknowledgedOnlyWhenTheirEffectIsDurable",
		file: "engine/shard/machine_results.go",
		old:  "	m.arrive(in.Receipt)",
		new:  "	m.acknowledge(out, in.Receipt)",
	},
	{
		name: "result-ack-mark", guard: "a commit acknowledges no results that led to something it does not hold",
		held: test{"engine/shard", "^TestResultsThatComeDuringACommitWaitForTheNext$"},
		file: machineCommit,
		old:  "m.arrived[n].mark <= mark {",
		new:  "mark > 0 {",
	},
	{
		name: "sweep-acts", guard: "what has been acted upon is not read again because the store does not know yet",
		held: test{"engine/shard", "^TestWhatHasBeenActedUponIsNotReadAgain$"},
		file: machineLoad,
		old:  "		if !m.loading[uid] && !m.core.Acts(uid) {",
		new:  "		if !m.loading[uid] {",
	},
	{
		name: "effects-after-commit", guard: "what waits for a commit is done after it",
		file: machineCommit,
		old:  "	m.parts = ready.Batch.Parts()\n	m.writePart(out)\n}",
		new:  "	m.parts = ready.Batch.Parts()\n	m.writePart(out)\n	for _, effect := range ready.After {\n		out.add(Perform{Epoch: m.epoch, Effect: effect})\n	}\n	ready.After = nil\n}",
	},
	{
		name: "conflict-resets", guard: "a refused write makes the engine read all anew",
		file: machineCommit,
		old:  "		if conflict.Kind != \"run\" || !m.inserted(conflict.ID) {",
		new:  "		if !m.inserted(conflict.ID) {\n			continue\n		}\n		if conflict.Kind != \"run\" {",
	},
	{
		name: "refused-insert", guard: "what was asked of a run whose insertion was refused is not done",
		held: test{"engine/shard", "^TestARefusedInsertionIsNotPublishedByItsOwnBatch$"},
		file: machineCommit,
		old:  "			case refused[publish.Task.Run] || !m.core",
		new:  "			case !m.core",
	},
	{
		name: "publish-awaited", guard: "what is to be published after a commit is still wanted then",
		file: machineCommit,
		old:  "case refused[publish.Task.Run] || !m.core.Awaits(publish.Task.Run, publish.Task.Attempt):",
		new:  "case refused[publish.Task.Run]:",
	},
	{
		name: "publish-affirmed", guard: "an engine that stood still writes once more before it publishes",
		held: test{"engine/shard", "^TestAnEngineThatStoodStillWritesBeforeItPublishes$"},
		file: machineCommit,
		old:  "			case m.stood.After(m.begun):",
		new:  "			case false:",
	},
	{
		name: "refused-news", guard: "results of a run whose insertion was refused are not acknowledged",
		held: test{"engine/shard", "^TestNewsOfARefusedInsertionIsNotAcknowledged$"},
		file: machineCommit,
		old:  "		if !found[i].Status.Terminal() && m.core.Heard(found[i].ID) {",
		new:  "		if false {",
	},
	{
		name: "read-after-write", guard: "nothing is read while a write is under way",
		held: test{"engine/shard", "^TestNothingIsReadWhileAWriteIsUnderWay$"},
		file: machine,
		old:  "	if m.writing == 0 {\n		out.add",
		new:  "	if m.writing = 0; true {\n		out.add",
	},
	{
		name: "answer-epoch", guard: "an answer from before a reset is not listened to",
		file: machine,
		old:  "ok && e.epochOf() != m.epoch {",
		new:  "ok && e.epochOf() != m.epoch && false {",
	},
	{
		name: "hold-while-read", guard: "a job that is being read is not forgotten",
		also: "engine's tests: what is forgotten",
		file: machineLoad,
		old:  "		m.core.Hold(uid)\n		fresh",
		new:  "		fresh",
	},
	{
		name: "tasks-before-runs", guard: "scheduled tasks are read before runs",
		held: test{"engine/shard", "^TestRunsAreNotReadBeforeTheirScheduledTask$"},
		file: "engine/shard/loader.go",
		old:  "	tasks, err := l.Store.TasksByID(ctx, uids)\n	if err != nil {\n		return engine.JobsLoaded{}, fmt.Errorf(\"load scheduled tasks: %w\", err)\n	}\n	runs, err := l.Store.ActiveRunsOf(ctx, uids)",
		new:  "	runs, err := l.Store.ActiveRunsOf(ctx, uids)\n	if err != nil {\n		return engine.JobsLoaded{}, err\n	}\n	tasks, err := l.Store.TasksByID(ctx, uids)",
	},
	{
		name: "reconcile", guard: "runs of the store that the core does not know are looked for",
		held: test{"engine/shard", "^TestARunThatTheMachineDoesNotKnowIsLoaded$"},
		file: machineLoad,
		old:  "		if !m.core.KnowsRun(run.JobUID, run.ID, run.Revision) && ",
		new:  "		if false && ",
	},
	{
		name: "sweep-commands", guard: "a command whose wake was lost is found",
		file: machineLoad,
		old:  "	for _, command := range in.Commands {",
		new:  "	for _, command := range in.Commands[:0] {",
	},
	{
		name: "clock-back-shell", guard: "what waits for a time to pass does not wait longer when the clock goes back",
		file: machine,
		old:  "	if by < clockSlack {",
		new:  "	if by < clockSlack*1000 {",
	},
}
