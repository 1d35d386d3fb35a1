package mongo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

const (
	// editSteps is how many different generations one sweep looks at. Each costs the server one step in an index.
	editSteps = 64
	// editPage is how many edited definitions of one generation a sweep takes up.
	editPage = 200
	// editor is who is said to have made such an edit.
	editor = "database"
)

// Edits takes up what other programs have written straight into jobs and dags: they change definition or paused, count
// generation up, and leave all else alone.
//
// Each definition holds the generation that Tidewheel knows of, and an index holds the highest generation that there is
// for each of these. So a sweep costs a step for each different generation, however many definitions there are; beyond
// editSteps of them it continues where the last one has ended. It is used by one goroutine.
type Edits struct {
	store   *Store
	jobs    editSweep
	dags    editSweep
	refused map[string]int64 // the generation that was refused last, by collection and id; logged once
}

// editSweep is where the next sweep of a collection begins: above this known generation.
type editSweep struct{ after int64 }

// Edits makes what takes up edits of other programs.
func (s *Store) Edits() *Edits { return &Edits{store: s, refused: map[string]int64{}} }

// Adopt looks once for edits and makes each one Tidewheel's own: whole, with a revision, left for the engine. It gives
// what the engine is to be woken with. An edit that is no valid definition is left as it is, and logged.
func (e *Edits) Adopt(ctx context.Context) ([]engine.Wake, error) {
	ctx, cancel := e.store.bound(ctx)
	defer cancel()
	jobs, err := adopt(ctx, e, e.store.jobs, &e.jobs, engine.WakeJob, func(job *spec.Job) *string { return &job.Name })
	if err != nil {
		return jobs, e.store.failed("take up edits of jobs", err)
	}
	dags, err := adopt(ctx, e, e.store.dags, &e.dags, engine.WakeDAG, func(dag *spec.DAG) *string { return &dag.Name })
	return append(jobs, dags...), e.store.failed("take up edits of dags", err)
}

// written is a definition of either kind, as another program may have written it.
type written[S engine.Spec] interface {
	*S
	ApplyDefaults()
	Validate() spec.Problems
}

// whole reads a definition that another program has written, as Tidewheel would have written it.
func whole[S engine.Spec, P written[S]](d *definitions[S], document *definitionDocument, nameOf func(P) *string) (bson.Raw, error) {
	definition, err := d.read(document.Definition)
	if err != nil {
		return nil, err
	}
	name := nameOf(&definition)
	if *name == "" {
		*name = document.Name
	}
	if *name != document.Name {
		return nil, fmt.Errorf("its name is %q now: a %s keeps its name", *name, d.what)
	}
	P(&definition).ApplyDefaults()
	if problems := P(&definition).Validate(); len(problems) > 0 {
		return nil, problems
	}
	return d.write(&definition)
}

func adopt[S engine.Spec, P written[S]](
	ctx context.Context, e *Edits, d *definitions[S], at *editSweep, kind engine.WakeKind, nameOf func(P) *string,
) ([]engine.Wake, error) {
	edited, next, err := d.edited(ctx, at.after)
	if err != nil {
		return nil, err
	}
	at.after = next
	var wakes []engine.Wake
	for i := range edited {
		one := &edited[i]
		definition, err := whole(d, one, nameOf)
		if err != nil {
			e.refuse(d.living.Name(), one, err)
			continue
		}
		taken, err := d.adopt(ctx, one, definition)
		if err != nil {
			return wakes, err
		}
		if taken {
			d.config.Logger.Info("a definition was edited in the database", "collection", d.living.Name(), "id", one.ID, "generation", one.Generation)
			wakes = append(wakes, engine.Wake{Shard: one.Shard, Kind: kind, Key: one.UID})
		}
	}
	return wakes, nil
}

// refuse logs an edit that is no valid definition, once.
func (e *Edits) refuse(collection string, d *definitionDocument, err error) {
	key := collection + "/" + d.ID
	if e.refused[key] == d.Generation {
		return
	}
	if len(e.refused) > 10_000 {
		clear(e.refused) // they are logged again, which does no harm
	}
	e.refused[key] = d.Generation
	var problems spec.Problems
	if errors.As(err, &problems) && len(problems) > 0 {
		err = problems[0]
	}
	e.store.config.Logger.Error("a definition was edited in the database, and is not valid: put it right and count its generation up",
		"collection", collection, "id", d.ID, "generation", d.Generation, "error", err)
}

// edited finds definitions whose generation is above the one that Tidewheel knows of, beginning above a known
// generation, and returns where to continue; 0 at the end.
func (d *definitions[S]) edited(ctx context.Context, after int64) (found []definitionDocument, next int64, err error) {
	highest := options.Find().SetSort(append(ascending("known"), descending("generation")...)).SetLimit(1).
		SetProjection(bson.D{{Key: "_id", Value: 0}, {Key: "known", Value: 1}, {Key: "generation", Value: 1}})
	for range editSteps {
		// Not $gt: some servers walk over all entries of a value to get above it.
		condition := bson.D{{Key: "known", Value: bson.D{{Key: "$gte", Value: after + 1}}}}
		top, err := find[definitionDocument](ctx, d.living, condition, highest)
		if err != nil {
			return nil, after, err
		}
		if len(top) == 0 {
			return found, 0, nil
		}
		after = top[0].Known
		if top[0].Generation <= after {
			continue
		}
		condition = bson.D{{Key: "known", Value: after}, {Key: "generation", Value: bson.D{{Key: "$gte", Value: after + 1}}}}
		raw, err := find[bson.Raw](ctx, d.living, condition, bare(), options.Find().SetLimit(editPage))
		if err != nil {
			return nil, after, err
		}
		for _, document := range raw {
			one, err := parseDefinition(document)
			if err != nil {
				d.config.Logger.Error("an edited definition cannot be read", "collection", d.living.Name(), "id", idOfRaw(document), "error", err)
				continue
			}
			if !one.Deleted {
				found = append(found, *one)
			}
		}
	}
	return found, after, nil
}

func idOfRaw(document bson.Raw) string {
	id, _ := document.Lookup("_id").StringValueOK()
	return id
}

// adopt makes an edit Tidewheel's own, unless the definition was written again since it was read.
func (d *definitions[S]) adopt(ctx context.Context, edited *definitionDocument, definition bson.Raw) (taken bool, err error) {
	now := date(time.Now())
	put := bson.D{
		{Key: "definition", Value: definition}, {Key: "known", Value: edited.Generation}, {Key: "revision", Value: edited.Revision + 1},
		{Key: "pending", Value: true}, {Key: "updated_at", Value: now}, {Key: "updated_by", Value: editor},
	}
	drop := bson.D{{Key: "source", Value: ""}, {Key: "message", Value: ""}} // they are of the version before
	switch {
	case edited.Paused && edited.PausedAt == nil:
		put = append(put, bson.E{Key: "paused_at", Value: now}, bson.E{Key: "paused_by", Value: editor})
	case !edited.Paused && edited.PausedAt != nil:
		drop = append(drop, bson.E{Key: "paused_at", Value: ""}, bson.E{Key: "paused_by", Value: ""}, bson.E{Key: "paused_reason", Value: ""})
	}
	filter := append(byID(edited.ID), definitionIs(edited.UID, edited.Revision)...)
	filter = append(filter, bson.E{Key: "generation", Value: edited.Generation}, bson.E{Key: "known", Value: edited.Known})
	update := bson.D{{Key: "$set", Value: put}, {Key: "$unset", Value: drop}}
	err = d.repeat(ctx, func() error {
		result, err := d.living.UpdateOne(ctx, filter, update)
		taken = err == nil && result.MatchedCount > 0
		return err
	})
	return taken, err
}
