package ui

import (
	"context"
	"errors"
	"fmt"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/templates"
	"github.com/tidewheel/tidewheel/web/service"
)

// notFiredShown is how many ranges of slots that did not fire are shown beside a list of runs.
const notFiredShown = 5

// whyNot reports why a job did not run in the time that is looked at; nil if there is nothing to show.
func (u *UI) whyNot(ctx context.Context, filter *engine.RunFilter, ran bool, zone templates.Zone) (*templates.WhyNot, error) {
	job, err := u.service.Jobs.Get(ctx, filter.Namespace, filter.Job)
	var known *service.Error
	if errors.As(err, &known) && known.Kind == service.KindNotFound {
		if ran {
			return nil, nil
		}
		return &templates.WhyNot{Job: filter.Job, Lines: []string{fmt.Sprintf("There is no job named %q: check the spelling.", filter.Job)}}, nil
	}
	if err != nil {
		return nil, err
	}
	why := &templates.WhyNot{Job: job.Name, Any: ran}
	slots, err := u.service.NotFired(ctx, &job, filter.Since, filter.Until, notFiredShown)
	if err != nil {
		return nil, err
	}
	for i := range slots {
		s := &slots[i]
		why.Slots = append(why.Slots, templates.LedgerRow{From: s.From, To: s.To, Count: s.Count, Outcome: string(s.Outcome), Reason: reasonWords(string(s.Reason))})
	}
	if ran {
		if len(why.Slots) == 0 {
			return nil, nil
		}
		return why, nil
	}
	switch {
	case job.Paused:
		why.Lines = append(why.Lines, fmt.Sprintf("It has been paused since %s, by %s.", zone.Words(job.PausedAt), job.PausedBy))
	case job.Spec.Manual() && job.Spec.Triggers.Starts():
		why.Lines = append(why.Lines, "It has no schedule: it runs when an event triggers it, or manually.")
	case job.Spec.Manual():
		why.Lines = append(why.Lines, "It has no schedule: it runs only when triggered manually.")
	default:
		next, err := u.service.Jobs.NextSlots(ctx, job)
		if err != nil {
			return nil, err
		}
		if why.Next = next[job.UID]; why.Next.IsZero() {
			why.Lines = append(why.Lines, "It has no planned slot: its schedule has ended, or the engine has not read it yet.")
		}
	}
	if filter.Since.Before(job.CreatedAt) && !filter.Since.IsZero() {
		why.Lines = append(why.Lines, fmt.Sprintf("It was created at %s.", zone.Words(job.CreatedAt)))
	}
	return why, nil
}
