package mongo

import (
	"context"
	"errors"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

// rollID is the _id in meta of the question who uses the database, while a caller of the roll waits for the answers.
const rollID = "roll"

type rollDocument struct {
	ID   string    `bson:"_id"`
	At   time.Time `bson:"at"`
	Here []string  `bson:"here"`
}

// CallRoll asks all servers that use the database who they are, and gives who has answered after a while: those that
// call AnswerRoll more often than that and are not stopped.
func (s *Store) CallRoll(ctx context.Context, after time.Duration) (here []string, err error) {
	call := rollDocument{ID: rollID, At: time.Now().UTC().Truncate(time.Millisecond), Here: []string{}}
	if err := s.putMeta(ctx, rollID, call); err != nil {
		return nil, s.failed("ask who uses the database", err)
	}
	defer func() {
		ending, cancel := s.bound(context.WithoutCancel(ctx))
		defer cancel()
		err = errors.Join(err, s.failed("end the question who uses the database", s.repeat(ending, func() error {
			_, err := s.meta.DeleteOne(ending, byID(rollID))
			return err
		})))
	}()
	if err := wait(ctx, after); err != nil {
		return nil, err
	}
	ctx, cancel := s.bound(ctx)
	defer cancel()
	var answered rollDocument
	err = s.repeat(ctx, func() error { return s.meta.FindOne(ctx, byID(rollID)).Decode(&answered) })
	return answered.Here, s.failed("read who uses the database", err)
}

// AnswerRoll records that who uses the database, if the roll is being called.
func (s *Store) AnswerRoll(ctx context.Context, who string) error {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	// A read, because mostly nobody asks.
	_, err := s.meta.FindOne(ctx, bson.D{{Key: "_id", Value: rollID}, {Key: "here", Value: bson.D{{Key: "$ne", Value: who}}}}).Raw()
	if errors.Is(err, mongo.ErrNoDocuments) {
		return nil
	}
	if err == nil {
		_, err = s.meta.UpdateOne(ctx, byID(rollID), bson.D{{Key: "$addToSet", Value: bson.D{{Key: "here", Value: who}}}})
	}
	return s.failed("say that the database is in use", err)
}
