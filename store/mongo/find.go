package mongo

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/tidewheel/tidewheel/engine"
)

func byID(id string) bson.D { return bson.D{{Key: "_id", Value: id}} }

func byIDs(ids []string) bson.D { return among("_id", ids) }

// among is a condition on a field: one of the values.
func among[T any](field string, values []T) bson.D {
	if len(values) == 1 {
		return bson.D{{Key: field, Value: values[0]}}
	}
	return bson.D{{Key: field, Value: bson.D{{Key: "$in", Value: values}}}}
}

func set(field string, value any) bson.D {
	return bson.D{{Key: "$set", Value: bson.D{{Key: field, Value: value}}}}
}

// each reads all documents that match, and calls take with one after the other, which must not keep the bytes.
func each(
	ctx context.Context, in *mongo.Collection, filter bson.D, take func(bson.Raw) error, opts ...options.Lister[options.FindOptions],
) error {
	limit, cancel := pace(ctx)
	cursor, err := in.Find(limit, filter, opts...)
	cancel()
	if err != nil {
		return err
	}
	defer func() {
		// The server forgets a cursor by itself; an error after the last document means nothing.
		limit, cancel := pace(context.WithoutCancel(ctx))
		defer cancel()
		_ = cursor.Close(limit)
	}()
	next := func() bool {
		if cursor.RemainingBatchLength() > 0 { // nothing is asked for
			return cursor.Next(ctx)
		}
		limit, cancel := pace(ctx)
		defer cancel()
		return cursor.Next(limit)
	}
	for next() {
		if err := take(cursor.Current); err != nil {
			return err
		}
	}
	return cursor.Err()
}

// find reads all documents that match and were not dropped.
func find[T any](ctx context.Context, in *mongo.Collection, filter bson.D, opts ...options.Lister[options.FindOptions]) (documents []T, err error) {
	err = each(ctx, in, filter, func(current bson.Raw) error {
		if isDropped(current) {
			return nil
		}
		var document T
		if raw, ok := any(&document).(*bson.Raw); ok {
			*raw = bytes.Clone(current)
		} else if err := bson.Unmarshal(current, &document); err != nil {
			return unreadable(in, current, err)
		}
		documents = append(documents, document)
		return nil
	}, opts...)
	if err != nil {
		return nil, err
	}
	return documents, nil
}

func unreadable(in *mongo.Collection, document bson.Raw, err error) error {
	id, _ := document.Lookup("_id").StringValueOK()
	return &DocumentError{Collection: in.Name(), ID: id, Err: err}
}

// stored is a document that becomes a T of the engine.
type stored[T any] interface{ value() (T, error) }

// list reads all documents that match, as what they are in the engine.
func list[D stored[T], T any](ctx context.Context, in *mongo.Collection, filter bson.D, opts ...options.Lister[options.FindOptions]) ([]T, error) {
	documents, err := find[D](ctx, in, filter, opts...)
	if err != nil {
		return nil, err
	}
	return values[D, T](in, documents)
}

func values[D stored[T], T any](in *mongo.Collection, documents []D) ([]T, error) {
	if len(documents) == 0 {
		return nil, nil
	}
	result := make([]T, len(documents))
	for i, document := range documents {
		value, err := document.value()
		if err != nil {
			return nil, &DocumentError{Collection: in.Name(), ID: idOf(document), Err: err}
		}
		result[i] = value
	}
	return result, nil
}

func idOf(document any) string {
	raw, err := bson.Marshal(document)
	if err != nil {
		return ""
	}
	id, _ := bson.Raw(raw).Lookup("_id").StringValueOK()
	return id
}

// listAmong is list for a condition on many values of one field, read some at a time: ids, or uids of jobs or DAGs.
func listAmong[D stored[T], T any](ctx context.Context, in *mongo.Collection, field string, among_ []string, and bson.D, atOnce int) (all []T, err error) {
	for chunk := range slices.Chunk(among_, atOnce) {
		condition := append(among(field, chunk), and...)
		if byShard(in) {
			condition = append(condition, inShardsOf(chunk)...)
		}
		some, err := list[D, T](ctx, in, condition)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

// one reads the document that matches; engine.ErrNotFound if there is none.
func one[D stored[T], T any](ctx context.Context, in *mongo.Collection, filter bson.D) (value T, err error) {
	raw, err := in.FindOne(ctx, filter).Raw()
	if errors.Is(err, mongo.ErrNoDocuments) || err == nil && isDropped(raw) {
		return value, engine.ErrNotFound
	}
	if err != nil {
		return value, err
	}
	return decode[D, T](in, raw)
}

func decode[D stored[T], T any](in *mongo.Collection, raw bson.Raw) (value T, err error) {
	var document D
	if err := bson.Unmarshal(raw, &document); err != nil {
		return value, unreadable(in, raw, err)
	}
	if value, err = document.value(); err != nil {
		return value, unreadable(in, raw, err)
	}
	return value, nil
}

// pageSize is the number of items that a caller gets.
func pageSize(limit int) int {
	if limit <= 0 {
		return 100
	}
	return min(limit, 1000)
}
