package mongo

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/tidewheel/tidewheel/engine"
)

// Runs lists history, newest first (by CreatedAt, then id), with the cursor of the next page. What has an index is
// asked of the server; what has none is looked for in what it gives, no more than Config.ScanLimit runs or
// Config.ScanTime at a time: then a page may be short, or empty, and its cursor says where to continue. Without a
// namespace or a job each namespace is asked.
func (s *Store) Runs(ctx context.Context, filter engine.RunFilter) (runs []engine.Run, next string, err error) {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	after, err := parsePlace("runs", filter.Cursor)
	if err != nil {
		return nil, "", fmt.Errorf("mongo: list runs: %w", err)
	}
	owner, possible := filter.Owner()
	if !possible {
		return nil, "", nil
	}
	if unindexed(&filter, owner) {
		runs, next, err = s.searchRuns(ctx, &filter, after)
	} else {
		runs, next, err = s.pageOfRuns(ctx, &filter, after)
	}
	return runs, next, s.failed("list runs", err)
}

// unindexed reports whether a filter asks for what no index holds together.
func unindexed(filter *engine.RunFilter, owner string) bool {
	return filter.Tier != "" || filter.Text != "" || filter.OfJobs || filter.Task != "" && owner == "" ||
		filter.By != "" && (narrow(filter, owner) || len(filter.Statuses) > 0) ||
		narrow(filter, owner) && slices.ContainsFunc(filter.Statuses, engine.Status.Terminal)
}

// narrow reports whether a filter asks for the runs of some job or DAG.
func narrow(filter *engine.RunFilter, owner string) bool {
	return owner != "" || filter.Job != "" || filter.DAG != ""
}

func (s *Store) pageOfRuns(ctx context.Context, filter *engine.RunFilter, after *position) (runs []engine.Run, next string, err error) {
	limit := pageSize(filter.Limit)
	documents, err := s.newestRuns(ctx, filter, after, limit+1, nil)
	if err != nil {
		return nil, "", err
	}
	documents, last := cut(documents, limit)
	if last != nil {
		next = position{last.CreatedAt, last.ID}.cursor()
	}
	runs, err = values[runDocument](s.runs, documents)
	return runs, next, err
}

// searchRuns looks through what searches ask for, and reads the whole of those runs that it finds.
func (s *Store) searchRuns(ctx context.Context, filter *engine.RunFilter, after *position) (runs []engine.Run, next string, err error) {
	limit, text := pageSize(filter.Limit), strings.ToLower(filter.Text)
	fields := bson.D{}
	for _, field := range []string{"created_at", "job", "dag", "task", "reason", "tier", "by", "status"} {
		fields = append(fields, bson.E{Key: field, Value: 1})
	}
	most := min(1000, s.config.ScanLimit)
	size := min(2*limit, most) // most that is looked for is near
	began := time.Now()
	var found []string
look:
	for scanned := 0; ; {
		documents, err := s.newestRuns(ctx, filter, after, size, fields)
		if err != nil {
			return nil, "", err
		}
		for _, d := range documents {
			if matches(&d, filter, text) {
				if len(found) == limit {
					next = after.cursor()
					break look
				}
				found = append(found, d.ID)
			}
			after = &position{d.CreatedAt, d.ID}
		}
		scanned += len(documents)
		switch {
		case len(documents) < size:
			break look
		case scanned >= s.config.ScanLimit || time.Since(began) > s.config.ScanTime:
			next = after.cursor()
			break look
		}
		size = min(4*size, most)
	}
	all, err := listAmong[runDocument](ctx, s.oldRuns, "_id", found, nil, s.config.BulkSize)
	if err != nil {
		return nil, "", err
	}
	slices.SortFunc(all, func(a, b engine.Run) int { return slices.Index(found, a.ID) - slices.Index(found, b.ID) })
	return all, next, nil
}

func matches(d *runDocument, filter *engine.RunFilter, text string) bool {
	return (filter.Tier == "" || d.Tier == string(filter.Tier)) && (filter.By == "" || d.By == filter.By) &&
		(filter.Task == "" || d.Task == filter.Task) && (!filter.OfJobs || d.Task == "") && (filter.Job == "" || d.Job == filter.Job) && (filter.DAG == "" || d.DAG == filter.DAG) &&
		(len(filter.Statuses) == 0 || slices.ContainsFunc(filter.Statuses, func(s engine.Status) bool { return s.String() == d.Status })) &&
		strings.Contains(strings.ToLower(d.ID+"\n"+d.Job+"\n"+d.DAG+"\n"+d.Reason), text)
}

// newestRuns reads limit runs after a position, newest first; fields says which of their fields (nil: all).
func (s *Store) newestRuns(ctx context.Context, filter *engine.RunFilter, after *position, limit int, fields bson.D) (documents []runDocument, err error) {
	condition, order := newestFirst("created_at", filter.Since, filter.Until, after)
	opts := options.Find().SetSort(order).SetLimit(int64(limit)).SetBatchSize(int32(limit))
	if fields != nil {
		opts.SetProjection(fields)
	}
	selected, err := s.selections(ctx, filter)
	if err != nil {
		return nil, err
	}
	for _, which := range selected {
		some, err := find[runDocument](ctx, s.oldRuns, append(which, condition...), opts)
		if err != nil {
			return nil, err
		}
		documents = append(documents, some...)
	}
	slices.SortFunc(documents, func(a, b runDocument) int {
		if a.CreatedAt != b.CreatedAt {
			if a.CreatedAt > b.CreatedAt {
				return -1
			}
			return 1
		}
		return strings.Compare(b.ID, a.ID)
	})
	return slices.CompactFunc(documents[:min(limit, len(documents))], func(a, b runDocument) bool { return a.ID == b.ID }), nil
}

// selections returns the queries whose results, taken together, hold what a filter selects, and each of which an index
// answers. Runs that have ended and runs that have not are two queries where a filter names statuses of both: each has
// an index of its own.
func (s *Store) selections(ctx context.Context, filter *engine.RunFilter) (all []bson.D, err error) {
	owner, _ := filter.Owner()
	if filter.Namespace != "" || owner != "" {
		return selectionsIn(filter, filter.Namespace, owner), nil
	}
	namespaces, err := s.namespaces(ctx, s.oldRuns)
	for _, namespace := range namespaces {
		all = append(all, selectionsIn(filter, namespace, owner)...)
	}
	return all, err
}

func selectionsIn(filter *engine.RunFilter, namespace, owner string) (all []bson.D) {
	var ended, active []string
	for _, status := range filter.Statuses {
		if name := status.String(); status.Terminal() {
			ended = append(ended, name)
		} else {
			active = append(active, name)
		}
	}
	base, whose := bson.D{}, bson.D{}
	if namespace != "" {
		base = append(base, bson.E{Key: "namespace", Value: namespace})
	}
	if filter.By != "" && owner == "" { // runs that users triggered are few beside those of schedules
		return []bson.D{append(base, bson.E{Key: "by", Value: filter.By})}
	}
	if owner != "" {
		whose = inShardsOf([]string{owner})
	}
	for _, equal := range []struct{ field, value string }{{"job_uid", owner}, {"job", filter.Job}, {"dag", filter.DAG}} {
		if equal.value != "" {
			whose = append(whose, bson.E{Key: equal.field, Value: equal.value})
		}
	}
	if filter.Task != "" && owner != "" {
		whose = append(whose, bson.E{Key: "task", Value: filter.Task})
	}
	succeeded := slices.Contains(filter.Statuses, engine.StatusSucceeded)
	// Of one job most runs have succeeded: with these its own history is the way. Without them the failed of all jobs
	// are fewer than the runs of one that seldom fails.
	if len(filter.Statuses) == 0 || ended != nil && narrow(filter, owner) && (succeeded || owner != "") {
		return []bson.D{slices.Concat(base, whose)}
	}
	if ended != nil {
		all = append(all, slices.Concat(base, among("status", ended), bson.D{{Key: "active", Value: false}}))
	}
	if active != nil {
		all = append(all, slices.Concat(base, whose, among("status", active), bson.D{{Key: "active", Value: true}}))
	}
	return all
}

// namespaces lists those that documents of a collection are in, one step in an index for each.
func (s *Store) namespaces(ctx context.Context, in *mongo.Collection) (all []string, err error) {
	type namespaced struct {
		Namespace string `bson:"namespace"`
	}
	first := options.Find().SetSort(ascending("namespace")).SetLimit(1).SetProjection(bson.D{{Key: "_id", Value: 0}, {Key: "namespace", Value: 1}})
	for above := ""; ; above = all[len(all)-1] + "\x00" {
		// Not $gt: some servers walk over all entries of a value to get above it.
		found, err := find[namespaced](ctx, in, bson.D{{Key: "namespace", Value: bson.D{{Key: "$gte", Value: above}}}}, first)
		if err != nil || len(found) == 0 {
			return all, err
		}
		all = append(all, found[0].Namespace)
	}
}
