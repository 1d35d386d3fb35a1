package engine

import (
	"bytes"
	"maps"
	"slices"
	"time"
)

// sameInstant compares what every store keeps of an instant: milliseconds.
func sameInstant(a, b time.Time) bool {
	return a.IsZero() == b.IsZero() && (a.IsZero() || a.UnixMilli() == b.UnixMilli())
}

// MadeAtOnce reports whether a and b, of one id, are one run: not one that was removed, and one made again in its place.
func MadeAtOnce(a, b Run) bool { return sameInstant(a.CreatedAt, b.CreatedAt) }

// SameRun reports whether a and b are the same write of a run: the same revision with the same content. A store asks it
// when the condition of a write does not hold, because the write may have been done but reported as failed. Instants
// count to the millisecond; nil and empty lists are alike, and so are zones.
func SameRun(a, b Run) bool {
	return a.ID == b.ID && a.Revision == b.Revision &&
		a.Namespace == b.Namespace && a.JobUID == b.JobUID && a.Job == b.Job && a.Shard == b.Shard && a.Generation == b.Generation &&
		a.Trigger == b.Trigger && a.By == b.By && sameInstant(a.Slot, b.Slot) && a.Status == b.Status && a.Reason == b.Reason && a.Waiting == b.Waiting &&
		a.Tier == b.Tier && a.Class == b.Class && maps.Equal(a.RunsOn, b.RunsOn) &&
		a.Binary == b.Binary && a.Version == b.Version && a.Digest == b.Digest && a.Kind == b.Kind && a.Size == b.Size &&
		bytes.Equal(a.Payload, b.Payload) && maps.Equal(a.Args, b.Args) &&
		sameInstant(a.CreatedAt, b.CreatedAt) && sameInstant(a.QueuedAt, b.QueuedAt) && sameInstant(a.StartedAt, b.StartedAt) &&
		sameInstant(a.FinishedAt, b.FinishedAt) && sameInstant(a.RetryAt, b.RetryAt) && sameInstant(a.NotBefore, b.NotBefore) &&
		a.Attempt == b.Attempt && a.Failures == b.Failures && a.Losses == b.Losses &&
		slices.EqualFunc(a.Attempts, b.Attempts, sameAttempt) && samePointer(a.Progress, b.Progress, sameProgress) &&
		a.CancelBy == b.CancelBy && samePointer(a.GivenUp, b.GivenUp, sameSlots) &&
		a.DAG == b.DAG && a.Wave == b.Wave && a.Epoch == b.Epoch && a.Task == b.Task && samePointer(a.Item, b.Item, sameInt) && a.Upstream == b.Upstream &&
		bytes.Equal(a.Outputs, b.Outputs) && slices.Equal(a.Artifacts, b.Artifacts)
}

func sameInt(a, b int) bool { return a == b }

// SameWave is SameRun for waves.
func SameWave(a, b Wave) bool {
	return a.ID == b.ID && a.Revision == b.Revision && a.Namespace == b.Namespace && a.DAGUID == b.DAGUID && a.DAG == b.DAG &&
		a.Shard == b.Shard && a.Epoch == b.Epoch && a.Generation == b.Generation && a.Trigger == b.Trigger && a.By == b.By &&
		a.Status == b.Status && a.Reason == b.Reason && sameInstant(a.Slot, b.Slot) && maps.EqualFunc(a.Slots, b.Slots, sameInstant) &&
		bytes.Equal(a.Payload, b.Payload) && maps.Equal(a.Args, b.Args) && sameInstant(a.CreatedAt, b.CreatedAt) &&
		sameInstant(a.StartedAt, b.StartedAt) && sameInstant(a.FinishedAt, b.FinishedAt) && a.CancelBy == b.CancelBy &&
		a.Resumed == b.Resumed && slices.EqualFunc(a.Rests, b.Rests, sameRest) && a.Tally == b.Tally
}

func sameRest(a, b WaveRest) bool { return sameInstant(a.From, b.From) && sameInstant(a.To, b.To) }

func sameAttempt(a, b Attempt) bool {
	return a.N == b.N && a.Status == b.Status && a.Executor == b.Executor && a.Token == b.Token &&
		sameInstant(a.QueuedAt, b.QueuedAt) && sameInstant(a.ClaimedAt, b.ClaimedAt) && sameInstant(a.FetchedAt, b.FetchedAt) &&
		sameInstant(a.StartedAt, b.StartedAt) && sameInstant(a.FinishedAt, b.FinishedAt) &&
		samePointer(a.ExitCode, b.ExitCode, sameInt) && a.Signal == b.Signal && a.Error == b.Error &&
		samePointer(a.Usage, b.Usage, func(a, b Usage) bool { return a == b }) && samePointer(a.Output, b.Output, sameOutput)
}

func sameOutput(a, b Output) bool {
	return a.Size == b.Size && a.Lines == b.Lines && bytes.Equal(a.Tail, b.Tail) && a.Chunks == b.Chunks && a.Truncated == b.Truncated && a.Lost == b.Lost
}

func sameProgress(a, b Progress) bool {
	return a.Fraction == b.Fraction && a.Message == b.Message && sameInstant(a.At, b.At)
}

func samePointer[T any](a, b *T, same func(a, b T) bool) bool {
	if a == nil || b == nil {
		return a == b
	}
	return same(*a, *b)
}

// SameTask is SameRun for scheduled tasks.
func SameTask(a, b ScheduledTask) bool {
	return a.ID == b.ID && a.Revision == b.Revision && a.Shard == b.Shard && a.Generation == b.Generation &&
		a.Namespace == b.Namespace && a.Job == b.Job && a.Epoch == b.Epoch && sameInstant(a.Slot, b.Slot) && sameInstant(a.RunAt, b.RunAt) &&
		a.Writer == b.Writer &&
		samePointer(a.Noting, b.Noting, sameNoting)
}

func sameNoting(a, b Noting) bool {
	return sameInstant(a.RunAt, b.RunAt) && slices.EqualFunc(a.Slots, b.Slots, sameSlots)
}

func sameSlots(a, b SlotRange) bool {
	return a.ID == b.ID && a.JobUID == b.JobUID && a.Namespace == b.Namespace && a.Job == b.Job && sameInstant(a.From, b.From) &&
		sameInstant(a.To, b.To) && a.Count == b.Count && a.Outcome == b.Outcome && a.Reason == b.Reason
}
