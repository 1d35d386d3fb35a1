package engine

import (
	"bytes"
	"math"
	"strings"

	"github.com/256dpi/lungo/bsonkit"
	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/bson/primitive"
)

// MaxDocumentBytes is the size above which a document is refused.
const MaxDocumentBytes = 16 * 1024 * 1024

// Field returns the top-level field of a document.
func Field(document bson.D, name string) (any, bool) {
	for _, element := range document {
		if element.Key == name {
			return element.Value, true
		}
	}
	return nil, false
}

// Supported refuses values that lungo cannot compare (MinKey, MaxKey, JavaScript, symbols and other relics).
func Supported(value any) *Error {
	switch value := value.(type) {
	case bson.D:
		for _, element := range value {
			if err := Supported(element.Value); err != nil {
				return err
			}
		}
	case bson.A:
		for _, item := range value {
			if err := Supported(item); err != nil {
				return err
			}
		}
	case nil, primitive.Null, int32, int64, float64, primitive.Decimal128, string, primitive.Binary,
		primitive.ObjectID, bool, primitive.DateTime, primitive.Timestamp, primitive.Regex:
	default:
		return Errorf(BadValue, "values of type %T are not supported by this server", value)
	}
	return nil
}

// identical reports whether two values would be the same bytes, which decides what counts as modified.
func identical(left, right any) bool {
	switch left := left.(type) {
	case bson.D:
		right, ok := right.(bson.D)
		if !ok || len(left) != len(right) {
			return false
		}
		for i := range left {
			if left[i].Key != right[i].Key || !identical(left[i].Value, right[i].Value) {
				return false
			}
		}
		return true
	case bson.A:
		right, ok := right.(bson.A)
		if !ok || len(left) != len(right) {
			return false
		}
		for i := range left {
			if !identical(left[i], right[i]) {
				return false
			}
		}
		return true
	case primitive.Binary:
		right, ok := right.(primitive.Binary)
		return ok && left.Subtype == right.Subtype && bytes.Equal(left.Data, right.Data)
	case float64:
		right, ok := right.(float64)
		return ok && math.Float64bits(left) == math.Float64bits(right)
	case nil, primitive.Null:
		switch right.(type) {
		case nil, primitive.Null:
			return true
		}
		return false
	default:
		switch right.(type) {
		case bson.D, bson.A, primitive.Binary:
			return false
		}
		return left == right
	}
}

// idFirst moves _id to the front, where MongoDB keeps it.
func idFirst(document bson.D) bson.D {
	for i, element := range document {
		if element.Key != "_id" || i == 0 {
			continue
		}
		moved := make(bson.D, 0, len(document))
		moved = append(moved, element)
		moved = append(moved, document[:i]...)
		return append(moved, document[i+1:]...)
	}
	return document
}

// checkID refuses what MongoDB refuses as _id.
func checkID(id any) *Error {
	switch id.(type) {
	case bson.A:
		return Errorf(BadValue, "The '_id' value cannot be of type array")
	case primitive.Regex:
		return Errorf(BadValue, "The '_id' value cannot be of type regex")
	}
	return nil
}

func isOperator(key string) bool { return strings.HasPrefix(key, "$") }

// isExpression reports whether a value is a document of operators, such as {$gt: 1}.
func isExpression(value any) (bson.D, bool) {
	document, ok := value.(bson.D)
	return document, ok && len(document) > 0 && isOperator(document[0].Key)
}

func clone(document bson.D) bson.D { return *bsonkit.Clone(&document) }

// roughSize returns at least half of a value's size in BSON, cheaply.
func roughSize(value any) int {
	switch value := value.(type) {
	case bson.D:
		size := 5
		for _, element := range value {
			size += 2 + len(element.Key) + roughSize(element.Value)
		}
		return size
	case bson.A:
		size := 5
		for _, item := range value {
			size += 3 + roughSize(item)
		}
		return size
	case string:
		return len(value) + 5
	case primitive.Binary:
		return len(value.Data) + 5
	default:
		return 12
	}
}
