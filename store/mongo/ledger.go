package mongo

import (
	"context"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/tidewheel/tidewheel/engine"
)

// slotDocument is a document of slots.
type slotDocument struct {
	ID        string        `bson:"_id"` // uid-s<from>
	JobUID    string        `bson:"job_uid"`
	Namespace string        `bson:"namespace"`
	Job       string        `bson:"job"`
	From      bson.DateTime `bson:"from"`
	To        bson.DateTime `bson:"to"`
	Count     int64         `bson:"count"`
	Outcome   string        `bson:"outcome"`
	Reason    string        `bson:"reason"`
	// Generation is 0 in what earlier versions wrote.
	Generation int64 `bson:"generation,omitempty"`
	Position   int64 `bson:"position,omitempty"` // of the commit in its shard's journal
}

func newSlotDocument(r *engine.SlotRange) slotDocument {
	return slotDocument{
		ID: r.ID, JobUID: r.JobUID, Namespace: r.Namespace, Job: r.Job, From: date(r.From), To: date(r.To),
		Count: r.Count, Outcome: string(r.Outcome), Reason: string(r.Reason), Generation: r.Generation,
	}
}

func (d slotDocument) value() (engine.SlotRange, error) {
	return engine.SlotRange{
		ID: d.ID, JobUID: d.JobUID, Namespace: d.Namespace, Job: d.Job, From: instant(d.From), To: instant(d.To),
		Count: d.Count, Outcome: engine.Outcome(d.Outcome), Reason: engine.SlotReason(d.Reason), Generation: d.Generation,
	}, nil
}

// letterDocument is a document of dead_letters.
type letterDocument struct {
	ID        string        `bson:"_id"` // the run's
	Namespace string        `bson:"namespace"`
	JobUID    string        `bson:"job_uid"`
	Job       string        `bson:"job"`
	Error     string        `bson:"error"`
	Attempts  int           `bson:"attempts"`
	At        bson.DateTime `bson:"at"`
	Position  int64         `bson:"position,omitempty"` // of the commit in its shard's journal
}

func newLetterDocument(l *engine.DeadLetter) letterDocument {
	return letterDocument{
		ID: l.RunID, Namespace: l.Namespace, JobUID: l.JobUID, Job: l.Job, Error: l.Error, Attempts: l.Attempts, At: date(l.At),
	}
}

func (d letterDocument) value() (engine.DeadLetter, error) {
	return engine.DeadLetter{
		RunID: d.ID, Namespace: d.Namespace, JobUID: d.JobUID, Job: d.Job, Error: d.Error, Attempts: d.Attempts, At: instant(d.At),
	}, nil
}

// Slots lists ledger entries of one job that touch [Since, Until), newest first, with the cursor of the next page.
func (s *Store) Slots(ctx context.Context, filter engine.SlotFilter) (slots []engine.SlotRange, next string, err error) {
	if err := s.projector.flush(ctx); err != nil {
		return nil, "", s.failed("list slots", err)
	}
	ctx, cancel := s.bound(ctx)
	defer cancel()
	after, err := parsePlace("slots", filter.Cursor)
	if err != nil {
		return nil, "", fmt.Errorf("mongo: list slots: %w", err)
	}
	condition := bson.D{{Key: "job_uid", Value: filter.JobUID}}
	var bounds bson.D
	if !filter.Until.IsZero() {
		bounds = append(bounds, bson.E{Key: "$lt", Value: date(filter.Until)})
	}
	if after != nil { // the first slot of a range is its identity: no two are alike
		bounds = append(bounds, bson.E{Key: "$lte", Value: after.at - 1})
	}
	if bounds != nil {
		condition = append(condition, bson.E{Key: "from", Value: bounds})
	}
	if !filter.Since.IsZero() {
		condition = append(condition, bson.E{Key: "to", Value: bson.D{{Key: "$gte", Value: date(filter.Since)}}})
	}
	limit := pageSize(filter.Limit)
	slots, err = list[slotDocument](ctx, s.oldSlots, condition, options.Find().SetSort(descending("from")).SetLimit(int64(limit+1)))
	if err != nil {
		return nil, "", s.failed("list slots", err)
	}
	slots, last := cut(slots, limit)
	if last != nil {
		next = position{date(last.From), last.ID}.cursor()
	}
	return slots, next, nil
}

// DeadLetters lists dead letters of a namespace ("" for all), newest first, with the cursor of the next page.
func (s *Store) DeadLetters(ctx context.Context, namespace, cursor string, limit int) (letters []engine.DeadLetter, next string, err error) {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	after, err := parsePlace("letters", cursor)
	if err != nil {
		return nil, "", fmt.Errorf("mongo: list dead letters: %w", err)
	}
	condition, order := newestFirst("at", time.Time{}, time.Time{}, after)
	if namespace != "" {
		condition = append(bson.D{{Key: "namespace", Value: namespace}}, condition...)
	}
	if condition == nil {
		condition = bson.D{}
	}
	limit = pageSize(limit)
	letters, err = list[letterDocument](ctx, s.oldDeadLetters, condition, options.Find().SetSort(order).SetLimit(int64(limit+1)))
	if err != nil {
		return nil, "", s.failed("list dead letters", err)
	}
	letters, last := cut(letters, limit)
	if last != nil {
		next = position{date(last.At), last.RunID}.cursor()
	}
	return letters, next, nil
}

// DeadLetter returns one; engine.ErrNotFound if there is none.
func (s *Store) DeadLetter(ctx context.Context, runID string) (engine.DeadLetter, error) {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	letter, err := one[letterDocument](ctx, s.deadLetters, byID(runID))
	return letter, s.failed("read dead letter "+runID, err)
}

// DeleteDeadLetter purges one; engine.ErrNotFound if there is none.
func (s *Store) DeleteDeadLetter(ctx context.Context, runID string) error {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	gone, err := s.deleteOne(ctx, s.deadLetters, runID, bson.D{notDropped()})
	if err == nil && !gone {
		err = engine.ErrNotFound
	}
	return s.failed("purge dead letter "+runID, err)
}
