package service

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"github.com/tidewheel/tidewheel/dag"
	"github.com/tidewheel/tidewheel/engine"
)

// Clear defines which task of a wave is run again.
type Clear struct {
	Task  string `json:"task"`
	Item  *int   `json:"item,omitempty"`  // only this item of a mapped task, from 0
	Alone bool   `json:"alone,omitempty"` // without the tasks that come after it
	// Args and Payload are what its run is given this time: args over those of the wave, a payload instead of its own. A mapped task takes
	// them for one item.
	Args    map[string]string `json:"args,omitempty"`
	Payload json.RawMessage   `json:"payload,omitempty"`
}

// ClearTask asks the engine to run a task of a wave that has ended again, however it has ended, and to decide again the tasks that come
// after it unless it is cleared alone. All others stay as they are. Where another wave is open it waits for its end.
func (s *Service) ClearTask(ctx context.Context, namespace, id string, asked Clear, by string) (engine.Wave, error) {
	detail, err := s.WaveDetail(ctx, namespace, id)
	if err != nil {
		return engine.Wave{}, err
	}
	wave := &detail.Wave
	task, known := detail.Task(asked.Task)
	if !known {
		return *wave, field("task_not_found", "body.task", "wave %s has no task %q", id, asked.Task)
	}
	if !wave.Status.Terminal() {
		return *wave, conflict("wave_open", "wave %s is %s: its tasks can be run again once it has ended", id, wave.Status)
	}
	if err := s.canReopen(ctx, wave); err != nil {
		return *wave, err
	}
	if err := clearable(detail, task, asked.Item); err != nil {
		return *wave, err
	}
	given := Start{Args: asked.Args, Payload: asked.Payload}
	if err := given.check(); err != nil {
		return *wave, err
	}
	if asked.Item == nil && task.Items != nil && len(asked.Args)+len(asked.Payload) > 0 {
		return *wave, conflict("task_mapped", "task %s runs over a list: arguments and a payload can be changed for one item of it", asked.Task)
	}
	encoded, err := json.Marshal(asked)
	if err != nil {
		return *wave, fmt.Errorf("clear task %s: %w", asked.Task, err)
	}
	return *wave, s.command(ctx, engine.Command{
		ID:   fmt.Sprintf("%s-clear-%d-%x", id, wave.Revision, sha256.Sum256(encoded))[:len(id)+len("-clear-")+32],
		Kind: engine.CommandClearTask, RunID: id, JobUID: wave.DAGUID, By: by, Revision: wave.Revision,
		Task: asked.Task, Item: asked.Item, Alone: asked.Alone, Args: asked.Args, Payload: asked.Payload,
	})
}

// clearable reports whether a task of a wave that has ended would be run if it was cleared.
func clearable(detail *WaveDetail, task *WaveTask, item *int) error {
	switch {
	case !task.State.Valid():
		return conflict("run_removed", "the run of task %s is not kept any more: start a new wave", task.Name)
	case item == nil:
	case task.Items == nil:
		return field("item_not_found", "body.item", "task %s has no items: leave the item out", task.Name)
	case *item < 0 || *item >= task.Items.Total:
		return field("item_not_found", "body.item", "task %s has the items 0 to %d", task.Name, task.Items.Total-1)
	}
	states := make([]dag.State, len(detail.Tasks))
	for i := range detail.Tasks {
		if states[i] = detail.Tasks[i].State; !states[i].Valid() {
			states[i] = dag.Succeeded // as far as is known
		}
	}
	at, _ := detail.Graph.Index(task.Name)
	standing, _, err := detail.Graph.Restore(states)
	if err != nil {
		return fmt.Errorf("clear task %s: %w", task.Name, err)
	}
	standing.Clear(at)
	if standing.State(at) != dag.Ready {
		return conflict("task_closed", "task %s would not run: its trigger rule is not met by how the tasks that it needs have ended; clear one of those instead", task.Name)
	}
	return nil
}
