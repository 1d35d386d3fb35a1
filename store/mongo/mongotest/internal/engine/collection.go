package engine

import (
	"sync"
	"time"

	"github.com/tidwall/btree"
	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/bson/primitive"
)

// Collection is one collection; it is safe for concurrent use.
type Collection struct {
	namespace string

	mutex    sync.RWMutex
	records  btree.Map[uint64, *record]
	sequence uint64
	indexes  []*index // in order of creation, that of _id first
}

// NewCollection makes an empty collection; namespace is "database.collection" and appears in errors.
func NewCollection(namespace string) *Collection {
	c := &Collection{namespace: namespace}
	if _, err := c.CreateIndex(IndexSpec{Name: "_id_", Key: bson.D{{Key: "_id", Value: int32(1)}}, Unique: true}); err != nil {
		panic(err) // a constant spec
	}
	return c
}

// Len returns the number of documents.
func (c *Collection) Len() int {
	c.mutex.RLock()
	defer c.mutex.RUnlock()
	return c.records.Len()
}

// Indexes lists the indexes in order of creation.
func (c *Collection) Indexes() []IndexSpec {
	c.mutex.RLock()
	defer c.mutex.RUnlock()
	specs := make([]IndexSpec, 0, len(c.indexes))
	for _, ix := range c.indexes {
		specs = append(specs, ix.spec)
	}
	return specs
}

// CreateIndex makes an index and reports whether it is new. The same index asked for again is no error.
func (c *Collection) CreateIndex(spec IndexSpec) (bool, *Error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for _, ix := range c.indexes {
		switch {
		case ix.spec.Name == spec.Name && ix.spec.same(spec):
			return false, nil
		case ix.spec.Name == spec.Name:
			return false, Errorf(IndexKeySpecsConflict,
				"An existing index has the same name as the requested index, but another key or other options: %s", spec.Name)
		case ix.spec.covers(spec):
			return false, Errorf(IndexOptionsConflict, "Index already exists with a different name or other options: %s", ix.spec.Name)
		}
	}
	ix, err := newIndex(spec)
	if err != nil {
		return false, err
	}
	c.records.Scan(func(_ uint64, record *record) bool {
		var keys [][]any
		var unique bool
		if keys, err = ix.keys(record.document); err != nil {
			return false
		}
		if unique, err = ix.claim(record); err != nil {
			return false
		}
		if !unique {
			err = ix.duplicate(c.namespace, record.document)
			return false
		}
		ix.add(record, keys)
		return true
	})
	if err != nil {
		return false, err
	}
	c.indexes = append(c.indexes, ix)
	return true, nil
}

// SetExpiry changes after what time a TTL index expires its documents.
func (c *Collection) SetExpiry(name string, after time.Duration) *Error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for _, ix := range c.indexes {
		if ix.spec.Name == name {
			spec := ix.spec
			spec.ExpireAfter = &after
			if _, err := checkSpec(spec); err != nil {
				return err
			}
			ix.spec = spec
			return nil
		}
	}
	return Errorf(IndexNotFound, "index not found with name [%s]", name)
}

// DropIndex drops one index by name.
func (c *Collection) DropIndex(name string) *Error {
	if name == "_id_" {
		return Errorf(InvalidOptions, "cannot drop _id index")
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for i, ix := range c.indexes {
		if ix.spec.Name == name {
			c.indexes = append(c.indexes[:i:i], c.indexes[i+1:]...)
			return nil
		}
	}
	return Errorf(IndexNotFound, "index not found with name [%s]", name)
}

// Insert adds a document, which the collection then owns. A missing _id is made.
func (c *Collection) Insert(document bson.D) *Error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	_, err := c.insert(document)
	return err
}

func (c *Collection) insert(document bson.D) (*record, *Error) {
	id, ok := Field(document, "_id")
	if !ok {
		id = primitive.NewObjectID()
		document = append(bson.D{{Key: "_id", Value: id}}, document...)
	}
	if err := checkID(id); err != nil {
		return nil, err
	}
	if err := checkSize(document); err != nil {
		return nil, err
	}
	added := &record{document: idFirst(document), sequence: c.sequence + 1}
	keys := make([][][]any, len(c.indexes))
	for i, ix := range c.indexes {
		var err *Error
		if keys[i], err = ix.keys(added.document); err != nil {
			return nil, err
		}
	}
	for i, ix := range c.indexes {
		unique, err := ix.claim(added)
		if unique {
			continue
		}
		if err == nil {
			err = ix.duplicate(c.namespace, added.document)
		}
		for _, claimed := range c.indexes[:i] {
			claimed.release(added)
		}
		return nil, err
	}
	for i, ix := range c.indexes {
		ix.add(added, keys[i])
	}
	c.sequence++
	c.records.Set(added.sequence, added)
	return added, nil
}

// replace gives a record another document, or changes nothing and says why.
func (c *Collection) replace(changed *record, document bson.D) *Error {
	type move struct {
		index    *index
		from, to [][]any
	}
	var moves []move
	for _, ix := range c.indexes {
		from, err := ix.keys(changed.document)
		if err != nil {
			return err
		}
		to, err := ix.keys(document)
		if err != nil {
			return err
		}
		// An update that leaves the keys alone costs this index nothing.
		if !sameKeys(from, to) {
			moves = append(moves, move{ix, from, to})
		}
	}
	previous := changed.document
	for _, move := range moves {
		move.index.release(changed)
	}
	changed.document = document
	for i, move := range moves {
		unique, err := move.index.claim(changed)
		if unique {
			continue
		}
		if err == nil {
			err = move.index.duplicate(c.namespace, document)
		}
		for _, claimed := range moves[:i] {
			claimed.index.release(changed)
		}
		changed.document = previous
		for _, released := range moves {
			if _, err := released.index.claim(changed); err != nil {
				return err
			}
		}
		return err
	}
	for _, move := range moves {
		move.index.remove(changed, move.from)
		move.index.add(changed, move.to)
	}
	return nil
}

func (c *Collection) remove(removed *record) *Error {
	for _, ix := range c.indexes {
		keys, err := ix.keys(removed.document)
		if err != nil {
			return err
		}
		ix.release(removed)
		ix.remove(removed, keys)
	}
	c.records.Delete(removed.sequence)
	return nil
}

// Delete removes up to limit documents (0: all) that match, in the given order, and returns them.
func (c *Collection) Delete(filter *Filter, sort bson.D, limit int) ([]bson.D, *Error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	found, _, err := c.find(filter, sort, 0, limit)
	if err != nil {
		return nil, err
	}
	deleted := make([]bson.D, 0, len(found))
	for _, record := range found {
		if err := c.remove(record); err != nil {
			return deleted, err
		}
		deleted = append(deleted, record.document)
	}
	return deleted, nil
}

// Expire removes what the TTL indexes say is over at the given time and returns how many documents that were.
func (c *Collection) Expire(now time.Time) (int, *Error) {
	removed := 0
	for _, spec := range c.Indexes() {
		if spec.ExpireAfter == nil {
			continue
		}
		// Comparisons stay within a type, so only dates match. A partial index expires only what is in it.
		limit := primitive.NewDateTimeFromTime(now.Add(-*spec.ExpireAfter))
		query := bson.D{{Key: spec.Key[0].Key, Value: bson.D{{Key: "$lte", Value: limit}}}}
		if spec.Partial != nil {
			query = bson.D{{Key: "$and", Value: bson.A{query, spec.Partial}}}
		}
		filter, err := NewFilter(query)
		if err != nil {
			return removed, err
		}
		expired, err := c.Delete(filter, nil, 0)
		removed += len(expired)
		if err != nil {
			return removed, err
		}
	}
	return removed, nil
}
