package engine

import (
	"fmt"
	"strings"
	"time"

	"github.com/256dpi/lungo/bsonkit"
	"github.com/256dpi/lungo/mongokit"
	"github.com/tidwall/btree"
	"go.mongodb.org/mongo-driver/bson"
)

// IndexSpec describes an index.
type IndexSpec struct {
	Name    string
	Key     bson.D
	Unique  bool
	Partial bson.D // nil: every document is in the index
	// ExpireAfter removes a document this long after the date in its field; nil: never.
	ExpireAfter *time.Duration
}

// record is one stored document. Its address identifies it in lungo's indexes, so the document changes in place;
// the document's own content is never changed, only replaced, so that a reader may keep it.
type record struct {
	document bson.D
	sequence uint64 // insertion order, which is also the natural order
}

// entry is one key of a record in an index. An array under an indexed path makes several.
type entry struct {
	keys   []any
	record *record
	// side places a search position (an entry without record and perhaps with fewer keys) before (-1) or after (+1)
	// all entries that begin with its keys.
	side int
}

// index is lungo's index, which decides what is unique, and an ordered tree beside it, since lungo's can be listed
// but not searched.
type index struct {
	spec    IndexSpec
	columns []bsonkit.Column
	rule    *mongokit.Index // of unique indexes only
	tree    *btree.BTreeG[entry]
	// multikey becomes true with the first array under an indexed path: then a document may appear several times
	// and neither ranges nor order can be read from the tree.
	multikey bool
}

func newIndex(spec IndexSpec) (*index, *Error) {
	columns, err := checkSpec(spec)
	if err != nil {
		return nil, err
	}
	ix := &index{spec: spec, columns: columns}
	ix.tree = btree.NewBTreeGOptions(ix.less, btree.Options{NoLocks: true})
	if spec.Unique {
		config := mongokit.IndexConfig{Key: &spec.Key, Unique: true}
		if spec.Partial != nil {
			config.Partial = &spec.Partial
		}
		rule, err := mongokit.CreateIndex(config)
		if err != nil {
			return nil, Errorf(CannotCreateIndex, "%s", err)
		}
		ix.rule = rule
	}
	return ix, nil
}

func checkSpec(spec IndexSpec) ([]bsonkit.Column, *Error) {
	if len(spec.Key) == 0 {
		return nil, Errorf(CannotCreateIndex, "Index keys cannot be an empty object")
	}
	for _, column := range spec.Key {
		if kind, ok := column.Value.(string); ok {
			return nil, Errorf(CannotCreateIndex, "%s indexes are not supported by this server", kind)
		}
		if strings.Contains(column.Key, "$") {
			return nil, Errorf(CannotCreateIndex, "Index key contains an illegal field name: %s", column.Key)
		}
	}
	columns, err := mongokit.Columns(&spec.Key)
	if err != nil {
		return nil, Errorf(CannotCreateIndex, "%s", err)
	}
	if spec.ExpireAfter != nil && len(spec.Key) != 1 {
		return nil, Errorf(CannotCreateIndex, "TTL indexes are single-field indexes, compound indexes do not support TTL")
	}
	if spec.Partial != nil {
		if _, err := NewFilter(spec.Partial); err != nil {
			return nil, err
		}
		if err := checkPartial(spec.Partial); err != nil {
			return nil, err
		}
	}
	return columns, nil
}

// checkPartial allows the operators that MongoDB allows in a partial index; notably no $ne and no $exists: false.
func checkPartial(filter bson.D) *Error {
	refused := func(what string) *Error {
		return Errorf(CannotCreateIndex, "Expression not supported in partial index: %s", what)
	}
	for _, element := range filter {
		if element.Key == "$and" || element.Key == "$or" {
			for _, branch := range element.Value.(bson.A) {
				if err := checkPartial(branch.(bson.D)); err != nil {
					return err
				}
			}
			continue
		}
		if isOperator(element.Key) {
			return refused(element.Key)
		}
		operators, ok := isExpression(element.Value)
		if !ok {
			continue
		}
		for _, operator := range operators {
			switch operator.Key {
			case "$eq", "$gt", "$gte", "$lt", "$lte", "$type", "$in":
			case "$exists":
				if operator.Value != true {
					return refused("$exists: false")
				}
			default:
				return refused(operator.Key)
			}
		}
	}
	return nil
}

// covers reports whether two specs have the same keys of the same documents, of which there may be one index only.
func (s IndexSpec) covers(other IndexSpec) bool {
	return bsonkit.Compare(s.Key, other.Key) == 0 && (s.Partial == nil) == (other.Partial == nil) &&
		(s.Partial == nil || bsonkit.Compare(s.Partial, other.Partial) == 0)
}

// same reports whether two specs describe the same index apart from the name.
func (s IndexSpec) same(other IndexSpec) bool {
	return s.covers(other) && s.Unique == other.Unique && (s.ExpireAfter == nil) == (other.ExpireAfter == nil) &&
		(s.ExpireAfter == nil || *s.ExpireAfter == *other.ExpireAfter)
}

func (ix *index) less(left, right entry) bool {
	for i := range min(len(left.keys), len(right.keys)) {
		order := compareKey(left.keys[i], right.keys[i])
		if ix.columns[i].Reverse {
			order = -order
		}
		if order != 0 {
			return order < 0
		}
	}
	switch {
	case left.record == nil:
		return left.side < 0
	case right.record == nil:
		return right.side > 0
	}
	return left.record.sequence < right.record.sequence
}

// member reports whether a document belongs into the index.
func (ix *index) member(document bson.D) (bool, *Error) {
	if ix.spec.Partial == nil {
		return true, nil
	}
	ok, err := mongokit.Match(&document, &ix.spec.Partial)
	if err != nil {
		return false, Errorf(BadValue, "%s", err)
	}
	return ok, nil
}

// keys returns the keys under which a document stands in the index; none if it is not in it.
func (ix *index) keys(document bson.D) ([][]any, *Error) {
	member, err := ix.member(document)
	if err != nil || !member {
		return nil, err
	}
	tuples := [][]any{make([]any, 0, len(ix.columns))}
	arrays := 0
	for _, column := range ix.columns {
		value, _ := bsonkit.All(&document, column.Path, true, true)
		array, ok := value.(bson.A)
		if !ok {
			for i := range tuples {
				tuples[i] = append(tuples[i], value)
			}
			continue
		}
		if arrays++; arrays > 1 {
			return nil, Errorf(CannotIndexParallelArrays, "cannot index parallel arrays in index %s", ix.spec.Name)
		}
		if len(array) == 0 {
			array = bson.A{bson.A{}}
		}
		multiplied := make([][]any, 0, len(array))
		for _, tuple := range tuples {
			for _, item := range array {
				multiplied = append(multiplied, append(append(make([]any, 0, len(ix.columns)), tuple...), item))
			}
		}
		tuples = multiplied
	}
	if arrays > 0 {
		ix.multikey = true
	}
	return tuples, nil
}

func (ix *index) add(record *record, tuples [][]any) {
	for _, tuple := range tuples {
		ix.tree.Set(entry{keys: tuple, record: record})
	}
}

func (ix *index) remove(record *record, tuples [][]any) {
	for _, tuple := range tuples {
		ix.tree.Delete(entry{keys: tuple, record: record})
	}
}

// claim lets lungo decide whether the record may be in a unique index.
func (ix *index) claim(record *record) (bool, *Error) {
	if ix.rule == nil {
		return true, nil
	}
	ok, err := ix.rule.Add(&record.document)
	if err != nil {
		return false, Errorf(InternalError, "%s", err)
	}
	return ok, nil
}

// release undoes claim. It must see the document that claim saw.
func (ix *index) release(record *record) {
	if ix.rule == nil {
		return
	}
	if _, err := ix.rule.Remove(&record.document); err != nil {
		panic(fmt.Sprintf("engine: release of a claimed record: %s", err))
	}
}

// duplicate makes the error that MongoDB gives when the document is refused by this unique index.
func (ix *index) duplicate(namespace string, document bson.D) *Error {
	value := make(bson.D, 0, len(ix.columns))
	shown := make([]string, 0, len(ix.columns))
	for _, column := range ix.columns {
		key := bsonkit.Get(&document, column.Path)
		if key == bsonkit.Missing {
			key = nil
		}
		value = append(value, bson.E{Key: column.Path, Value: key})
		text, err := bson.MarshalExtJSON(bson.D{{Key: column.Path, Value: key}}, false, false)
		if err == nil {
			shown = append(shown, strings.TrimSuffix(strings.TrimPrefix(string(text), "{"), "}"))
		}
	}
	failure := Errorf(DuplicateKey, "E11000 duplicate key error collection: %s index: %s dup key: { %s }",
		namespace, ix.spec.Name, strings.Join(shown, ", "))
	failure.KeyPattern, failure.KeyValue = ix.spec.Key, value
	return failure
}

func sameKeys(left, right [][]any) bool {
	if len(left) != len(right) {
		return false
	}
	for i := range left {
		for j := range left[i] {
			if bsonkit.Compare(left[i][j], right[i][j]) != 0 {
				return false
			}
		}
	}
	return true
}
