package service

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

// Bounds of one search through the outputs of many runs: what is left is searched by asking again.
const (
	searchRuns     = 500
	searchRunsPage = 50
	searchRunsTime = 2 * time.Second
	// MaxRunMatches is the most lines of one run that a search through many returns: the others are in the search of that run.
	MaxRunMatches = 5
	// searchRunsMatches is how many runs with matches one search returns.
	searchRunsMatches = 50
)

// RunSearch asks for lines in the outputs of the runs of a job, of a DAG or of a task of one, made in a stretch of time.
type RunSearch struct {
	Filter engine.RunFilter // Job or DAG is required; Limit is not used, Cursor is Next of the search before
	Text   string
	Errors bool // lines that look like errors, instead of Text
}

// RunMatches are the first lines of one output in which something was found.
type RunMatches struct {
	Run     engine.Run
	Attempt int
	Lines   []LogMatch
	More    bool // there may be more in this output
}

// FoundRuns is what one search through many runs has found, the newest run first.
type FoundRuns struct {
	Items []RunMatches
	Runs  int   // whose outputs were looked through to their end
	Bytes int64 // that were looked through
	// Next is where to continue; "" when all has been searched. Stopped says in words why it is not.
	Next    string
	Stopped string
	// Reached is when the last run was made that was looked at; zero where there was none.
	Reached time.Time
}

// SearchRuns looks through the outputs of all attempts of runs, the newest first, in bounded time.
func (s *Service) SearchRuns(ctx context.Context, search RunSearch) (found FoundRuns, err error) {
	filter := search.Filter
	switch {
	case filter.Job == "" && filter.DAG == "":
		return found, field("search_owner_missing", "query.job", "there is nothing to search in: give a job or a dag")
	case filter.Job != "" && filter.DAG != "":
		return found, field("search_owner_twice", "query.dag", "give a job or a dag, not both")
	}
	if _, err := (&Log{}).Search(ctx, LogSearch{Text: search.Text, Errors: search.Errors}); err != nil {
		return found, err // it says what is wrong with the text
	}
	list, attempt, place, err := decodeSearchPlace(filter.Cursor)
	if err != nil {
		return found, err
	}
	scan := runScan{service: s, search: search, deadline: time.Now().Add(searchRunsTime), budget: searchBytes, found: &found}
	for {
		filter.Cursor, filter.Limit = list, searchRunsPage
		runs, next, err := s.store.Runs(ctx, filter)
		if err != nil {
			return found, err
		}
		for i := range runs {
			run := &runs[i]
			if scan.attempt, scan.place = run.Attempt, ""; attempt > 0 {
				scan.attempt, scan.place = min(attempt, run.Attempt), place
			}
			attempt, place = 0, ""
			if err := scan.run(ctx, run); err != nil {
				return found, err
			}
			if scan.stopped == "" {
				list = engine.Cursor{At: run.CreatedAt, ID: run.ID}.Encode("runs")
				scan.attempt, scan.place = 0, ""
				scan.stopped = scan.enough()
			}
			last := i == len(runs)-1 && next == "" && scan.attempt == 0
			if scan.stopped != "" && !last {
				found.Stopped, found.Next = scan.stopped, encodeSearchPlace(list, scan.attempt, scan.place)
				return found, nil
			}
		}
		if next == "" {
			return found, nil
		}
		if list = next; time.Now().After(scan.deadline) {
			found.Stopped, found.Next = stoppedByTime, encodeSearchPlace(list, 0, "")
			return found, nil
		}
	}
}

const stoppedByTime = "one search looks for two seconds"

// runScan goes through the outputs of runs until it has looked for long enough.
type runScan struct {
	service  *Service
	search   RunSearch
	deadline time.Time
	budget   int64
	found    *FoundRuns
	// Where the search stands in a run that it has not finished; attempt 0 in none.
	attempt int
	place   string
	stopped string
}

// enough returns why a search goes no further, "" while it does.
func (s *runScan) enough() string {
	switch {
	case time.Now().After(s.deadline):
		return stoppedByTime
	case s.budget <= 0:
		return "one search looks through 64 MiB"
	case s.found.Runs >= searchRuns:
		return "one search looks through " + strconv.Itoa(searchRuns) + " runs"
	case len(s.found.Items) >= searchRunsMatches:
		return "one search returns " + strconv.Itoa(searchRunsMatches) + " outputs"
	}
	return ""
}

// run looks through the outputs of a run, the latest attempt first.
func (s *runScan) run(ctx context.Context, run *engine.Run) error {
	s.found.Reached = run.CreatedAt
	for ; s.attempt > 0; s.attempt-- {
		log, err := s.service.openLog(ctx, run, s.attempt)
		if err != nil {
			return err
		}
		began := searchedBefore(s.place)
		matches, err := log.Search(ctx, LogSearch{Text: s.search.Text, Errors: s.search.Errors, From: s.place, Limit: MaxRunMatches, Bytes: s.budget})
		if err != nil {
			return err
		}
		looked := max(matches.Searched-began, 0)
		s.found.Bytes, s.budget = s.found.Bytes+looked, s.budget-looked
		full := len(matches.Matches) == MaxRunMatches
		if len(matches.Matches) > 0 {
			s.found.Items = append(s.found.Items, RunMatches{Run: *run, Attempt: s.attempt, Lines: matches.Matches, More: matches.Next != ""})
		}
		if s.place = ""; matches.Next != "" && !full {
			s.place = matches.Next
			if s.stopped = s.enough(); s.stopped == "" {
				s.stopped = stoppedByTime // the search of an output has a bound of its own
			}
			return nil
		}
	}
	s.found.Runs++
	return nil
}

// searchedBefore is how many bytes of an output lie before a place.
func searchedBefore(place string) int64 {
	_, at, _ := strings.Cut(strings.TrimSuffix(place, "~"), "@")
	offset, _ := strconv.ParseInt(at, 10, 64) // what is no number begins at the beginning
	return offset
}

// A place in such a search is a cursor of the list of runs, an attempt of the run behind it, and a place in its output.
func encodeSearchPlace(list string, attempt int, place string) string {
	if attempt == 0 {
		return list
	}
	return fmt.Sprintf("%s.%d.%s", list, attempt, place)
}

func decodeSearchPlace(word string) (list string, attempt int, place string, err error) {
	list, rest, inside := strings.Cut(word, ".")
	if !inside {
		return list, 0, "", nil
	}
	number, place, _ := strings.Cut(rest, ".")
	if attempt, err = strconv.Atoi(number); err != nil || attempt < 1 {
		return "", 0, "", engine.ErrCursor
	}
	return list, attempt, place, nil
}
