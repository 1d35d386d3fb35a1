package mongo

import (
	"context"
	"fmt"
	"sync"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"golang.org/x/sync/errgroup"

	"github.com/tidewheel/tidewheel/engine"
)

// marksAtOnce is how many queries for marks are under way at once. There is no portable query for the newest few of
// each of many jobs: not every server has $lookup with a pipeline or $firstN.
const marksAtOnce = 8

func projection(fields ...string) (document bson.D) {
	for _, field := range fields {
		document = append(document, bson.E{Key: field, Value: 1})
	}
	return document
}

var (
	bareMark  = projection("job_uid", "status", "created_at")
	timedMark = append(projection("trigger", "slot", "started_at", "finished_at", "us"), bareMark...)
)

// LatestMarks returns the newest runs of each job, the newest first.
func (s *Store) LatestMarks(ctx context.Context, uids []string, limit, timed int) (map[string][]engine.RunMark, error) {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	latest := map[string][]engine.RunMark{}
	var mu sync.Mutex
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(marksAtOnce)
	for _, uid := range uids {
		group.Go(func() error {
			marks, err := s.someMarks(within, engine.RunFilter{JobUID: uid}, min(timed, limit), timedMark)
			if err == nil && limit > timed && len(marks) == timed {
				var all []engine.RunMark
				if all, err = s.someMarks(within, engine.RunFilter{JobUID: uid}, limit, bareMark); err == nil {
					marks = timedFirst(marks, all)
				}
			}
			if len(marks) > 0 {
				mu.Lock()
				defer mu.Unlock()
				latest[uid] = marks
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, s.failed("read the latest runs of jobs", err)
	}
	return latest, nil
}

// timedFirst puts marks with their instants in the place of those without; a run that was made between the two reads
// has none.
func timedFirst(timed, all []engine.RunMark) []engine.RunMark {
	known := map[string]engine.RunMark{}
	for _, mark := range timed {
		known[mark.ID] = mark
	}
	for i := range all {
		if mark, ok := known[all[i].ID]; ok {
			all[i] = mark
		}
	}
	return all
}

// MarksWithin returns the newest runs of a job that were made within each window, the newest first.
func (s *Store) MarksWithin(ctx context.Context, uid string, windows []engine.Window, limit int) ([][]engine.RunMark, error) {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	all := make([][]engine.RunMark, len(windows))
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(marksAtOnce)
	for i, window := range windows {
		group.Go(func() (err error) {
			all[i], err = s.someMarks(within, engine.RunFilter{JobUID: uid, Since: window.From, Until: window.Until}, limit, bareMark)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, s.failed("read the runs of a job by windows", err)
	}
	return all, nil
}

func (s *Store) someMarks(ctx context.Context, filter engine.RunFilter, limit int, fields bson.D) ([]engine.RunMark, error) {
	if limit <= 0 {
		return nil, nil
	}
	documents, err := s.newestRuns(ctx, &filter, nil, limit, fields)
	if err != nil {
		return nil, err
	}
	runs, err := values[runDocument](s.runs, documents)
	if err != nil {
		return nil, err
	}
	marks := make([]engine.RunMark, len(runs))
	for i := range runs {
		marks[i] = runs[i].Mark()
	}
	return marks, nil
}

// UpcomingPage is Upcoming by pages.
func (s *Store) UpcomingPage(ctx context.Context, namespace, cursor string, limit int) (tasks []engine.ScheduledTask, next string, err error) {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	after, err := parsePosition(cursor)
	if err != nil {
		return nil, "", fmt.Errorf("mongo: list upcoming tasks: %w", err)
	}
	bounds := bson.D{{Key: "$lt", Value: date(engine.Parked)}}
	condition := bson.D{{Key: "namespace", Value: namespace}}
	if after != nil {
		bounds = append(bounds, bson.E{Key: "$gte", Value: after.at})
	}
	condition = append(condition, bson.E{Key: "run_at", Value: bounds})
	if after != nil {
		// As in newestFirst: the bound is for the index, the alternative leaves out what was given before.
		condition = append(condition, bson.E{Key: "$or", Value: bson.A{
			bson.D{{Key: "run_at", Value: bson.D{{Key: "$gt", Value: after.at}}}},
			bson.D{{Key: "_id", Value: bson.D{{Key: "$gt", Value: after.id}}}},
		}})
	}
	limit = pageSize(limit)
	tasks, err = list[taskDocument](ctx, s.oldTasks, condition, options.Find().SetSort(ascending("run_at", "_id")).SetLimit(int64(limit+1)))
	if err != nil {
		return nil, "", s.failed("list upcoming tasks", err)
	}
	tasks, last := cut(tasks, limit)
	if last != nil {
		next = position{date(last.RunAt), last.ID}.cursor()
	}
	return tasks, next, nil
}
