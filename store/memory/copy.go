package memory

import (
	"bytes"
	"maps"
	"slices"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

func copyRun(run *engine.Run) engine.Run {
	c := *run
	c.Payload, c.Args, c.Progress = bytes.Clone(run.Payload), maps.Clone(run.Args), copyPointer(run.Progress)
	c.Attempts = slices.Clone(run.Attempts)
	for i := range c.Attempts {
		attempt := &c.Attempts[i]
		attempt.ExitCode, attempt.Usage, attempt.Output = copyPointer(attempt.ExitCode), copyPointer(attempt.Usage), copyPointer(attempt.Output)
		if attempt.Output != nil {
			attempt.Output.Tail = bytes.Clone(attempt.Output.Tail)
		}
	}
	return c
}

func copyJob(job *engine.Job) engine.Job {
	c := *job
	c.Spec = copySpec(job.Spec)
	return c
}

func copyGeneration(generation engine.Generation) engine.Generation {
	generation.Spec = copySpec(generation.Spec)
	return generation
}

func copySpec(job spec.Job) spec.Job { return *job.Clone() }

func copyBinary(binary engine.Binary) engine.Binary {
	binary.Versions = slices.Clone(binary.Versions)
	binary.Aliases = maps.Clone(binary.Aliases)
	binary.AliasHistory = slices.Clone(binary.AliasHistory)
	return binary
}

func copyPointer[T any](p *T) *T {
	if p == nil {
		return nil
	}
	c := *p
	return &c
}
