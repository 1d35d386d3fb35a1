package mongo

import (
	"context"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// incidentDocument is a document of incidents.
type incidentDocument struct {
	ID        string            `bson:"_id"`
	Revision  int64             `bson:"revision"`
	Shard     int               `bson:"shard"`
	Namespace string            `bson:"namespace"`
	UID       string            `bson:"uid"`
	Job       string            `bson:"job,omitempty"`
	DAG       string            `bson:"dag,omitempty"`
	Task      string            `bson:"task,omitempty"`
	Alert     string            `bson:"alert"`
	Began     *bson.DateTime    `bson:"began,omitempty"` // since, unless it lies ahead
	Since     bson.DateTime     `bson:"since"`
	Latest    *bson.DateTime    `bson:"latest,omitempty"`
	Count     int64             `bson:"count"`
	Run       string            `bson:"run,omitempty"`
	Wave      string            `bson:"wave,omitempty"`
	Slot      *bson.DateTime    `bson:"slot,omitempty"`
	Reason    string            `bson:"reason,omitempty"`
	Over      *bson.DateTime    `bson:"over,omitempty"`
	OverRun   string            `bson:"over_run,omitempty"`
	Ended     string            `bson:"ended,omitempty"`
	To        []string          `bson:"to,omitempty"`
	Recovered bool              `bson:"recovered,omitempty"`
	Notified  bool              `bson:"notified,omitempty"`
	Next      *incidentDocument `bson:"next,omitempty"`
	Position  int64             `bson:"position,omitempty"` // of the commit in its shard's journal
}

func newIncidentDocument(i *engine.Incident) incidentDocument {
	d := incidentDocument{
		ID: i.ID, Revision: i.Revision, Shard: i.Shard, Namespace: i.Namespace, UID: i.UID, Job: i.Job, DAG: i.DAG, Task: i.Task,
		Alert: string(i.Alert), Since: date(i.Since), Latest: someDate(i.Latest), Count: i.Count, Run: i.Run, Wave: i.Wave,
		Slot: someDate(i.Slot), Reason: i.Reason, Over: someDate(i.Over), OverRun: i.OverRun, Ended: i.Ended,
		To: i.To, Recovered: i.Recovered, Notified: i.Notified,
	}
	if i.Next != nil {
		next := newIncidentDocument(i.Next)
		d.Next = &next
	}
	if i.Count > 0 {
		d.Began = someDate(i.Since)
	}
	return d
}

func (d incidentDocument) value() (engine.Incident, error) {
	i := engine.Incident{
		ID: d.ID, Revision: d.Revision, Shard: d.Shard, Namespace: d.Namespace, UID: d.UID, Job: d.Job, DAG: d.DAG, Task: d.Task,
		Alert: spec.Alert(d.Alert), Since: instant(d.Since), Latest: someInstant(d.Latest), Count: d.Count, Run: d.Run, Wave: d.Wave,
		Slot: someInstant(d.Slot), Reason: d.Reason, Over: someInstant(d.Over), OverRun: d.OverRun, Ended: d.Ended,
		To: d.To, Recovered: d.Recovered, Notified: d.Notified,
	}
	if d.Next != nil {
		next, err := d.Next.value()
		if err != nil {
			return i, err
		}
		i.Next = &next
	}
	return i, nil
}

// Incidents returns incidents of these shards with ids above after, in the order of their ids.
func (s *Store) Incidents(ctx context.Context, shards []int, after string, limit int) ([]engine.Incident, error) {
	if err := s.projector.flush(ctx); err != nil {
		return nil, s.failed("read incidents", err)
	}
	if len(shards) == 0 {
		return nil, nil
	}
	ctx, cancel := s.bound(ctx)
	defer cancel()
	condition := append(among("shard", shards), bson.E{Key: "_id", Value: bson.D{{Key: "$gt", Value: after}}}, notDropped())
	incidents, err := list[incidentDocument](ctx, s.incidents, condition, options.Find().SetSort(ascending("_id")).SetLimit(int64(limit)))
	return incidents, s.failed("read incidents", err)
}

// IncidentsPage lists the incidents of a namespace that have begun, the latest begun first, with the cursor of the
// next page.
func (s *Store) IncidentsPage(ctx context.Context, namespace, cursor string, limit int) (incidents []engine.Incident, next string, err error) {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	after, err := parsePlace("incidents", cursor)
	if err != nil {
		return nil, "", fmt.Errorf("mongo: list incidents: %w", err)
	}
	condition, order := newestFirst("began", time.UnixMilli(0), time.Time{}, after)
	condition = append(bson.D{{Key: "namespace", Value: namespace}}, condition...)
	limit = pageSize(limit)
	incidents, err = list[incidentDocument](ctx, s.oldIncidents, condition, options.Find().SetSort(order).SetLimit(int64(limit+1)))
	if err != nil {
		return nil, "", s.failed("list incidents", err)
	}
	incidents, last := cut(incidents, limit)
	if last != nil {
		next = position{date(last.Since), last.ID}.cursor()
	}
	return incidents, next, nil
}
