package send

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/tidewheel/tidewheel/notify"
)

// Starter starts a run of a job, with the message as its payload. Asked again with the same key, it returns the same run. Its error
// is a *notify.SendError where another try would end the same.
type Starter func(ctx context.Context, namespace, job string, payload json.RawMessage, key string) (run string, err error)

// Job starts runs of jobs.
type Job struct{ start Starter }

// NewJob makes a wire.
func NewJob(start Starter) *Job { return &Job{start} }

// Send starts a run, and returns which.
func (j *Job) Send(ctx context.Context, letter *notify.Letter) (answer string, err error) {
	payload, err := json.Marshal(&letter.Message)
	if err != nil {
		return "", &notify.SendError{Permanent: true, Err: fmt.Errorf("write the message: %w", err)}
	}
	run, err := j.start(ctx, letter.Target.Namespace, letter.Target.Job, payload, "notify-"+letter.ID)
	if err != nil {
		return "", err
	}
	return "run " + run, nil
}
