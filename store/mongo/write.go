package mongo

import (
	"context"
	"errors"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

// The driver's InsertMany and BulkWrite decode each document to find its _id, and copy it field by field: half of what a run's
// writes cost. So these commands are put together here, as bytes, and the driver copies them as one. It does not try them
// again by itself then; settle and place do, after they have looked at what is there.

// commandBytes is how much goes into one command, beyond a single document: it is one document of BSON, of at most 16 MB.
const commandBytes = 12 << 20

// writeConcern is that of the collections, which commands do not inherit; see Store.collections.
var writeConcern = func() bson.Raw {
	b := builder{}
	b.begin()
	b.text("w", "majority")
	b.flag("j", true)
	b.end()
	return b.bytes
}()

// insertAll inserts documents, in no order, and returns how many were.
func (s *Store) insertAll(ctx context.Context, into *mongo.Collection, documents []bson.Raw) (int64, error) {
	return s.write(ctx, into, "insert", "documents", documents)
}

// replaceAll replaces documents whose conditions hold, in no order, and returns how many did.
func (s *Store) replaceAll(ctx context.Context, in *mongo.Collection, changes []change, aimed bool) (int64, error) {
	items := make([]bson.Raw, len(changes))
	for i := range changes {
		var err error
		if items[i], err = changes[i].replacement(aimed); err != nil {
			return 0, err
		}
	}
	return s.write(ctx, in, "update", "updates", items)
}

// write does all items with as few commands as their sizes allow, and returns the sum of what the server counts for them. What is wrong
// with one command keeps no other from being sent.
func (s *Store) write(ctx context.Context, to *mongo.Collection, verb, list string, items []bson.Raw) (n int64, failure error) {
	for len(items) > 0 {
		size, some := len(items[0]), 1
		for some < len(items) && size+len(items[some]) <= commandBytes {
			size += len(items[some])
			some++
		}
		b := builder{bytes: make([]byte, 0, size+some*elementBytes+256)}
		b.begin()
		b.text(verb, to.Name())
		b.flag("ordered", false)
		b.raw("writeConcern", writeConcern)
		b.documents(list, items[:some])
		b.end()
		items = items[some:]
		answer, err := s.database.RunCommand(ctx, bson.Raw(b.bytes)).Raw()
		if err != nil {
			failure = errors.Join(failure, err)
			continue
		}
		done, _ := answer.Lookup("n").AsInt64OK()
		n += done
	}
	return n, failure
}

// replacement is the item of an update command that replaces the document where the condition holds. It names the shard
// if it is aimed.
func (c *change) replacement(aimed bool) (bson.Raw, error) {
	condition := bson.Raw{5, 0, 0, 0, 0} // none
	if c.condition != nil {
		var err error
		if condition, err = bson.Marshal(c.condition); err != nil {
			return nil, err
		}
	}
	b := builder{bytes: make([]byte, 0, len(c.document)+len(condition)+len(c.id)+48)}
	b.begin()
	b.document("q")
	b.text("_id", c.id)
	if aimed {
		b.number("shard", shardOf(c.id))
	}
	b.bytes = append(b.bytes, condition[4:len(condition)-1]...) // its fields
	b.end()
	b.raw("u", c.document)
	b.end()
	return b.bytes, nil
}

// isOlder is the condition of what a document of a position replaces, or that of no position.
func isOlder(position int64) bson.Raw {
	b := builder{bytes: make([]byte, 0, 48)}
	b.begin()
	b.document("position")
	b.document("$not")
	b.long("$gte", position)
	b.end()
	b.end()
	b.end()
	return b.bytes
}
