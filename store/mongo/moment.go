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

// ErrNoMoment means that the server cannot show what it held at one moment.
var ErrNoMoment = errors.New("MongoDB cannot show what it held at one moment: that takes a replica set or a sharded cluster of MongoDB 5.0 or later")

// CheckMoment reports whether Moment can do what it says here: an error wraps ErrNoMoment, or says that there is no answer.
// Some servers of MongoDB's protocol take no notice of what is asked for, so it looks whether the answer is of a moment.
func (s *Store) CheckMoment(ctx context.Context) error {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	answer, err := s.database.RunCommand(ctx, bson.D{
		{Key: "find", Value: s.meta.Name()}, {Key: "limit", Value: 1}, {Key: "singleBatch", Value: true},
		{Key: "readConcern", Value: bson.D{{Key: "level", Value: "snapshot"}}},
	}).Raw()
	var refused mongo.CommandError
	switch {
	case errors.As(err, &refused) && !refused.HasErrorLabel("RetryableWriteError") && !mongo.IsNetworkError(err) && !mongo.IsTimeout(err):
		return fmt.Errorf("mongo: %w (%s)", ErrNoMoment, refused.Message)
	case err != nil:
		return s.failed("look whether backups can be made", err)
	}
	if _, _, is := answer.Lookup("cursor", "atClusterTime").TimestampOK(); !is {
		return fmt.Errorf("mongo: %w", ErrNoMoment)
	}
	return nil
}

// codes of a moment that is too long ago for the server to show it.
const codeSnapshotUnavailable, codeSnapshotTooOld = 246, 239

// Moment calls read with pages of all that the database held when the first of them was read, while others write
// writing. The server keeps what it held for some minutes only.
func (s *Store) Moment(ctx context.Context, read func(engine.DocumentPages) error) error {
	session, err := s.client.StartSession(options.Session().SetSnapshot(true))
	if err != nil {
		return s.failed("begin to read one moment", err)
	}
	defer session.EndSession(context.WithoutCancel(ctx))
	err = s.View(mongo.NewSessionContext(ctx, session), read)
	var refused mongo.ServerError
	if errors.As(err, &refused) && (refused.HasErrorCode(codeSnapshotTooOld) || refused.HasErrorCode(codeSnapshotUnavailable)) {
		return fmt.Errorf("the server keeps what it held for too short a time to read it all: raise its parameter "+
			"minSnapshotHistoryWindowInSeconds, which is 300 by default: %w", err)
	}
	return err
}
