package mongo

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

// serverQueryID is the _id in meta of a query for the active servers. The document exists while ListActiveServers waits for answers.
const serverQueryID = "roll"

type serverQuery struct {
	ID   string    `bson:"_id"`
	At   time.Time `bson:"at"`
	By   string    `bson:"by"` // random, so that a caller deletes only its own query
	Here []string  `bson:"here"`
}

// ListActiveServers asks all servers that use the database for their names, and returns the answers that came within the duration:
// a running server answers if it calls ReportActive more often than that. Only one query is open at a time: a second caller waits
// until the first query is deleted, or is so old that a crash left it behind.
func (s *Store) ListActiveServers(ctx context.Context, after time.Duration) (here []string, err error) {
	query := serverQuery{ID: serverQueryID, At: time.Now().UTC().Truncate(time.Millisecond), By: rand.Text(), Here: []string{}}
	if err := s.openServerQuery(ctx, &query, 2*after); err != nil {
		return nil, s.failed("ask for the active servers", err)
	}
	own := append(byID(serverQueryID), bson.E{Key: "by", Value: query.By})
	defer func() {
		ending, cancel := s.bound(context.WithoutCancel(ctx))
		defer cancel()
		err = errors.Join(err, s.failed("delete the query for active servers", s.repeat(ending, func() error {
			_, err := s.meta.DeleteOne(ending, own)
			return err
		})))
	}()
	if err := wait(ctx, after); err != nil {
		return nil, err
	}
	bounded, cancel := s.bound(ctx)
	defer cancel()
	var answered serverQuery
	err = s.repeat(bounded, func() error { return s.meta.FindOne(bounded, own).Decode(&answered) })
	if errors.Is(err, mongo.ErrNoDocuments) { // this process was suspended for so long that another caller deleted the query as stale
		return s.ListActiveServers(ctx, after)
	}
	return answered.Here, s.failed("read the active servers", err)
}

// openServerQuery stores the query as soon as no other query exists that is younger than stale.
func (s *Store) openServerQuery(ctx context.Context, query *serverQuery, stale time.Duration) error {
	for {
		limit, cancel := s.command(ctx)
		_, err := s.meta.InsertOne(limit, query)
		var other serverQuery
		if mongo.IsDuplicateKeyError(err) {
			err = s.meta.FindOne(limit, byID(serverQueryID)).Decode(&other)
		}
		cancel()
		switch {
		case errors.Is(err, mongo.ErrNoDocuments): // deleted just now
			continue
		case err != nil || other.ID == "" || other.By == query.By:
			return err
		}
		// The other caller's clock may differ: a query from far in the future is stale, too.
		if age := time.Since(other.At).Abs(); age > stale {
			_, err = s.meta.DeleteOne(ctx, append(byID(serverQueryID), bson.E{Key: "at", Value: other.At}))
		} else {
			err = wait(ctx, min(stale-age, stale/20)+time.Millisecond)
		}
		if err != nil {
			return err
		}
	}
}

// ReportActive adds a server to the answers of the open query, if there is one.
func (s *Store) ReportActive(ctx context.Context, server string) error {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	// A read first, because usually no query is open.
	_, err := s.meta.FindOne(ctx, bson.D{{Key: "_id", Value: serverQueryID}, {Key: "here", Value: bson.D{{Key: "$ne", Value: server}}}}).Raw()
	if errors.Is(err, mongo.ErrNoDocuments) {
		return nil
	}
	if err == nil {
		_, err = s.meta.UpdateOne(ctx, byID(serverQueryID), bson.D{{Key: "$addToSet", Value: bson.D{{Key: "here", Value: server}}}})
	}
	return s.failed("report an active server", err)
}
