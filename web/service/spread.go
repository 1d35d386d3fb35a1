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

const (
	// SpreadMost is how many schedules are spread at once.
	SpreadMost  = 500
	spreadShown = 3 // instants before and after
)

// SpreadOf names a job or DAG whose schedule is to be spread.
type SpreadOf struct {
	DAG  bool
	Name string
	// Revision is the one that was shown: a definition that was changed since is left as it is. 0 is any.
	Revision int64
}

// SpreadResult is what becomes of one.
type SpreadResult struct {
	SpreadOf
	Before, After []string    // its schedule
	Old, New      []time.Time // the next instants of each
	Saved         bool
	Problem       string // why not, in words
}

// spread puts the minute of a schedule where the hash of the name puts it: 0 2 * * * becomes H 2 * * *, which keeps the hour. Nil: it
// cannot be, and why says so.
func spread(schedule []string) (spread []string, why string) {
	if len(schedule) == 0 {
		return nil, "it has no cron expression"
	}
	changed := false
	for _, expression := range schedule {
		one := spreadExpression(expression)
		changed = changed || one != expression
		spread = append(spread, one)
	}
	if !changed {
		return nil, "its minute is no fixed one"
	}
	return spread, ""
}

// spreadExpression changes a minute that is one number, or each nth, to H; anything else stays.
func spreadExpression(expression string) string {
	switch strings.TrimSpace(expression) {
	case "@hourly":
		return "H * * * *"
	case "@daily", "@midnight":
		return "H 0 * * *"
	case "@weekly":
		return "H 0 * * 0"
	case "@monthly":
		return "H 0 1 * *"
	}
	fields := strings.Fields(expression)
	minute := 0
	switch {
	case len(fields) == 5, len(fields) == 6 && len(fields[5]) == 4: // the year stands last
	case len(fields) == 6 || len(fields) == 7:
		minute = 1
	default:
		return expression
	}
	text := fields[minute]
	step, stepped := strings.CutPrefix(text, "*/")
	switch {
	case strings.Trim(text, "0123456789") == "":
		fields[minute] = "H"
	case stepped && strings.Trim(step, "0123456789") == "":
		fields[minute] = "H/" + step
	}
	return strings.Join(fields, " ")
}

// Spread spreads the schedules of jobs and DAGs by H, or says what would become of them. Each is saved by itself, as an edit that a user
// makes: what one of them is refused for leaves the others as they are.
func (s *Service) Spread(ctx context.Context, namespace string, these []SpreadOf, by string, dryRun bool) ([]SpreadResult, error) {
	if len(these) == 0 {
		return nil, field("nothing_chosen", "body.schedules", "choose at least one job or DAG")
	}
	if len(these) > SpreadMost {
		return nil, field("too_many", "body.schedules", "that is more than %d at once: choose fewer; nothing has been done", SpreadMost)
	}
	results := make([]SpreadResult, len(these))
	for i, of := range these {
		var err error
		if of.DAG {
			results[i], err = spreadOne(ctx, s.DAGs, namespace, of, by, dryRun, spreadDAG)
		} else {
			results[i], err = spreadOne(ctx, s.Jobs, namespace, of, by, dryRun, spreadJob)
		}
		if err != nil {
			return nil, err
		}
	}
	if !dryRun {
		s.forgetCollisions(namespace)
	}
	return results, nil
}

func spreadOne[S engine.Spec](
	ctx context.Context, d *Definitions[S], namespace string, of SpreadOf, by string, dryRun bool, change func(*S) (before, after []string, why string),
) (SpreadResult, error) {
	result := SpreadResult{SpreadOf: of}
	old, err := d.Get(ctx, namespace, of.Name)
	if err != nil {
		return result, result.refused(err)
	}
	if of.Revision == 0 {
		result.Revision = old.Revision
	}
	edited := d.clone(&old.Spec)
	var why string
	if result.Before, result.After, why = change(edited); why != "" {
		result.Problem = "It cannot be spread: " + why + "."
		return result, nil
	}
	result.Old = nextSlots(d.schedules(&old), d.s.now())
	changed := old
	changed.Spec = *edited
	result.New = nextSlots(d.schedules(&changed), d.s.now())
	how := Save{By: by, Message: "spread by H", IfRevision: result.Revision, DryRun: dryRun, Source: d.respelled(&old, edited, result.Before, result.After)}
	saved, _, err := d.Save(ctx, namespace, edited, how)
	if err != nil {
		return result, result.refused(err)
	}
	if result.Saved = !dryRun; result.Saved {
		result.Revision = saved.Revision
	}
	return result, nil
}

// respelled is the text of a definition with other expressions, its comments kept where that is possible; "" where it is not.
func (d *Definitions[S]) respelled(old *engine.Definition[S], edited *S, before, after []string) string {
	if old.Source == "" {
		return ""
	}
	source := old.Source
	for i := range before {
		source = strings.ReplaceAll(source, before[i], after[i])
	}
	if text, err := d.text(edited, source); err == nil && string(text) == source {
		return source
	}
	return ""
}

// refused takes what a user can act on as the result of one; other errors end the whole.
func (r *SpreadResult) refused(err error) error {
	var known *Error
	if !errors.As(err, &known) || known.Kind == KindUnavailable {
		return fmt.Errorf("spread %s: %w", r.Name, err)
	}
	r.Problem = known.Detail
	return nil
}

func spreadJob(job *spec.Job) (before, after []string, why string) {
	before = slices.Clone(job.Schedule)
	after, why = spread(before)
	if why == "" {
		job.Schedule = after
	}
	return before, after, why
}

func spreadDAG(dag *spec.DAG) (before, after []string, why string) {
	roots := ScheduledRoots(&engine.DAG{Spec: *dag})
	if len(roots) != 1 {
		return nil, nil, "it has no single root with a schedule, and several would fire apart from each other"
	}
	schedule := &dag.Schedule
	if task := &dag.Tasks[roots[0]]; len(task.Schedule) > 0 {
		schedule = &task.Schedule
	}
	before = slices.Clone(*schedule)
	if after, why = spread(before); why == "" {
		*schedule = after
	}
	return before, after, why
}

// nextSlots are the next instants of schedules.
func nextSlots(schedules []rootSchedule, now time.Time) (slots []time.Time) {
	for _, one := range schedules {
		schedule, err := cron.Compile(one.cron)
		if err != nil {
			continue
		}
		for at := now; len(slots) < spreadShown; {
			slot, ok := schedule.NextFire(at)
			if !ok {
				break
			}
			slots = append(slots, slot)
			at = slot
		}
	}
	return slots
}
