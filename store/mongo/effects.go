package mongo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/tidewheel/tidewheel/engine"
)

// effectDocument is a document of effects. The result is kept as its JSON, byte by byte: programs get back what they
// gave.
type effectDocument struct {
	ID        string         `bson:"_id"` // run/key
	Run       string         `bson:"run"`
	Key       string         `bson:"key"`
	Namespace string         `bson:"namespace"`
	Revision  int64          `bson:"revision"`
	State     string         `bson:"state"`
	Attempt   int            `bson:"attempt"`
	Token     int64          `bson:"token"` // a sequence of JetStream, which is far below 2^63
	CreatedAt bson.DateTime  `bson:"created_at"`
	OpenedAt  bson.DateTime  `bson:"opened_at"`
	DoneAt    *bson.DateTime `bson:"done_at,omitempty"`
	Result    string         `bson:"result,omitempty"`
}

// effectID is the _id of an effect. No run and no key holds a '/'.
func effectID(run, key string) string { return run + "/" + key }

func newEffectDocument(e *engine.RunEffect) effectDocument {
	d := effectDocument{
		ID: effectID(e.Run, e.Key), Run: e.Run, Key: e.Key, Namespace: e.Namespace, Revision: e.Revision, State: string(e.State),
		Attempt: e.Attempt, Token: int64(e.Token), CreatedAt: date(e.CreatedAt), OpenedAt: date(e.OpenedAt), Result: string(e.Result),
	}
	if !e.DoneAt.IsZero() {
		at := date(e.DoneAt)
		d.DoneAt = &at
	}
	return d
}

func (d effectDocument) value() (engine.RunEffect, error) {
	e := engine.RunEffect{
		Run: d.Run, Key: d.Key, Namespace: d.Namespace, Revision: d.Revision, State: engine.EffectState(d.State),
		Attempt: d.Attempt, Token: uint64(d.Token), CreatedAt: instant(d.CreatedAt), OpenedAt: instant(d.OpenedAt),
	}
	if d.DoneAt != nil {
		e.DoneAt = instant(*d.DoneAt)
	}
	if d.Result != "" {
		if e.Result = json.RawMessage(d.Result); !json.Valid(e.Result) {
			return e, errors.New("its result is not JSON")
		}
	}
	return e, nil
}

// InsertEffect inserts an effect of revision 1; engine.ErrExists.
func (s *Store) InsertEffect(ctx context.Context, effect engine.RunEffect) error {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	id := effectID(effect.Run, effect.Key)
	raw, err := bson.Marshal(newEffectDocument(&effect))
	if err != nil {
		return s.failed("insert effect "+id, err)
	}
	there, err := s.insert(ctx, s.effects, change{id: id, document: raw}, func(stored bson.Raw) (bool, error) {
		return s.sameEffect(stored, raw)
	})
	if err == nil && there {
		err = engine.ErrExists
	}
	return s.failed("insert effect "+id, err)
}

// ReplaceEffect writes an effect on condition that the stored revision is the previous one; engine.ErrConflict or
// engine.ErrNotFound.
func (s *Store) ReplaceEffect(ctx context.Context, effect engine.RunEffect) error {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	id := effectID(effect.Run, effect.Key)
	raw, err := bson.Marshal(newEffectDocument(&effect))
	if err != nil {
		return s.failed("replace effect "+id, err)
	}
	gone := false
	write := change{id: id, document: raw, condition: revisionOf(effect.Revision - 1), first: stepReplace}
	refused, err := s.settle(ctx, s.effects, []change{write}, func(_ int, stored bson.Raw) (step, error) {
		if gone = stored == nil; gone {
			return stepRefused, nil
		}
		revision, _ := stored.Lookup("revision").AsInt64OK()
		same, err := s.sameEffect(stored, raw)
		return revised(effect.Revision, revision, same), err
	})
	switch {
	case err != nil:
	case gone:
		err = engine.ErrNotFound
	case len(refused) > 0:
		err = engine.ErrConflict
	}
	return s.failed("replace effect "+id, err)
}

// sameEffect reports whether what is stored is what a write holds, however another program has ordered its fields.
func (s *Store) sameEffect(stored, mine bson.Raw) (bool, error) {
	found, err := decode[effectDocument](s.effects, stored)
	if err != nil {
		return false, err
	}
	again, err := bson.Marshal(newEffectDocument(&found))
	return bytes.Equal(again, mine), err
}

// Effect returns one effect; engine.ErrNotFound.
func (s *Store) Effect(ctx context.Context, run, key string) (engine.RunEffect, error) {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	effect, err := one[effectDocument](ctx, s.effects, byID(effectID(run, key)))
	return effect, s.failed("read effect "+effectID(run, key), err)
}

// Effects lists the effects of a run by key, with the cursor of the next page.
func (s *Store) Effects(ctx context.Context, run, cursor string, limit int) (effects []engine.RunEffect, next string, err error) {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	after := ""
	if cursor != "" {
		if after, err = decodeCursor(cursor); err != nil {
			return nil, "", fmt.Errorf("mongo: list effects: %w", err)
		}
	}
	ids := bson.D{{Key: "$gt", Value: effectID(run, after)}, {Key: "$lt", Value: run + "0"}} // '0' follows '/'
	limit = pageSize(limit)
	effects, err = list[effectDocument](ctx, s.effects, bson.D{{Key: "_id", Value: ids}},
		options.Find().SetSort(ascending("_id")).SetLimit(int64(limit+1)))
	if err != nil {
		return nil, "", s.failed("list effects", err)
	}
	effects, last := cut(effects, limit)
	if last != nil {
		next = encodeCursor(last.Key)
	}
	return effects, next, nil
}

// ExpireEffects deletes at most limit effects that were opened first before before and whose runs are gone. Runs go
// first, so that none is ever there without its effects; what a crash leaves in between is found here.
func (s *Store) ExpireEffects(ctx context.Context, before time.Time, limit int) (deleted int, err error) {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	if limit <= 0 {
		return 0, nil
	}
	limit = min(limit, s.config.BulkSize)
	var after *position
	for {
		old, last, err := s.oldestEffects(ctx, before, after, limit)
		if err != nil || len(old) == 0 {
			return 0, s.failed("expire effects", err)
		}
		ids, err := s.orphans(ctx, old)
		if err != nil {
			return 0, s.failed("expire effects", err)
		}
		if len(ids) > 0 {
			return len(ids), s.failed("expire effects", s.remove(ctx, s.effects, ids, nil))
		}
		after = last // all of these have their runs yet
	}
}

// oldestEffects returns some effects that were opened first before an instant, the oldest first, and where to continue.
func (s *Store) oldestEffects(ctx context.Context, before time.Time, after *position, limit int) (old []effectDocument, last *position, err error) {
	bounds := bson.D{{Key: "$lt", Value: date(before)}}
	condition := bson.D{}
	if after != nil {
		bounds = append(bounds, bson.E{Key: "$gte", Value: after.at})
		// As in newestFirst: the bound is for the index, the alternative leaves out what was given before.
		condition = bson.D{{Key: "$or", Value: bson.A{
			bson.D{{Key: "created_at", Value: bson.D{{Key: "$gt", Value: after.at}}}},
			bson.D{{Key: "_id", Value: bson.D{{Key: "$gt", Value: after.id}}}},
		}}}
	}
	condition = append(bson.D{{Key: "created_at", Value: bounds}}, condition...)
	fields := options.Find().SetProjection(projection("run", "created_at"))
	old, err = find[effectDocument](ctx, s.effects, condition, fields.SetSort(ascending("created_at", "_id")).SetLimit(int64(limit)))
	if err != nil || len(old) == 0 {
		return nil, nil, err
	}
	end := &old[len(old)-1]
	return old, &position{end.CreatedAt, end.ID}, nil
}

// orphans returns the ids of those effects whose runs are gone.
func (s *Store) orphans(ctx context.Context, effects []effectDocument) (ids []string, err error) {
	runs := map[string]bool{}
	var asked []string
	for _, effect := range effects {
		if _, there := runs[effect.Run]; !there {
			runs[effect.Run] = false
			asked = append(asked, effect.Run)
		}
	}
	found, err := find[struct {
		ID string `bson:"_id"`
	}](ctx, s.runs, keysOf(s.runs, asked), options.Find().SetProjection(byID1))
	if err != nil {
		return nil, err
	}
	for _, run := range found {
		runs[run.ID] = true
	}
	for _, effect := range effects {
		if !runs[effect.Run] {
			ids = append(ids, effect.ID)
		}
	}
	return ids, nil
}

// keyDocument is a document of meta that holds a key.
type keyDocument struct {
	ID        string        `bson:"_id"` // key-<name>
	Key       []byte        `bson:"key"`
	CreatedAt bson.DateTime `bson:"created_at"`
}

// SharedKey returns the key that is kept under a name: fresh, if none was kept before. Several nodes may ask at once: one
// insert wins, and all read it.
func (s *Store) SharedKey(ctx context.Context, name string, fresh []byte) ([]byte, error) {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	id := "key-" + name
	var kept keyDocument
	err := s.repeat(ctx, func() error {
		err := s.meta.FindOne(ctx, byID(id)).Decode(&kept)
		if !errors.Is(err, mongo.ErrNoDocuments) {
			return err
		}
		_, err = s.meta.InsertOne(ctx, keyDocument{ID: id, Key: fresh, CreatedAt: bson.NewDateTimeFromTime(time.Now())})
		if err != nil && !mongo.IsDuplicateKeyError(err) {
			return err
		}
		return s.meta.FindOne(ctx, byID(id)).Decode(&kept)
	})
	if err == nil && len(kept.Key) == 0 {
		err = &DocumentError{Collection: s.meta.Name(), ID: id, Err: errors.New("it holds no key")}
	}
	if err != nil {
		return nil, s.failed("read "+id, err)
	}
	return kept.Key, nil
}
