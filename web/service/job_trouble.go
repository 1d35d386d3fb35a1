package service

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tidewheel/tidewheel/cron"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// Hindrance is why a job does not run, or will not, in words.
type Hindrance struct {
	Code  string // stable: "paused", "no_executor", …
	Words string // a sentence
	// Stops means that nothing runs for as long as this is so; else it is only worth knowing.
	Stops bool
	// Since is when it began, At when it ends by itself; zero where that is not known.
	Since, At time.Time
}

// Hindrances reports why a job does not run: what stops it first. It asks the executors, too; that they cannot be asked
// is a hindrance of its own, not an error.
func (s *Service) Hindrances(ctx context.Context, job *engine.Job) ([]Hindrance, error) {
	var found []Hindrance
	now := s.now()
	found = append(found, pausedHindrances(job)...)
	found = append(found, unsupportedHindrances(job.Spec.Unsupported())...)
	undelivered, err := s.jobAlertFaults(ctx, job.Namespace, &job.Spec)
	if err != nil {
		return nil, err
	}
	found = append(found, alertHindrances(undelivered)...)
	found = append(found, s.unsentHindrances(ctx, job.Namespace, spec.Document{Job: &job.Spec})...)
	found = append(found, scheduleHindrances(job, now)...)
	if _, err := s.ResolveBinary(ctx, job.Namespace, &job.Spec); err != nil {
		var known *Error
		if !errors.As(err, &known) {
			return nil, err
		}
		found = append(found, Hindrance{Code: known.Code, Stops: true, Words: sentence(known.Detail)})
	}
	found = append(found, s.executorHindrances(ctx, job.Spec.Tier, job.Spec.RunsOn)...)
	behind, err := s.Jobs.engineHindrance(ctx, job, now)
	if err != nil {
		return nil, err
	}
	found = append(found, behind...)
	skipped, err := s.skippedHindrance(ctx, job, now)
	if err != nil {
		return nil, err
	}
	found = append(found, skipped...)
	slices.SortStableFunc(found, func(a, b Hindrance) int {
		switch {
		case a.Stops == b.Stops:
			return 0
		case a.Stops:
			return -1
		}
		return 1
	})
	return found, nil
}

// pausedHindrances report that a user has paused a definition, and why.
func pausedHindrances[S engine.Spec](d *engine.Definition[S]) []Hindrance {
	if !d.Paused {
		return nil
	}
	words := "It is paused: no slot fires until it is resumed."
	switch {
	case d.PausedBy != "" && d.PausedReason != "":
		words += " Paused by " + d.PausedBy + ": " + strings.TrimSuffix(d.PausedReason, ".") + "."
	case d.PausedBy != "":
		words += " Paused by " + d.PausedBy + "."
	}
	return []Hindrance{{Code: "paused", Stops: true, Since: d.PausedAt, Words: words}}
}

// unsupportedHindrances report what a definition of an earlier version asks for in vain.
func unsupportedHindrances(problems spec.Problems) []Hindrance {
	var found []Hindrance
	for _, problem := range problems {
		found = append(found, Hindrance{Code: "unsupported", Words: "In its definition, " + problem.Message + "."})
	}
	return found
}

// sentence makes one of an error's detail.
func sentence(detail string) string {
	if detail == "" {
		return ""
	}
	return strings.ToUpper(detail[:1]) + detail[1:] + "."
}

// scheduleHindrances are those that follow from the definition alone.
func scheduleHindrances(job *engine.Job, now time.Time) []Hindrance {
	schedule, err := cron.Compile(job.Spec.Definition(job.Key(), job.CreatedAt))
	if err != nil {
		return []Hindrance{{Code: "invalid_schedule", Stops: true, Words: sentence("its schedule is no longer valid: " + err.Error())}}
	}
	if job.Spec.Manual() && job.Spec.Triggers.Starts() {
		return nil
	}
	if job.Spec.Manual() {
		return []Hindrance{{Code: "manual", Words: "It has no schedule: it runs when triggered manually."}}
	}
	if outside := activeHindrances(job.Spec.Active, now); len(outside) > 0 {
		return outside
	}
	if schedule.Kind() == cron.KindAfter {
		return nil
	}
	next, some := schedule.Next(now)
	fires, ok := schedule.NextFire(now)
	switch {
	case !some && job.Spec.At != nil:
		return []Hindrance{{Code: "over", Since: *job.Spec.At, Words: "It was to run once, and that time has passed."}}
	case !some:
		return []Hindrance{{Code: "never_again", Stops: true, Words: "Its schedule has no future time: it never fires again."}}
	case !ok:
		return []Hindrance{{Code: "excluded", Stops: true, Words: "All upcoming slots are excluded: it never fires again."}}
	case schedule.Excluded(next):
		return []Hindrance{{Code: "excluded", At: fires, Words: "Its next slot is excluded by the definition and does not fire."}}
	}
	return nil
}

// activeHindrances report that a definition is outside of its active time.
func activeHindrances(active *spec.Window, now time.Time) []Hindrance {
	switch {
	case active == nil:
	case active.From != nil && now.Before(*active.From):
		return []Hindrance{{Code: "not_active_yet", Stops: true, At: *active.From, Words: "Its active time has not begun."}}
	case active.Until != nil && !now.Before(*active.Until):
		return []Hindrance{{Code: "active_time_over", Stops: true, Since: *active.Until, Words: "Its active time has ended: no further slots."}}
	}
	return nil
}

// executorHindrances are those of the machines that would run it.
func (s *Service) executorHindrances(ctx context.Context, tier spec.Tier, runsOn map[string]string) []Hindrance {
	executors, err := s.queue.Executors(ctx)
	if err != nil {
		return []Hindrance{{Code: "queue_unreachable", Stops: true, Words: "The executors cannot be asked: " + err.Error() + "."}}
	}
	p := placed(executors, tier, runsOn)
	switch {
	case p.why != "" && p.serving > 0:
		return []Hindrance{{Code: "no_executor", Stops: true, Words: sentence(p.why)}}
	case p.why != "":
		return []Hindrance{{Code: "no_executor", Stops: true, Words: sentence(p.why + ": what fires waits until one comes")}}
	case p.free == 0 && len(runsOn) > 0:
		return []Hindrance{{Code: "executors_busy", Words: fmt.Sprintf("Every slot of the executors with %s is taken: what fires waits for one.", p.whom)}}
	case p.free == 0:
		return []Hindrance{{Code: "executors_busy", Words: fmt.Sprintf("Every slot of the executors of %s is taken: what fires waits for one.", p.whom)}}
	}
	return nil
}

// engineHindrance returns the hindrance that no engine has taken up what is due.
func (d *Definitions[S]) engineHindrance(ctx context.Context, definition *engine.Definition[S], now time.Time) ([]Hindrance, error) {
	if definition.Pending && now.Sub(definition.UpdatedAt) > engineBehind && !definition.PausedAt.After(now.Add(-engineBehind)) {
		return []Hindrance{{Code: "engine_behind", Stops: true, Words: "No engine has taken up the last change of it: is one running?"}}, nil
	}
	if definition.Paused {
		return nil, nil
	}
	var ids []string
	schedules := d.schedules(definition)
	for _, schedule := range schedules[:min(rootsLookedAt, len(schedules))] {
		ids = append(ids, schedule.task)
	}
	tasks, err := d.s.store.TasksByID(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("read what is planned of %s %s: %w", d.noun, definition.Name, err)
	}
	for i := range tasks {
		if now.Sub(tasks[i].RunAt) > engineBehind {
			return []Hindrance{{Code: "engine_behind", Stops: true, Since: tasks[i].RunAt, Words: "A slot is due and no engine has taken it up: is one running?"}}, nil
		}
	}
	return nil, nil
}

// skippedHindrance returns the hindrance that the last slot did not fire, if no run is newer.
func (s *Service) skippedHindrance(ctx context.Context, job *engine.Job, now time.Time) ([]Hindrance, error) {
	ranges, _, err := s.store.Slots(ctx, engine.SlotFilter{JobUID: job.UID, Since: now.Add(-24 * time.Hour), Limit: 1})
	if err != nil {
		return nil, fmt.Errorf("read the ledger of job %s: %w", job.Name, err)
	}
	if len(ranges) == 0 || ranges[0].Reason == engine.ReasonPaused && job.Paused {
		return nil, nil
	}
	last := &ranges[0]
	latest, err := s.store.LatestMarks(ctx, []string{job.UID}, 5, 0)
	if err != nil {
		return nil, fmt.Errorf("read the latest runs of job %s: %w", job.Name, err)
	}
	for _, mark := range latest[job.UID] {
		if slot, ok := engine.SlotOf(mark.ID); ok && mark.Status != engine.StatusScheduled && slot.After(last.To) {
			return nil, nil
		}
	}
	which := "Its last slot was"
	if last.Count > 1 {
		which = fmt.Sprintf("Its last %d slots were", last.Count)
	}
	return []Hindrance{{
		Code: "last_" + string(last.Outcome), Since: last.From,
		Words: fmt.Sprintf("%s %s: %s.", which, last.Outcome, ReasonWords(string(last.Reason))),
	}}, nil
}

// ReasonWords puts the reasons of the ledger, and what asked for a run, into words that continue a sentence.
func ReasonWords(reason string) string {
	switch engine.SlotReason(reason) {
	case engine.ReasonOverlap:
		return "the previous run had not finished"
	case engine.ReasonPaused:
		return "the job was paused"
	case engine.ReasonBlackout:
		return "the definition excludes it"
	case engine.ReasonOutage:
		return "no engine was running"
	case engine.ReasonCatchUp:
		return "the catch-up policy leaves it out"
	case engine.ReasonReplaced:
		return "a later slot replaced it while it waited"
	case engine.ReasonQueueFull:
		return "too many runs of the job were waiting"
	case engine.ReasonEdited:
		return "an edit removed the slot"
	case engine.ReasonCancelled:
		return "it was cancelled before it was due"
	}
	switch engine.Trigger(reason) {
	case engine.TriggerSchedule:
		return "on time"
	case engine.TriggerCatchUp:
		return "caught up"
	case engine.TriggerBackfill:
		return "backfilled"
	case engine.TriggerManual:
		return "manual"
	case engine.TriggerEvent:
		return "started by an event"
	case engine.TriggerUpstream:
		return "after its upstream tasks"
	}
	return strings.ReplaceAll(reason, "_", " ")
}
