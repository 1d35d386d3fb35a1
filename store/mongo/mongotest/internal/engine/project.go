package engine

import (
	"strings"

	"github.com/256dpi/lungo/bsonkit"
	"github.com/256dpi/lungo/mongokit"
	"go.mongodb.org/mongo-driver/bson"
)

// Projection chooses what of a document is returned.
type Projection struct {
	operators bson.D // a projection with $slice or $elemMatch, which lungo does
	include   bool
	id        bool
	tree      node
}

// node is one level of projected paths; an empty node is the end of one.
type node map[string]node

// NewProjection checks a projection. Plain inclusion and exclusion reach into arrays of documents, which lungo's do
// not, and are done here. A nil or empty one returns documents whole.
func NewProjection(document bson.D) (*Projection, *Error) {
	if len(document) == 0 {
		return nil, nil
	}
	p := &Projection{id: true, tree: node{}}
	decided := false
	for _, element := range document {
		if operators, ok := isExpression(element.Value); ok {
			if operators[0].Key != "$slice" && operators[0].Key != "$elemMatch" {
				return nil, Errorf(CommandNotSupported, "projection operator %s is not supported by this server", operators[0].Key)
			}
			if _, err := mongokit.Project(&bson.D{{Key: "_id", Value: nil}}, &document); err != nil {
				return nil, Errorf(BadValue, "%s", err)
			}
			p.operators = document
			return p, nil
		}
		include, ok := truth(element.Value)
		if !ok {
			return nil, Errorf(CommandNotSupported, "projection expressions are not supported by this server: %s", element.Key)
		}
		if element.Key == "_id" {
			p.id = include
			continue
		}
		if decided && include != p.include {
			return nil, Errorf(BadValue, "Cannot do inclusion on field %s in exclusion projection or the reverse", element.Key)
		}
		decided, p.include = true, include
		if err := p.tree.add(element.Key); err != nil {
			return nil, err
		}
	}
	// {_id: 1} alone includes only _id; {_id: 0} alone excludes only it.
	if !decided {
		p.include = p.id
	}
	return p, nil
}

func truth(value any) (truth, ok bool) {
	switch value := value.(type) {
	case bool:
		return value, true
	case int32, int64, float64:
		return bsonkit.Compare(value, int32(0)) != 0, true
	}
	return false, false
}

func (n node) add(path string) *Error {
	at := n
	segments := strings.Split(path, ".")
	for i, segment := range segments {
		if segment == "" || isOperator(segment) {
			return Errorf(BadValue, "projection path %q is not valid", path)
		}
		next, known := at[segment]
		if known && (len(next) == 0 || i == len(segments)-1) {
			return Errorf(BadValue, "Path collision at %s", path)
		}
		if !known {
			next = node{}
			at[segment] = next
		}
		at = next
	}
	return nil
}

// Apply returns what the projection leaves of a document, which it does not change.
func (p *Projection) Apply(document bson.D) (bson.D, *Error) {
	if p == nil {
		return document, nil
	}
	if p.operators != nil {
		copied := clone(document)
		projected, err := mongokit.Project(&copied, &p.operators)
		if err != nil {
			return nil, Errorf(BadValue, "%s", err)
		}
		return *projected, nil
	}
	result := make(bson.D, 0, len(document))
	for _, element := range document {
		if element.Key == "_id" {
			if p.id {
				result = append(result, element)
			}
			continue
		}
		if value, ok := p.tree.pick(element, p.include); ok {
			result = append(result, bson.E{Key: element.Key, Value: value})
		}
	}
	return result, nil
}

func (n node) pick(element bson.E, include bool) (any, bool) {
	next, named := n[element.Key]
	switch {
	case !named:
		return element.Value, !include
	case len(next) == 0:
		return element.Value, include
	}
	return next.reach(element.Value, include)
}

// reach projects inside a value; a scalar where the path continues is left out by inclusion.
func (n node) reach(value any, include bool) (any, bool) {
	switch value := value.(type) {
	case bson.D:
		result := make(bson.D, 0, len(value))
		for _, element := range value {
			if picked, ok := n.pick(element, include); ok {
				result = append(result, bson.E{Key: element.Key, Value: picked})
			}
		}
		return result, true
	case bson.A:
		result := make(bson.A, 0, len(value))
		for _, item := range value {
			if picked, ok := n.reach(item, include); ok {
				result = append(result, picked)
			}
		}
		return result, true
	}
	return value, !include
}
