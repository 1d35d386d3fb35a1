package mongo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/tidewheel/tidewheel/engine"
)

// definitions keeps what users write under a name, jobs or DAGs, with the versions that each has had.
type definitions[S engine.Spec] struct {
	*Store
	what string // "job", for errors

	living, tombstones, generations *mongo.Collection
	oldGenerations                  *mongo.Collection // for reads that may be a little old

	write func(*S) (bson.Raw, error)
	read  func(bson.Raw) (S, error)
}

// nameID is the _id of a definition, or of a binary.
func nameID(namespace, name string) string { return namespace + "/" + name }

// bare leaves sources out of what is read: they are large, and only who reads one definition by its name wants it.
func bare() options.Lister[options.FindOptions] {
	return options.Find().SetProjection(bson.D{{Key: "source", Value: 0}})
}

// definitionIs is the condition that a stored definition is this revision of this one.
func definitionIs(uid string, revision int64) bson.D {
	return append(bson.D{{Key: "uid", Value: uid}}, revisionOf(revision)...)
}

// valuesBy returns documents as what they are in the engine.
func valuesBy[D, T any](in *mongo.Collection, documents []D, value func(D) (T, error)) ([]T, error) {
	if len(documents) == 0 {
		return nil, nil
	}
	result := make([]T, len(documents))
	for i, document := range documents {
		var err error
		if result[i], err = value(document); err != nil {
			return nil, &DocumentError{Collection: in.Name(), ID: idOf(document), Err: err}
		}
	}
	return result, nil
}

// Get returns a living definition with its source; engine.ErrNotFound.
func (d *definitions[S]) Get(ctx context.Context, namespace, name string) (found engine.Definition[S], err error) {
	ctx, cancel := d.bound(ctx)
	defer cancel()
	operation := "read " + d.what + " " + nameID(namespace, name)
	documents, err := find[definitionDocument](ctx, d.living, append(byID(nameID(namespace, name)), bson.E{Key: "deleted", Value: false}))
	if err != nil {
		return found, d.failed(operation, err)
	}
	all, err := valuesBy(d.living, documents, d.value)
	if err == nil && len(all) == 0 {
		err = engine.ErrNotFound
	}
	if err != nil {
		return found, d.failed(operation, err)
	}
	return all[0], nil
}

// countMost bounds what Count looks at.
const countMost = 1 << 20

// Count returns how many living definitions a namespace has, at most 1,048,576. It looks at each of them, and at no others.
func (d *definitions[S]) Count(ctx context.Context, namespace string) (n int64, err error) {
	ctx, cancel := d.bound(ctx)
	defer cancel()
	err = d.repeat(ctx, func() (err error) {
		n, err = d.living.CountDocuments(ctx, append(above(namespace, ""), bson.E{Key: "deleted", Value: false}), options.Count().SetLimit(countMost))
		return err
	})
	return n, d.failed("count "+d.living.Name(), err)
}

// byUID returns those that exist, tombstones included, in no order.
func (d *definitions[S]) byUID(ctx context.Context, uids []string) ([]engine.Definition[S], error) {
	if err := d.projector.flushActed(ctx); err != nil {
		return nil, d.failed("read "+d.living.Name(), err)
	}
	ctx = d.paced(ctx)
	documents, err := d.documentsByUID(ctx, uids)
	if err != nil {
		return nil, d.failed("read "+d.living.Name(), err)
	}
	found, err := valuesBy(d.living, documents, d.value)
	return found, d.failed("read "+d.living.Name(), err)
}

func (d *definitions[S]) documentsByUID(ctx context.Context, uids []string) (documents []definitionDocument, err error) {
	for chunk := range slices.Chunk(uids, d.config.BulkSize) {
		some, err := find[definitionDocument](ctx, d.living, among("uid", chunk), bare())
		if err != nil {
			return nil, err
		}
		documents = append(documents, some...)
	}
	tombs, err := d.buriedByUID(ctx, uids, documents)
	return append(documents, tombs...), err
}

// pending returns those of some shards that the engine has not acted upon, tombstones included.
func (d *definitions[S]) pending(ctx context.Context, shards []int, limit int) ([]engine.Definition[S], error) {
	if len(shards) == 0 {
		return nil, nil
	}
	ctx, cancel := d.bound(ctx)
	defer cancel()
	operation := "read pending " + d.living.Name()
	if err := d.projector.flushActed(ctx); err != nil {
		return nil, d.failed(operation, err)
	}
	filter := append(among("shard", shards), bson.E{Key: "pending", Value: true})
	documents, err := find[definitionDocument](ctx, d.living, filter, bare(), options.Find().SetLimit(int64(max(limit, 0))))
	if err != nil {
		return nil, d.failed(operation, err)
	}
	if limit <= 0 || len(documents) < limit {
		tombs, err := d.buriedPending(ctx, shards, documents)
		if err != nil {
			return nil, d.failed(operation, err)
		}
		if documents = append(documents, tombs...); limit > 0 {
			documents = documents[:min(limit, len(documents))]
		}
	}
	found, err := valuesBy(d.living, documents, d.value)
	return found, d.failed(operation, err)
}

// Create inserts a definition of revision 1; engine.ErrExists if a living one has the name. A tombstone of its name is
// moved aside and stays until it is handled. The document is the first generation, too: one
// write makes both.
func (d *definitions[S]) Create(ctx context.Context, given engine.Definition[S]) error {
	ctx, cancel := d.bound(ctx)
	defer cancel()
	mine, err := d.document(&given)
	if err != nil {
		return d.failed("create "+d.what, err)
	}
	operation := "create " + d.what + " " + mine.ID
	raw, err := bson.Marshal(mine)
	if err != nil {
		return d.failed(operation, err)
	}
	// A uid is never made twice: a stored definition with it is this one.
	ours := func(stored bson.Raw) (bool, error) {
		uid, _ := stored.Lookup("uid").StringValueOK()
		return uid == mine.UID, nil
	}
	there, err := d.insert(ctx, d.living, change{id: mine.ID, document: raw}, ours)
	if err != nil || !there {
		return d.failed(operation, err)
	}
	found, err := d.stands(ctx, mine.ID)
	if err != nil {
		return d.failed(operation, err)
	}
	if found == nil || !found.Deleted { // nil: it was removed this moment; the caller may try the name again
		return fmt.Errorf("mongo: %s: %w", operation, engine.ErrExists)
	}
	tomb := *found
	if err := d.bury(ctx, tomb); err != nil {
		return d.failed(operation, err)
	}
	over := change{
		id: mine.ID, document: raw, first: stepReplace,
		condition: append(definitionIs(tomb.UID, tomb.Revision), bson.E{Key: "deleted", Value: true}),
	}
	refused, err := d.settle(ctx, d.living, []change{over}, func(_ int, stored bson.Raw) (step, error) {
		now, err := parseDefinition(stored)
		switch {
		case err != nil:
			return 0, err
		case now == nil: // the engine has just removed the tombstone
			return stepInsert, nil
		case now.UID == mine.UID:
			return stepDone, nil
		case now.UID == tomb.UID && now.Revision == tomb.Revision:
			return stepReplace, nil
		}
		return stepRefused, nil
	})
	if err != nil {
		return d.failed(operation, err)
	}
	if len(refused) > 0 {
		return fmt.Errorf("mongo: %s: %w", operation, engine.ErrExists)
	}
	return nil
}

// Replace writes a definition on condition that the stored one has its UID and the revision before; engine.ErrConflict,
// or engine.ErrNotFound if it is gone. The version that an edit replaces is kept first, as it is stored: so generations
// never holds a version that lost a race, and a crash in between leaves nothing to repair.
func (d *definitions[S]) Replace(ctx context.Context, given engine.Definition[S]) error {
	ctx, cancel := d.bound(ctx)
	defer cancel()
	mine, err := d.document(&given)
	if err != nil {
		return d.failed("replace "+d.what, err)
	}
	operation := "replace " + d.what + " " + mine.ID
	raw, err := bson.Marshal(mine)
	if err != nil {
		return d.failed(operation, err)
	}
	found, err := d.stands(ctx, mine.ID)
	switch {
	case err != nil:
		return d.failed(operation, err)
	case found == nil || found.UID != mine.UID:
		return fmt.Errorf("mongo: %s: %w", operation, engine.ErrNotFound)
	case found.Revision != mine.Revision-1:
		return fmt.Errorf("mongo: %s: %w", operation, engine.ErrConflict)
	}
	if found.Generation != mine.Generation {
		if err := d.keep(ctx, found.present()); err != nil {
			return d.failed(operation, err)
		}
	}
	gone := false
	write := change{id: mine.ID, document: raw, condition: definitionIs(mine.UID, mine.Revision-1), first: stepReplace}
	refused, err := d.settle(ctx, d.living, []change{write}, func(_ int, stored bson.Raw) (step, error) {
		now, err := parseDefinition(stored)
		if err != nil {
			return 0, err
		}
		if gone = now == nil || now.UID != mine.UID; gone {
			return stepRefused, nil
		}
		return revised(mine.Revision, now.Revision, now.Revision == mine.Revision && now.same(*mine)), nil
	})
	switch {
	case err != nil:
		return d.failed(operation, err)
	case gone:
		return fmt.Errorf("mongo: %s: %w", operation, engine.ErrNotFound)
	case len(refused) > 0:
		return fmt.Errorf("mongo: %s: %w", operation, engine.ErrConflict)
	}
	return nil
}

// stands reads what is stored under an id, nil for nothing.
func (d *definitions[S]) stands(ctx context.Context, id string) (*definitionDocument, error) {
	var found definitionDocument
	err := d.repeat(ctx, func() error { return d.living.FindOne(ctx, byID(id)).Decode(&found) })
	if errors.Is(err, mongo.ErrNoDocuments) {
		return nil, nil
	}
	return &found, err
}

func parseDefinition(stored bson.Raw) (*definitionDocument, error) {
	if stored == nil {
		return nil, nil
	}
	var found definitionDocument
	return &found, bson.Unmarshal(stored, &found)
}

// handle clears Pending of the definitions that are still what the engine acted upon, and removes tombstones with their
// generations, these first: a tombstone that is still there is handled again.
func (d *definitions[S]) handle(ctx context.Context, handled []engine.JobHandled) error {
	ids := make([]string, len(handled))
	for i, h := range handled {
		ids[i] = nameID(h.Namespace, h.Name)
	}
	var found []definitionDocument
	err := d.repeat(ctx, func() (err error) {
		found, err = find[definitionDocument](ctx, d.living, byIDs(ids), options.Find().SetProjection(projection("uid", "revision", "deleted", "pending")))
		return err
	})
	if err != nil {
		return err
	}
	var tombs []string
	var writes []mongo.WriteModel
	var nameless []engine.JobHandled // no living definition is meant
	for i, h := range handled {
		at := slices.IndexFunc(found, func(d definitionDocument) bool { return d.ID == ids[i] && d.UID == h.UID })
		if at < 0 || found[at].Deleted {
			nameless = append(nameless, h)
		}
		if at < 0 || found[at].Revision != h.Revision {
			continue
		}
		filter := append(byID(ids[i]), definitionIs(h.UID, h.Revision)...)
		switch {
		case found[at].Deleted:
			tombs = append(tombs, h.UID)
			writes = append(writes, mongo.NewDeleteOneModel().SetFilter(filter))
		case found[at].Pending:
			writes = append(writes, mongo.NewUpdateOneModel().SetFilter(filter).SetUpdate(set("pending", false)))
		}
	}
	buried, err := d.buriedAt(ctx, nameless)
	if err != nil {
		return err
	}
	if err := d.forgetGenerations(ctx, append(tombs, buried...)); err != nil {
		return err
	}
	if len(writes) > 0 {
		// Whatever does not match any more has been written by a user meanwhile, who has set Pending again.
		if err := d.repeat(ctx, func() error {
			ctx, cancel := d.command(ctx)
			defer cancel()
			_, err := d.living.BulkWrite(ctx, writes, options.BulkWrite().SetOrdered(false))
			return err
		}); err != nil {
			return err
		}
	}
	return d.remove(ctx, d.tombstones, buried, nil)
}

// List lists those that are not deleted by name, with the cursor of the next page. It reads from the primary, so that
// a user sees a definition that they have just created. A search looks at no more than Config.ScanLimit of them at a time.
func (d *definitions[S]) List(ctx context.Context, filter engine.DefinitionFilter) (found []engine.Definition[S], next string, err error) {
	ctx, cancel := d.bound(ctx)
	defer cancel()
	operation := "list " + d.living.Name()
	place, _, err := engine.DecodeCursor(d.living.Name(), filter.Cursor)
	if err != nil {
		return nil, "", fmt.Errorf("mongo: %s: %w", operation, err)
	}
	after := place.ID
	limit, text := pageSize(filter.Limit), strings.ToLower(filter.Text)
	size := limit + 1
	if text != "" {
		size = min(1000, d.config.ScanLimit)
	}
	began := time.Now()
	for scanned := 0; ; {
		condition := append(above(filter.Namespace, after), bson.E{Key: "deleted", Value: false})
		if filter.Retaining {
			condition = append(condition, bson.E{Key: "definition.retention", Value: bson.D{{Key: "$exists", Value: true}}})
		}
		documents, err := find[definitionDocument](ctx, d.living, condition, bare(), options.Find().SetSort(ascending("_id")).SetLimit(int64(size)))
		if err != nil {
			return nil, "", d.failed(operation, err)
		}
		for _, document := range documents {
			if strings.Contains(strings.ToLower(document.Name), text) {
				if len(found) == limit {
					return found, engine.Cursor{ID: after}.Encode(d.living.Name()), nil
				}
				one, err := d.value(document)
				if err != nil {
					return nil, "", d.failed(operation, &DocumentError{Collection: d.living.Name(), ID: document.ID, Err: err})
				}
				found = append(found, one)
			}
			after = document.ID
		}
		scanned += len(documents)
		switch {
		case len(documents) < size:
			return found, "", nil
		case scanned >= d.config.ScanLimit || time.Since(began) > d.config.ScanTime:
			return found, engine.Cursor{ID: after}.Encode(d.living.Name()), nil
		}
	}
}

// above is the condition that an _id is of a namespace ("" for all) and above another.
func above(namespace, after string) bson.D {
	low, high := after, ""
	if namespace != "" {
		low, high = max(after, namespace+"/"), namespace+"0" // '0' follows '/'
	}
	bounds := bson.D{{Key: "$gt", Value: low}}
	if high != "" {
		bounds = append(bounds, bson.E{Key: "$lt", Value: high})
	}
	return bson.D{{Key: "_id", Value: bounds}}
}
