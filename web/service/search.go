package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/tidewheel/tidewheel/engine"
)

// Names is what a search by name asks of the store: names that are not below one, in the order of their bytes.
type Names interface {
	JobNames(ctx context.Context, namespace, from string, limit int) ([]string, error)
	BinaryNames(ctx context.Context, namespace, from string, limit int) ([]string, error)
}

// Found is what a search came to, the best of each kind first.
type Found struct {
	Jobs      []string
	DAGs      []engine.DAG // those whose names hold the text, by name
	Binaries  []string
	Runs      []engine.Run // the one with this id, and the newest of the best job or DAG; those that run, where no text is given
	Fleet     []Executor   // all of them
	Executors []Executor   // those that are alive, by a part of their id or host
}

const (
	// namesScanned is how many names a search looks at for those that hold its text somewhere inside. Names that begin
	// with it are found however many there are.
	namesScanned = 20_000
	namesAtOnce  = 5_000
	// runsFound is how many of a job's runs are offered, and runsGoingOn how many of those that run now.
	runsFound   = 3
	runsGoingOn = 5
	// dagsScanned is how many DAGs are looked at for those whose names have the letters of the text in their order.
	dagsScanned = 500
	// longestSearch is the longest text that is looked for, in bytes; a run's id is shorter.
	longestSearch = 200
)

// Search finds jobs, DAGs, binaries, executors and runs by what a person types: the beginning of a name, a part of it or some of its
// letters in their order, case ignored but for the beginning, or a run's id. It returns at most limit of jobs and binaries each. Its cost does not grow with history, and with
// names only up to a bound.
func (s *Service) Search(ctx context.Context, namespace, text string, limit int) (Found, error) {
	text = strings.TrimSpace(text)
	if len(text) > longestSearch {
		return Found{}, nil
	}
	var found Found
	var byID []engine.Run
	group, within := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		found.Jobs, err = searchNames(within, s.store.JobNames, namespace, text, limit)
		return err
	})
	group.Go(func() (err error) {
		found.DAGs, err = s.searchDAGs(within, namespace, text, limit)
		return err
	})
	group.Go(func() error {
		executors, err := s.Fleet(within)
		if err != nil {
			return nil //nolint:nilerr // the rest is found while the queue is away
		}
		found.Fleet = executors
		for i := range executors {
			if at, _ := fuzzy(strings.ToLower(text), executors[i].ID+" "+executors[i].Host); at >= 0 && !executors[i].Silent && text != "" {
				found.Executors = append(found.Executors, executors[i])
			}
		}
		found.Executors = found.Executors[:min(limit, len(found.Executors))]
		return nil
	})
	group.Go(func() (err error) {
		found.Binaries, err = searchNames(within, s.store.BinaryNames, namespace, text, limit)
		return err
	})
	group.Go(func() error {
		if text == "" {
			return nil
		}
		run, err := s.runs().get(within, text)
		switch {
		case errors.Is(err, engine.ErrNotFound) || err == nil && run.Namespace != namespace:
			return nil
		case err != nil:
			return fmt.Errorf("look for run %s: %w", text, err)
		}
		byID = []engine.Run{run}
		return nil
	})
	if err := group.Wait(); err != nil {
		return Found{}, err
	}
	found.Runs = byID
	filter := engine.RunFilter{Namespace: namespace, Limit: runsFound}
	switch {
	case text == "":
		filter.Statuses, filter.Limit = []engine.Status{engine.StatusRunning}, runsGoingOn
	case len(found.Jobs) > 0:
		filter.Job = found.Jobs[0]
	case len(found.DAGs) > 0:
		filter.DAG = found.DAGs[0].Name
	default:
		return found, nil
	}
	runs, _, err := s.store.Runs(ctx, filter)
	if err != nil {
		return Found{}, fmt.Errorf("list runs of %s: %w", cmp.Or(filter.Job, filter.DAG), err)
	}
	found.Runs = append(found.Runs, runs...)
	return found, nil
}

// searchDAGs returns those whose names hold a text, and then those that have its letters in their order.
func (s *Service) searchDAGs(ctx context.Context, namespace, text string, limit int) ([]engine.DAG, error) {
	dags, _, err := s.store.DAGs().List(ctx, engine.DefinitionFilter{Namespace: namespace, Text: text, Limit: limit})
	if err != nil || text == "" || len(dags) > 0 {
		return dags, err
	}
	all, _, err := s.store.DAGs().List(ctx, engine.DefinitionFilter{Namespace: namespace, Limit: dagsScanned})
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(dag engine.DAG) bool {
		at, _ := fuzzy(strings.ToLower(text), dag.Name)
		return at < 0
	}), nil
}

// fuzzy returns where in a text the letters of a query begin, and how far they lie apart; -1 if they are not in it in their order, or
// strewn over it. The query is in lower case.
func fuzzy(query, text string) (at, gaps int) {
	text = strings.ToLower(text)
	if at = strings.Index(text, query); at >= 0 {
		return at, 0
	}
	at, last := -1, -1
	for _, letter := range []byte(query) {
		next := strings.IndexByte(text[last+1:], letter)
		if next < 0 {
			return -1, 0
		}
		if last >= 0 {
			gaps += next
		}
		last += 1 + next
		if at < 0 {
			at = last
		}
	}
	if gaps > 4*len(query)+6 { // as static/src/js/palette/rank.js has it
		return -1, 0
	}
	return at, gaps
}

// searchNames returns names that begin with a text, then those that hold it, the earliest in them first, and then those that have its
// letters in their order, the closest first.
func searchNames(
	ctx context.Context, list func(ctx context.Context, namespace, from string, limit int) ([]string, error), namespace, text string, limit int,
) ([]string, error) {
	begin, err := list(ctx, namespace, text, limit)
	if err != nil {
		return nil, fmt.Errorf("look for names: %w", err)
	}
	if end := slices.IndexFunc(begin, func(name string) bool { return !strings.HasPrefix(name, text) }); end >= 0 {
		begin = begin[:end]
	}
	if len(begin) >= limit || text == "" {
		return begin, nil
	}
	lowered := strings.ToLower(text)
	type match struct {
		name     string
		at, gaps int
	}
	var inside []match
	from := ""
	for scanned := 0; scanned < namesScanned; scanned += namesAtOnce {
		names, err := list(ctx, namespace, from, namesAtOnce)
		if err != nil {
			return nil, fmt.Errorf("look for names: %w", err)
		}
		for _, name := range names {
			if at, gaps := fuzzy(lowered, name); at >= 0 && !strings.HasPrefix(name, text) {
				inside = append(inside, match{name, at, gaps})
			}
		}
		if len(names) < namesAtOnce {
			break
		}
		from = names[len(names)-1] + "\x00" // the least that is above it
	}
	slices.SortStableFunc(inside, func(a, b match) int { return cmp.Or(cmp.Compare(a.gaps, b.gaps), cmp.Compare(a.at, b.at)) })
	for _, m := range inside[:min(limit-len(begin), len(inside))] {
		begin = append(begin, m.name)
	}
	return begin, nil
}
