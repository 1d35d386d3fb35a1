package client

import (
	"context"
	"net/http"
	"time"

	"github.com/tidewheel/tidewheel/client/wire"
)

// DeadLetterFilter selects dead letters. Zero fields do not filter.
type DeadLetterFilter struct {
	Job   string    // of a DAG for all its tasks; or DAG/TASK
	Until time.Time // died until then
	Page
}

// DeadLetters lists runs that used up their retries, the newest first.
func (c *Client) DeadLetters(ctx context.Context, filter DeadLetterFilter) (wire.List[wire.DeadLetter], error) {
	query := filter.query()
	set(query, "job", filter.Job)
	setTime(query, "until", filter.Until)
	return ask[wire.List[wire.DeadLetter]](ctx, c, call{method: http.MethodGet, path: prefix + "/dead-letters", query: query})
}

// DeadLetter returns a dead letter, by the id of its run.
func (c *Client) DeadLetter(ctx context.Context, id string) (wire.DeadLetter, error) {
	return ask[wire.DeadLetter](ctx, c, call{method: http.MethodGet, path: prefix + "/dead-letters" + path(id)})
}

// ReplayDeadLetter asks for one more attempt of a dead run; of a task it resumes the wave.
func (c *Client) ReplayDeadLetter(ctx context.Context, id string) (wire.Run, error) {
	return ask[wire.Run](ctx, c, call{method: http.MethodPost, path: prefix + "/dead-letters" + path(id, "replay")})
}

// PurgeDeadLetter removes a dead letter; its run stays in the history.
func (c *Client) PurgeDeadLetter(ctx context.Context, id string) error {
	_, err := ask[struct{}](ctx, c, call{method: http.MethodDelete, path: prefix + "/dead-letters" + path(id)})
	return err
}

// ReplayDeadLetters asks for one more attempt of all that are selected, at most 1000 of them: Next of the answer is the
// cursor of the next page.
func (c *Client) ReplayDeadLetters(ctx context.Context, which wire.DeadLetterSelection) (wire.DeadLettersHandled, error) {
	return ask[wire.DeadLettersHandled](ctx, c, call{method: http.MethodPost, path: prefix + "/dead-letters/replay", value: which})
}

// PurgeDeadLetters removes all that are selected, in the same way.
func (c *Client) PurgeDeadLetters(ctx context.Context, which wire.DeadLetterSelection) (wire.DeadLettersHandled, error) {
	return ask[wire.DeadLettersHandled](ctx, c, call{method: http.MethodPost, path: prefix + "/dead-letters/purge", value: which})
}
