// Package engine holds the words of Tidewheel: Job, DAG, Run, Attempt, Wave, Status, Batch, Task, Result. What happens to
// them is decided in engine/core.
//
// It may import spec and the standard library's pure packages; nothing else of Tidewheel.
package engine
