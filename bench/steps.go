package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/tidewheel/tidewheel/client/wire"
)

// step is a part of the way from a slot to the first line of its program, as the server's own record has it.
type step struct {
	name string
	took func(run *wire.Run, attempt *wire.Attempt, e entry) time.Duration
}

var steps = []step{
	{"slot to queued", func(r *wire.Run, a *wire.Attempt, _ entry) time.Duration { return a.QueuedAt.Sub(r.Slot) }},
	{"to locked", func(_ *wire.Run, a *wire.Attempt, _ entry) time.Duration { return a.ClaimedAt.Sub(a.QueuedAt) }},
	{"to claimed, program at hand", func(_ *wire.Run, a *wire.Attempt, _ entry) time.Duration { return a.FetchedAt.Sub(a.ClaimedAt) }},
	{"to forked", func(_ *wire.Run, a *wire.Attempt, _ entry) time.Duration { return a.StartedAt.Sub(a.FetchedAt) }},
	// The program may print before the executor has noted its start.
	{"to its first line", func(_ *wire.Run, a *wire.Attempt, e entry) time.Duration { return e.began.Sub(a.StartedAt) }},
}

// finishedRuns returns the latest runs that have succeeded, at most so many.
func finishedRuns(ctx context.Context, s *server, n int) ([]wire.Run, error) {
	var page struct{ Items []wire.Run }
	err := s.call(ctx, http.MethodGet, fmt.Sprintf("/runs?status=succeeded&limit=%d", min(n, 1000)), nil, &page)
	return page.Items, err
}

// printSteps prints how long each step took.
func printSteps(entries []entry, runs []wire.Run) {
	journal := make(map[string]entry, len(entries))
	for _, e := range entries {
		journal[e.run] = e
	}
	var parts []string
	for _, step := range steps {
		var took sample
		for i := range runs {
			e, known := journal[runs[i].ID]
			if !known || len(runs[i].Attempts) == 0 {
				continue
			}
			took = append(took, step.took(&runs[i], &runs[i].Attempts[0], e))
		}
		parts = append(parts, fmt.Sprintf("%s %s (p90 %s)", step.name, milliseconds(took.at(0.5)), milliseconds(took.at(0.9))))
	}
	fmt.Printf("    steps, p50: %s\n", strings.Join(parts, "; "))
}
