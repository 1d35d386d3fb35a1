package main

const simQueue = "engine/sim/queue.go"

// queueGuards are those of queue/jetstream, taken out of the simulator's model of it.
var queueGuards = []mutant{
	{
		name: "claim", guard: "a claim comes first on its attempt's subject",
		also: "queuetest: of many claims one wins",
		file: simQueue,
		old:  "	if last != after {",
		new:  "	if last != after && result.Kind != engine.ResultStarted {",
	},
	{
		name: "outcome", guard: "report and declared loss follow what was heard last",
		also: "queuetest: either the report wins or the declaration of loss",
		file: simQueue,
		old:  "	if last != after {",
		new:  "	if last != after && result.Kind != engine.ResultFinished && result.Kind != engine.ResultLost {",
	},
	{
		name: "revocation", guard: "a revocation comes first on its attempt's subject",
		also: "queuetest: either the claim wins or the revocation",
		file: simQueue,
		old:  "	if last != after {",
		new:  "	if last != after && result.Kind != engine.ResultRevoked {",
	},
	{
		name: "claim-kept", guard: "a claim is not trimmed while a copy of its task is in the work queue",
		file: simQueue,
		old:  "				q.tasks[log[n].result.Run] == nil {",
		new:  "				true {",
	},
	{
		name: "lock", guard: "one holder a lock",
		also: "queuetest",
		file: simQueue,
		old:  "	if held := q.held(key); held != nil {\n		q.w.counts.add(\"queue\", \"lock is held\")",
		new:  "	if held := q.held(key); held != nil && held.executor != executor {\n		q.w.counts.add(\"queue\", \"lock is held\")",
	},
	{
		name: "lock-refresh-fence", guard: "a refresh names the lock's revision",
		also: "queuetest",
		file: simQueue,
		old:  "	if held == nil || held.revision != revision {",
		new:  "	if held == nil {",
	},
	{
		name: "lock-release-fence", guard: "a release names the lock's revision",
		also: "queuetest",
		file: simQueue,
		old:  "held != nil && held.revision == revision {\n		q.own",
		new:  "held != nil {\n		q.own",
	},
}
