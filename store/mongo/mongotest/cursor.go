package mongotest

import (
	"math/rand/v2"
	"slices"
	"sync"

	"go.mongodb.org/mongo-driver/bson"

	"github.com/tidewheel/tidewheel/store/mongo/mongotest/internal/engine"
)

const (
	// firstBatch is the number of documents in a first batch of which the client gave no size.
	firstBatch = 101
	// maxBatchBytes bounds a batch; one document always fits.
	maxBatchBytes = 16 << 20
	// maxCursors bounds the open cursors; the oldest is closed.
	maxCursors = 4096
)

// cursor is a result that the client fetches in batches: a snapshot, taken when the query ran.
type cursor struct {
	id         int64
	namespace  string
	documents  []bson.D
	projection *engine.Projection
}

// cursors holds the open ones.
type cursors struct {
	mutex sync.Mutex
	open  map[int64]*cursor
	order []int64
}

func newCursors() *cursors { return &cursors{open: map[int64]*cursor{}} }

func (c *cursors) put(at *cursor) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for at.id == 0 || c.open[at.id] != nil {
		at.id = rand.Int64()
	}
	c.open[at.id] = at
	c.order = append(c.order, at.id)
	if len(c.order) > maxCursors {
		delete(c.open, c.order[0])
		c.order = c.order[1:]
	}
}

// take removes a cursor, nil if there is none; who still needs it puts it back.
func (c *cursors) take(id int64) *cursor {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	found := c.open[id]
	if found != nil {
		delete(c.open, id)
		c.order = slices.DeleteFunc(c.order, func(other int64) bool { return other == id })
	}
	return found
}

// batch encodes the next documents and drops them from the cursor; size 0 is no limit but that of bytes.
func (c *cursor) batch(size int) (bson.A, *engine.Error) {
	batch, bytes := bson.A{}, 0
	for len(c.documents) > 0 && (size == 0 || len(batch) < size) {
		document, failure := c.projection.Apply(c.documents[0])
		if failure != nil {
			return nil, failure
		}
		raw, err := bson.Marshal(document)
		if err != nil {
			return nil, engine.Errorf(engine.InternalError, "encode: %s", err)
		}
		if bytes += len(raw); bytes > maxBatchBytes && len(batch) > 0 {
			break
		}
		batch = append(batch, bson.Raw(raw))
		c.documents = c.documents[1:]
	}
	return batch, nil
}

// reply answers with a first batch and leaves the rest to getMore.
func (c *cursors) reply(at *cursor, size int, single bool) (bson.D, *engine.Error) {
	batch := bson.A{}
	if size > 0 {
		var failure *engine.Error
		if batch, failure = at.batch(size); failure != nil {
			return nil, failure
		}
	}
	if len(at.documents) > 0 && !single {
		c.put(at)
	}
	return cursorReply("firstBatch", at, batch), nil
}

func cursorReply(name string, at *cursor, batch bson.A) bson.D {
	return bson.D{{Key: "cursor", Value: bson.D{
		{Key: name, Value: batch},
		{Key: "id", Value: at.id},
		{Key: "ns", Value: at.namespace},
	}}}
}

func getMore(request *command) (bson.D, *engine.Error) {
	fields := reader{document: request.body}
	id, size := fields.number("getMore", 0), fields.number("batchSize", 0)
	name := fields.text("collection")
	if fields.failure != nil {
		return nil, fields.failure
	}
	at := request.server.cursors.take(id)
	if at == nil || at.namespace != request.database+"."+name {
		return nil, engine.Errorf(engine.CursorNotFound, "cursor id %d not found", id)
	}
	batch, failure := at.batch(int(size))
	if failure != nil {
		return nil, failure
	}
	left := *at
	if len(at.documents) > 0 {
		request.server.cursors.put(at)
	} else {
		left.id = 0
	}
	return cursorReply("nextBatch", &left, batch), nil
}

func killCursors(request *command) (bson.D, *engine.Error) {
	fields := reader{document: request.body}
	killed, missing := bson.A{}, bson.A{}
	for _, value := range fields.array("cursors") {
		id, _ := value.(int64)
		if request.server.cursors.take(id) != nil {
			killed = append(killed, id)
		} else {
			missing = append(missing, id)
		}
	}
	return bson.D{
		{Key: "cursorsKilled", Value: killed},
		{Key: "cursorsNotFound", Value: missing},
		{Key: "cursorsAlive", Value: bson.A{}},
		{Key: "cursorsUnknown", Value: bson.A{}},
	}, fields.failure
}
