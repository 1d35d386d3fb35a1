package engine

import (
	"strings"

	"github.com/256dpi/lungo/bsonkit"
	"github.com/256dpi/lungo/mongokit"
	"go.mongodb.org/mongo-driver/bson"
)

// stage turns documents into documents.
type stage func([]bson.D) ([]bson.D, *Error)

// Aggregate runs a pipeline of $match, $sort, $limit, $skip, $project (inclusion and exclusion), $count and $group;
// any other stage is refused. Leading $match, $sort, $skip and $limit use the indexes.
func (c *Collection) Aggregate(pipeline bson.A) ([]bson.D, *Error) {
	stages := make([]stage, 0, len(pipeline))
	query, sort, skip, limit := bson.D{}, bson.D(nil), 0, 0
	for i, item := range pipeline {
		document, ok := item.(bson.D)
		if !ok || len(document) != 1 {
			return nil, Errorf(FailedToParse, "A pipeline stage specification object must contain exactly one field")
		}
		element := document[0]
		if _, ok := element.Value.(bson.D); !ok && (element.Key == "$match" || element.Key == "$sort") {
			return nil, Errorf(FailedToParse, "the %s stage needs an object", element.Key)
		}
		// What a find can do is left to it, as long as the stages come in a find's order.
		if len(stages) == 0 {
			switch number, _ := count(element.Value); {
			case element.Key == "$match" && i == 0:
				query = element.Value.(bson.D)
				continue
			case element.Key == "$sort" && sort == nil && skip == 0 && limit == 0:
				sort = element.Value.(bson.D)
				continue
			case element.Key == "$skip" && number > 0 && skip == 0 && limit == 0:
				skip = number
				continue
			case element.Key == "$limit" && number > 0 && limit == 0:
				limit = number
				continue
			}
		}
		next, err := newStage(element)
		if err != nil {
			return nil, err
		}
		stages = append(stages, next)
	}
	filter, err := NewFilter(query)
	if err != nil {
		return nil, err
	}
	documents, _, err := c.Find(filter, sort, skip, limit)
	for _, next := range stages {
		if err != nil {
			return nil, err
		}
		documents, err = next(documents)
	}
	return documents, err
}

func newStage(element bson.E) (stage, *Error) {
	document, _ := element.Value.(bson.D)
	switch element.Key {
	case "$match":
		return matchStage(document)
	case "$sort":
		columns, err := mongokit.Columns(&document)
		if err != nil || len(columns) == 0 {
			return nil, Errorf(BadValue, "$sort stage must have at least one sort key with direction 1 or -1")
		}
		return func(documents []bson.D) ([]bson.D, *Error) {
			list := make(bsonkit.List, len(documents))
			for i := range documents {
				list[i] = &documents[i]
			}
			bsonkit.Sort(list, columns)
			sorted := make([]bson.D, len(list))
			for i := range list {
				sorted[i] = *list[i]
			}
			return sorted, nil
		}, nil
	case "$skip", "$limit":
		number, ok := count(element.Value)
		if !ok || (element.Key == "$limit" && number == 0) {
			return nil, Errorf(BadValue, "the %s stage needs a positive number", element.Key)
		}
		return func(documents []bson.D) ([]bson.D, *Error) {
			if element.Key == "$skip" {
				return documents[min(number, len(documents)):], nil
			}
			return documents[:min(number, len(documents))], nil
		}, nil
	case "$project":
		return projectStage(document)
	case "$count":
		name, ok := element.Value.(string)
		if !ok || name == "" || isOperator(name) || strings.Contains(name, ".") {
			return nil, Errorf(BadValue, "the count field must be a non-empty string without $ and dots")
		}
		return func(documents []bson.D) ([]bson.D, *Error) {
			if len(documents) == 0 {
				return nil, nil
			}
			return []bson.D{{{Key: name, Value: int32(len(documents))}}}, nil
		}, nil
	case "$group":
		return groupStage(document)
	}
	return nil, Errorf(CommandNotSupported, "pipeline stage %s is not supported by this server", element.Key)
}

func matchStage(document bson.D) (stage, *Error) {
	filter, err := NewFilter(document)
	if err != nil {
		return nil, err
	}
	return func(documents []bson.D) ([]bson.D, *Error) {
		var kept []bson.D
		for i := range documents {
			matched, err := filter.Match(&documents[i])
			if err != nil {
				return nil, err
			}
			if matched {
				kept = append(kept, documents[i])
			}
		}
		return kept, nil
	}, nil
}

func projectStage(document bson.D) (stage, *Error) {
	if len(document) == 0 {
		return nil, Errorf(BadValue, "$project specification must have at least one field")
	}
	projection, err := NewProjection(document)
	if err != nil {
		return nil, err
	}
	if projection.operators != nil {
		return nil, Errorf(CommandNotSupported, "operators in $project are not supported by this server")
	}
	return func(documents []bson.D) ([]bson.D, *Error) {
		projected := make([]bson.D, len(documents))
		for i, document := range documents {
			var err *Error
			if projected[i], err = projection.Apply(document); err != nil {
				return nil, err
			}
		}
		return projected, nil
	}, nil
}

// count reads a non-negative whole number.
func count(value any) (int, bool) {
	switch value := value.(type) {
	case int32:
		return int(value), value >= 0
	case int64:
		return int(value), value >= 0
	case float64:
		return int(value), value >= 0 && value == float64(int(value))
	}
	return 0, false
}
