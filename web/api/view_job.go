package api

import (
	"context"
	"strconv"
	"time"

	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/cron"
	"github.com/tidewheel/tidewheel/engine"
)

func viewJob(job *engine.Job, next time.Time) wire.Job {
	return wire.Job{
		UID: job.UID, Namespace: job.Namespace, Name: job.Name, Generation: job.Generation, Revision: job.Revision,
		Paused: job.Paused, PausedAt: job.PausedAt, PausedBy: job.PausedBy, PausedReason: job.PausedReason, Pending: job.Pending,
		Schedule: inWords(job), NextSlot: next,
		CreatedAt: job.CreatedAt, CreatedBy: job.CreatedBy, UpdatedAt: job.UpdatedAt, UpdatedBy: job.UpdatedBy,
		Message: job.Message, Spec: job.Spec, Source: job.Source,
	}
}

// inWords describes a schedule. One that does not compile any more, since zones and rules change, is still shown.
func inWords(job *engine.Job) string {
	schedule, err := cron.Compile(job.Spec.Definition(job.Key(), job.CreatedAt))
	if err != nil {
		return "this schedule is not understood any more: " + err.Error()
	}
	return schedule.Describe()
}

// jobAnswer is one job with its entity tag.
type jobAnswer struct {
	Status   int
	ETag     string `header:"ETag" doc:"The revision: give it as If-Match to change what you have read, and nothing newer"`
	Location string `header:"Location" doc:"Where a job lies that was created"`
	Body     wire.Job
}

func (a *API) answerJob(ctx context.Context, job engine.Job, created bool) (*jobAnswer, error) {
	next, err := a.service.NextSlotsOf(ctx, job)
	if err != nil {
		return nil, err
	}
	answer := &jobAnswer{Status: statusOf(created), ETag: tagOf(job.Revision), Body: viewJob(&job, next[job.UID])}
	if created {
		answer.Location = Prefix + "/jobs/" + job.Name
	}
	if created && job.Namespace != engine.DefaultNamespace {
		answer.Location += "?namespace=" + job.Namespace
	}
	return answer, nil
}

func tagOf(revision int64) string { return `"` + strconv.FormatInt(revision, 10) + `"` }
