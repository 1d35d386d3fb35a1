package mongo

import (
	"context"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/tidewheel/tidewheel/engine"
)

// A tombstone stands in jobs (or dags), under its name, until a new one takes that name; before that it is copied to
// tombstones (or dag_tombstones), under its uid, where it waits for the engine. So it is in at least one place at every
// moment, and a reader of jobs first and tombstones second never misses it. Whatever a crash leaves in both places is
// one tombstone, and goes when it is handled. A copy that is made at the very moment when the engine has handled the tombstone is handled
// once more, which changes nothing.

// bury copies a tombstone to where its name does not matter. No process writes to a definition once it is deleted, so a
// copy that is there already is the same.
func (d *definitions[S]) bury(ctx context.Context, tomb definitionDocument) error {
	tomb.ID = tomb.UID
	raw, err := bson.Marshal(tomb)
	if err != nil {
		return err
	}
	_, err = d.insert(ctx, d.tombstones, change{id: tomb.ID, document: raw}, func(bson.Raw) (bool, error) { return true, nil })
	return err
}

// buriedByUID returns the tombstones without a name among those definitions that are not in found.
func (d *definitions[S]) buriedByUID(ctx context.Context, uids []string, found []definitionDocument) (tombs []definitionDocument, err error) {
	if len(found) >= len(uids) {
		return nil, nil
	}
	known := make(map[string]struct{}, len(found))
	for i := range found {
		known[found[i].UID] = struct{}{}
	}
	var missing []string
	for _, uid := range uids {
		if _, ok := known[uid]; !ok {
			missing = append(missing, uid)
		}
	}
	for chunk := range slices.Chunk(missing, d.config.BulkSize) {
		some, err := find[definitionDocument](ctx, d.tombstones, byIDs(chunk), bare())
		if err != nil {
			return nil, err
		}
		tombs = append(tombs, some...)
	}
	return tombs, nil
}

// buriedPending returns the tombstones without a name that are not among found. They are few: each took a definition that
// was deleted and made again since the engine last looked.
func (d *definitions[S]) buriedPending(ctx context.Context, shards []int, found []definitionDocument) ([]definitionDocument, error) {
	tombs, err := find[definitionDocument](ctx, d.tombstones, append(among("shard", shards), bson.E{Key: "pending", Value: true}), bare())
	return slices.DeleteFunc(tombs, func(tomb definitionDocument) bool {
		return slices.ContainsFunc(found, func(other definitionDocument) bool { return other.UID == tomb.UID })
	}), err
}

// buriedAt returns the uids of the tombstones without a name that are at the revision that was handled.
func (d *definitions[S]) buriedAt(ctx context.Context, handled []engine.JobHandled) (uids []string, err error) {
	if len(handled) == 0 {
		return nil, nil
	}
	ids := make([]string, len(handled))
	for i, h := range handled {
		ids[i] = h.UID
	}
	var found []definitionDocument
	err = d.repeat(ctx, func() (err error) {
		found, err = find[definitionDocument](ctx, d.tombstones, byIDs(ids), options.Find().SetProjection(bson.D{{Key: "uid", Value: 1}, {Key: "revision", Value: 1}}))
		return err
	})
	for _, h := range handled {
		if slices.ContainsFunc(found, func(d definitionDocument) bool { return d.UID == h.UID && d.Revision == h.Revision }) {
			uids = append(uids, h.UID)
		}
	}
	return uids, err
}
