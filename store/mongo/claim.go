package mongo

import (
	"context"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

// queueID is the document of meta that says which queue is at work on this database.
const queueID = "queue"

type queueDocument struct {
	ID    string        `bson:"_id"`
	Queue string        `bson:"queue"`
	Until bson.DateTime `bson:"until"`
}

// OtherQueueError reports that nodes on another NATS work on the database.
type OtherQueueError struct {
	Database string
	Until    time.Time
}

func (e *OtherQueueError) Error() string {
	return fmt.Sprintf("nodes on another NATS work on the database %s: give all nodes of one Tidewheel the same --nats-url, or this one a database of "+
		"its own; if the others have just ended, wait until %s", e.Database, e.Until.UTC().Format(time.TimeOnly)+" UTC")
}

// ClaimQueue records that nodes with this queue work on the database, for the next ttl; *OtherQueueError if others with
// another queue do. Every node says so again and again.
func (s *Store) ClaimQueue(ctx context.Context, queue string, ttl time.Duration) error {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	operation := "claim the database for a queue"
	now := time.Now()
	mine := queueDocument{ID: queueID, Queue: queue, Until: date(now.Add(ttl))}
	var found queueDocument
	taken := false
	err := s.repeat(ctx, func() error {
		for _, condition := range []bson.E{{Key: "queue", Value: queue}, {Key: "until", Value: bson.D{{Key: "$lt", Value: date(now)}}}} {
			result, err := s.meta.ReplaceOne(ctx, append(byID(queueID), condition), mine)
			if err != nil {
				return err
			}
			if taken = result.MatchedCount > 0; taken {
				return nil
			}
		}
		_, err := s.meta.InsertOne(ctx, mine)
		if taken = err == nil; !mongo.IsDuplicateKeyError(err) {
			return err
		}
		return s.meta.FindOne(ctx, byID(queueID)).Decode(&found)
	})
	if err != nil {
		return s.failed(operation, err)
	}
	if !taken && found.Queue != queue {
		return fmt.Errorf("mongo: %s: %w", operation, &OtherQueueError{Database: s.database.Name(), Until: instant(found.Until)})
	}
	return nil
}
