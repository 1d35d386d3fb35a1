package wire

import (
	"encoding/json"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// Wave is one pass through a DAG.
type Wave struct {
	ID         string               `json:"id" example:"h5zq3x7rk2mnp4ab-w7"`
	Namespace  string               `json:"namespace" example:"default"`
	DAG        string               `json:"dag" example:"etl"`
	DAGUID     string               `json:"dag_uid" example:"h5zq3x7rk2mnp4ab"`
	Epoch      int64                `json:"epoch,omitempty" doc:"Its number, from 1 and without gaps; absent until it begins"`
	Generation int64                `json:"generation,omitempty" doc:"The form of the definition that it began with, and ends with"`
	Revision   int64                `json:"revision" doc:"One more with each change"`
	Trigger    engine.Trigger       `json:"trigger" doc:"What triggered it"`
	By         string               `json:"by,omitempty" doc:"The user, if it was triggered manually"`
	Status     engine.Status        `json:"status" doc:"scheduled until it begins, then running, then succeeded, failed or cancelled"`
	Reason     string               `json:"reason,omitempty" doc:"Why it stands there, in words"`
	Slot       time.Time            `json:"slot,omitzero" doc:"The first of its roots' slots"`
	Slots      map[string]time.Time `json:"slots,omitempty" doc:"Of a backfill: the slot of each root"`
	Payload    json.RawMessage      `json:"payload,omitempty" doc:"Of a manual wave; otherwise the definition's"`
	Args       map[string]string    `json:"args,omitempty"`
	CreatedAt  time.Time            `json:"created_at"`
	NotBefore  time.Time            `json:"not_before,omitzero" doc:"The time that a manual wave was planned for"`
	StartedAt  time.Time            `json:"started_at,omitzero" doc:"When it began"`
	FinishedAt time.Time            `json:"finished_at,omitzero"`
	CancelBy   string               `json:"cancel_by,omitempty" doc:"Who cancelled it; set once that is under way"`
	Resumed    int                  `json:"resumed,omitempty" doc:"How often it was resumed"`
	Rests      []WaveRest           `json:"rests,omitempty" doc:"The times between an end and the resume after it: no part of how long the wave took"`
	Tally      *WaveTally           `json:"tally,omitempty" doc:"How its tasks ended, once it has"`
}

// WaveTally counts the tasks of a wave that has ended; one that runs over a list counts once.
type WaveTally struct {
	Tasks     int `json:"tasks"`
	Succeeded int `json:"succeeded"`
	Failed    int `json:"failed"`
	Cancelled int `json:"cancelled"`
	Skipped   int `json:"skipped" doc:"Those that a failure before them kept from running are among them"`
}

// WaveDetail is a wave with how far its tasks have come.
type WaveDetail struct {
	Wave
	Counts       map[string]int `json:"counts" doc:"How many tasks are in each state"`
	Tasks        []WaveTask     `json:"tasks" doc:"In the order of the definition"`
	CriticalPath []string       `json:"critical_path" doc:"The way through the tasks that have begun which takes longest"`
	CriticalTime spec.Duration  `json:"critical_time,omitzero" doc:"How long it takes, so far where the wave has not ended"`
}

// WaveTask is a task of a wave.
type WaveTask struct {
	Name     string        `json:"name"`
	State    string        `json:"state" enum:"waiting,ready,running,succeeded,failed,cancelled,skipped,upstream_failed,unknown" doc:"upstream_failed: something before it failed, so it was not run; unknown: its run is not kept any more"`
	Reason   string        `json:"reason,omitempty"`
	Needs    []string      `json:"needs,omitempty"`
	Run      string        `json:"run,omitempty" doc:"The id of its run; absent before there is one, and where it runs over a list"`
	Status   string        `json:"status,omitempty" doc:"Of that run"`
	Attempt  int           `json:"attempt,omitempty"`
	Started  time.Time     `json:"started_at,omitzero" doc:"When its first process began"`
	Finished time.Time     `json:"finished_at,omitzero"`
	Took     spec.Duration `json:"took,omitzero" doc:"So far, where it has not ended"`
	Items    *WaveItems    `json:"items,omitempty" doc:"Where it runs over a list"`
}

// WaveItems counts the items of a task that runs over a list.
type WaveItems struct {
	Total     int `json:"total"`
	Waiting   int `json:"waiting"`
	Running   int `json:"running"`
	Succeeded int `json:"succeeded"`
	Failed    int `json:"failed"`
	Cancelled int `json:"cancelled"`
	Skipped   int `json:"skipped"`
}

// MarkRequest sets the state that a task of a wave counts as.
type MarkRequest struct {
	Task string `json:"task" minLength:"1"`
	As   string `json:"as" enum:"succeeded,failed,skipped"`
}

// ClearRequest defines which task of a wave that has ended is run again.
type ClearRequest struct {
	Task  string `json:"task" minLength:"1"`
	Item  *int   `json:"item,omitempty" minimum:"0" doc:"Only this item of a mapped task, from 0."`
	Alone bool   `json:"alone,omitempty" doc:"Leave the tasks that come after it as they are."`

	Args    map[string]string `json:"args,omitempty" doc:"Added to the environment of its program this time. A mapped task takes them for one item."`
	Payload json.RawMessage   `json:"payload,omitempty" doc:"JSON that its program reads on standard input this time, instead of its own."`
}

// WaveRest is a time in which a wave had ended, before it was resumed.
type WaveRest struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
}
