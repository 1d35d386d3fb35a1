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

// Generation gives one form of a job; engine.ErrNotFound if it is not kept. The job is looked at first: by the time
// that it has gone on to another generation, the one before is kept.
func (s *Store) Generation(ctx context.Context, uid string, generation int64) (engine.Generation, error) {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	operation := fmt.Sprintf("read generation %d of job %s", generation, uid)
	present, err := s.present(ctx, uid)
	switch {
	case err != nil:
		return engine.Generation{}, s.failed(operation, err)
	case present != nil && present.Generation == generation:
		value, err := present.value()
		return value, s.failed(operation, err)
	}
	value, err := one[generationDocument](ctx, s.generations, byID(generationID(uid, generation)))
	return value, s.failed(operation, err)
}

// Generations lists the kept forms of a job, newest first.
func (s *Store) Generations(ctx context.Context, uid string, limit int) ([]engine.Generation, error) {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	present, err := s.present(ctx, uid)
	if err != nil {
		return nil, s.failed("list generations", err)
	}
	limit = pageSize(limit)
	documents, err := find[generationDocument](ctx, s.oldGenerations, bson.D{{Key: "uid", Value: uid}},
		options.Find().SetSort(descending("generation")).SetLimit(int64(limit)))
	if err != nil {
		return nil, s.failed("list generations", err)
	}
	if present != nil && (len(documents) == 0 || documents[0].Generation < present.Generation) {
		documents = append([]generationDocument{*present}, documents...)
		documents = documents[:min(limit, len(documents))]
	}
	generations, err := values[generationDocument](s.generations, documents)
	return generations, s.failed("list generations", err)
}

// present is the generation that a job is in, nil if there is no such job.
func (s *Store) present(ctx context.Context, uid string) (*generationDocument, error) {
	present, err := presentOf(s.jobs.FindOne(ctx, bson.D{{Key: "uid", Value: uid}}))
	if present != nil || err != nil {
		return present, err
	}
	return presentOf(s.tombstones.FindOne(ctx, byID(uid)))
}

func presentOf(result *mongo.SingleResult) (*generationDocument, error) {
	var job jobDocument
	err := result.Decode(&job)
	if errors.Is(err, mongo.ErrNoDocuments) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	generation := job.present()
	return &generation, nil
}

// keep inserts a generation; one that is there already is the same.
func (s *Store) keep(ctx context.Context, generation generationDocument) error {
	raw, err := bson.Marshal(generation)
	if err != nil {
		return err
	}
	_, err = s.insert(ctx, s.generations, change{id: generation.ID, document: raw}, func(bson.Raw) (bool, error) { return true, nil })
	return err
}

// dropGenerations forgets the earlier forms of jobs that are gone.
func (s *Store) dropGenerations(ctx context.Context, uids []string) error {
	if len(uids) == 0 {
		return nil
	}
	return s.repeat(ctx, func() error {
		_, err := s.generations.DeleteMany(ctx, among("uid", uids))
		return err
	})
}
