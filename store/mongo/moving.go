package mongo

import (
	"context"
	"errors"

	"go.mongodb.org/mongo-driver/v2/mongo"
)

// movingID is the _id in meta of what marks a database that something is being moved into.
const movingID = "moving"

type movingDocument struct {
	ID   string `bson:"_id"`
	Mark string `bson:"mark"`
}

// Moving gives what SetMoving has said of the database last, "" for nothing. A server must not start on a database
// that holds half of what is being moved into it.
func (s *Store) Moving(ctx context.Context) (string, error) {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	var found movingDocument
	err := s.repeat(ctx, func() error { return s.meta.FindOne(ctx, byID(movingID)).Decode(&found) })
	if errors.Is(err, mongo.ErrNoDocuments) {
		return "", nil
	}
	return found.Mark, s.failed("look whether something is being moved here", err)
}

// SetMoving marks the database, or takes the mark away ("").
func (s *Store) SetMoving(ctx context.Context, mark string) error {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	err := s.repeat(ctx, func() error {
		if mark == "" {
			_, err := s.meta.DeleteOne(ctx, byID(movingID))
			return err
		}
		replaced, err := s.meta.ReplaceOne(ctx, byID(movingID), movingDocument{ID: movingID, Mark: mark})
		if err != nil || replaced.MatchedCount > 0 {
			return err
		}
		_, err = s.meta.InsertOne(ctx, movingDocument{ID: movingID, Mark: mark})
		return err
	})
	return s.failed("mark the database", err)
}
