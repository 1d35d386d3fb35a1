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

// In version 1 a decision of the engine was several writes, of which a crash could leave some. What was still to be written
// stood in scheduled tasks (noting) and in runs that were about to be removed (given_up). It is written when the database is
// brought forward, before any engine of this version reads it: first the ledger, then what says that it is to be written.
//
// Several nodes may do so at once, and one of them may have gone on and be at work. So nothing is written over a document
// that has a position, or that another node has brought forward already, and what a crash leaves is done by the next start.

// unprojected is the condition that a document is of version 1: nothing was projected to it.
func unprojected() bson.E { return bson.E{Key: "position", Value: nil} }

// oldRunDocument is what matters of a run of version 1 that was given up.
type oldRunDocument struct {
	ID       string         `bson:"_id"`
	Revision int64          `bson:"revision"`
	Slot     *bson.DateTime `bson:"slot"`
	GivenUp  slotDocument   `bson:"given_up"`
}

// oldTaskDocument is what matters of a scheduled task of version 1.
type oldTaskDocument struct {
	ID       string        `bson:"_id"`
	Slot     bson.DateTime `bson:"slot"`
	RunAt    bson.DateTime `bson:"run_at"`
	Revision int64         `bson:"revision"`
	Noting   *struct {
		Slots []slotDocument `bson:"slots"`
		RunAt bson.DateTime  `bson:"run_at"` // the task's, once the ledger says it
	} `bson:"noting"`
}

// upgradeCommits brings what version 1 left half done to its end, and says how far each scheduled task is accounted for.
func (s *Store) upgradeCommits(ctx context.Context, now time.Time) error {
	ctx = s.paced(ctx)
	if err := s.upgradeRuns(ctx); err != nil {
		return fmt.Errorf("runs: %w", err)
	}
	for after := ""; ; {
		filter := bson.D{{Key: "_id", Value: bson.D{{Key: "$gt", Value: after}}}, {Key: "accounted", Value: nil}, unprojected()}
		tasks, err := find[oldTaskDocument](ctx, s.tasks, filter, options.Find().SetSort(ascending("_id")).SetLimit(int64(s.config.BulkSize)))
		if err != nil {
			return fmt.Errorf("scheduled tasks: %w", err)
		}
		if len(tasks) == 0 {
			return nil
		}
		if err := s.upgradeTasks(ctx, tasks, now); err != nil {
			return fmt.Errorf("scheduled tasks: %w", err)
		}
		after = tasks[len(tasks)-1].ID
	}
}

func (s *Store) upgradeTasks(ctx context.Context, tasks []oldTaskDocument, now time.Time) error {
	taken, err := s.slotsTaken(ctx, tasks)
	if err != nil {
		return err
	}
	var ledger []slotDocument
	var models []mongo.WriteModel
	for i := range tasks {
		t := &tasks[i]
		old := append(byID(t.ID), bson.E{Key: "revision", Value: t.Revision}, bson.E{Key: "accounted", Value: nil}, unprojected())
		if strings.HasSuffix(t.ID, "-_") { // it said which wave of a DAG opened last: the waves themselves do
			models = append(models, mongo.NewDeleteOneModel().SetFilter(old))
			continue
		}
		runAt := t.RunAt
		if t.Noting != nil {
			ledger, runAt = append(ledger, t.Noting.Slots...), t.Noting.RunAt
		}
		accounted := date(now)
		if before := t.Slot - 1; runAt != date(engine.Parked) && before < accounted && !instant(t.Slot).IsZero() {
			accounted = before
		}
		fields := bson.D{{Key: "run_at", Value: runAt}, {Key: "accounted", Value: accounted}}
		if taken[engine.SlotRunID(t.ID, instant(t.Slot))] {
			fields = append(fields, bson.E{Key: "taken", Value: []bson.DateTime{t.Slot}})
		}
		models = append(models, mongo.NewUpdateOneModel().SetFilter(old).SetUpdate(bson.D{
			{Key: "$set", Value: fields}, {Key: "$unset", Value: bson.D{{Key: "noting", Value: ""}, {Key: "writer", Value: ""}}},
		}))
	}
	if err := s.growSlots(ctx, ledger); err != nil {
		return err
	}
	return s.bulk(ctx, s.tasks, models)
}

// slotsTaken returns the ids of the runs that the slots of these tasks have already, as a crash could leave it.
func (s *Store) slotsTaken(ctx context.Context, tasks []oldTaskDocument) (map[string]bool, error) {
	ids := make([]string, len(tasks))
	for i := range tasks {
		ids[i] = engine.SlotRunID(tasks[i].ID, instant(tasks[i].Slot))
	}
	runs, err := find[oldRunDocument](ctx, s.runs, byIDs(ids), options.Find().SetProjection(projection("revision")))
	taken := make(map[string]bool, len(runs))
	for i := range runs {
		taken[runs[i].ID] = true
	}
	return taken, err
}

// upgradeRuns puts into the ledger what prepared runs say that were given up, and removes them. One that is about another
// slot than its own has taken the place of the run that was given up, and stays.
func (s *Store) upgradeRuns(ctx context.Context) error {
	shards := make([]int, engine.Shards)
	for shard := range shards {
		shards[shard] = shard
	}
	for after := ""; ; {
		filter := append(among("shard", shards), bson.E{Key: "active", Value: true}, bson.E{Key: "_id", Value: bson.D{{Key: "$gt", Value: after}}},
			bson.E{Key: "given_up", Value: bson.D{{Key: "$exists", Value: true}}}, unprojected())
		runs, err := find[oldRunDocument](ctx, s.runs, filter, options.Find().SetSort(ascending("_id")).SetLimit(int64(s.config.BulkSize)))
		if err != nil || len(runs) == 0 {
			return err
		}
		after = runs[len(runs)-1].ID
		runs = slices.DeleteFunc(runs, func(run oldRunDocument) bool { return run.Slot == nil || *run.Slot != run.GivenUp.To })
		if len(runs) == 0 {
			continue
		}
		ledger, models := make([]slotDocument, len(runs)), make([]mongo.WriteModel, len(runs))
		for i := range runs {
			ledger[i] = runs[i].GivenUp
			models[i] = mongo.NewDeleteOneModel().SetFilter(append(byID(runs[i].ID), bson.E{Key: "revision", Value: runs[i].Revision},
				bson.E{Key: "given_up", Value: bson.D{{Key: "$exists", Value: true}}}, unprojected()))
		}
		if err := s.growSlots(ctx, ledger); err != nil {
			return err
		}
		if err := s.bulk(ctx, s.runs, models); err != nil {
			return err
		}
	}
}

// growSlots puts ranges into the ledger where there are none or smaller ones of version 1.
func (s *Store) growSlots(ctx context.Context, ranges []slotDocument) error {
	changes := make([]change, len(ranges))
	for n := range ranges {
		raw, err := bson.Marshal(ranges[n])
		if err != nil {
			return fmt.Errorf("slots %s: %w", ranges[n].ID, err)
		}
		smaller := bson.D{{Key: "count", Value: bson.D{{Key: "$lt", Value: ranges[n].Count}}}, unprojected()}
		changes[n] = change{id: ranges[n].ID, document: raw, condition: smaller, first: stepInsert}
	}
	_, err := s.settleBy(ctx, s.slots, changes, projection("count", "position"), func(n int, stored bson.Raw) (step, error) {
		if stored == nil {
			return stepInsert, nil
		}
		count, _ := stored.Lookup("count").AsInt64OK()
		if _, err := stored.LookupErr("position"); err == nil || count >= ranges[n].Count {
			return stepDone, nil
		}
		return stepReplace, nil
	})
	return err
}
