package service

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tidewheel/tidewheel/engine"
)

// DeadLetterFilter selects dead letters. Zero fields do not filter.
type DeadLetterFilter struct {
	Namespace string
	// Job is the name of a job; that of a DAG is for all its tasks, and DAG/TASK for one.
	Job string
	// Until leaves out what died after it: so what is acted on is what was looked at.
	Until  time.Time
	Cursor string
	Limit  int // 1 … 1000
}

const (
	// DeadLettersAtOnce is how many dead letters one request replays or purges.
	DeadLettersAtOnce = 1000
	// lettersRead are read from the store at a time where only some are wanted, lettersSearched at most for one page.
	lettersRead, lettersSearched = 500, 20_000
	// lettersInHand is how many of them are acted on at a time.
	lettersInHand = 16
)

func (f *DeadLetterFilter) wants(letter *engine.DeadLetter) bool {
	if !f.Until.IsZero() && letter.At.After(f.Until) {
		return false
	}
	return f.Job == "" || letter.Job == f.Job || strings.HasPrefix(letter.Job, f.Job+"/")
}

// DeadLetters lists runs that used up their retries, the newest first, with the cursor of the next page. Where few of
// many are wanted a page may hold fewer than asked for, or none, and still have a next one.
func (s *Service) DeadLetters(ctx context.Context, filter DeadLetterFilter) (letters []engine.DeadLetter, next string, err error) {
	if filter.Job == "" && filter.Until.IsZero() {
		return s.store.DeadLetters(ctx, filter.Namespace, filter.Cursor, filter.Limit)
	}
	cursor := filter.Cursor
	for searched := 0; searched < lettersSearched; {
		read, further, err := s.store.DeadLetters(ctx, filter.Namespace, cursor, lettersRead)
		if err != nil {
			return nil, "", fmt.Errorf("list dead letters: %w", err)
		}
		searched += len(read)
		for i := range read {
			if !filter.wants(&read[i]) {
				continue
			}
			if len(letters) == filter.Limit {
				last := &letters[len(letters)-1]
				return letters, engine.Cursor{At: last.At, ID: last.RunID}.Encode("letters"), nil
			}
			letters = append(letters, read[i])
		}
		if cursor = further; cursor == "" {
			break
		}
	}
	return letters, cursor, nil
}

// DeadLetter returns one of a namespace, by the id of its run.
func (s *Service) DeadLetter(ctx context.Context, namespace, id string) (engine.DeadLetter, error) {
	letter, err := s.store.DeadLetter(ctx, id)
	if err == nil && letter.Namespace != namespace {
		return engine.DeadLetter{}, notIn(ctx, namespace, "dead letter", id, letter.Namespace)
	}
	return letter, explain(err, "dead letter", id)
}

// ReplayDeadLetter asks the engine for another attempt of a dead run; the dead letter is deleted once that is created. A dead task
// takes its wave along: all that failed there is resumed, as when the wave is resumed. A run that is being retried
// already is left to it, so that to ask twice is to ask once.
func (s *Service) ReplayDeadLetter(ctx context.Context, namespace, id, by string) (engine.Run, error) {
	run, err := s.Run(ctx, namespace, id)
	switch {
	case err != nil:
		return engine.Run{}, err
	case run.Status == engine.StatusDead:
		return s.RetryRun(ctx, namespace, id, by)
	case !run.Status.Terminal():
		return run, nil
	}
	return run, &Error{Kind: KindNotFound, Code: "dead_letter_not_found", Detail: fmt.Sprintf("run %s has %s: it is no dead letter, or no longer", id, run.Status)}
}

// PurgeDeadLetter removes a dead letter; its run stays in the history.
func (s *Service) PurgeDeadLetter(ctx context.Context, namespace, id string) error {
	if _, err := s.DeadLetter(ctx, namespace, id); err != nil {
		return err
	}
	return explain(s.store.DeleteDeadLetter(ctx, id), "dead letter", id)
}

// DeadLettersHandled reports what happened to many dead letters.
type DeadLettersHandled struct {
	Done    []string // the ids of runs; with Refused at most DeadLettersAtOnce
	Refused []DeadLetterRefused
	Next    string // the cursor of the next page; "" if these were all
}

// DeadLetterRefused is a dead letter that could not be replayed, and why.
type DeadLetterRefused struct {
	Letter engine.DeadLetter
	Code   string
	Detail string
}

// ReplayDeadLetters replays all that a filter selects, as ReplayDeadLetter does; of the tasks of one wave the first
// takes the others along. Its Limit is not looked at.
func (s *Service) ReplayDeadLetters(ctx context.Context, filter DeadLetterFilter, by string) (DeadLettersHandled, error) {
	filter.Limit = DeadLettersAtOnce
	letters, next, err := s.DeadLetters(ctx, filter)
	if err != nil {
		return DeadLettersHandled{}, err
	}
	waves, err := s.wavesOf(ctx, letters)
	if err != nil {
		return DeadLettersHandled{}, err
	}
	common := func(letter *engine.DeadLetter) string {
		if wave := waves[letter.RunID]; wave != "" {
			return wave
		}
		return letter.RunID
	}
	return s.eachLetter(ctx, letters, next, common, func(ctx context.Context, id string) error {
		_, err := s.ReplayDeadLetter(ctx, filter.Namespace, id, by)
		return err
	})
}

// wavesOf returns the waves that the runs of dead letters belong to, by the ids of the runs.
func (s *Service) wavesOf(ctx context.Context, letters []engine.DeadLetter) (map[string]string, error) {
	var ids []string
	for i := range letters {
		if strings.Contains(letters[i].Job, "/") {
			ids = append(ids, letters[i].RunID)
		}
	}
	waves := map[string]string{}
	if len(ids) == 0 {
		return waves, nil
	}
	runs, err := s.store.RunsByID(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("look up the runs of %d dead letters: %w", len(ids), err)
	}
	for i := range runs {
		waves[runs[i].ID] = runs[i].Wave
	}
	return waves, nil
}

// PurgeDeadLetters removes all that a filter selects. Its Limit is not looked at.
func (s *Service) PurgeDeadLetters(ctx context.Context, filter DeadLetterFilter) (DeadLettersHandled, error) {
	filter.Limit = DeadLettersAtOnce
	letters, next, err := s.DeadLetters(ctx, filter)
	if err != nil {
		return DeadLettersHandled{}, err
	}
	own := func(letter *engine.DeadLetter) string { return letter.RunID }
	return s.eachLetter(ctx, letters, next, own, func(ctx context.Context, id string) error {
		err := s.store.DeleteDeadLetter(ctx, id)
		if errors.Is(err, engine.ErrNotFound) {
			return nil // another request has deleted it
		}
		return err
	})
}

// eachLetter acts on dead letters, once for all that have the same in common. What users are refused it collects; any other
// error ends it.
func (s *Service) eachLetter(ctx context.Context, letters []engine.DeadLetter, next string, common func(*engine.DeadLetter) string,
	act func(ctx context.Context, id string) error,
) (DeadLettersHandled, error) {
	var groups [][]*engine.DeadLetter
	known := map[string]int{}
	for i := range letters {
		what := common(&letters[i])
		at, found := known[what]
		if !found {
			at, known[what] = len(groups), len(groups)
			groups = append(groups, nil)
		}
		groups[at] = append(groups[at], &letters[i])
	}
	refusals := make([]*Error, len(groups))
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(lettersInHand)
	for i, together := range groups {
		group.Go(func() error {
			err := act(within, together[0].RunID)
			if errors.As(err, &refusals[i]) {
				return nil
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return DeadLettersHandled{}, err
	}
	handled := DeadLettersHandled{Next: next}
	for i, together := range groups {
		for _, letter := range together {
			if refused := refusals[i]; refused == nil {
				handled.Done = append(handled.Done, letter.RunID)
			} else {
				handled.Refused = append(handled.Refused, DeadLetterRefused{Letter: *letter, Code: refused.Code, Detail: refused.Detail})
			}
		}
	}
	slices.SortStableFunc(handled.Refused, func(a, b DeadLetterRefused) int { return b.Letter.At.Compare(a.Letter.At) })
	return handled, nil
}

// DeadLetterSum reports how many dead letters a filter selects, and of what.
type DeadLetterSum struct {
	Letters []engine.DeadLetter // the newest first
	More    bool                // there are more than these
	Of      []DeadLettersOf     // the most first
	Oldest  time.Time
}

// DeadLettersOf counts the dead letters of one job or task.
type DeadLettersOf struct {
	Job   string
	Count int
}

// SumDeadLetters counts what a filter selects, at most DeadLettersAtOnce. Its Limit is not looked at.
func (s *Service) SumDeadLetters(ctx context.Context, filter DeadLetterFilter) (DeadLetterSum, error) {
	filter.Limit = DeadLettersAtOnce
	letters, next, err := s.DeadLetters(ctx, filter)
	if err != nil {
		return DeadLetterSum{}, err
	}
	sum := DeadLetterSum{Letters: letters, More: next != ""}
	at := map[string]int{}
	for i := range letters {
		job := letters[i].Job
		if _, known := at[job]; !known {
			at[job] = len(sum.Of)
			sum.Of = append(sum.Of, DeadLettersOf{Job: job})
		}
		sum.Of[at[job]].Count++
		sum.Oldest = letters[i].At
	}
	slices.SortStableFunc(sum.Of, func(a, b DeadLettersOf) int { return b.Count - a.Count })
	return sum, nil
}
