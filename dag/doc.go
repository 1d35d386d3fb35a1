// Package dag is the pure half of waves: which tasks of a DAG may run, given
// how the others ended.
//
// # What it promises
//
//   - [New] refuses what cannot be walked, and reports all faults at once, each
//     tied to a task and to the need that it is about. Its time grows with the
//     number of tasks and needs, and with nothing else.
//   - A [Wave] keeps counters per task, so that one transition costs as much as
//     the task has dependants, however large the DAG is.
//   - What a wave decides depends on how the tasks ended, never on the order in
//     which they did. So [Graph.Restore] comes to the same wave from the tasks'
//     states alone; see [Trigger] for the rules.
//   - Nothing here reads a clock, ranges over a map or imports another package
//     of Tidewheel. Conditions (when, for_each) are in dag/condition.
//
// # How the engine uses this
//
// Tasks are numbers here: their index in the list given to [New], which is the
// order of the definition. A wave goes like this:
//
//	graph, err := dag.New(tasks)       // once per generation of a DAG
//	wave := graph.NewWave()            // the roots wait for their slots
//	wave.Release(root)                 // a root's slot has come; ReleaseAll manually
//	for running < maxParallel {
//		task, ok := wave.Take()        // the next that may start, first come first served
//		...                            // evaluate when: false is wave.End(task, dag.Skipped)
//	}                                  // else start its run: an effect
//	closed, ok := wave.End(task, dag.Succeeded)
//	                                   // the run has ended for good: no retry is left
//
// End returns the tasks that its rules have closed without a run, whose runs
// are to be written as skipped; those that became ready wait for Take. An end
// that comes twice changes nothing and says so. [Wave.Done] says that the last
// task has ended, [Wave.Result] how. Then the roots are scheduled for epoch+1.
//
// A root that has no slot in this wave (excluded, or its schedule is over) is
// ended as Skipped with [Wave.Mark], which also is what a person's "mark as
// succeeded" asks for.
//
// A mapped task (for_each) is one task of the wave; a [Fan] counts its items,
// bounds how many run at once, and says how the task ends.
//
// After a crash the engine knows the runs of the wave: each gives its task's
// state, every other task is Waiting, and Restore does the rest: tasks that were
// closed by a rule are closed again, so their runs need not have been written.
// The order of Take may differ from that before the crash.
//
// A failed wave is resumed by [Wave.Resume], which puts back to Waiting what
// failed and what was closed because of it. A cancelled one is stopped by
// [Wave.Cancel]; the engine cancels the runs that are under way, and ends their
// tasks as Cancelled when they have.
package dag
