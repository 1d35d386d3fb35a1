package main

const (
	simQueue = "engine/sim/queue.go"
	prodLock = "queue/jetstream/lock.go"
)

// queueGuards are those of queue/jetstream, taken out of the simulator's model of it; or of the queue itself, where a test of it is named.
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
		name: "outlived", guard: "a copy that comes again is not run once the claim of the one before may have been trimmed",
		also: "queue/jetstream's tests",
		file: simQueue,
		old:  "	return (copies > 1 || task.task.Again || q.w.elapsed > given+q.ackWait) &&",
		new:  "	return false &&",
	},
	{
		name: "outlived-again", guard: "what may have been published before is not run once its claim may have been trimmed",
		also: "a kept seed, as long as its world stays what it was",
		held: test{"queue/jetstream", "^TestACopyThatMayHaveBeenPublishedBeforeIsNotHandedOutLate$"},
		file: "queue/jetstream/pull.go",
		old:  " || d.message.Header.Get(headerAgain) != \"\" ||",
		new:  " || false ||",
	},
	{
		name: "trim-after-acknowledgement", guard: "a claim is kept for a claim window after it was acknowledged",
		also: "TestWhatGoesIsWhatCouldGoAWindowBefore",
		file: simQueue,
		old:  "			if f.at+claimWindow < q.w.elapsed {",
		new:  "			if f.at < q.w.elapsed {",
	},
	{
		name: "lock", guard: "one holder a lock",
		held: test{"queue/jetstream", "^TestEmbedded$/^a_lock_excludes_everybody"},
		file: prodLock,
		old:  "	for free := q.markers.take(key, time.Now()); ; { //",
		new: "	if token, err := q.last(ctx, \"KV_\"+q.names.locks, q.names.lock(key)); err == nil && token != nil {\n" +
			"		return q.putLock(ctx, key, holder, token.sequence, ttl, \"\")\n	}\n	for free := q.markers.take(key, time.Now()); ; { //",
	},
	{
		name: "lock-refresh-fence", guard: "a refresh names the lock's revision",
		held: test{"queue/jetstream", "^TestEmbedded$/^refreshing_with_a_revision_of_before_is_fenced$"},
		file: prodLock,
		old:  "		next, err := q.putLock(ctx, key, holder, revision, ttl, replaces)\n",
		new: "		if held, err := q.last(ctx, \"KV_\"+q.names.locks, q.names.lock(key)); err == nil && held != nil {\n			revision = held.sequence\n		}\n" +
			"		next, err := q.putLock(ctx, key, holder, revision, ttl, replaces)\n",
	},
	{
		name: "lock-release-fence", guard: "a release names the lock's revision",
		also: "queuetest",
		file: simQueue,
		old:  "held != nil && held.revision == revision {\n		q.own",
		new:  "held != nil {\n		q.own",
	},
	{
		name: "lock-found-again", guard: "a lock that was made, and of which the answer was lost, is its maker's",
		held: test{"queue/jetstream", "^TestEmbedded$/^a_lock_made_by_a_try_without_an_answer_is_found_again$"},
		file: prodLock,
		old:  "		if held.holder == holder && holder.Try != \"\" {\n",
		new:  "		if false {\n",
	},
	{
		name: "refresh-found-again", guard: "a refresh that was stored, and of which the answer was lost, is refreshed again",
		held: test{"queue/jetstream", "^TestEmbedded$/^a_refresh_without_an_answer_is_refreshed_again$"},
		file: prodLock,
		old:  "		if held.holder != holder || held.after != replaces {\n",
		new:  "		if true {\n",
	},
	{
		name: "unlock-fence", guard: "a release that arrives late frees no lock of another holder",
		held: test{"queue/jetstream", "^TestEmbedded$/^unlocking_with_a_revision_of_before_does_nothing$"},
		file: prodLock,
		old:  "		message.set(headerTTL, ttlHeader(time.Second))\n		sequence, err := q.publish(ctx, message, &revision)\n",
		new:  "		message.set(headerTTL, ttlHeader(time.Second))\n		sequence, err := q.publish(ctx, message, nil)\n",
	},
	{
		name: "lock-overdue", guard: "a lock that stands for longer than its life has no holder",
		held: test{"queue/jetstream", "^TestLockThatTheServerForgetsToRemoveIsTaken$"},
		file: prodLock,
		old:  "		if q.overdue.is(",
		new:  "		if false && q.overdue.is(",
	},
	{
		name: "lock-expires", guard: "a lock whose release was lost expires",
		also: "queuetest: a lock expires",
		file: simQueue,
		old:  "l != nil && q.w.elapsed < l.until {\n		return l",
		new:  "l != nil && l.until > 0 {\n		return l",
	},
	{
		name: "redelivered", guard: "an unacknowledged task is delivered again",
		also: "queue/jetstream's tests",
		file: simQueue,
		old:  "		q.redeliver(next, q.ackWait)\n",
		new:  "",
	},
}
