package mongo

import (
	"context"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// JobNames lists names of living jobs from one on, in order. The _id holds them, so its index finds them.
func (s *Store) JobNames(ctx context.Context, namespace, from string, limit int) ([]string, error) {
	names, err := s.names(ctx, s.jobs.living, namespace, from, limit, bson.E{Key: "deleted", Value: false})
	return names, s.failed("list names of jobs", err)
}

// BinaryNames lists names of binaries from one on, in order.
func (s *Store) BinaryNames(ctx context.Context, namespace, from string, limit int) ([]string, error) {
	names, err := s.names(ctx, s.binaries, namespace, from, limit)
	return names, s.failed("list names of binaries", err)
}

func (s *Store) names(ctx context.Context, in *mongo.Collection, namespace, from string, limit int, only ...bson.E) (names []string, err error) {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	filter := append(bson.D{{Key: "_id", Value: bson.D{
		{Key: "$gte", Value: nameID(namespace, from)}, {Key: "$lt", Value: namespace + "0"}, // '0' follows '/'
	}}}, only...)
	var found []struct {
		ID string `bson:"_id"`
	}
	err = s.repeat(ctx, func() (err error) {
		found, err = find[struct {
			ID string `bson:"_id"`
		}](ctx, in, filter, options.Find().SetSort(ascending("_id")).SetLimit(int64(limit)).SetProjection(bson.D{{Key: "_id", Value: 1}}))
		return err
	})
	for _, document := range found {
		_, name, _ := strings.Cut(document.ID, "/")
		names = append(names, name)
	}
	return names, err
}
