package api

import (
	"time"

	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/web/service"
)

func viewWave(wave *engine.Wave) wire.Wave {
	view := wire.Wave{
		ID: wave.ID, Namespace: wave.Namespace, DAG: wave.DAG, DAGUID: wave.DAGUID, Epoch: wave.Epoch, Generation: wave.Generation,
		Revision: wave.Revision, Trigger: wave.Trigger, By: wave.By, Status: wave.Status, Reason: wave.Reason,
		Slot: wave.Slot, Slots: wave.Slots, Payload: wave.Payload, Args: wave.Args,
		CreatedAt: wave.CreatedAt, NotBefore: wave.NotBefore, StartedAt: wave.StartedAt, FinishedAt: wave.FinishedAt, CancelBy: wave.CancelBy, Resumed: wave.Resumed, Rests: viewRests(wave.Rests),
	}
	if t := wave.Tally; t.Tasks > 0 {
		view.Tally = &wire.WaveTally{Tasks: t.Tasks, Succeeded: t.Succeeded, Failed: t.Failed, Cancelled: t.Cancelled, Skipped: t.Skipped}
	}
	return view
}

func viewWaveDetail(d *service.WaveDetail, now time.Time) wire.WaveDetail {
	view := wire.WaveDetail{
		Wave: viewWave(&d.Wave), Counts: map[string]int{}, Tasks: make([]wire.WaveTask, len(d.Tasks)),
		CriticalPath: []string{}, CriticalTime: spec.Duration(d.CriticalTime),
	}
	for state, count := range d.Counts() {
		view.Counts[state.String()] = count
	}
	for i := range d.Tasks {
		view.Tasks[i] = viewWaveTask(&d.Tasks[i], now)
		for need := range d.Graph.Needs(i) {
			view.Tasks[i].Needs = append(view.Tasks[i].Needs, d.Graph.Name(need))
		}
	}
	for _, task := range d.Critical {
		view.CriticalPath = append(view.CriticalPath, d.Tasks[task].Name)
	}
	return view
}

func viewWaveTask(t *service.WaveTask, now time.Time) wire.WaveTask {
	view := wire.WaveTask{
		Name: t.Name, State: "unknown", Reason: t.Reason, Run: t.Run, Attempt: t.Attempt,
		Started: t.Started, Finished: t.Finished, Took: spec.Duration(t.Took(now)),
	}
	if t.State.Valid() {
		view.State = t.State.String()
	}
	if t.Run != "" {
		view.Status = t.Status.String()
	}
	if n := t.Items; n != nil {
		view.Items = &wire.WaveItems{
			Total: n.Total, Waiting: n.Waiting, Running: n.Running, Succeeded: n.Succeeded, Failed: n.Failed, Cancelled: n.Cancelled, Skipped: n.Skipped,
		}
	}
	return view
}

func viewRests(rests []engine.WaveRest) (view []wire.WaveRest) {
	for _, rest := range rests {
		view = append(view, wire.WaveRest(rest))
	}
	return view
}
