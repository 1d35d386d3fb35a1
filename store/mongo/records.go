package mongo

import (
	"context"
	"crypto/rand"
	"time"
	"unicode/utf8"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/tidewheel/tidewheel/engine"
)

// recordDocument is a document of records.
type recordDocument struct {
	ID        string         `bson:"_id"` // kind/key; no kind holds a '/'
	Kind      string         `bson:"kind"`
	Key       string         `bson:"key"`
	Revision  int64          `bson:"revision"`
	ExpiresAt *bson.DateTime `bson:"expires_at,omitempty"`
	Data      []byte         `bson:"data"`
	// Write differs with each write: it shows a writer whose answer was lost whether the write was its own.
	Write string `bson:"write"`
}

func recordID(kind, key string) string { return kind + "/" + key }

func newRecordDocument(r *engine.Record) recordDocument {
	d := recordDocument{ID: recordID(r.Kind, r.Key), Kind: r.Kind, Key: r.Key, Revision: r.Revision, Data: r.Data, Write: rand.Text()}
	if !r.ExpiresAt.IsZero() {
		at := date(r.ExpiresAt)
		d.ExpiresAt = &at
	}
	return d
}

func (d recordDocument) value() (engine.Record, error) {
	r := engine.Record{Kind: d.Kind, Key: d.Key, Revision: d.Revision, Data: d.Data}
	if d.ExpiresAt != nil {
		r.ExpiresAt = instant(*d.ExpiresAt)
	}
	return r, nil
}

// writtenAs reports whether what is stored is one write.
func writtenAs(stored bson.Raw, write string) bool {
	found, _ := stored.Lookup("write").StringValueOK()
	return found == write
}

// InsertRecord inserts a record of revision 1; engine.ErrExists.
func (s *Store) InsertRecord(ctx context.Context, record engine.Record) error {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	document := newRecordDocument(&record)
	raw, err := bson.Marshal(document)
	if err != nil {
		return s.failed("insert "+document.ID, err)
	}
	there, err := s.insert(ctx, s.records, change{id: document.ID, document: raw}, func(stored bson.Raw) (bool, error) {
		return writtenAs(stored, document.Write), nil
	})
	if err == nil && there {
		err = engine.ErrExists
	}
	return s.failed("insert "+document.ID, err)
}

// ReplaceRecord writes a record on condition of its revision; engine.ErrConflict or engine.ErrNotFound.
func (s *Store) ReplaceRecord(ctx context.Context, record engine.Record) error {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	document := newRecordDocument(&record)
	raw, err := bson.Marshal(document)
	if err != nil {
		return s.failed("replace "+document.ID, err)
	}
	gone := false
	write := change{id: document.ID, document: raw, condition: revisionOf(record.Revision - 1), first: stepReplace}
	refused, err := s.settle(ctx, s.records, []change{write}, func(_ int, stored bson.Raw) (step, error) {
		if gone = stored == nil; gone {
			return stepRefused, nil
		}
		revision, _ := stored.Lookup("revision").AsInt64OK()
		return revised(record.Revision, revision, writtenAs(stored, document.Write)), nil
	})
	switch {
	case err != nil:
	case gone:
		err = engine.ErrNotFound
	case len(refused) > 0:
		err = engine.ErrConflict
	}
	return s.failed("replace "+document.ID, err)
}

// DeleteRecord deletes a record of this revision, 0 for any; engine.ErrConflict or engine.ErrNotFound.
func (s *Store) DeleteRecord(ctx context.Context, kind, key string, revision int64) error {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	id := recordID(kind, key)
	var condition bson.D
	if revision != 0 {
		condition = revisionOf(revision)
	}
	deleted, err := s.deleteOne(ctx, s.records, id, condition)
	if err == nil && !deleted {
		if _, err = one[recordDocument](ctx, s.records, byID(id)); err == nil {
			err = engine.ErrConflict
		}
	}
	return s.failed("delete "+id, err)
}

// Record returns one record; engine.ErrNotFound.
func (s *Store) Record(ctx context.Context, kind, key string) (engine.Record, error) {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	record, err := one[recordDocument](ctx, s.records, byID(recordID(kind, key)))
	return record, s.failed("read "+recordID(kind, key), err)
}

// Records lists records of a kind. The _id holds kind and key, so its index finds them.
func (s *Store) Records(ctx context.Context, filter engine.RecordFilter) ([]engine.Record, error) {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	prefix := recordID(filter.Kind, filter.Prefix)
	bounds, order := bson.D{{Key: "$gte", Value: prefix}}, ascending("_id")
	end, bounded := behindPrefix(prefix)
	after := recordID(filter.Kind, filter.After)
	switch {
	case filter.Backwards && filter.After != "":
		end, bounded = min(end, after), true
	case filter.After != "" && after >= prefix:
		bounds = bson.D{{Key: "$gt", Value: after}}
	}
	if bounded {
		bounds = append(bounds, bson.E{Key: "$lt", Value: end})
	}
	if filter.Backwards {
		order = descending("_id")
	}
	records, err := list[recordDocument](ctx, s.records, bson.D{{Key: "_id", Value: bounds}}, options.Find().SetSort(order).SetLimit(int64(filter.Limit)))
	return records, s.failed("list "+filter.Kind, err)
}

// behindPrefix returns a text behind all that begin with a prefix, which is not empty. Texts of BSON are UTF-8, so the last
// rune is raised.
func behindPrefix(prefix string) (end string, bounded bool) {
	runes := []rune(prefix)
	for len(runes) > 0 {
		switch last := runes[len(runes)-1]; last {
		case utf8.MaxRune:
			runes = runes[:len(runes)-1]
		case 0xd7ff: // what follows is no rune of its own
			runes[len(runes)-1] = 0xe000
			return string(runes), true
		default:
			runes[len(runes)-1] = last + 1
			return string(runes), true
		}
	}
	return "", false
}

// ExpireRecords deletes at most limit records that expired before an instant, and counts them.
func (s *Store) ExpireRecords(ctx context.Context, before time.Time, limit int) (deleted int, err error) {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	if limit <= 0 {
		return 0, nil
	}
	old := bson.D{{Key: "expires_at", Value: bson.D{{Key: "$lt", Value: date(before)}}}}
	found, err := find[struct {
		ID string `bson:"_id"`
	}](ctx, s.records, old, options.Find().SetSort(ascending("expires_at")).SetLimit(int64(min(limit, s.config.BulkSize))).SetProjection(byID1))
	if err != nil || len(found) == 0 {
		return 0, s.failed("expire records", err)
	}
	ids := make([]string, len(found))
	for i := range found {
		ids[i] = found[i].ID
	}
	// One whose time was put off meanwhile is not old any more.
	return len(ids), s.failed("expire records", s.repeat(ctx, func() error {
		_, err := s.records.DeleteMany(ctx, append(byIDs(ids), old...))
		return err
	}))
}
