// Package sim is a deterministic simulator of Tidewheel's engine: one world in virtual time, made of a seed.
//
// In it runs the production code of the engine (engine, engine/lease, engine/shard's Machine and Loader) over store/memory, among
// models of all that surrounds it: a queue with its streams, locks and leases, executors with the programs they run, users who
// write as web/service does, and a clock that jumps. Everything takes a random virtual time and much of it fails: see
// Faults. Engines and executors are killed between any two of their effects and started again, and stand still. Each node has a
// clock of its own, which is off, drifts and is set right (clocks.go); all of them jump together.
//
// # How a world is built
//
// Run draws, in this order: when it begins (shortly before some zone changes its clocks, most often), the engine's times
// (drawConfig), one to three engines, one to three executors, which faults happen and how often (drawFaults), and what
// users have: jobs (shapes.go), DAGs (dag_shapes.go) or both, and how their programs behave. From then on everything is
// an entry of the agenda (world.go): it happens at its instant of virtual time and makes others. What takes several
// steps is a coroutine (process.go), which dies with its group: an engine, or an executor.
//
// An engine is a driver.go, which does what shard.Runner does. Where there are several, they share the shards by leases in
// half of the worlds: holder.go does what shard.Holder does, with the production code of engine/lease, over the table of leases.go,
// and owners_leased.go holds them to what ADR 18 promises. In the others shards move at random (owners_thrown.go): there
// an owner that was replaced acts for as long as no lease would let it.
//
// The executor is modelled, not the production code, which is made of processes and goroutines: executor.go follows the
// order that the design demands (lock, claim, ack, run, finish, unlock; its process ends before its lock can). So is the
// queue: queue.go promises what queue/queuetest promises, and no more; lanes.go has its tiers and classes.
//
// # What is checked
//
// While the world turns, safety is checked at every write (truth.go, dag_truth.go) and at every start of a process
// (journal.go, dag_oracle.go, which has a slow model of waves). Then the faults end, the world comes to rest, and liveness
// is checked: every run, wave and command ended, every slot of every job and root accounted for exactly once (account.go,
// by what model.go, debts.go and dag_model.go remember of the users' writes, and of when an engine heard of them). Reachable
// lists what many worlds together must have reached, lest something goes untested.
//
// Every other world has a notifier (notifier.go), with alerts in definitions and of the namespace. It draws from a source of its own.
// notifier_oracle.go checks at every commit that what is wrong is written with its incident and that a success ends a failure; that
// only what is durable is notified, and at the end that all of it was.
//
// # What is not promised
//
// All worlds are judged by the same rules, however many engines there are, and whatever clocks and users do. What docs/guarantees.md does
// not promise is bounded. Under "Several engines":
//
//   - That one engine at a time believes to own a shard. Two may after a standstill, for wakesWithin; after one in which the clock stood
//     still, too, or after the table of leases lost writes, for the life of a lease (mayBelieve in owners_leased.go). Only
//     the one that took the shard last writes (commit in truth.go).
//   - That a former owner publishes nothing of a run that has ended since. It may for as long as it is unaware (wanted in promises.go), or
//     after a standstill believes to own the shard (mayBelieve), of what it had committed; the owner never does.
//   - That a former owner does not publish a run that it had prepared, and that the next owner is taking back (byFormer in promises.go).
//
// Under "Slots: none is lost":
//
//   - Slots of a schedule that no engine saw, and of a pause while it lasts (complete and stopped in account.go).
//   - Slots of a catch-up that is not at its end as the world is: they wait, and are in the scheduled task (book in account.go).
//   - A second time of the same hour: slots that the clock had passed before it went back, or before their job was made (debts.go).
//
// What it does promise there of pauses, by several clocks and where an engine saw only some of the users' writes, is one notion: pauseEnds
// in model.go. The clocks of a world are as far apart as that section allows (apart in clocks.go).
//
// RESULTS and LOCKS lose nothing that they have acknowledged. A store tears what its adapters tear: of the shards' commits in one round
// trip any may be done and any not, each of them whole (commit in driver.go). The engine reads no projection that is behind, and users'
// requests name revisions that may have been replaced when they are granted.
//
// One seed gives one history, bit for bit: there is one *rand.Rand, no order comes from a map, and of the coroutines
// (iter.Pull) only one runs at a time, chosen by the agenda. A world that fails is shrunk: Shrink leaves out what it does
// not need. A seed that once failed is kept in testdata/seeds.txt.
//
// It imports the engine, engine/lease, engine/shard and store/memory; nothing but its mutants imports it.
package sim
