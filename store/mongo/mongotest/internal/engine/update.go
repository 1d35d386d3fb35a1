package engine

import (
	"strings"

	"github.com/256dpi/lungo/bsonkit"
	"github.com/256dpi/lungo/mongokit"
	"go.mongodb.org/mongo-driver/bson"
)

// Change is a checked update: operators, or a whole document to put in place.
type Change struct {
	operators    bson.D
	replacement  bson.D
	arrayFilters bsonkit.List
}

// NewChange checks an update as sent: a document of operators or a replacement.
func NewChange(update any, arrayFilters bson.A) (*Change, *Error) {
	document, ok := update.(bson.D)
	if !ok {
		if _, pipeline := update.(bson.A); pipeline {
			return nil, Errorf(CommandNotSupported, "update pipelines are not supported by this server")
		}
		return nil, Errorf(FailedToParse, "Update argument must be either an object or an array")
	}
	if len(document) == 0 || !isOperator(document[0].Key) {
		for _, element := range document {
			if isOperator(element.Key) {
				return nil, Errorf(FailedToParse, "The dollar ($) prefixed field '%s' is not allowed in the replacement", element.Key)
			}
		}
		if len(arrayFilters) > 0 {
			return nil, Errorf(FailedToParse, "arrayFilters may not be specified for a replacement")
		}
		return &Change{replacement: document}, nil
	}
	change := &Change{operators: document}
	paths, err := checkOperators(document)
	if err != nil {
		return nil, err
	}
	if change.arrayFilters, err = checkArrayFilters(arrayFilters, paths); err != nil {
		return nil, err
	}
	return change, nil
}

// checkOperators refuses unknown operators and two changes of one path, and returns all paths.
func checkOperators(update bson.D) ([]string, *Error) {
	var paths []string
	for _, operator := range update {
		if mongokit.FieldUpdateOperators[operator.Key] == nil {
			return nil, Errorf(FailedToParse, "Unknown modifier: %s", operator.Key)
		}
		fields, ok := operator.Value.(bson.D)
		if !ok {
			return nil, Errorf(FailedToParse, "Modifiers operate on fields but we found another type: {%s: %v}", operator.Key, operator.Value)
		}
		for _, field := range fields {
			if err := checkPath(field.Key); err != nil {
				return nil, err
			}
			for _, path := range paths {
				if path == field.Key || strings.HasPrefix(path, field.Key+".") || strings.HasPrefix(field.Key, path+".") {
					return nil, Errorf(ConflictingUpdateOperators, "Updating the path '%s' would create a conflict at '%s'", field.Key, path)
				}
			}
			paths = append(paths, field.Key)
		}
	}
	return paths, nil
}

func checkPath(path string) *Error {
	for segment := range strings.SplitSeq(path, ".") {
		switch segment {
		case "":
			return Errorf(BadValue, "The update path '%s' contains an empty field name", path)
		case "$":
			return Errorf(CommandNotSupported, "the positional operator '$' is not supported by this server; use arrayFilters: %s", path)
		}
	}
	return nil
}

// checkArrayFilters refuses filters that no path uses and those that lungo would apply to another's elements.
func checkArrayFilters(filters bson.A, paths []string) (bsonkit.List, *Error) {
	var checked bsonkit.List
	identifiers := map[string]bool{}
	for _, item := range filters {
		filter, ok := item.(bson.D)
		if !ok || len(filter) == 0 {
			return nil, Errorf(FailedToParse, "Cannot use an expression without a top-level field name in arrayFilters")
		}
		if _, err := NewFilter(filter); err != nil {
			return nil, err
		}
		identifier, _, _ := strings.Cut(filter[0].Key, ".")
		for _, element := range filter {
			other, _, _ := strings.Cut(element.Key, ".")
			if isOperator(element.Key) {
				return nil, Errorf(CommandNotSupported, "%s at the top of arrayFilters is not supported by this server", element.Key)
			}
			if other != identifier {
				return nil, Errorf(FailedToParse, "Error parsing array filter: Expected a single top-level field name, found '%s' and '%s'", identifier, other)
			}
		}
		if identifiers[identifier] {
			return nil, Errorf(FailedToParse, "Found multiple array filters with the same top-level field name %s", identifier)
		}
		identifiers[identifier] = true
		used := false
		for _, path := range paths {
			used = used || strings.Contains(path, "$["+identifier+"]")
		}
		if !used {
			return nil, Errorf(FailedToParse, "The array filter for identifier '%s' was not used in the update", identifier)
		}
		checked = append(checked, &filter)
	}
	// lungo tries every filter on every element; one that also accepts an element of another name would leak.
	if len(checked) > 1 {
		for _, filter := range checked {
			if ok, err := mongokit.Match(&bson.D{}, filter); err != nil || ok {
				return nil, Errorf(CommandNotSupported, "several arrayFilters of which one matches a missing value are not supported by this server")
			}
		}
	}
	return checked, nil
}

// apply returns the document after the change.
func (c *Change) apply(document bson.D, filter *Filter) (bson.D, *Error) {
	id, _ := Field(document, "_id")
	var changed bson.D
	if c.operators != nil {
		copied := clone(document)
		query := filter.source
		if _, err := mongokit.Apply(&copied, &query, &c.operators, false, c.arrayFilters); err != nil {
			return nil, applyError(err)
		}
		changed = copied
	} else {
		changed = clone(c.replacement)
		if _, ok := Field(changed, "_id"); !ok {
			changed = append(bson.D{{Key: "_id", Value: id}}, changed...)
		}
		changed = idFirst(changed)
	}
	if newID, ok := Field(changed, "_id"); !ok || bsonkit.Compare(id, newID) != 0 {
		return nil, Errorf(ImmutableField, "Performing an update on the path '_id' would modify the immutable field '_id'")
	}
	return changed, checkSize(changed)
}

// create returns the document that an upsert inserts.
func (c *Change) create(filter *Filter) (bson.D, *Error) {
	query := clone(filter.source)
	extracted, err := mongokit.Extract(&query)
	if err != nil {
		return nil, Errorf(BadValue, "%s", err)
	}
	id, hasID := Field(*extracted, "_id")
	var created bson.D
	if c.operators != nil {
		if _, err := mongokit.Apply(extracted, &query, &c.operators, true, c.arrayFilters); err != nil {
			return nil, applyError(err)
		}
		created = *extracted
	} else {
		created = clone(c.replacement)
		if _, ok := Field(created, "_id"); !ok && hasID {
			created = append(bson.D{{Key: "_id", Value: id}}, created...)
		}
	}
	if newID, ok := Field(created, "_id"); hasID && (!ok || bsonkit.Compare(id, newID) != 0) {
		return nil, Errorf(ImmutableField, "Performing an update on the path '_id' would modify the immutable field '_id'")
	}
	return created, checkSize(created)
}

// applyError finds MongoDB's code for what lungo says.
func applyError(err error) *Error {
	message := err.Error()
	switch {
	case strings.Contains(message, "conflicting key"):
		return Errorf(ConflictingUpdateOperators, "%s", message)
	case strings.Contains(message, "not a number"), strings.Contains(message, "must be integer"):
		return Errorf(TypeMismatch, "%s", message)
	}
	return Errorf(BadValue, "%s", message)
}

func checkSize(document bson.D) *Error {
	// Only what could be too large is measured.
	if roughSize(document) < MaxDocumentBytes/2 {
		return nil
	}
	data, err := bson.Marshal(document)
	if err != nil {
		return Errorf(BadValue, "%s", err)
	}
	if len(data) > MaxDocumentBytes {
		return Errorf(BSONObjectTooLarge, "Resulting document after update is larger than %d", MaxDocumentBytes)
	}
	return nil
}

// UpdateOptions defines which documents an update changes.
type UpdateOptions struct {
	Sort   bson.D
	Multi  bool
	Upsert bool
}

// UpdateResult reports what an update did.
type UpdateResult struct {
	Matched, Modified int
	// Upserted is the inserted document, if the update had to insert one.
	Upserted bson.D
	// Before and After are the last matched document.
	Before, After bson.D
}

// Update changes the first document that matches, or all with Multi. No other operation sees or makes a change between
// the match and the change. An error part way through a Multi update leaves the changes made so far.
func (c *Collection) Update(filter *Filter, change *Change, options UpdateOptions) (UpdateResult, *Error) {
	var result UpdateResult
	if options.Multi && change.operators == nil {
		return result, Errorf(FailedToParse, "multi update is not supported for replacement-style update")
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	limit := 1
	if options.Multi {
		limit = 0
	}
	found, _, err := c.find(filter, options.Sort, 0, limit)
	if err != nil {
		return result, err
	}
	for _, record := range found {
		changed, err := change.apply(record.document, filter)
		if err != nil {
			return result, err
		}
		result.Before, result.After = record.document, changed
		if !identical(record.document, changed) {
			if err := c.replace(record, changed); err != nil {
				return result, err
			}
			result.Modified++
		}
		result.Matched++
	}
	if len(found) > 0 || !options.Upsert {
		return result, nil
	}
	created, err := change.create(filter)
	if err != nil {
		return result, err
	}
	inserted, err := c.insert(created)
	if err != nil {
		return result, err
	}
	result.Upserted = inserted.document
	return result, nil
}
