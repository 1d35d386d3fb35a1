// Package process starts programs and sees to it that nothing of them is left.
//
// What it promises:
//   - A program runs in a process group of its own, as the given user, in a folder of its own that is empty at its
//     start, and sees the environment that it is given and nothing else.
//   - When Wait returns, the program and what it started are dead, whether they stayed in the process group or not.
//   - When the executor dies, by SIGKILL too, its programs die within moments; and when it is stopped or starved, by the
//     instant until which it said that it would be silent (Host.Speak).
//   - What a program prints is read in the order in which it was written, as fast as the sink takes it.
//
// How nothing is left. Where a cgroup v2 is writable, each program runs in one, which nothing can leave: cgroup.kill
// ends all that is in it. Elsewhere the process group is killed, and what has left it (setsid) is found under /proc by
// its environment, in which TIDEWHEEL_WORK_DIR names a folder that only this attempt has, and killed with the group
// that it leads: at once if it keeps the output open or the program was killed, else within SweepEvery. A process that
// has closed its output, left its session and cleared its environment escapes there; a cgroup is the cure.
//
// A program in namespaces of its own (Config.OwnNamespaces) is held together by its PID namespace instead, which the kernel
// ends with its init: see namespaces.
//
// How they die with the executor. A guardian, one small process for each executor, holds a pipe from it and does the
// above when the pipe closes. Linux's parent-death signal is not used: it follows the thread that forked, which Go
// may end while the process lives. If both are killed at once, the next Open on the same folder does it.
//
// On other systems than Linux the process group is all there is.
//
// It imports no other package of Tidewheel.
package process
