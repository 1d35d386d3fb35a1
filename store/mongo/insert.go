package mongo

import (
	"context"
	"errors"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

// insert inserts one document that no other writer should have inserted, and reports whether one was there before. A write
// that was done but reported as failed is found again: where an earlier try had an unclear end, a document that is
// ours, as mine says, is the one that it wrote. After a plain "duplicate key" it is not: then the caller
// inserts the same a second time, and gets an error.
func (s *Store) insert(ctx context.Context, into *mongo.Collection, one change, mine func(stored bson.Raw) (bool, error)) (there bool, err error) {
	unclear := false
	for attempt := 1; ; attempt++ {
		_, failure := into.InsertOne(ctx, one.document)
		if failure == nil {
			return false, nil
		}
		if ctx.Err() != nil {
			return false, failure
		}
		if !mongo.IsDuplicateKeyError(failure) {
			unclear = true
		}
		found, err := s.stored(ctx, into, []change{one}, []int{0}, nil, byShard(into))
		if err != nil {
			return false, errors.Join(failure, err)
		}
		if document := found[one.id]; document != nil {
			if !unclear {
				return true, nil
			}
			done, err := mine(document)
			return !done, err
		}
		if !worthRetrying(ctx, failure) || attempt >= s.config.Attempts {
			return false, failure
		}
		if wait(ctx, backoff(attempt)) != nil {
			return false, failure
		}
	}
}

// deleteOne deletes a document where condition holds, and reports whether it did. After an unclear try, one that is not
// there any more was deleted by it.
func (s *Store) deleteOne(ctx context.Context, from *mongo.Collection, id string, condition bson.D) (deleted bool, err error) {
	unclear := false
	err = s.repeat(ctx, func() error {
		result, err := from.DeleteOne(ctx, append(keyOf(from, id), condition...))
		if err != nil {
			unclear = true
			return err
		}
		deleted = result.DeletedCount > 0
		return nil
	})
	if err != nil || deleted || !unclear {
		return deleted, err
	}
	err = from.FindOne(ctx, keyOf(from, id)).Err()
	if errors.Is(err, mongo.ErrNoDocuments) {
		return true, nil
	}
	return false, err
}
