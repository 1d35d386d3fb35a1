package mongo

import (
	"context"
	"errors"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/tidewheel/tidewheel/engine"
)

// Generation returns one version of a definition with its source; engine.ErrNotFound if it is not kept. It reads the definition
// first: when that has gone on to another generation, the previous one is kept.
func (d *definitions[S]) Generation(ctx context.Context, uid string, generation int64) (version engine.GenerationOf[S], err error) {
	ctx, cancel := d.bound(ctx)
	defer cancel()
	operation := fmt.Sprintf("read generation %d of %s %s", generation, d.what, uid)
	present, err := d.present(ctx, uid)
	switch {
	case err != nil:
		return version, d.failed(operation, err)
	case present != nil && present.Generation == generation:
		version, err = d.version(*present)
		return version, d.failed(operation, err)
	}
	documents, err := find[generationDocument](ctx, d.generations, byID(generationID(uid, generation)))
	if err != nil {
		return version, d.failed(operation, err)
	}
	versions, err := valuesBy(d.generations, documents, d.version)
	if err == nil && len(versions) == 0 {
		err = engine.ErrNotFound
	}
	if err != nil {
		return version, d.failed(operation, err)
	}
	return versions[0], nil
}

// Generations lists the kept versions of a definition below a generation (0: all of them), newest first, without their
// sources.
func (d *definitions[S]) Generations(ctx context.Context, uid string, before int64, limit int) ([]engine.GenerationOf[S], error) {
	ctx, cancel := d.bound(ctx)
	defer cancel()
	present, err := d.present(ctx, uid, options.FindOne().SetProjection(bson.D{{Key: "source", Value: 0}}))
	if err != nil {
		return nil, d.failed("list generations", err)
	}
	limit = pageSize(limit)
	filter := bson.D{{Key: "uid", Value: uid}}
	if before > 0 {
		filter = append(filter, bson.E{Key: "generation", Value: bson.D{{Key: "$lt", Value: before}}})
	}
	documents, err := find[generationDocument](ctx, d.oldGenerations, filter, bare(),
		options.Find().SetSort(descending("generation")).SetLimit(int64(limit)))
	if err != nil {
		return nil, d.failed("list generations", err)
	}
	shown := before == 0 || present != nil && present.Generation < before
	if shown && present != nil && (len(documents) == 0 || documents[0].Generation < present.Generation) {
		documents = append([]generationDocument{*present}, documents...)
		documents = documents[:min(limit, len(documents))]
	}
	versions, err := valuesBy(d.generations, documents, d.version)
	return versions, d.failed("list generations", err)
}

// present is the generation that a definition is in, nil if there is no such definition.
func (d *definitions[S]) present(ctx context.Context, uid string, opts ...options.Lister[options.FindOneOptions]) (*generationDocument, error) {
	present, err := presentOf(d.living.FindOne(ctx, bson.D{{Key: "uid", Value: uid}}, opts...))
	if present != nil || err != nil {
		return present, err
	}
	return presentOf(d.tombstones.FindOne(ctx, byID(uid), opts...))
}

func presentOf(result *mongo.SingleResult) (*generationDocument, error) {
	var found definitionDocument
	err := result.Decode(&found)
	if errors.Is(err, mongo.ErrNoDocuments) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	generation := found.present()
	return &generation, nil
}

// keep inserts a generation. One that is there already, from an edit that lost a race, is the same but for the source,
// which may have been edited since.
func (d *definitions[S]) keep(ctx context.Context, generation generationDocument) error {
	raw, err := bson.Marshal(generation)
	if err != nil {
		return err
	}
	there, err := d.insert(ctx, d.generations, change{id: generation.ID, document: raw}, func(bson.Raw) (bool, error) { return false, nil })
	if err != nil || !there {
		return err
	}
	condition := append(byID(generation.ID), bson.E{Key: "revision", Value: bson.D{{Key: "$lt", Value: generation.Revision}}})
	return d.repeat(ctx, func() error {
		_, err := d.generations.UpdateOne(ctx, condition, bson.D{{Key: "$set", Value: bson.D{
			{Key: "source", Value: generation.Source}, {Key: "revision", Value: generation.Revision},
		}}})
		return err
	})
}

// forgetGenerations forgets the earlier versions of definitions that are gone.
func (d *definitions[S]) forgetGenerations(ctx context.Context, uids []string) error {
	if len(uids) == 0 {
		return nil
	}
	return d.repeat(ctx, func() error {
		ctx, cancel := d.command(ctx)
		defer cancel()
		_, err := d.generations.DeleteMany(ctx, among("uid", uids))
		return err
	})
}

// DropGenerations deletes the versions below a generation and counts them. After an unclear end the count may be short.
func (d *definitions[S]) DropGenerations(ctx context.Context, uid string, below int64) (deleted int, err error) {
	ctx, cancel := d.bound(ctx)
	defer cancel()
	earlier := bson.D{{Key: "uid", Value: uid}, {Key: "generation", Value: bson.D{{Key: "$lt", Value: below}}}}
	err = d.repeat(ctx, func() error {
		result, err := d.generations.DeleteMany(ctx, earlier)
		if err == nil {
			deleted = int(result.DeletedCount)
		}
		return err
	})
	return deleted, d.failed("drop generations of "+d.what+" "+uid, err)
}
