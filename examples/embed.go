// Package examples holds small, true programs with their job and DAG files. `tidewheel server --demo` uploads and
// schedules them; each folder is one program and the job that runs it, or a DAG and the programs of its tasks.
//
// A folder's file names its programs as binaries. A program in Go is built by the Makefile and lies beside the
// server's own program; all others are taken from here as they are.
package examples

import "embed"

// FS holds the folders: <name>/job.yaml or <name>/dag.yaml, and <program>.sh or <program>.py.
//
//go:embed */job.yaml */dag.yaml */*.sh */*.py
var FS embed.FS
