package main

const (
	keeper    = "engine/lease/keeper.go"
	leasePlan = "engine/lease/plan.go"
	simLeases = "engine/sim/leases.go"
)

// leaseGuards are those of the leases of shards.
var leaseGuards = []mutant{
	{
		name: "lease-answer-late", guard: "an answer from before the table was lost is not applied to the table that is read since",
		held: test{"engine/lease", "^TestAnAnswerOfBeforeTheTableWasLostHidesNothing$"},
		file: keeper,
		old:  "	if !in.Sent.Before(k.lostAt) {",
		new:  "	if true {",
	},
	{
		name: "lease-ends", guard: "an engine that cannot renew its lease stops before it ends",
		file: keeper,
		old:  "		if h != nil && !now.Before(h.until) {",
		new:  "		if h != nil && h.until.IsZero() {",
	},
	{
		name: "lease-margin", guard: "by a margin, counted from before the renewal was sent",
		held: test{"engine/lease", "^TestWorkEndsAMarginBeforeTheLeaseDoes$"},
		file: keeper,
		old:  "until: in.Sent.Add(k.config.TTL - k.config.Margin)",
		new:  "until: in.Sent.Add(k.config.TTL)",
	},
	{
		name: "lease-passed-on", guard: "an engine that sees its lease with another one stops",
		held: test{"engine/lease", "^TestAShardThatPassedOnIsLeftAtOnce$"},
		file: keeper,
		old:  "		k.held[entry.Shard] = nil // taken over",
		new:  "		_ = k.held[entry.Shard] // taken over",
	},
	{
		name: "lease-silent", guard: "a lease that is not renewed has ended, whatever the table says",
		file: leasePlan,
		old:  "return !seen.Add(k.config.TTL).After(now) }",
		new:  "return false && !seen.Add(k.config.TTL).After(now) }",
	},
	{
		name: "lease-without-answer", guard: "a lease that was written without an answer is taken up again",
		held: test{"engine/lease", "^TestAnAcquisitionWithoutAnAnswerIsNotForgotten$"},
		file: keeper,
		old:  "|| !mine && k.taken(shard, now) ||",
		new:  "|| k.taken(shard, now) ||",
	},
	{
		name: "lease-hand-over", guard: "who has more than its part hands over",
		file: keeper,
		old:  "			h.handing = k.number + 1",
		new:  "			_ = h",
	},
	{
		name: "lease-stop-first", guard: "an engine stops its work before it releases a shard",
		held: test{"engine/lease", "^TestAShardIsReleasedOnlyOnceTheWorkHasStopped$"},
		file: keeper,
		old:  "	return h.handing != 0 && k.stopped >= min(h.handing, k.number)",
		new:  "	return h.handing != 0",
	},
	{
		name: "lease-left", guard: "nothing is handed to an engine that leaves its part to others",
		held: test{"engine/lease", "^TestNothingIsHandedToOneThatLeavesItsPart$"},
		file: keeper,
		old:  "alive && to.seen.After(to.idle) {",
		new:  "alive && !to.seen.Before(time.Time{}) {",
	},
	{
		name: "lease-seen-first", guard: "nothing is acquired before the table is known",
		held: test{"engine/lease", "^TestNothingIsAcquiredBeforeOthersCanSeeTheEngine$"},
		file: keeper,
		old:  "		if !k.synced || at.writing ||",
		new:  "		if at.writing ||",
	},
	{
		name: "lease-echo", guard: "the table before an engine's own write is not believed",
		held: test{"engine/lease", "^TestAnEchoOfTheTableChangesNothing$"},
		file: keeper,
		old:  "	if entry.Revision < at.Revision {",
		new:  "	if false {",
	},
	{
		name: "lease-acquire", guard: "a lease that an engine holds is not acquired",
		also: "queuetest",
		file: simLeases,
		old:  "		if r.engine == \"\" || r.revision == a.Revision {",
		new:  "		if r.engine != \"never\" {",
	},
	{
		name: "lease-renew", guard: "a renewal names the revision that it replaces",
		also: "queuetest",
		file: simLeases,
		old:  "		case r.revision == a.Revision:\n",
		new:  "		case r.revision >= a.Revision:\n",
	},
	{
		name: "lease-release", guard: "so does a release",
		also: "queuetest",
		file: simLeases,
		old:  "r.revision == a.Revision {\n			l.w",
		new:  "r.revision >= a.Revision {\n			l.w",
	},
}
