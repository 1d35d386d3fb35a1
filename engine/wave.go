package engine

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"
)

// Wave is one pass through a DAG. How far each task has come is not in it: that is derived from the wave's runs. It is
// written when it is triggered or opens, when a user cancels or resumes it, and when it ends, never for a task alone.
type Wave struct {
	ID       string `json:"id"`       // WaveID, or ManualWaveID for what was triggered manually
	Revision int64  `json:"revision"` // 1 when inserted, +1 with each write

	Namespace  string `json:"namespace"`
	DAGUID     string `json:"dag_uid"`
	DAG        string `json:"dag"` // name
	Shard      int    `json:"shard"`
	Epoch      int64  `json:"epoch,omitempty"`      // its number, from 1 and without gaps; 0 until it opens
	Generation int64  `json:"generation,omitempty"` // of the definition that it began with; 0 until it opens

	Trigger Trigger `json:"trigger"`
	By      string  `json:"by,omitempty"` // who, for what was triggered manually
	// Status is scheduled (triggered manually, and an earlier wave has not ended), running, succeeded, failed or cancelled.
	Status Status `json:"status"`
	Reason string `json:"reason,omitempty"` // in words: what it waits for, or which task failed first

	// Slot is the first of its roots' slots; zero for a manual wave. Slots says each root's, for a backfill; of any
	// other wave each root's slot is on its run.
	Slot    time.Time            `json:"slot,omitzero"`
	Slots   map[string]time.Time `json:"slots,omitempty"`
	Payload json.RawMessage      `json:"payload,omitempty"` // of a manual wave; the definition's otherwise
	Args    map[string]string    `json:"args,omitempty"`    // added to those of the definition

	CreatedAt  time.Time `json:"created_at"`
	NotBefore  time.Time `json:"not_before,omitzero"` // of a manual wave that was asked for a later time
	StartedAt  time.Time `json:"started_at,omitzero"` // it opened
	FinishedAt time.Time `json:"finished_at,omitzero"`
	CancelBy   string    `json:"cancel_by,omitempty"` // set once a cancellation is under way
	Resumed    int       `json:"resumed,omitempty"`   // how often it was resumed
	// Rests are the times between an end and the resume after it, the earliest first: no part of how long the wave took.
	Rests []WaveRest `json:"rests,omitempty"`
	// Kept counts the items of the mapped tasks that stayed as they were when it was resumed last: their lists may be others now.
	Kept map[string]int `json:"kept,omitempty"`

	// Tally counts the tasks by how they ended; written when the wave ends.
	Tally WaveTally `json:"tally,omitzero"`
}

// WaveRest is a time in which a wave had ended, before it was resumed.
type WaveRest struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
}

// Planned returns the instant that a wave without a slot is for: when it was asked for, or to begin.
func (w *Wave) Planned() time.Time {
	if w.NotBefore.IsZero() {
		return w.CreatedAt
	}
	return w.NotBefore
}

// Worked returns how much of the time between two instants the wave did not rest.
func (w *Wave) Worked(from, to time.Time) time.Duration {
	worked := to.Sub(from)
	for _, rest := range w.Rests {
		begin, end := rest.From, rest.To
		if begin.Before(from) {
			begin = from
		}
		if end.After(to) {
			end = to
		}
		worked -= max(end.Sub(begin), 0)
	}
	return max(worked, 0)
}

// Took returns how long the wave took, so far where it has not ended; 0 before it opens.
func (w *Wave) Took(now time.Time) time.Duration {
	switch {
	case w.StartedAt.IsZero():
		return 0
	case w.Status.Terminal():
		return w.Worked(w.StartedAt, w.FinishedAt)
	}
	return w.Worked(w.StartedAt, now)
}

// WaveTally counts the tasks of a wave; a mapped task counts once.
type WaveTally struct {
	Tasks     int `json:"tasks"`
	Succeeded int `json:"succeeded"`
	Failed    int `json:"failed"`
	Cancelled int `json:"cancelled"`
	Skipped   int `json:"skipped"` // those that a failure kept from running are among them
}

// WaveFilter selects waves for a page of history, the latest created first. Zero fields do not filter.
type WaveFilter struct {
	Namespace string
	DAGUID    string
	Statuses  []Status
	Since     time.Time // created at or after
	Until     time.Time // created before
	Cursor    string    // from the page before; "" for the first
	Limit     int       // 1 … 1000
}

// WaveID is the identity of a wave that slots open.
func WaveID(dagUID string, epoch int64) string {
	return dagUID + "-w" + strconv.FormatInt(epoch, 10)
}

// ManualWaveID is the identity of a wave triggered manually, derived from the caller's idempotency key: its epoch is not
// known before it opens.
func ManualWaveID(dagUID, key string) string { return ManualRunID(dagUID, key) }

// TaskRunID is the identity of the run of a task in a wave.
func TaskRunID(waveID, task string) string { return waveID + "-" + task }

// ItemRunID is the identity of the run of one item, from 0, of a mapped task.
func ItemRunID(waveID string, item int, task string) string {
	return waveID + "i" + strconv.Itoa(item) + "-" + task
}

// WaveRunIDs returns the ranges of ids, each from its first to before its second, that hold the runs of a wave and no
// others: those of its tasks, then those of items. For what is no id of a wave both are empty.
func WaveRunIDs(waveID string) (ranges [2][2]string) {
	uid, rest, _ := strings.Cut(waveID, "-")
	epoch, opened := strings.CutPrefix(rest, "w")
	hash, manual := strings.CutPrefix(rest, "k")
	switch {
	case uid == "":
	case opened && epoch != "" && strings.Trim(epoch, "0123456789") == "", manual && len(hash) == manualHash && !strings.Contains(hash, "-"):
		ranges = [2][2]string{{waveID + "-", waveID + "."}, {waveID + "i", waveID + "j"}}
	}
	return ranges
}

// RunTask returns the task that a run's id names, "" for the id of a job's run.
func RunTask(runID string) string {
	_, rest, _ := strings.Cut(runID, "-")
	_, task, _ := strings.Cut(rest, "-")
	return task
}

// RootID is the identity of a CRON root of a DAG where slots are concerned: of its scheduled task and in the ledger.
func RootID(dagUID, root string) string { return dagUID + "-" + root }

// RootOf returns the root that a RootID names, "" for the uid of a job.
func RootOf(id string) string {
	_, root, _ := strings.Cut(id, "-")
	return root
}
