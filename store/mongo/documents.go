package mongo

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/tidewheel/tidewheel/engine"
)

// pageBytes is how large the documents of a page may be together, beyond one.
const pageBytes = 4 << 20

// View calls read with pages of all that the database holds, what was committed until now included. Each page is as it is
// when it is read. A caller that needs all pages of one moment must keep everyone from writing meanwhile.
func (s *Store) View(ctx context.Context, read func(engine.DocumentPages) error) error {
	tail, err := s.unprojected(ctx) // of the same moment, if ctx says one
	if err != nil {
		return s.failed("read the journal", err)
	}
	return read(func(of engine.Collection, from string, limit int) ([]engine.Document, string, error) {
		page, next, err := s.page(ctx, of, from, limit, tail)
		return page, next, s.failed("read "+string(of), err)
	})
}

func (s *Store) page(ctx context.Context, of engine.Collection, from string, limit int, tail *merged) ([]engine.Document, string, error) {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	switch of {
	case engine.CollectionJobs:
		return definitionPage(ctx, s.jobs, from, limit)
	case engine.CollectionDAGs:
		return definitionPage(ctx, s.dags, from, limit)
	case engine.CollectionGenerations:
		return versionPage(ctx, s.jobs, from, limit)
	case engine.CollectionDAGGenerations:
		return versionPage(ctx, s.dags, from, limit)
	case engine.CollectionBinaries:
		return pageOf(ctx, s.binaries, from, limit, nil, binaryDocument.value)
	case engine.CollectionWaves:
		return pageOf(ctx, s.waves, from, limit, tail.documents[s.waves], waveDocument.value)
	case engine.CollectionRuns:
		return pageOf(ctx, s.runs, from, limit, tail.documents[s.runs], runDocument.value)
	case engine.CollectionRecords:
		return pageOf(ctx, s.records, from, limit, nil, recordDocument.value)
	case engine.CollectionEffects:
		return pageOf(ctx, s.effects, from, limit, nil, effectDocument.value)
	case engine.CollectionSlots:
		return pageOf(ctx, s.slots, from, limit, tail.documents[s.slots], slotDocument.value)
	case engine.CollectionDeadLetters:
		return pageOf(ctx, s.deadLetters, from, limit, tail.documents[s.deadLetters], letterDocument.value)
	case engine.CollectionIncidents:
		return pageOf(ctx, s.incidents, from, limit, tail.documents[s.incidents], incidentDocument.value)
	case engine.CollectionScheduledTasks:
		return pageOf(ctx, s.tasks, from, limit, tail.documents[s.tasks], taskDocument.value)
	case engine.CollectionCommands:
		page, next, err := pageOf(ctx, s.commands, from, limit, nil, commandDocument.value)
		return slices.DeleteFunc(page, func(d engine.Document) bool {
			command, is := d.(engine.Command)
			return is && slices.Contains(tail.done, doneDocument{command.ID, date(command.At)})
		}), next, err
	case engine.CollectionSharedKeys:
		return pageOf(ctx, s.meta, max(from, firstKey), limit, nil, keyDocument.value, bson.E{Key: "$lt", Value: afterKeys})
	}
	return nil, "", fmt.Errorf("there is no collection %q", of)
}

// Shared keys stand in meta between these.
const (
	firstKey  = "key-"
	afterKeys = "key." // '.' follows '-'
)

func (d keyDocument) value() (engine.SharedKey, error) {
	return engine.SharedKey{Name: d.ID[len(firstKey):], Key: d.Key}, nil
}

// readPage reads documents in the order of their _id, from after one on: those of over where these are newer. next is the
// last one's, "" at the end.
func readPage[D any](
	ctx context.Context, in *mongo.Collection, after string, limit int, over map[string]newest, bounds ...bson.E,
) (page []D, next string, err error) {
	filter := bson.D{{Key: "_id", Value: append(bson.D{{Key: "$gt", Value: after}}, bounds...)}}
	cursor, err := in.Find(ctx, filter, options.Find().SetSort(ascending("_id")).SetLimit(int64(limit)))
	if err != nil {
		return nil, "", err
	}
	defer func() {
		// The server forgets a cursor by itself; an error after what was wanted means nothing.
		_ = cursor.Close(context.WithoutCancel(ctx))
	}()
	absent := slices.Sorted(maps.Keys(over)) // from the collection, as far as is known
	absent = slices.DeleteFunc(absent, func(id string) bool { return id <= after })
	size, seen := 0, 0
	give := func(id string, raw bson.Raw) (full bool, err error) {
		if !isDropped(raw) {
			var document D
			if err := bson.Unmarshal(raw, &document); err != nil {
				return false, unreadable(in, raw, err)
			}
			page = append(page, document)
		}
		next, size, seen = id, size+len(raw), seen+1
		return size > pageBytes || seen == limit, nil
	}
	for more := true; more; {
		id, raw := "", bson.Raw(nil)
		if more = cursor.Next(ctx); more {
			raw = cursor.Current
			id, _ = raw.Lookup("_id").StringValueOK()
		} else if cursor.Err() != nil {
			return nil, "", cursor.Err()
		}
		for len(absent) > 0 && (!more || absent[0] < id) {
			if full, err := give(absent[0], over[absent[0]].document); full || err != nil {
				return page, next, err
			}
			absent = absent[1:]
		}
		if !more {
			break
		}
		if len(absent) > 0 && absent[0] == id {
			absent = absent[1:]
			if position, _ := raw.Lookup("position").AsInt64OK(); position < over[id].position {
				raw = over[id].document
			}
		}
		if full, err := give(id, raw); full || err != nil {
			return page, next, err
		}
	}
	return page, "", nil
}

// pageOf gives the documents of a page as what they are in the engine.
func pageOf[D any, T engine.Document](
	ctx context.Context, in *mongo.Collection, after string, limit int, over map[string]newest, value func(D) (T, error), bounds ...bson.E,
) ([]engine.Document, string, error) {
	documents, next, err := readPage[D](ctx, in, after, limit, over, bounds...)
	if err != nil {
		return nil, "", err
	}
	page, err := documentsBy(in, documents, value)
	return page, next, err
}

func documentsBy[D any, T engine.Document](in *mongo.Collection, documents []D, value func(D) (T, error)) (page []engine.Document, err error) {
	values, err := valuesBy(in, documents, value)
	for _, one := range values {
		page = append(page, one)
	}
	return page, err
}

// The parts of what is kept of definitions, as the first letter of a place.
const (
	partVersions = "g" // generations
	partLiving   = "l" // jobs or dags
	partTombs    = "t" // tombstones or dag_tombstones
)

// partOf takes a place apart.
func partOf(from, first string) (part, after string) {
	if from == "" {
		return first, ""
	}
	return from[:1], from[1:]
}

// place puts it together: the next page of this part, or the beginning of what follows it.
func place(part, next, follows string) string {
	switch {
	case next != "":
		return part + next
	case follows != "":
		return follows
	}
	return ""
}

// definitionPage returns what stands under names, and then the tombstones that do not any more.
func definitionPage[S engine.Spec](ctx context.Context, d *definitions[S], from string, limit int) ([]engine.Document, string, error) {
	documents, next, err := d.definitionsFrom(ctx, from, partLiving, limit)
	if err != nil {
		return nil, "", err
	}
	page, err := documentsBy(d.living, documents, d.value)
	return page, next, err
}

// definitionsFrom reads a page of partLiving or partTombs. A tombstone that a crash has left in both counts once.
func (d *definitions[S]) definitionsFrom(ctx context.Context, from, first string, limit int) ([]definitionDocument, string, error) {
	part, after := partOf(from, first)
	if part == partLiving {
		documents, next, err := readPage[definitionDocument](ctx, d.living, after, limit, nil)
		return documents, place(partLiving, next, partTombs), err
	}
	tombs, next, err := readPage[definitionDocument](ctx, d.tombstones, after, limit, nil)
	if err != nil || len(tombs) == 0 {
		return nil, place(partTombs, next, ""), err
	}
	uids := make([]string, len(tombs))
	for i := range tombs {
		uids[i] = tombs[i].UID
	}
	there, err := d.presentOf(ctx, d.living, "uid", uids)
	var rest []definitionDocument
	for i := range tombs {
		if _, twice := there[tombs[i].UID]; !twice {
			rest = append(rest, tombs[i])
		}
	}
	return rest, place(partTombs, next, ""), err
}

// versionPage returns the earlier versions, and then the current ones, which stand in the definitions themselves. A current version
// that an edit which lost a race has left among the earlier ones counts once.
func versionPage[S engine.Spec](ctx context.Context, d *definitions[S], from string, limit int) ([]engine.Document, string, error) {
	part, after := partOf(from, partVersions)
	if part != partVersions {
		documents, next, err := d.definitionsFrom(ctx, from, part, limit)
		if err != nil {
			return nil, "", err
		}
		versions := make([]generationDocument, len(documents))
		for i := range documents {
			versions[i] = documents[i].present()
		}
		page, err := documentsBy(d.living, versions, d.version)
		return page, next, err
	}
	versions, next, err := readPage[generationDocument](ctx, d.generations, after, limit, nil)
	if err == nil {
		versions, err = d.earlierOnly(ctx, versions)
	}
	if err != nil {
		return nil, "", err
	}
	page, err := documentsBy(d.generations, versions, d.version)
	return page, place(partVersions, next, partLiving), err
}

// earlierOnly leaves out the versions that definitions are in.
func (d *definitions[S]) earlierOnly(ctx context.Context, versions []generationDocument) (earlier []generationDocument, err error) {
	if len(versions) == 0 {
		return nil, nil
	}
	var uids []string
	seen := map[string]bool{}
	for i := range versions {
		if uid := versions[i].UID; !seen[uid] {
			seen[uid] = true
			uids = append(uids, uid)
		}
	}
	living, err := d.presentOf(ctx, d.living, "uid", uids)
	if err != nil {
		return nil, err
	}
	buried, err := d.presentOf(ctx, d.tombstones, "_id", uids)
	if err != nil {
		return nil, err
	}
	for _, version := range versions {
		if living[version.UID] != version.Generation && buried[version.UID] != version.Generation {
			earlier = append(earlier, version)
		}
	}
	return earlier, nil
}

// presentOf returns the generations that those definitions of some uids are in that stand in a collection.
func (d *definitions[S]) presentOf(ctx context.Context, in *mongo.Collection, field string, uids []string) (map[string]int64, error) {
	found, err := find[definitionDocument](ctx, in, among(field, uids), options.Find().SetProjection(projection("uid", "generation")))
	present := make(map[string]int64, len(found))
	for i := range found {
		present[found[i].UID] = found[i].Generation
	}
	return present, err
}
