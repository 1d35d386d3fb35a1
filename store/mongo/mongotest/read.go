package mongotest

import (
	"go.mongodb.org/mongo-driver/bson"

	"github.com/tidewheel/tidewheel/store/mongo/mongotest/internal/engine"
)

var readHandlers = map[string]handler{
	"find":        find,
	"count":       count,
	"distinct":    distinct,
	"aggregate":   aggregate,
	"explain":     explain,
	"getMore":     getMore,
	"killCursors": killCursors,
}

// query is what find and explain read.
type query struct {
	filter      *engine.Filter
	sort        bson.D
	skip, limit int
	size        int
	single      bool
	projection  *engine.Projection
}

func newQuery(body bson.D) (query, *engine.Error) {
	fields := reader{document: body}
	q := query{
		filter: fields.filter("filter"),
		sort:   fields.object("sort"),
		skip:   int(fields.number("skip", 0)),
		limit:  int(fields.number("limit", 0)),
		size:   int(fields.number("batchSize", firstBatch)),
		single: fields.flag("singleBatch", false),
	}
	projection := fields.object("projection")
	if fields.failure != nil {
		return q, fields.failure
	}
	if q.skip < 0 || q.limit < 0 || q.size < 0 {
		return q, engine.Errorf(engine.BadValue, "skip, limit and batchSize must not be negative")
	}
	var failure *engine.Error
	q.projection, failure = engine.NewProjection(projection)
	return q, failure
}

func find(request *command) (bson.D, *engine.Error) {
	q, failure := newQuery(request.body)
	if failure != nil {
		return nil, failure
	}
	collection, namespace, failure := request.existing()
	if failure != nil {
		return nil, failure
	}
	documents, _, failure := collection.Find(q.filter, q.sort, q.skip, q.limit)
	if failure != nil {
		return nil, failure
	}
	at := &cursor{namespace: namespace, documents: documents, projection: q.projection}
	return request.ofMoment(request.server.cursors.reply(at, q.size, q.single))
}

func count(request *command) (bson.D, *engine.Error) {
	fields := reader{document: request.body}
	filter, skip, limit := fields.filter("query"), fields.number("skip", 0), fields.number("limit", 0)
	if fields.failure != nil {
		return nil, fields.failure
	}
	collection, _, failure := request.existing()
	if failure != nil {
		return nil, failure
	}
	n, failure := collection.Count(filter, int(skip), int(limit))
	return bson.D{{Key: "n", Value: int32(n)}}, failure
}

func distinct(request *command) (bson.D, *engine.Error) {
	fields := reader{document: request.body}
	path, filter := fields.text("key"), fields.filter("query")
	if fields.failure != nil {
		return nil, fields.failure
	}
	collection, _, failure := request.existing()
	if failure != nil {
		return nil, failure
	}
	values, failure := collection.Distinct(path, filter)
	if values == nil {
		values = bson.A{}
	}
	return request.ofMoment(bson.D{{Key: "values", Value: values}}, failure)
}

func aggregate(request *command) (bson.D, *engine.Error) {
	fields := reader{document: request.body}
	pipeline, options := fields.array("pipeline"), reader{document: fields.object("cursor")}
	size := int(options.number("batchSize", firstBatch))
	if fields.failure != nil {
		return nil, fields.failure
	}
	if options.failure != nil {
		return nil, options.failure
	}
	if fields.flag("explain", false) {
		return nil, engine.Errorf(engine.CommandNotSupported, "explain of a pipeline is not supported by this server")
	}
	collection, namespace, failure := request.existing()
	if failure != nil {
		return nil, failure
	}
	documents, failure := collection.Aggregate(pipeline)
	if failure != nil {
		return nil, failure
	}
	return request.ofMoment(request.server.cursors.reply(&cursor{namespace: namespace, documents: documents}, size, false))
}

// explain returns which index a find, update, delete or count would use and how many documents it would look at.
func explain(request *command) (bson.D, *engine.Error) {
	inner := (&reader{document: request.body}).object("explain")
	if len(inner) == 0 {
		return nil, engine.Errorf(engine.FailedToParse, "explain needs a command")
	}
	asked := *request
	asked.body = inner
	switch inner[0].Key {
	case "find":
	case "count":
		asked.body = bson.D{inner[0], {Key: "filter", Value: (&reader{document: inner}).object("query")}}
	case "update", "delete":
		list := (&reader{document: inner}).array(inner[0].Key + "s")
		if len(list) != 1 {
			return nil, engine.Errorf(engine.InvalidOptions, "explained write batches must be of size 1")
		}
		item, _ := list[0].(bson.D)
		asked.body = bson.D{inner[0], {Key: "filter", Value: (&reader{document: item}).object("q")}}
	default:
		return nil, engine.Errorf(engine.CommandNotSupported, "explain of %s is not supported by this server", inner[0].Key)
	}
	q, failure := newQuery(asked.body)
	if failure != nil {
		return nil, failure
	}
	collection, namespace, failure := asked.existing()
	if failure != nil {
		return nil, failure
	}
	_, explanation, failure := collection.Find(q.filter, q.sort, q.skip, q.limit)
	if failure != nil {
		return nil, failure
	}
	winning := bson.D{{Key: "stage", Value: "COLLSCAN"}}
	if explanation.Index != "" {
		winning = bson.D{{Key: "stage", Value: "FETCH"}, {Key: "inputStage", Value: bson.D{
			{Key: "stage", Value: "IXSCAN"}, {Key: "indexName", Value: explanation.Index},
		}}}
	}
	if !explanation.Sorted {
		winning = bson.D{{Key: "stage", Value: "SORT"}, {Key: "inputStage", Value: winning}}
	}
	return bson.D{
		{Key: "queryPlanner", Value: bson.D{
			{Key: "namespace", Value: namespace},
			{Key: "winningPlan", Value: winning},
			{Key: "rejectedPlans", Value: bson.A{}},
		}},
		{Key: "executionStats", Value: bson.D{
			{Key: "executionSuccess", Value: true},
			{Key: "nReturned", Value: int32(explanation.Returned)},
			{Key: "totalDocsExamined", Value: int32(explanation.Examined)},
		}},
	}, nil
}
