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
	Jobs     []string
	DAGs     []engine.DAG // those whose names hold the text, by name
	Binaries []string
	Runs     []engine.Run // the one with this id, and the newest of the best job
}

const (
	// namesScanned is how many names a search looks at for those that hold its text somewhere inside. Names that begin
	// with it are found however many there are.
	namesScanned = 20_000
	namesAtOnce  = 5_000
	// runsFound is how many of a job's runs are offered.
	runsFound = 3
	// longestSearch is the longest text that is looked for, in bytes; a run's id is shorter.
	longestSearch = 200
)

// Search finds jobs, binaries and runs by what a person types: the beginning of a name or a part of it, case ignored for
// a part, or a run's id. It returns at most limit of jobs and binaries each. Its cost does not grow with history, and with
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
		found.DAGs, _, err = s.store.DAGs().List(within, engine.DefinitionFilter{Namespace: namespace, Text: text, Limit: limit})
		return err
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
	if text == "" || len(found.Jobs) == 0 {
		return found, nil
	}
	runs, _, err := s.store.Runs(ctx, engine.RunFilter{Namespace: namespace, Job: found.Jobs[0], Limit: runsFound})
	if err != nil {
		return Found{}, fmt.Errorf("list runs of job %s: %w", found.Jobs[0], err)
	}
	found.Runs = append(found.Runs, runs...)
	return found, nil
}

// searchNames returns names that begin with a text, and then those that hold it, the earliest in them first.
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
		name string
		at   int
	}
	var inside []match
	from := ""
	for scanned := 0; scanned < namesScanned; scanned += namesAtOnce {
		names, err := list(ctx, namespace, from, namesAtOnce)
		if err != nil {
			return nil, fmt.Errorf("look for names: %w", err)
		}
		for _, name := range names {
			if at := strings.Index(strings.ToLower(name), lowered); at >= 0 && !strings.HasPrefix(name, text) {
				inside = append(inside, match{name, at})
			}
		}
		if len(names) < namesAtOnce {
			break
		}
		from = names[len(names)-1] + "\x00" // the least that is above it
	}
	slices.SortStableFunc(inside, func(a, b match) int { return cmp.Compare(a.at, b.at) })
	for _, m := range inside[:min(limit-len(begin), len(inside))] {
		begin = append(begin, m.name)
	}
	return begin, nil
}
