// Package executor runs attempts: it pulls tasks, takes the job's lock, claims the attempt, acknowledges the task,
// fetches the program, runs it and reports.
//
// What it promises:
//   - An attempt starts once, however often its task is delivered: who claims it first has it.
//   - While a program runs, its executor holds the job's lock. An executor that cannot refresh it kills the program
//     before the lock can pass to another one. For one that cannot even do that, because it is stopped (SIGSTOP, a
//     debugger, a machine without processors to spare), its guardian does it.
//   - An executor that is asked to end hands back at once what has not begun, lets the rest end for a while, and then
//     ends it and hands it back, too.
//   - What is reported is reported once, and only while the attempt is this executor's.
//   - The program sees the contract's environment and nothing of the executor's, works in a folder of its own, and
//     nothing of it is left when it ends (package process).
//   - Its output is kept whatever it holds, in flat memory (package output); its bytes are those of the digest
//     (package cache).
//
// The steps are in attempt.go, in their order.
//
// Who programs run as. An executor that is root runs them as user and group 65534 (nobody), unless Config says
// otherwise. They must be able to pass through the folders above WorkDir and CacheDir; where these are closed to
// others, folders below the system's one for temporary files are used instead (process.Place), and removed when Run
// ends. All programs of an executor share the user, and one could look at another's files and memory.
//
// It may import engine, spec, internal/runtoken and internal/logthrottle, and no adapter: it speaks to the queue and the blobs
// through the ports in ports.go.
package executor
