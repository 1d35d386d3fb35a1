package engine

import (
	"strings"

	"github.com/256dpi/lungo/bsonkit"
	"github.com/tidwall/btree"
	"go.mongodb.org/mongo-driver/bson"
)

// expression computes a value from a document; bsonkit.Missing if there is none.
type expression func(bsonkit.Doc) any

// newExpression reads "$path", a constant, or a document of them.
func newExpression(value any) (expression, *Error) {
	switch value := value.(type) {
	case string:
		if strings.HasPrefix(value, "$$") {
			return nil, Errorf(CommandNotSupported, "variable %s is not supported by this server", value)
		}
		if path, ok := strings.CutPrefix(value, "$"); ok {
			return func(document bsonkit.Doc) any { return bsonkit.Get(document, path) }, nil
		}
	case bson.A:
		return nil, Errorf(CommandNotSupported, "array expressions are not supported by this server")
	case bson.D:
		fields := make([]expression, len(value))
		for i, element := range value {
			if isOperator(element.Key) {
				return nil, Errorf(CommandNotSupported, "expression operator %s is not supported by this server", element.Key)
			}
			field, err := newExpression(element.Value)
			if err != nil {
				return nil, err
			}
			fields[i] = field
		}
		return func(document bsonkit.Doc) any {
			result := bson.D{}
			for i, element := range value {
				if computed := fields[i](document); computed != bsonkit.Missing {
					result = append(result, bson.E{Key: element.Key, Value: computed})
				}
			}
			return result
		}, nil
	}
	return func(bsonkit.Doc) any { return value }, nil
}

// accumulators fold one more value into a group's; the first value comes with state nil.
var accumulators = map[string]func(state, value any, first bool) any{
	"$sum": func(state, value any, first bool) any {
		if first {
			state = int32(0)
		}
		if class, _ := bsonkit.Inspect(value); class != bsonkit.Number {
			return state
		}
		return bsonkit.Add(state, value)
	},
	"$min": func(state, value any, _ bool) any {
		if isNull(value) || (!isNull(state) && bsonkit.Compare(state, value) <= 0) {
			return state
		}
		return value
	},
	"$max": func(state, value any, _ bool) any {
		if isNull(value) || (!isNull(state) && bsonkit.Compare(state, value) >= 0) {
			return state
		}
		return value
	},
	"$first": func(state, value any, first bool) any {
		if first {
			return value
		}
		return state
	},
	"$last": func(_, value any, _ bool) any { return value },
	"$push": func(state, value any, first bool) any {
		if first {
			state = bson.A{}
		}
		if value == bsonkit.Missing {
			return state
		}
		return append(state.(bson.A), value)
	},
}

type field struct {
	name  string
	fold  func(state, value any, first bool) any
	value expression
}

type group struct {
	id     any
	states []any
}

// groupStage makes $group with $sum, $min, $max, $first, $last and $push over fields and constants.
func groupStage(document bson.D) (stage, *Error) {
	idValue, ok := Field(document, "_id")
	if !ok {
		return nil, Errorf(BadValue, "a group specification must include an _id")
	}
	id, err := newExpression(idValue)
	if err != nil {
		return nil, err
	}
	var fields []field
	for _, element := range document {
		if element.Key == "_id" {
			continue
		}
		accumulator, ok := element.Value.(bson.D)
		if !ok || len(accumulator) != 1 {
			return nil, Errorf(BadValue, "The field '%s' must be an accumulator object", element.Key)
		}
		fold := accumulators[accumulator[0].Key]
		if fold == nil {
			return nil, Errorf(CommandNotSupported, "group operator %s is not supported by this server", accumulator[0].Key)
		}
		value, err := newExpression(accumulator[0].Value)
		if err != nil {
			return nil, err
		}
		fields = append(fields, field{element.Key, fold, value})
	}
	return func(documents []bson.D) ([]bson.D, *Error) { return groupBy(documents, id, fields), nil }, nil
}

func groupBy(documents []bson.D, id expression, fields []field) []bson.D {
	groups := btree.NewBTreeGOptions(func(left, right *group) bool {
		return bsonkit.Compare(left.id, right.id) < 0
	}, btree.Options{NoLocks: true})
	for i := range documents {
		key := id(&documents[i])
		if key == bsonkit.Missing {
			key = nil
		}
		at, known := groups.Get(&group{id: key})
		if !known {
			at = &group{id: key, states: make([]any, len(fields))}
			groups.Set(at)
		}
		for j, field := range fields {
			at.states[j] = field.fold(at.states[j], field.value(&documents[i]), !known)
		}
	}
	results := make([]bson.D, 0, groups.Len())
	groups.Scan(func(at *group) bool {
		result := bson.D{{Key: "_id", Value: at.id}}
		for j, field := range fields {
			value := at.states[j]
			if value == bsonkit.Missing {
				value = nil
			}
			result = append(result, bson.E{Key: field.name, Value: value})
		}
		results = append(results, result)
		return true
	})
	return results
}

// Distinct returns the different values at a path, arrays taken apart.
func (c *Collection) Distinct(path string, filter *Filter) (bson.A, *Error) {
	documents, _, err := c.Find(filter, nil, 0, 0)
	if err != nil {
		return nil, err
	}
	list := make(bsonkit.List, len(documents))
	for i := range documents {
		list[i] = &documents[i]
	}
	return bsonkit.Collect(list, path, true, true, true, true), nil
}
