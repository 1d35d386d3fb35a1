// Package examples holds small, true programs with their job files. `tidewheel server --demo` uploads and schedules
// them; each folder is one program and the job that runs it.
//
// A folder's job file names the program as its binary. A program in Go is built by the Makefile and lies beside the
// server's own program; all others are taken from here as they are.
package examples

import "embed"

// FS holds the folders: <name>/job.yaml, and <name>/<name>.sh or <name>/<name>.py.
//
//go:embed */job.yaml */*.sh */*.py
var FS embed.FS
