package mongo

import (
	"context"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/tidewheel/tidewheel/engine"
)

// dagsAtOnce is how many DAGs one query asks for.
const dagsAtOnce = 100

// TasksOfDAGs returns all scheduled tasks of the roots of these DAGs, in no order: their ids begin with the DAG's uid.
func (s *Store) TasksOfDAGs(ctx context.Context, dagUIDs []string) ([]engine.ScheduledTask, error) {
	if err := s.projector.flush(ctx); err != nil {
		return nil, s.failed("read scheduled tasks of DAGs", err)
	}
	ctx = s.paced(ctx)
	var all []engine.ScheduledTask
	for uids := range slices.Chunk(dagUIDs, dagsAtOnce) {
		var ranges bson.A
		for _, uid := range uids {
			ids := bson.E{Key: "_id", Value: bson.D{{Key: "$gt", Value: uid + "-"}, {Key: "$lt", Value: uid + "."}}}
			ranges = append(ranges, append(inShardsOf([]string{uid}), ids))
		}
		tasks, err := list[taskDocument](ctx, s.tasks, bson.D{{Key: "$or", Value: ranges}})
		if err != nil {
			return nil, s.failed("read scheduled tasks of DAGs", err)
		}
		all = append(all, tasks...)
	}
	return all, nil
}
