package engine

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// Catalog holds all databases; it is safe for concurrent use.
type Catalog struct {
	mutex     sync.RWMutex
	databases map[string]map[string]*Collection
}

// NewCatalog makes an empty catalog.
func NewCatalog() *Catalog { return &Catalog{databases: map[string]map[string]*Collection{}} }

// Lookup returns a collection, nil if there is none.
func (c *Catalog) Lookup(database, name string) *Collection {
	c.mutex.RLock()
	defer c.mutex.RUnlock()
	return c.databases[database][name]
}

// Ensure returns a collection, made if there was none, and whether it was made.
func (c *Catalog) Ensure(database, name string) (*Collection, bool, *Error) {
	if found := c.Lookup(database, name); found != nil {
		return found, false, nil
	}
	if database == "" || strings.ContainsAny(database, "/\\. \"$\x00") || name == "" || strings.ContainsAny(name, "$\x00") {
		return nil, false, Errorf(InvalidNamespace, "Invalid namespace specified '%s.%s'", database, name)
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if found := c.databases[database][name]; found != nil {
		return found, false, nil
	}
	if c.databases[database] == nil {
		c.databases[database] = map[string]*Collection{}
	}
	made := NewCollection(database + "." + name)
	c.databases[database][name] = made
	return made, true, nil
}

// Drop removes a collection and reports whether there was one.
func (c *Catalog) Drop(database, name string) bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	_, found := c.databases[database][name]
	delete(c.databases[database], name)
	if len(c.databases[database]) == 0 {
		delete(c.databases, database)
	}
	return found
}

// DropDatabase removes all collections of a database and reports whether there were any.
func (c *Catalog) DropDatabase(database string) bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	_, found := c.databases[database]
	delete(c.databases, database)
	return found
}

// Databases lists the names of all databases, sorted.
func (c *Catalog) Databases() []string {
	c.mutex.RLock()
	defer c.mutex.RUnlock()
	return slices.Sorted(maps.Keys(c.databases))
}

// Collections lists the names of a database's collections, sorted.
func (c *Catalog) Collections(database string) []string {
	c.mutex.RLock()
	defer c.mutex.RUnlock()
	return slices.Sorted(maps.Keys(c.databases[database]))
}

// Expire removes from all collections what their TTL indexes say is over and returns how many documents that were.
func (c *Catalog) Expire(now time.Time) (int, *Error) {
	var collections []*Collection
	c.mutex.RLock()
	for _, database := range c.databases {
		collections = slices.AppendSeq(collections, maps.Values(database))
	}
	c.mutex.RUnlock()
	removed := 0
	for _, collection := range collections {
		expired, err := collection.Expire(now)
		removed += expired
		if err != nil {
			return removed, err
		}
	}
	return removed, nil
}
