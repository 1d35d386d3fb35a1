package sim

import (
	"strconv"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/core"
	"github.com/tidewheel/tidewheel/engine/shard"
)

// claimWaits is the claim window in ack waits.
const claimWaits = 4

// queue is TASKS, RESULTS and LOCKS. A call on it happens at one instant; the time that calls take is spent by callers.
type queue struct {
	w       *world
	ackWait time.Duration

	tasks map[place]*waiting  // only looked up
	lines map[lane][]*waiting // those that wait for an executor, oldest first; the same

	subjects map[string]*subject // by run and attempt; only looked up
	decided  map[string]bool     // what ever had a subject, which is trimmed some day; the same
	logs     [engine.Shards][]message
	sequence uint64
	floors   [engine.Shards]uint64 // acknowledged up to here
	settled  [engine.Shards][]floor
	trimmed  time.Duration

	locks    map[string]*lock
	keys     []string // of locks, in the order in which they were first made
	revision uint64
	tokens   map[string]uint64 // the latest of each key
}

// waiting is a task in the work queue, until it is acknowledged.
type waiting struct {
	task      *engine.Task
	at        time.Duration // when it was stored
	by        *group        // the engine that published it
	seat      shard.Seat    // for which it did
	copies    int           // that were delivered
	delivered bool
	gone      bool
	again     *event
}

// subject is where an attempt is decided.
type subject struct {
	last engine.Result
	at   time.Duration
}

// message is one entry of a shard's results.
type message struct {
	sequence uint64
	result   engine.Result
	at       time.Duration
}

// floor is what a shard had acknowledged at a time.
type floor struct {
	sequence uint64
	at       time.Duration
}

// lock is an entry of LOCKS.
type lock struct {
	run      string
	attempt  int
	executor string
	by       *attempt // that asked for it
	revision uint64
	replaced uint64 // by its latest refresh
	until    time.Duration
}

func newQueue(w *world) *queue {
	return &queue{
		w: w, ackWait: pick(w, 10*time.Second, 2*time.Second), tasks: map[place]*waiting{}, lines: map[lane][]*waiting{}, subjects: map[string]*subject{}, decided: map[string]bool{}, locks: map[string]*lock{}, tokens: map[string]uint64{},
	}
}

func attemptKey(run string, attempt int) string { return run + "." + strconv.Itoa(attempt) }

// publish stores a task, unless a copy waits already.
func (q *queue) publish(task *engine.Task, by *group, seat shard.Seat) {
	if copied := q.tasks[placeOf(task)]; copied != nil {
		if copied.task.Attempt >= task.Attempt {
			q.w.counts.add("queue", "second copy refused")
			return
		}
		q.remove(copied)
	}
	q.w.note("task", task.Run, "", int64(task.Attempt))
	if q.w.chance(taskLost) {
		return
	}
	added := &waiting{task: task, at: q.w.elapsed, by: by, seat: seat}
	q.tasks[placeOf(task)] = added
	delay := q.w.between(0, 500*time.Microsecond)
	if q.w.chance(taskDelayed) {
		delay = q.w.between(10*time.Millisecond, 5*time.Second)
	}
	q.w.after(delay, func() { q.offer(added) })
}

func (q *queue) offer(task *waiting) {
	if task.gone || task.delivered {
		return
	}
	in := placeOf(task.task).lane
	q.lines[in] = append(q.lines[in], task)
	q.dispatch()
}

func (q *queue) remove(task *waiting) {
	task.gone = true
	task.again.cancel()
	if at := placeOf(task.task); q.tasks[at] == task {
		delete(q.tasks, at)
	}
}

// offers reports whether a task waits in a lane to be taken.
func (q *queue) offers(from lane) bool {
	line := q.lines[from]
	for len(line) > 0 && (line[0].gone || line[0].delivered) {
		line = line[1:]
	}
	q.lines[from] = line
	return len(line) > 0
}

// dispatch gives waiting tasks to idle executors.
func (q *queue) dispatch() {
	for {
		x := q.w.idleExecutor(func(x *executor) bool { return x.appetite.hungry(q.offers) })
		if x == nil {
			return
		}
		from := x.appetite.choose(q.offers)
		next := q.lines[from][0]
		q.lines[from] = q.lines[from][1:]
		q.w.counts.add("lane", string(from.tier)+" "+string(from.class))
		next.delivered = true
		q.redeliver(next, q.ackWait)
		x.take(next, q.delivery(next))
		if q.w.chance(taskDoubled) {
			if other := q.w.idleExecutor(func(x *executor) bool { return x.appetite.serves(from) }); other != nil {
				other.take(next, q.delivery(next))
			}
		}
	}
}

// goAway takes the queue from everybody for a while: what it holds is there afterwards, but for what has ended meanwhile.
// Everybody finds it again in their own time.
func (q *queue) goAway(d time.Duration) {
	w := q.w
	w.note("queue away", "", "", (w.elapsed + d).Milliseconds())
	again := func() time.Duration { return d + w.between(0, 3*time.Second) }
	for _, e := range w.engines {
		e.cutOff(again())
	}
	for _, x := range w.executors {
		after := again()
		x.awayUntil = max(x.awayUntil, w.elapsed+after)
		w.after(after, q.dispatch)
	}
}

// delivery numbers a copy that is delivered.
func (q *queue) delivery(task *waiting) int {
	task.copies++
	return task.copies
}

// outlived reports whether a task is so old that the claim of a copy that was delivered before this one may have been trimmed.
func (q *queue) outlived(task *waiting, copies int, given time.Duration) bool {
	return (copies > 1 || task.task.Again || q.w.elapsed > given+q.ackWait) && q.w.elapsed > task.at+claimWaits*q.ackWait*3/4
}

// drop ends a copy that no executor may run any more, and asks engines to check.
func (q *queue) drop(task *waiting) {
	q.w.counts.add("queue", "outlived copy dropped")
	q.remove(task)
	of := task.task
	q.w.users.wake(engine.Wake{Shard: of.Shard, Kind: engine.WakeTask, Key: of.Run, Attempt: of.Attempt})
}

// redeliver gives a task to an executor once more after a while, unless it is acknowledged.
func (q *queue) redeliver(task *waiting, wait time.Duration) {
	task.again.cancel()
	task.again = q.w.after(wait, func() {
		if !task.gone {
			task.delivered = false
			q.offer(task)
		}
	})
}

func (q *queue) acknowledge(task *waiting) {
	if task.gone { // the next attempt took its place long ago, and its claim may be trimmed
		return
	}
	if key := attemptKey(task.task.Run, task.task.Attempt); !q.decided[key] {
		q.w.fail("a task leaves the queue after its claim", "%s has none", key)
	}
	q.remove(task)
}

func (q *queue) giveBack(task *waiting, wait time.Duration) {
	if !task.gone && !q.w.chance(taskNakLost) {
		q.redeliver(task, wait)
	}
}

// decide publishes on an attempt's subject on condition of its last sequence. It finds its own message again.
func (q *queue) decide(result engine.Result, after uint64) (sequence uint64, ok bool) {
	q.trim()
	key := attemptKey(result.Run, result.Attempt)
	s := q.subjects[key]
	last := uint64(0)
	if s != nil {
		last = s.last.Sequence
	}
	if last != after {
		if s != nil && s.last.Kind == result.Kind && s.last.Executor == result.Executor && s.last.Token == result.Token &&
			(result.Kind != engine.ResultProgress || s.last.At.Equal(result.At)) {
			return last, true
		}
		return 0, false
	}
	if s != nil && (s.last.Kind == engine.ResultFinished || s.last.Kind == engine.ResultLost || s.last.Kind == engine.ResultRevoked) {
		q.w.fail("an attempt ends once", "%s ended as %s, and then as %s", key, s.last.Kind, result.Kind)
	}
	if result.Kind == engine.ResultLost {
		q.w.journal.dies(result.Run, result.Attempt)
	}
	q.sequence++
	result.Sequence = q.sequence
	q.subjects[key], q.decided[key] = &subject{last: result, at: q.w.elapsed}, true
	q.logs[result.Shard] = append(q.logs[result.Shard], message{sequence: q.sequence, result: result, at: q.w.elapsed})
	q.w.counts.add("result", string(result.Kind))
	q.w.note("result", key, string(result.Kind), int64(q.sequence))
	for _, e := range q.w.engines {
		e.pump(result.Shard)
	}
	return q.sequence, true
}

func (q *queue) revoke(of *core.Revoke, at time.Time) bool {
	_, ok := q.decide(engine.Result{Kind: engine.ResultRevoked, Run: of.Run, Attempt: of.Attempt, Shard: of.Shard, At: at}, 0)
	if ok {
		if task := q.tasks[place{laneOf(of.Tier, of.Class), of.Run}]; task != nil && task.task.Attempt <= of.Attempt {
			q.remove(task)
		}
	}
	return ok
}

// waits reports whether the task of an attempt is in the queue, where it is looked for.
func (q *queue) waits(of *core.Inspect) bool {
	task := q.tasks[place{laneOf(of.Tier, of.Class), of.Run}]
	return task != nil && task.task.Attempt == of.Attempt
}

func (q *queue) inspectSubject(run string, attempt int, state *engine.AttemptState) {
	q.trim()
	if s := q.subjects[attemptKey(run, attempt)]; s != nil {
		state.Last, state.Sequence = s.last.Kind, s.last.Sequence
	}
}

func (q *queue) inspectLock(run string, attempt int, keys []string, state *engine.AttemptState) {
	for _, key := range keys {
		if held := q.held(key); held != nil && held.run == run && held.attempt == attempt {
			state.LockHeld, state.LockUntil = true, q.w.wall().Add(held.until-q.w.elapsed)
			return
		}
	}
}

func (q *queue) acknowledgeResults(shard int, sequence uint64) {
	q.floors[shard] = max(q.floors[shard], sequence)
	q.settled[shard] = append(q.settled[shard], floor{sequence: sequence, at: q.w.elapsed})
}

// trim forgets, now and then, results that are acknowledged and older than the claim window, but for the last of an
// attempt whose lock is held. A copy of it that still is in the work queue finds no claim then: see outlived.
func (q *queue) trim() {
	claimWindow := claimWaits * q.ackWait
	if q.w.elapsed < q.trimmed+claimWindow/4 {
		return
	}
	q.trimmed = q.w.elapsed
	for shard := range q.logs {
		log := q.logs[shard]
		n, limit := 0, uint64(0)
		for _, f := range q.settled[shard] {
			if f.at+claimWindow < q.w.elapsed {
				limit = max(limit, f.sequence)
			}
		}
		for n < len(log) && log[n].sequence <= limit {
			key := attemptKey(log[n].result.Run, log[n].result.Attempt)
			if s := q.subjects[key]; s != nil && s.last.Sequence == log[n].sequence && !q.holds(log[n].result.Run, log[n].result.Attempt) {
				delete(q.subjects, key)
				q.w.counts.add("queue", "attempt trimmed")
			}
			n++
		}
		q.logs[shard] = log[n:]
	}
}

func (q *queue) holds(run string, attempt int) bool {
	for _, key := range q.keys {
		if held := q.held(key); held != nil && held.run == run && held.attempt == attempt {
			return true
		}
	}
	return false
}

func (q *queue) held(key string) *lock {
	if l := q.locks[key]; l != nil && q.w.elapsed < l.until {
		return l
	}
	return nil
}

// lock makes a lock, or returns when it can be free at the earliest.
func (q *queue) lock(key, run string, attempt int, executor string, ttl time.Duration, by *attempt) (token uint64, until time.Duration, ok bool) {
	if held := q.held(key); held != nil && held.by == by { // made by a try whose answer was lost
		q.w.counts.add("queue", "lock found again")
		token, ok = q.refresh(key, held.revision, by.task, executor)
		return token, 0, ok
	}
	if held := q.held(key); held != nil {
		q.w.counts.add("queue", "lock is held")
		return 0, held.until, false
	}
	q.revision++
	if q.revision <= q.tokens[key] {
		q.w.fail("tokens grow", "lock %s got token %d after %d", key, q.revision, q.tokens[key])
	}
	if q.locks[key] == nil {
		q.keys = append(q.keys, key)
	}
	q.tokens[key] = q.revision
	q.locks[key] = &lock{run: run, attempt: attempt, executor: executor, by: by, revision: q.revision, until: q.w.elapsed + ttl}
	q.w.note("lock", key, executor, int64(q.revision))
	return q.revision, 0, true
}

func (q *queue) refresh(key string, revision uint64, task *engine.Task, executor string) (uint64, bool) {
	held := q.held(key)
	replaces := revision
	if held != nil && held.replaced == revision && held.run == task.Run && held.attempt == task.Attempt && held.executor == executor {
		q.w.counts.add("queue", "refresh found again") // its life began then, so it is refreshed
		revision = held.revision
	}
	if held == nil || held.revision != revision {
		return 0, false
	}
	q.own(key, held, task, executor)
	q.revision++
	held.revision, held.replaced, held.until = q.revision, replaces, q.w.elapsed+lockTTL
	return q.revision, true
}

// own checks that only its holder keeps or frees a lock.
func (q *queue) own(key string, held *lock, task *engine.Task, executor string) {
	if held.run != task.Run || held.attempt != task.Attempt || held.executor != executor {
		q.w.fail("a lock is its holder's", "lock %s is held for %s by %s, and %s acts on it for %s",
			key, attemptKey(held.run, held.attempt), held.executor, executor, attemptKey(task.Run, task.Attempt))
	}
}

func (q *queue) unlock(key string, revision uint64, task *engine.Task, executor string) {
	if held := q.held(key); held != nil && held.revision == revision {
		q.own(key, held, task, executor)
		held.until = 0
		q.w.note("unlock", key, held.executor, int64(revision))
	}
}

// leftovers names tasks and locks that are left.
func (q *queue) leftovers() (tasks int, locks []string) {
	for _, key := range q.keys {
		if q.held(key) != nil {
			locks = append(locks, key)
		}
	}
	return len(q.tasks), locks
}
