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

// Moving returns what SetMoving has said of the database last, "" for nothing. A server must not start on a database
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
	if mark != "" {
		// What is left in the journal must not come over what is moved here.
		if err := s.projectAll(ctx); err != nil {
			return s.failed("read the journal", err)
		}
		return s.failed("mark the database", s.putMeta(ctx, movingID, movingDocument{ID: movingID, Mark: mark}))
	}
	ctx, cancel := s.bound(ctx)
	defer cancel()
	return s.failed("mark the database", s.repeat(ctx, func() error {
		_, err := s.meta.DeleteOne(ctx, byID(movingID))
		return err
	}))
}

// putMeta puts a document of meta into its place, whatever stood there.
func (s *Store) putMeta(ctx context.Context, id string, document any) error {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	return s.repeat(ctx, func() error {
		replaced, err := s.meta.ReplaceOne(ctx, byID(id), document)
		if err != nil || replaced.MatchedCount > 0 {
			return err
		}
		_, err = s.meta.InsertOne(ctx, document)
		return err
	})
}
