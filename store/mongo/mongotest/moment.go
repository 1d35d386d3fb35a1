package mongotest

import (
	"sync"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/bson/primitive"

	"github.com/tidewheel/tidewheel/store/mongo/mongotest/internal/engine"
)

// maxMoments is how many moments are kept; a MongoDB keeps those of five minutes.
const maxMoments = 4

// moments are what clients read with the read concern snapshot: all as it was when the first of their reads was done.
type moments struct {
	mutex sync.Mutex
	kept  map[primitive.Timestamp]*engine.Catalog
	order []primitive.Timestamp
}

func newMoments() *moments { return &moments{kept: map[primitive.Timestamp]*engine.Catalog{}} }

// of returns what there was at an instant, and the present as a moment of its own for the zero one.
func (m *moments) of(catalog *engine.Catalog, at primitive.Timestamp) (*engine.Catalog, primitive.Timestamp, *engine.Error) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if !at.IsZero() {
		found := m.kept[at]
		if found == nil {
			return nil, at, engine.Errorf(engine.SnapshotTooOld, "Read timestamp %v is older than the oldest available timestamp.", at)
		}
		return found, at, nil
	}
	copied, failure := catalog.Copy()
	if failure != nil {
		return nil, at, failure
	}
	at = primitive.Timestamp{T: 1}
	if n := len(m.order); n > 0 {
		at.T = m.order[n-1].T + 1
	}
	m.kept[at], m.order = copied, append(m.order, at)
	if len(m.order) > maxMoments {
		delete(m.kept, m.order[0])
		m.order = m.order[1:]
	}
	return copied, at, nil
}

// source is the catalog that a read is about: of the moment that its read concern says, or the present one.
func (c *command) source() (*engine.Catalog, *engine.Error) {
	concern := reader{document: (&reader{document: c.body}).object("readConcern")}
	if concern.text("level") != "snapshot" {
		return c.server.catalog, nil
	}
	asked, _ := concern.value("atClusterTime").(primitive.Timestamp)
	catalog, at, failure := c.server.moments.of(c.server.catalog, asked)
	c.moment = at
	return catalog, failure
}

// ofMoment adds to the answer of a read of which moment it is.
func (c *command) ofMoment(reply bson.D, failure *engine.Error) (bson.D, *engine.Error) {
	if failure != nil || c.moment.IsZero() {
		return reply, failure
	}
	at := bson.E{Key: "atClusterTime", Value: c.moment}
	for i := range reply {
		if inner, is := reply[i].Value.(bson.D); is && reply[i].Key == "cursor" {
			inner = append(inner, at)
			reply[i].Value = inner
			return reply, nil
		}
	}
	return append(reply, at), nil
}
