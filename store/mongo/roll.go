package mongo

import (
	"context"
	"crypto/rand"
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
	By   string    `bson:"by"` // made up, so that nobody ends another's question
	Here []string  `bson:"here"`
}

// CallRoll asks all servers that use the database who they are, and returns who has answered after a while: those that
// call AnswerRoll more often than that and are not stopped. One asks at a time: others wait until the question is gone, or was left
// behind by a crash.
func (s *Store) CallRoll(ctx context.Context, after time.Duration) (here []string, err error) {
	call := rollDocument{ID: rollID, At: time.Now().UTC().Truncate(time.Millisecond), By: rand.Text(), Here: []string{}}
	if err := s.beginRoll(ctx, &call, 2*after); err != nil {
		return nil, s.failed("ask who uses the database", err)
	}
	own := append(byID(rollID), bson.E{Key: "by", Value: call.By})
	defer func() {
		ending, cancel := s.bound(context.WithoutCancel(ctx))
		defer cancel()
		err = errors.Join(err, s.failed("end the question who uses the database", s.repeat(ending, func() error {
			_, err := s.meta.DeleteOne(ending, own)
			return err
		})))
	}()
	if err := wait(ctx, after); err != nil {
		return nil, err
	}
	bounded, cancel := s.bound(ctx)
	defer cancel()
	var answered rollDocument
	err = s.repeat(bounded, func() error { return s.meta.FindOne(bounded, own).Decode(&answered) })
	if errors.Is(err, mongo.ErrNoDocuments) { // this process stood still for so long that another took the question for left behind
		return s.CallRoll(ctx, after)
	}
	return answered.Here, s.failed("read who uses the database", err)
}

// beginRoll puts the question in its place, once no other stands there that is younger than stale.
func (s *Store) beginRoll(ctx context.Context, call *rollDocument, stale time.Duration) error {
	for {
		limit, cancel := s.command(ctx)
		_, err := s.meta.InsertOne(limit, call)
		var other rollDocument
		if mongo.IsDuplicateKeyError(err) {
			err = s.meta.FindOne(limit, byID(rollID)).Decode(&other)
		}
		cancel()
		switch {
		case errors.Is(err, mongo.ErrNoDocuments): // it has just gone
			continue
		case err != nil || other.ID == "" || other.By == call.By:
			return err
		}
		// The clock that the other one was asked by may differ; it is gone, too, where it lies far ahead.
		if age := time.Since(other.At).Abs(); age > stale {
			_, err = s.meta.DeleteOne(ctx, append(byID(rollID), bson.E{Key: "at", Value: other.At}))
		} else {
			err = wait(ctx, min(stale-age, stale/20)+time.Millisecond)
		}
		if err != nil {
			return err
		}
	}
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
