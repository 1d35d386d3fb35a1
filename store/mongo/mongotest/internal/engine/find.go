package engine

import (
	"slices"

	"github.com/256dpi/lungo/bsonkit"
	"github.com/256dpi/lungo/mongokit"
	"go.mongodb.org/mongo-driver/bson"
)

// Explanation reports how a query was answered.
type Explanation struct {
	Index    string // empty: all documents were looked at
	Sorted   bool   // the index gave the order
	Examined int    // documents looked at
	Returned int
}

// Find returns the documents that match, in the given order, as they were at one instant. The documents must not be
// changed. A limit of 0 is none.
func (c *Collection) Find(filter *Filter, sort bson.D, skip, limit int) ([]bson.D, Explanation, *Error) {
	c.mutex.RLock()
	defer c.mutex.RUnlock()
	found, explanation, err := c.find(filter, sort, skip, limit)
	if err != nil {
		return nil, explanation, err
	}
	documents := make([]bson.D, len(found))
	for i, record := range found {
		documents[i] = record.document
	}
	return documents, explanation, nil
}

// Count counts the documents that match.
func (c *Collection) Count(filter *Filter, skip, limit int) (int, *Error) {
	if len(filter.compiled) == 0 && skip == 0 && limit == 0 {
		return c.Len(), nil
	}
	found, _, err := c.Find(filter, nil, skip, limit)
	return len(found), err
}

func (c *Collection) find(filter *Filter, sort bson.D, skip, limit int) ([]*record, Explanation, *Error) {
	columns, err := mongokit.Columns(&sort)
	if err != nil {
		return nil, Explanation{}, Errorf(BadValue, "sort: %s", err)
	}
	plan := c.plan(filter.source, sort)
	explanation := Explanation{Sorted: plan.sorted}
	if plan.index != nil {
		explanation.Index = plan.index.spec.Name
	}
	enough := 0
	if plan.sorted && limit > 0 {
		enough = skip + limit
	}
	var found []*record
	var failure *Error
	seen := map[*record]bool{}
	visit := func(record *record) bool {
		if plan.index != nil && plan.index.multikey {
			if seen[record] {
				return true
			}
			seen[record] = true
		}
		explanation.Examined++
		matched, err := filter.Match(&record.document)
		if err != nil {
			failure = err
			return false
		}
		if matched {
			found = append(found, record)
		}
		return enough == 0 || len(found) < enough
	}
	c.walk(plan, visit)
	if failure != nil {
		return nil, explanation, failure
	}
	if !plan.sorted {
		slices.SortStableFunc(found, func(left, right *record) int {
			return bsonkit.Order(&left.document, &right.document, columns, false)
		})
	}
	found = found[min(skip, len(found)):]
	if limit > 0 {
		found = found[:min(limit, len(found))]
	}
	explanation.Returned = len(found)
	return found, explanation, nil
}

// walk visits the records that a plan leads to until visit returns false.
func (c *Collection) walk(plan plan, visit func(*record) bool) {
	if plan.index == nil {
		c.records.Scan(func(_ uint64, record *record) bool { return visit(record) })
		return
	}
	for _, scan := range plan.scans {
		if !plan.index.walk(scan, plan.reverse, visit) {
			return
		}
	}
}

// walk returns false if visit ended it.
func (ix *index) walk(scan scan, reverse bool, visit func(*record) bool) bool {
	start := entry{keys: scan.prefix, side: -1}
	end := entry{keys: scan.prefix, side: 1}
	if scan.next != nil {
		low, high := scan.next.low, scan.next.high
		if ix.columns[len(scan.prefix)].Reverse {
			low, high = high, low
		}
		start.keys = append(slices.Clone(scan.prefix), low)
		end.keys = append(slices.Clone(scan.prefix), high)
	}
	more := true
	if reverse {
		ix.tree.Descend(end, func(at entry) bool {
			if ix.less(at, start) {
				return false
			}
			more = visit(at.record)
			return more
		})
		return more
	}
	ix.tree.Ascend(start, func(at entry) bool {
		if ix.less(end, at) {
			return false
		}
		more = visit(at.record)
		return more
	})
	return more
}

func sortedValues(values []any) []any {
	values = slices.Clone(values)
	slices.SortFunc(values, bsonkit.Compare)
	return values
}
