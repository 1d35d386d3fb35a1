package engine

import (
	"slices"

	"github.com/256dpi/lungo/bsonkit"
	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/bson/primitive"
)

// edge is a position before or after all values of a type class, for ranges that end with their class.
type edge struct {
	class bsonkit.Class
	after bool
}

// interval is a closed range of keys. It may be wider than what the query allows, never narrower: every document
// that it leads to is matched against the whole query.
type interval struct{ low, high any }

// compareKey orders keys and edges.
func compareKey(left, right any) int {
	leftEdge, leftOK := left.(edge)
	rightEdge, rightOK := right.(edge)
	if !leftOK && !rightOK {
		return bsonkit.Compare(left, right)
	}
	class := func(value any, edge edge, ok bool) bsonkit.Class {
		if ok {
			return edge.class
		}
		class, _ := bsonkit.Inspect(value)
		return class
	}
	place := func(edge edge, ok bool) int {
		switch {
		case !ok:
			return 0
		case edge.after:
			return 1
		}
		return -1
	}
	if order := int(class(left, leftEdge, leftOK)) - int(class(right, rightEdge, rightOK)); order != 0 {
		return order
	}
	return place(leftEdge, leftOK) - place(rightEdge, rightOK)
}

func (i interval) point() bool { return compareKey(i.low, i.high) == 0 }

func (i interval) intersect(other interval) interval {
	if compareKey(other.low, i.low) > 0 {
		i.low = other.low
	}
	if compareKey(other.high, i.high) < 0 {
		i.high = other.high
	}
	return i
}

func (i interval) hull(other interval) interval {
	if compareKey(other.low, i.low) < 0 {
		i.low = other.low
	}
	if compareKey(other.high, i.high) > 0 {
		i.high = other.high
	}
	return i
}

// bounds returns the range that a query allows for a path, if it says anything about it.
func bounds(query bson.D, path string) (interval, bool) {
	var result interval
	found := false
	narrow := func(range_ interval) {
		if found {
			range_ = result.intersect(range_)
		}
		result, found = range_, true
	}
	for _, element := range query {
		switch element.Key {
		case path:
			for _, range_ := range conditionBounds(element.Value) {
				narrow(range_)
			}
		case "$and":
			for _, branch := range element.Value.(bson.A) {
				if range_, ok := bounds(branch.(bson.D), path); ok {
					narrow(range_)
				}
			}
		case "$or":
			var union interval
			every := true
			for i, branch := range element.Value.(bson.A) {
				range_, ok := bounds(branch.(bson.D), path)
				if !ok {
					every = false
					break
				}
				if i > 0 {
					range_ = union.hull(range_)
				}
				union = range_
			}
			if every {
				narrow(union)
			}
		}
	}
	return result, found
}

func conditionBounds(value any) []interval {
	operators, ok := isExpression(value)
	if !ok {
		operators = bson.D{{Key: "$eq", Value: value}}
	}
	var ranges []interval
	for _, operator := range operators {
		if operator.Key == "$in" {
			if points := inPoints(operator.Value); points != nil {
				union := interval{points[0], points[0]}
				for _, point := range points[1:] {
					union = union.hull(interval{point, point})
				}
				ranges = append(ranges, union)
			}
			continue
		}
		if !searchable(operator.Value) {
			continue
		}
		class, _ := bsonkit.Inspect(operator.Value)
		switch operator.Key {
		case "$eq":
			ranges = append(ranges, interval{operator.Value, operator.Value})
		case "$gt", "$gte":
			ranges = append(ranges, interval{operator.Value, edge{class, true}})
		case "$lt", "$lte":
			ranges = append(ranges, interval{edge{class, false}, operator.Value})
		}
	}
	return ranges
}

// equality returns the value that a query demands of a path at its top.
func equality(query bson.D, path string) (interval, bool) {
	for _, element := range query {
		if element.Key != path || !searchable(element.Value) {
			continue
		}
		return interval{element.Value, element.Value}, true
	}
	return interval{}, false
}

// searchable reports whether a value stands in an index as itself.
func searchable(value any) bool {
	switch value.(type) {
	case bson.A, primitive.Regex:
		return false
	case bson.D:
		_, expression := isExpression(value)
		return !expression
	}
	return true
}

func inPoints(value any) []any {
	array, ok := value.(bson.A)
	if !ok || len(array) == 0 {
		return nil
	}
	for _, item := range array {
		if !searchable(item) {
			return nil
		}
	}
	return array
}

// membership returns the values of an $in on a path at the top of a query.
func membership(query bson.D, path string) []any {
	for _, element := range query {
		if element.Key == "$and" {
			for _, branch := range element.Value.(bson.A) {
				if points := membership(branch.(bson.D), path); points != nil {
					return points
				}
			}
		}
		if element.Key != path {
			continue
		}
		if operators, ok := isExpression(element.Value); ok {
			for _, operator := range operators {
				if operator.Key == "$in" {
					return inPoints(operator.Value)
				}
			}
		}
	}
	return nil
}

// scan is one walk over an index: the entries whose first keys equal prefix and whose next key is inside the range.
type scan struct {
	prefix []any
	next   *interval
}

// plan is how a query is answered: by walks over an index, or (index nil) over all documents.
type plan struct {
	index   *index
	scans   []scan
	reverse bool
	sorted  bool // the walk yields the asked order
	score   int
}

// plan chooses the index that narrows the query most.
func (c *Collection) plan(query, sort bson.D) plan {
	best := plan{sorted: len(sort) == 0}
	for _, ix := range c.indexes {
		if ix.spec.Partial != nil && !implies(query, ix.spec.Partial) {
			continue
		}
		if candidate := planIndex(ix, query, sort); candidate.score > best.score {
			best = candidate
		}
	}
	return best
}

func planIndex(ix *index, query, sort bson.D) plan {
	candidate := plan{index: ix}
	prefix := make([]any, 0, len(ix.columns))
	fixed := map[string]bool{}
	for _, column := range ix.columns {
		range_, ok := bounds(query, column.Path)
		if ix.multikey {
			// One document has several keys, and each condition may be met by another one: only a plain equality holds.
			range_, ok = equality(query, column.Path)
		}
		if ok && range_.point() {
			prefix = append(prefix, range_.low)
			fixed[column.Path] = true
			candidate.score += 10
			continue
		}
		if points := membership(query, column.Path); points != nil && !ix.multikey {
			for _, point := range distinct(points) {
				candidate.scans = append(candidate.scans, scan{prefix: append(append([]any{}, prefix...), point)})
			}
			candidate.score += 8
		} else if ok && !ix.multikey {
			candidate.scans = []scan{{prefix: prefix, next: &range_}}
			candidate.score += 5
		}
		break
	}
	if candidate.scans == nil {
		candidate.scans = []scan{{prefix: prefix}}
	}
	if len(sort) == 0 {
		candidate.sorted = true
		return candidate
	}
	if len(candidate.scans) == 1 && !ix.multikey {
		candidate.sorted, candidate.reverse = servesSort(ix.columns, fixed, sort)
		if candidate.sorted {
			candidate.score += 4
		}
	}
	return candidate
}

// servesSort reports whether walking the index yields the order, and whether backwards. Columns that the query fixes to
// one value do not matter to the order.
func servesSort(columns []bsonkit.Column, fixed map[string]bool, sort bson.D) (serves, reverse bool) {
	at, directions := 0, 0
	for _, wanted := range sort {
		if fixed[wanted.Key] {
			continue
		}
		for at < len(columns) && fixed[columns[at].Path] {
			at++
		}
		if at == len(columns) || columns[at].Path != wanted.Key {
			return false, false
		}
		against := columns[at].Reverse != (bsonkit.Compare(wanted.Value, int32(0)) < 0)
		if directions > 0 && against != reverse {
			return false, false
		}
		reverse = against
		directions++
		at++
	}
	return true, reverse
}

// implies reports whether the query contains each condition of a partial index word for word, or, for one that a field
// exists, that the field has a value.
func implies(query, partial bson.D) bool {
	for _, wanted := range partial {
		found := false
		for _, element := range query {
			if element.Key != wanted.Key {
				continue
			}
			found = bsonkit.Compare(element.Value, wanted.Value) == 0 ||
				exists(wanted.Value) && (searchable(element.Value) && !isNull(element.Value) || bounded(element.Value))
			if found {
				break
			}
		}
		if !found {
			return false
		}
	}
	return true
}

// exists reports whether a condition is that there is a value, and nothing more.
func exists(condition any) bool {
	operators, ok := isExpression(condition)
	return ok && len(operators) == 1 && operators[0].Key == "$exists" && operators[0].Value == true
}

// bounded reports whether a condition compares with values, which nothing that is missing is below or above.
func bounded(condition any) bool {
	operators, ok := isExpression(condition)
	return ok && len(operators) > 0 && !slices.ContainsFunc(operators, func(operator bson.E) bool {
		return !slices.Contains([]string{"$lt", "$lte", "$gt", "$gte"}, operator.Key) || isNull(operator.Value)
	})
}

func isNull(value any) bool {
	class, _ := bsonkit.Inspect(value)
	return class == bsonkit.Null
}

func distinct(values []any) []any {
	result := values[:0:0]
	for _, value := range sortedValues(values) {
		if len(result) == 0 || bsonkit.Compare(result[len(result)-1], value) != 0 {
			result = append(result, value)
		}
	}
	return result
}
