package ui

import (
	"fmt"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/templates"
)

// waveRun says which task of which wave a run is of.
func waveRun(run *engine.Run) templates.WaveRun {
	if run.DAG == "" {
		return templates.WaveRun{}
	}
	of := templates.WaveRun{DAG: run.DAG, Task: run.Task, Wave: run.Wave, Epoch: run.Epoch}
	if run.Item != nil {
		of.Item = fmt.Sprintf("item %d", *run.Item)
	}
	return of
}

// runSection is the part of the product that a run's page is in.
func runSection(run *engine.Run) templates.Section {
	if run.DAG != "" {
		return templates.SectionDAGs
	}
	return templates.SectionRuns
}
