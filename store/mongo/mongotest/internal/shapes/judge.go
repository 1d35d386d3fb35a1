package shapes

import (
	"fmt"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Index is an index of a collection.
type Index struct {
	Collection, Name string
	Keys             []Key
	Unique           bool
	Partial          []Condition // only documents that meet these are in it
}

// IndexOf reads an index from what listIndexes returns.
func IndexOf(collection string, raw bson.Raw) (Index, error) {
	index := Index{Collection: collection}
	index.Name, _ = raw.Lookup("name").StringValueOK()
	index.Unique, _ = raw.Lookup("unique").BooleanOK()
	index.Unique = index.Unique || index.Name == "_id_"
	var err error
	if index.Keys, err = keysOf(raw.Lookup("key")); err != nil {
		return index, err
	}
	index.Partial, _, err = conditions(raw.Lookup("partialFilterExpression"))
	return index, err
}

// Verdict is how an index serves a shape.
type Verdict struct {
	Index    string
	Narrowed int      // how many of its keys bound the walk
	Sorted   bool     // it gives the order; also if none is asked for
	Point    bool     // a unique key says which documents these are
	Residual []string // fields that are looked at in each document, because no key of the index holds them
}

// Good reports that the server looks at no more documents than it gives.
func (v *Verdict) Good() bool {
	return v.Index != "" && v.Sorted && (v.Point || len(v.Residual) == 0)
}

func (v *Verdict) String() string {
	switch {
	case v.Index == "":
		return "the whole collection is looked through"
	case !v.Sorted:
		return fmt.Sprintf("what %s finds is sorted", v.Index)
	case len(v.Residual) > 0 && !v.Point:
		return fmt.Sprintf("%s finds documents that are left out for their %v", v.Index, v.Residual)
	}
	return "served by " + v.Index
}

// Judge returns the best that some of these indexes can do for a shape.
func (s *Shape) Judge(indexes []Index) Verdict {
	if len(s.Conditions) == 0 && len(s.Sort) == 0 && len(s.Either) > 0 {
		return s.judgeBranches(indexes)
	}
	best := Verdict{}
	for i := range indexes {
		if indexes[i].Collection != s.Collection {
			continue
		}
		if verdict := s.by(&indexes[i]); verdict.better(&best) {
			best = verdict
		}
	}
	return best
}

// judgeBranches judges an $or alone: each branch walks an index of its own, so the worst of them counts.
func (s *Shape) judgeBranches(indexes []Index) (worst Verdict) {
	for i, branch := range s.Either {
		one := Shape{Operation: s.Operation, Collection: s.Collection, Conditions: branch, Limited: s.Limited}
		if verdict := one.Judge(indexes); i == 0 || worst.better(&verdict) {
			worst = verdict
		}
	}
	return worst
}

func (v *Verdict) better(than *Verdict) bool {
	switch {
	case v.Good() != than.Good():
		return v.Good()
	case v.Index == "" || than.Index == "":
		return v.Index != "" && than.Index == ""
	case v.Sorted != than.Sorted:
		return v.Sorted
	case len(v.Residual) != len(than.Residual):
		return len(v.Residual) < len(than.Residual)
	}
	return v.Narrowed > than.Narrowed
}

// by is how one index serves the shape; the zero Verdict if it does not.
func (s *Shape) by(index *Index) Verdict {
	if !s.impliesAll(index.Partial) {
		return Verdict{}
	}
	verdict := Verdict{Index: index.Name}
	fixed, looked := map[string]bool{}, map[string]bool{}
	for _, partial := range index.Partial {
		looked[partial.Field] = true
	}
	for _, key := range index.Keys {
		kind := s.kind(key.Field)
		if kind != Equal && kind != Among && kind != Range {
			break
		}
		verdict.Narrowed++
		looked[key.Field] = true
		if kind == Range {
			break
		}
		// The walks of several values, each in order, are merged into one order.
		fixed[key.Field] = true
	}
	verdict.Point = index.Unique && verdict.Narrowed == len(index.Keys) && len(fixed) == len(index.Keys)
	verdict.Sorted = s.sortedBy(index, fixed)
	// Without a bound the walk goes over all of it: fit only for the first few in its order, or for an index that holds no
	// more than is wanted.
	if verdict.Narrowed == 0 && len(index.Partial) == 0 && (!verdict.Sorted || !s.Limited || len(s.Sort) == 0) {
		return Verdict{}
	}
	if verdict.Narrowed == 0 && len(index.Partial) == 0 && len(s.Conditions) > 0 {
		return Verdict{}
	}
	for _, key := range index.Keys {
		looked[key.Field] = true // in the index itself, without the document
	}
	for _, c := range s.Conditions {
		if !looked[c.Field] {
			verdict.Residual = append(verdict.Residual, c.Field)
		}
	}
	for _, branch := range s.Either {
		for _, c := range branch {
			if !looked[c.Field] && !slices.Contains(verdict.Residual, c.Field) {
				verdict.Residual = append(verdict.Residual, c.Field)
			}
		}
	}
	return verdict
}

// sortedBy reports whether the walk over an index gives the order: its keys from some place on are those of the order,
// with all before them fixed, in one direction or the other throughout.
func (s *Shape) sortedBy(index *Index, fixed map[string]bool) bool {
	at, backwards, begun := 0, false, false
	for _, wanted := range s.Sort {
		if s.kind(wanted.Field) == Equal {
			continue
		}
		for at < len(index.Keys) && index.Keys[at].Field != wanted.Field {
			if !fixed[index.Keys[at].Field] {
				return false
			}
			at++
		}
		if at == len(index.Keys) {
			return false
		}
		against := index.Keys[at].Descending != wanted.Descending
		if begun && against != backwards {
			return false
		}
		begun, backwards = true, against
		at++
	}
	return true
}

func (s *Shape) kind(field string) Kind {
	for _, c := range s.Conditions {
		if c.Field == field {
			return c.Kind
		}
	}
	return ""
}

// impliesAll reports whether every document that the shape finds is in a partial index.
func (s *Shape) impliesAll(partial []Condition) bool {
	for _, wanted := range partial {
		if !slices.ContainsFunc(s.Conditions, func(c Condition) bool {
			return c.Field == wanted.Field && (c == wanted || wanted.Kind == Exists && (c.Kind == Equal || c.Kind == Among || c.Kind == Range))
		}) {
			return false
		}
	}
	return true
}

// Targets reports whether a router of a sharded cluster can tell from a shape which shards hold its documents: the first
// field of the shard key is bounded.
func (s *Shape) Targets(shardKey []Key) bool {
	if len(shardKey) == 0 { // not sharded
		return true
	}
	first := shardKey[0].Field
	if kind := s.kind(first); kind == Equal || kind == Among || kind == Range {
		return true
	}
	for _, branch := range s.Either {
		if !slices.ContainsFunc(branch, func(c Condition) bool { return c.Field == first }) {
			return false
		}
	}
	return len(s.Either) > 0
}
