package memory

import (
	"bytes"
	"maps"
	"slices"

	"github.com/tidewheel/tidewheel/engine"
)

func copyRun(run *engine.Run) engine.Run {
	c := *run
	c.Payload, c.Args, c.Progress = bytes.Clone(run.Payload), maps.Clone(run.Args), copyPointer(run.Progress)
	c.Item, c.Outputs, c.Artifacts = copyPointer(run.Item), bytes.Clone(run.Outputs), slices.Clone(run.Artifacts)
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

func copyWave(wave *engine.Wave) engine.Wave {
	c := *wave
	c.Slots, c.Payload, c.Args = maps.Clone(wave.Slots), bytes.Clone(wave.Payload), maps.Clone(wave.Args)
	return c
}

func copyTask(task *engine.ScheduledTask) engine.ScheduledTask {
	c := *task
	c.Taken, c.Waiting = slices.Clone(task.Taken), slices.Clone(task.Waiting)
	return c
}

func copyCommand(command engine.Command) engine.Command {
	if command.Run != nil {
		run := copyRun(command.Run)
		command.Run = &run
	}
	if command.Wave != nil {
		wave := copyWave(command.Wave)
		command.Wave = &wave
	}
	return command
}

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
