package engine

import (
	"maps"
	"slices"
)

// Copy returns a catalog that holds what this one holds at one moment: no change is seen in part. Documents are shared,
// because none is ever changed in place.
func (c *Catalog) Copy() (*Catalog, *Error) {
	copied := NewCatalog()
	c.mutex.RLock()
	defer c.mutex.RUnlock()
	for _, database := range slices.Sorted(maps.Keys(c.databases)) {
		for _, collection := range c.databases[database] {
			collection.mutex.RLock()
			defer collection.mutex.RUnlock()
		}
	}
	for database, collections := range c.databases {
		copied.databases[database] = map[string]*Collection{}
		for name, collection := range collections {
			made := NewCollection(collection.namespace)
			for _, ix := range collection.indexes[1:] { // the first is there
				if _, err := made.CreateIndex(ix.spec); err != nil {
					return nil, err
				}
			}
			var failure *Error
			collection.records.Scan(func(_ uint64, record *record) bool {
				_, failure = made.insert(record.document)
				return failure == nil
			})
			if failure != nil {
				return nil, failure
			}
			copied.databases[database][name] = made
		}
	}
	return copied, nil
}
