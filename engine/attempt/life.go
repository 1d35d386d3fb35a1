package attempt

import (
	"fmt"
	"strings"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// Begin queues the next attempt of a run.
func Begin(r *engine.Run, at time.Time) {
	r.Attempt++
	r.Status, r.Reason = engine.StatusQueued, ""
	r.QueuedAt, r.RetryAt, r.Progress = at.Truncate(time.Microsecond), time.Time{}, nil
	r.Attempts = append(r.Attempts, engine.Attempt{N: r.Attempt, Status: engine.StatusQueued, QueuedAt: r.QueuedAt})
}

// Once reports whether the program may begin once at most. s is the definition of the run, nil if it is not known.
func Once(s *spec.Job) bool { return s != nil && s.Delivery == spec.DeliveryAtMostOnce }

// ClaimedByAnother reports whether a message is not of the executor whose claim of the running attempt is known.
func ClaimedByAnother(a *engine.Attempt, m *engine.Result) bool {
	return a.Status == engine.StatusRunning && m.Executor != "" && (m.Executor != a.Executor || m.Token != a.Token)
}

// Started takes the claim of the current attempt by an executor; false if it is known.
func Started(r *engine.Run, m *engine.Result, now time.Time) bool {
	a := r.Current()
	if a.Status == engine.StatusRunning {
		return false
	}
	a.Status, a.Executor, a.Token, a.ClaimedAt = engine.StatusRunning, m.Executor, m.Token, ours(m.At, a.QueuedAt, now)
	r.Status = engine.StatusRunning
	return true
}

// Progressed takes what an attempt says of itself while it runs.
func Progressed(r *engine.Run, m *engine.Result) {
	if m.Progress != nil {
		r.Progress = m.Progress
	} else {
		r.Reason = m.Waits
	}
}

// Retry lets a run wait for its next attempt.
func Retry(r *engine.Run, at time.Time, reason string) {
	r.Status, r.Reason, r.RetryAt = engine.StatusRetrying, reason, at.Truncate(time.Microsecond)
}

// End gives a run its terminal status.
func End(r *engine.Run, status engine.Status, reason string, now time.Time) {
	r.Status, r.Reason, r.RetryAt = status, reason, time.Time{}
	r.FinishedAt = now.Truncate(time.Microsecond)
	if a := r.Current(); a != nil && !a.FinishedAt.IsZero() {
		r.FinishedAt = a.FinishedAt
	}
}

// Anew lets a run that had ended begin once more: its tries are counted from zero.
func Anew(r *engine.Run) {
	r.Failures, r.Losses, r.CancelBy = 0, 0, ""
	r.Reason, r.FinishedAt, r.RetryAt = "", time.Time{}, time.Time{}
	r.Status, r.Upstream = engine.StatusScheduled, false
	r.Outputs, r.Artifacts = nil, nil
}

// Letter is the dead letter of a run whose tries are used up.
func Letter(r *engine.Run, now time.Time) engine.DeadLetter {
	return engine.DeadLetter{
		RunID: r.ID, Namespace: r.Namespace, JobUID: r.JobUID, Job: r.Label(),
		Error: r.Reason, Attempts: r.Attempt, At: now.Truncate(time.Millisecond),
	}
}

// replacedBy begins the CancelBy of a run that its job's overlap policy ends.
const replacedBy = "replaced by "

// ReplacedBy is the CancelBy of a run in whose place another goes.
func ReplacedBy(run string) string { return replacedBy + run }

// CancelReason returns why a run was cancelled.
func CancelReason(r *engine.Run) string {
	if strings.HasPrefix(r.CancelBy, replacedBy) {
		return r.CancelBy
	}
	return "cancelled by " + r.CancelBy
}

// Bind fixes the version that the binary of a run's definition means now. Where there is none, Digest is empty and Reason
// says why.
func Bind(r *engine.Run, s *spec.Job, binaries map[string]*engine.Binary) {
	r.Tier, r.Class, r.RunsOn = s.Tier, s.Class, s.RunsOn
	r.Binary, r.Version, r.Digest, r.Kind, r.Size = s.Binary, 0, "", "", 0
	r.Reason = ""
	ref, err := s.Binding()
	if err != nil {
		r.Reason = err.Error()
		return
	}
	if ref.Digest != "" {
		r.Digest = ref.Digest
		return
	}
	b := binaries[r.Namespace+"/"+ref.Name]
	if b == nil {
		r.Reason = fmt.Sprintf("there is no binary %q: push it with `tidewheel binary push %s FILE`, then retry the run", ref.Name, ref.Name)
		return
	}
	version, err := b.Resolve(ref)
	if err != nil {
		r.Reason = err.Error()
		return
	}
	r.Version, r.Digest, r.Kind, r.Size = version.N, version.SHA256, version.Kind, version.Size
}
