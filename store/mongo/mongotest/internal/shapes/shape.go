package shapes

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Kind is how a condition bounds a field.
type Kind string

// The kinds of conditions that indexes know how to follow.
const (
	Equal  Kind = "="
	Among  Kind = "in"
	Range  Kind = ".."
	Exists Kind = "exists"
	// Other narrows no walk over an index.
	Other Kind = "other than"
)

// Condition is what a filter asks of one field.
type Condition struct {
	Field string
	Kind  Kind
	Value string // of an equality with true or false, which partial indexes look at
}

// Key is one field of an index or of an order.
type Key struct {
	Field      string
	Descending bool
}

// Shape is a command without its values.
type Shape struct {
	Operation  string // find, count, update or delete
	Collection string
	Conditions []Condition   // by field
	Either     [][]Condition // the branches of an $or
	Sort       []Key
	Limited    bool // to some documents
}

func (c Condition) String() string {
	return strings.TrimSpace(c.Field + " " + string(c.Kind) + " " + c.Value)
}

// String names a shape: the same for two commands that differ in values only.
func (s *Shape) String() string {
	list := func(conditions []Condition) string {
		var parts []string
		for _, c := range conditions {
			parts = append(parts, c.String())
		}
		return strings.Join(parts, ", ")
	}
	text := s.Operation + " " + s.Collection + " {" + list(s.Conditions) + "}"
	for _, branch := range s.Either {
		text += " or {" + list(branch) + "}"
	}
	if len(s.Sort) > 0 {
		text += " by"
		for _, key := range s.Sort {
			text += " " + key.String()
		}
	}
	if s.Limited {
		text += " limited"
	}
	return text
}

func (k Key) String() string {
	if k.Descending {
		return "-" + k.Field
	}
	return k.Field
}

// Of returns the shapes of the queries in a command: none of an insert, one of each write of a bulk. What it does not
// understand, and what no index can serve (a skip of documents, a count of everything), is an error.
func Of(command bson.Raw) ([]Shape, error) {
	elements, err := command.Elements()
	if err != nil || len(elements) == 0 {
		return nil, fmt.Errorf("no command: %w", err)
	}
	name := elements[0].Key()
	collection, _ := elements[0].Value().StringValueOK()
	for _, bad := range []string{"skip", "hint", "min", "max"} {
		if value, err := command.LookupErr(bad); err == nil && (bad != "skip" || !keysOnly(command) && !ofOne(command)) {
			return nil, fmt.Errorf("%s of %s has %s: %s", name, collection, bad, value)
		}
	}
	shape := Shape{Operation: name, Collection: collection}
	switch name {
	case "insert":
		return nil, nil
	case "find":
		shape.Limited = positive(command, "limit")
		if shape.Sort, err = keysOf(command.Lookup("sort")); err != nil {
			return nil, err
		}
		return shape.with(command.Lookup("filter"))
	case "aggregate":
		return shape.pipeline(command)
	case "update", "delete":
		list, _ := command.Lookup(name + "s").ArrayOK()
		writes, err := list.Values()
		if err != nil {
			return nil, fmt.Errorf("%s of %s: %w", name, collection, err)
		}
		var all []Shape
		for _, write := range writes {
			document, _ := write.DocumentOK()
			some, err := shape.with(document.Lookup("q"))
			if err != nil {
				return nil, err
			}
			all = append(all, some...)
		}
		return all, nil
	}
	return nil, fmt.Errorf("%s of %s: this command is not sent", name, collection)
}

// pipeline understands how the driver counts: a match, a limit, and a group. Without the limit it would look at everything.
func (s Shape) pipeline(command bson.Raw) ([]Shape, error) {
	list, _ := command.Lookup("pipeline").ArrayOK()
	stages, err := list.Values()
	if err != nil {
		return nil, err
	}
	s.Operation = "count"
	var filter bson.RawValue
	for _, stage := range stages {
		document, _ := stage.DocumentOK()
		elements, err := document.Elements()
		if err != nil || len(elements) != 1 {
			return nil, fmt.Errorf("aggregate of %s: a stage of %d parts: %w", s.Collection, len(elements), err)
		}
		switch elements[0].Key() {
		case "$match":
			filter = elements[0].Value()
		case "$limit":
			s.Limited = true
		case "$group":
		default:
			return nil, fmt.Errorf("aggregate of %s: stage %s is not known here", s.Collection, elements[0].Key())
		}
	}
	if !s.Limited {
		return nil, fmt.Errorf("count of %s without a limit", s.Collection)
	}
	return s.with(filter)
}

func positive(command bson.Raw, field string) bool {
	value, ok := command.Lookup(field).AsInt64OK()
	return ok && value > 0
}

// with adds the conditions of a filter.
func (s Shape) with(filter bson.RawValue) ([]Shape, error) {
	var err error
	s.Conditions, s.Either, err = conditions(filter)
	if err != nil {
		return nil, fmt.Errorf("%s of %s: %w", s.Operation, s.Collection, err)
	}
	return []Shape{s}, nil
}

func conditions(filter bson.RawValue) (found []Condition, either [][]Condition, err error) {
	if filter.IsZero() {
		return nil, nil, nil
	}
	document, ok := filter.DocumentOK()
	if !ok {
		return nil, nil, fmt.Errorf("the filter is %s", filter)
	}
	elements, err := document.Elements()
	if err != nil {
		return nil, nil, err
	}
	for _, element := range elements {
		if element.Key() == "$or" {
			list, _ := element.Value().ArrayOK()
			branches, err := list.Values()
			if err != nil || either != nil {
				return nil, nil, fmt.Errorf("more than one $or: %w", err)
			}
			for _, branch := range branches {
				some, nested, err := conditions(branch)
				if err != nil || nested != nil {
					return nil, nil, fmt.Errorf("an $or in an $or: %w", err)
				}
				either = append(either, some)
			}
			continue
		}
		one, err := condition(element.Key(), element.Value())
		if err != nil {
			return nil, nil, err
		}
		found = append(found, one)
	}
	slices.SortFunc(found, func(a, b Condition) int { return cmp.Compare(a.String(), b.String()) })
	// A field that two conditions bound is bounded by one as far as an index is concerned.
	return slices.Compact(found), slices.CompactFunc(either, slices.Equal), nil
}

func condition(field string, value bson.RawValue) (Condition, error) {
	one := Condition{Field: field, Kind: Equal}
	if truth, ok := value.BooleanOK(); ok {
		one.Value = fmt.Sprint(truth)
		return one, nil
	}
	document, ok := value.DocumentOK()
	if !ok {
		return one, nil
	}
	elements, err := document.Elements()
	if err != nil {
		return one, err
	}
	for _, element := range elements {
		switch element.Key() {
		case "$in":
			one.Kind = Among
		case "$gt", "$gte", "$lt", "$lte":
			one.Kind = Range
		case "$exists":
			one.Kind = Exists
		case "$ne", "$not", "$nin":
			one.Kind = Other
		default:
			return one, fmt.Errorf("%s of %s is not known here", element.Key(), field)
		}
	}
	return one, nil
}

func keysOf(order bson.RawValue) (keys []Key, err error) {
	if order.IsZero() {
		return nil, nil
	}
	document, _ := order.DocumentOK()
	elements, err := document.Elements()
	for _, element := range elements {
		direction, _ := element.Value().AsInt64OK()
		keys = append(keys, Key{element.Key(), direction < 0})
	}
	return keys, err
}

// ofOne reports whether a find is for what one job or one DAG has: what it passes over is as much as their user asked to keep.
func ofOne(command bson.Raw) bool {
	for _, uid := range []string{"job_uid", "dag_uid"} {
		if value, err := command.LookupErr("filter", uid); err == nil && value.Type == bson.TypeString {
			return true
		}
	}
	return false
}

// keysOnly reports whether a find asks for no more than fields that the index has which gives the order.
func keysOnly(command bson.Raw) bool {
	id, err := command.LookupErr("projection", "_id")
	return err == nil && id.AsInt64() == 0
}
