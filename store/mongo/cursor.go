package mongo

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/tidewheel/tidewheel/engine"
)

// A cursor names the last item of a page by what the list is ordered by, so that a page costs the same however deep
// it lies, and stays right while items come and go. It is opaque to callers.

// position is a place in a list that is ordered by an instant and then an id.
type position struct {
	at bson.DateTime
	id string
}

func (p position) cursor() string {
	return encodeCursor(strconv.FormatInt(int64(p.at), 10) + "." + p.id)
}

// parsePosition reads what cursor gives; nil for the beginning.
func parsePosition(cursor string) (*position, error) {
	if cursor == "" {
		return nil, nil
	}
	text, err := decodeCursor(cursor)
	if err != nil {
		return nil, err
	}
	millis, id, ok := strings.Cut(text, ".")
	at, err := strconv.ParseInt(millis, 10, 64)
	if !ok || err != nil || id == "" {
		return nil, fmt.Errorf("%w: %q", engine.ErrCursor, cursor)
	}
	return &position{bson.DateTime(at), id}, nil
}

// parsePlace reads a cursor of a list that others page, too, and whose places they name by engine.Cursor; nil for the
// beginning.
func parsePlace(kind, cursor string) (*position, error) {
	if place, given, err := engine.DecodeCursor(kind, cursor); err == nil && given {
		return &position{date(place.At), place.ID}, nil
	}
	return parsePosition(cursor)
}

func encodeCursor(text string) string {
	return base64.RawURLEncoding.EncodeToString([]byte("1." + text))
}

func decodeCursor(cursor string) (string, error) {
	data, err := base64.RawURLEncoding.DecodeString(cursor)
	text, ok := strings.CutPrefix(string(data), "1.")
	if err != nil || !ok {
		return "", fmt.Errorf("%w: %q", engine.ErrCursor, cursor)
	}
	return text, nil
}

// newestFirst is the condition and the order of a list by field, newest first, from a position on.
func newestFirst(field string, since, until time.Time, after *position) (condition, order bson.D) {
	var bounds bson.D
	if !since.IsZero() {
		bounds = append(bounds, bson.E{Key: "$gte", Value: date(since)})
	}
	if !until.IsZero() {
		bounds = append(bounds, bson.E{Key: "$lt", Value: date(until)})
	}
	if after != nil {
		// The bound is what an index understands; the alternative only leaves out the items of the same instant that
		// were given before.
		bounds = append(bounds, bson.E{Key: "$lte", Value: after.at})
		condition = bson.D{{Key: "$or", Value: bson.A{
			bson.D{{Key: field, Value: bson.D{{Key: "$lt", Value: after.at}}}},
			bson.D{{Key: "_id", Value: bson.D{{Key: "$lt", Value: after.id}}}},
		}}}
	}
	if bounds != nil {
		condition = append(bson.D{{Key: field, Value: bounds}}, condition...)
	}
	return condition, descending(field, "_id")
}

// cut returns the first limit of the items, and the last of these if there are more.
func cut[T any](items []T, limit int) (page []T, last *T) {
	if len(items) <= limit {
		return items, nil
	}
	return items[:limit], &items[limit-1]
}
