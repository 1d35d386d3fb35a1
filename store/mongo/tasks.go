package mongo

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/tidewheel/tidewheel/engine"
)

// taskDocument is a document of scheduled_tasks, as it is read; writeTask writes it.
type taskDocument struct {
	ID         string        `bson:"_id"`
	Shard      int           `bson:"shard"`
	Slot       bson.DateTime `bson:"slot"`
	RunAt      bson.DateTime `bson:"run_at"`
	Generation int64         `bson:"generation"`
	Revision   int64         `bson:"revision"`
	Namespace  string        `bson:"namespace"`
	Job        string        `bson:"job"`
	Epoch      int64         `bson:"epoch,omitempty"`

	Accounted *bson.DateTime  `bson:"accounted,omitempty"`
	Since     *bson.DateTime  `bson:"since,omitempty"`
	Taken     []bson.DateTime `bson:"taken,omitempty"`
	Paused    *bson.DateTime  `bson:"paused_until,omitempty"`
	Waiting   []bson.DateTime `bson:"waiting,omitempty"`
	Position  int64           `bson:"position,omitempty"` // of the commit in its shard's journal
}

// writeTask returns a scheduled task as such a document, with the position of its commit, 0 for none.
func writeTask(t *engine.ScheduledTask, position int64) bson.Raw {
	b := builder{bytes: make([]byte, 0, 320)}
	b.begin()
	b.text("_id", t.ID)
	b.number("shard", t.Shard)
	b.date("slot", t.Slot)
	b.date("run_at", t.RunAt)
	b.long("generation", t.Generation)
	b.long("revision", t.Revision)
	b.text("namespace", t.Namespace)
	b.text("job", t.Job)
	b.someLong("epoch", t.Epoch)
	b.someDate("accounted", t.Accounted)
	b.someDate("since", t.Since)
	b.someDates("taken", t.Taken)
	b.someDate("paused_until", t.PausedUntil)
	b.someDates("waiting", t.Waiting)
	b.someLong("position", position)
	b.end()
	return b.bytes
}

func (d taskDocument) value() (engine.ScheduledTask, error) {
	t := engine.ScheduledTask{
		ID: d.ID, Shard: d.Shard, Slot: instant(d.Slot), RunAt: instant(d.RunAt),
		Generation: d.Generation, Revision: d.Revision, Namespace: d.Namespace, Job: d.Job, Epoch: d.Epoch,
		Accounted: someInstant(d.Accounted), Since: someInstant(d.Since), PausedUntil: someInstant(d.Paused),
	}
	for _, slot := range d.Taken {
		t.Taken = append(t.Taken, instant(slot))
	}
	for _, slot := range d.Waiting {
		t.Waiting = append(t.Waiting, instant(slot))
	}
	return t, nil
}

// DueTasks returns all scheduled tasks of these shards with RunAt in (after, until], the earliest first. Both ends count
// to the millisecond, like what is stored, so that no task falls between two calls that meet.
func (s *Store) DueTasks(ctx context.Context, shards []int, after, until time.Time) ([]engine.ScheduledTask, error) {
	if err := s.projector.flush(ctx); err != nil {
		return nil, s.failed("read due tasks", err)
	}
	if len(shards) == 0 {
		return nil, nil
	}
	ctx = s.paced(ctx)
	window := bson.D{{Key: "$lte", Value: date(until)}}
	if !after.IsZero() {
		window = append(window, bson.E{Key: "$gt", Value: date(after)})
	}
	filter := bson.D{{Key: "run_at", Value: window}}
	if len(shards) < engine.Shards { // else the whole order is that of one index
		filter = append(among("shard", shards), filter...)
	}
	tasks, err := list[taskDocument](ctx, s.tasks, filter, options.Find().SetSort(ascending("run_at")).SetBatchSize(10_000))
	return tasks, s.failed("read due tasks", err)
}

// TasksByID returns those scheduled tasks that exist, in no order.
func (s *Store) TasksByID(ctx context.Context, uids []string) ([]engine.ScheduledTask, error) {
	if err := s.projector.flush(ctx); err != nil {
		return nil, s.failed("read scheduled tasks", err)
	}
	ctx = s.paced(ctx)
	tasks, err := listAmong[taskDocument](ctx, s.tasks, "_id", uids, nil, s.config.BulkSize)
	return tasks, s.failed("read scheduled tasks", err)
}

// Upcoming lists scheduled tasks of a namespace ("" for all) that are not parked, the earliest first.
func (s *Store) Upcoming(ctx context.Context, namespace string, limit int) ([]engine.ScheduledTask, error) {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	filter := bson.D{{Key: "run_at", Value: bson.D{{Key: "$lt", Value: date(engine.Parked)}}}}
	if namespace != "" {
		filter = append(bson.D{{Key: "namespace", Value: namespace}}, filter...)
	}
	tasks, err := list[taskDocument](ctx, s.oldTasks, filter,
		options.Find().SetSort(ascending("run_at")).SetLimit(int64(pageSize(limit))))
	return tasks, s.failed("list upcoming tasks", err)
}
