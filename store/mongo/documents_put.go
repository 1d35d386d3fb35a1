package mongo

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/tidewheel/tidewheel/engine"
)

// puts are documents on their way into the collections of the database.
type puts struct {
	changes map[*mongo.Collection][]change
	// Forms of definitions; those that the definitions are in are not kept.
	jobs, dags []generationDocument
}

// PutDocuments puts documents into their places as they are, over whatever stands there. It is for a database that
// no other process writes to: it checks no revision. Definitions come before their generations.
func (s *Store) PutDocuments(ctx context.Context, documents []engine.Document) error {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	all := puts{changes: map[*mongo.Collection][]change{}}
	for _, document := range documents {
		if err := s.prepareToPut(&all, document); err != nil {
			collection, id := document.Place()
			return s.failed(fmt.Sprintf("put %s of %s", id, collection), err)
		}
	}
	for _, versions := range []struct {
		list    []generationDocument
		to      *mongo.Collection
		earlier func(context.Context, []generationDocument) ([]generationDocument, error)
	}{{all.jobs, s.jobs.generations, s.jobs.earlierOnly}, {all.dags, s.dags.generations, s.dags.earlierOnly}} {
		earlier, err := versions.earlier(ctx, versions.list)
		if err != nil {
			return s.failed("put generations", err)
		}
		for i := range earlier {
			if err := all.add(versions.to, earlier[i].ID, earlier[i]); err != nil {
				return s.failed("put generations", err)
			}
		}
	}
	for to, changes := range all.changes {
		_, err := s.settle(ctx, to, changes, func(n int, stored bson.Raw) (step, error) {
			switch {
			case stored == nil:
				return stepInsert, nil
			case bytes.Equal(stored, changes[n].document):
				return stepDone, nil
			}
			return stepReplace, nil
		})
		if err != nil {
			return s.failed("put "+to.Name(), err)
		}
	}
	return nil
}

func (p *puts) add(to *mongo.Collection, id string, document any) error {
	raw, err := bson.Marshal(document)
	p.changes[to] = append(p.changes[to], change{id: id, document: raw, first: stepInsert})
	return err
}

func (s *Store) prepareToPut(all *puts, document engine.Document) error {
	switch d := document.(type) {
	case engine.Job:
		return putDefinition(all, s.jobs, &d)
	case engine.DAG:
		return putDefinition(all, s.dags, &d)
	case engine.Generation:
		made, err := s.jobs.versionDocument(&d)
		all.jobs = append(all.jobs, made)
		return err
	case engine.DAGGeneration:
		made, err := s.dags.versionDocument(&d)
		all.dags = append(all.dags, made)
		return err
	case engine.Run:
		made, err := writeRun(&d, 0)
		if err != nil {
			return err
		}
		return all.add(s.runs, d.ID, made)
	case engine.Wave:
		made, err := newWaveDocument(&d)
		if err != nil {
			return err
		}
		return all.add(s.waves, made.ID, made)
	case engine.Binary:
		return all.add(s.binaries, d.Key(), newBinaryDocument(&d))
	case engine.Record:
		made := newRecordDocument(&d)
		return all.add(s.records, made.ID, made)
	case engine.RunEffect:
		return all.add(s.effects, effectID(d.Run, d.Key), newEffectDocument(&d))
	case engine.SlotRange:
		return all.add(s.slots, d.ID, newSlotDocument(&d))
	case engine.DeadLetter:
		return all.add(s.deadLetters, d.RunID, newLetterDocument(&d))
	case engine.Incident:
		return all.add(s.incidents, d.ID, newIncidentDocument(&d))
	case engine.ScheduledTask:
		return all.add(s.tasks, d.ID, writeTask(&d, 0))
	case engine.Command:
		made, err := newCommandDocument(&d)
		if err != nil {
			return err
		}
		return all.add(s.commands, made.ID, made)
	case engine.SharedKey:
		return all.add(s.meta, firstKey+d.Name, keyDocument{ID: firstKey + d.Name, Key: d.Key, CreatedAt: bson.NewDateTimeFromTime(time.Now())})
	}
	return fmt.Errorf("a %T is no document", document)
}

// putDefinition puts a definition under its name, and a tombstone where its name does not matter.
func putDefinition[S engine.Spec](all *puts, d *definitions[S], given *engine.Definition[S]) error {
	document, err := d.document(given)
	if err != nil {
		return err
	}
	if document.Deleted {
		document.ID = document.UID
		return all.add(d.tombstones, document.ID, document)
	}
	return all.add(d.living, document.ID, document)
}

// DropDocuments removes a whole collection.
func (s *Store) DropDocuments(ctx context.Context, of engine.Collection) error {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	everything := bson.D{}
	from := map[engine.Collection][]*mongo.Collection{
		engine.CollectionJobs: {s.jobs.living, s.jobs.tombstones}, engine.CollectionGenerations: {s.jobs.generations},
		engine.CollectionDAGs: {s.dags.living, s.dags.tombstones}, engine.CollectionDAGGenerations: {s.dags.generations},
		engine.CollectionBinaries: {s.binaries}, engine.CollectionWaves: {s.waves}, engine.CollectionRuns: {s.runs},
		engine.CollectionEffects: {s.effects}, engine.CollectionSlots: {s.slots}, engine.CollectionDeadLetters: {s.deadLetters},
		engine.CollectionScheduledTasks: {s.tasks}, engine.CollectionCommands: {s.commands}, engine.CollectionSharedKeys: {s.meta},
		engine.CollectionRecords: {s.records}, engine.CollectionIncidents: {s.incidents},
	}[of]
	if from == nil {
		return fmt.Errorf("mongo: drop: there is no collection %q", of)
	}
	if of == engine.CollectionSharedKeys {
		everything = bson.D{{Key: "_id", Value: bson.D{{Key: "$gt", Value: firstKey}, {Key: "$lt", Value: afterKeys}}}}
	}
	if err := s.projectAll(ctx); err != nil { // nothing of what the journal holds comes back
		return s.failed("read the journal", err)
	}
	for _, collection := range from {
		if err := s.repeat(ctx, func() error {
			_, err := collection.DeleteMany(ctx, everything)
			return err
		}); err != nil {
			return s.failed("drop "+collection.Name(), err)
		}
	}
	return nil
}
