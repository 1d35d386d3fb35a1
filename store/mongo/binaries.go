package mongo

import (
	"bytes"
	"context"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/tidewheel/tidewheel/engine"
)

// binaryDocument is a document of binaries.
type binaryDocument struct {
	ID        string              `bson:"_id"` // namespace/name
	Namespace string              `bson:"namespace"`
	Name      string              `bson:"name"`
	Revision  int64               `bson:"revision"`
	Versions  []versionDocument   `bson:"versions"`
	Aliases   bson.D              `bson:"aliases"`
	History   []aliasMoveDocument `bson:"alias_history,omitempty"`
	UpdatedAt bson.DateTime       `bson:"updated_at"`
}

type versionDocument struct {
	N          int           `bson:"n"`
	SHA256     string        `bson:"sha256"`
	Size       int64         `bson:"size"`
	Kind       string        `bson:"kind"`
	Arch       string        `bson:"arch,omitempty"`
	UploadedBy string        `bson:"uploaded_by,omitempty"`
	At         bson.DateTime `bson:"at"`
}

type aliasMoveDocument struct {
	Alias string        `bson:"alias"`
	From  int           `bson:"from"`
	To    int           `bson:"to"`
	By    string        `bson:"by,omitempty"`
	At    bson.DateTime `bson:"at"`
}

func newBinaryDocument(b *engine.Binary) binaryDocument {
	d := binaryDocument{
		ID: b.Key(), Namespace: b.Namespace, Name: b.Name, Revision: b.Revision, UpdatedAt: date(b.UpdatedAt),
		Versions: make([]versionDocument, len(b.Versions)), Aliases: append(bson.D{}, sorted(b.Aliases)...),
	}
	for i, v := range b.Versions {
		d.Versions[i] = versionDocument{N: v.N, SHA256: v.SHA256, Size: v.Size, Kind: v.Kind, Arch: v.Arch, UploadedBy: v.UploadedBy, At: date(v.At)}
	}
	for _, m := range b.AliasHistory {
		d.History = append(d.History, aliasMoveDocument{Alias: m.Alias, From: m.From, To: m.To, By: m.By, At: date(m.At)})
	}
	return d
}

func (d binaryDocument) value() (engine.Binary, error) {
	b := engine.Binary{Namespace: d.Namespace, Name: d.Name, Revision: d.Revision, UpdatedAt: instant(d.UpdatedAt)}
	for _, v := range d.Versions {
		b.Versions = append(b.Versions, engine.BinaryVersion{
			N: v.N, SHA256: v.SHA256, Size: v.Size, Kind: v.Kind, Arch: v.Arch, UploadedBy: v.UploadedBy, At: instant(v.At),
		})
	}
	for _, m := range d.History {
		b.AliasHistory = append(b.AliasHistory, engine.AliasMove{Alias: m.Alias, From: m.From, To: m.To, By: m.By, At: instant(m.At)})
	}
	var err error
	b.Aliases, err = numbersOf(d.Aliases)
	return b, err
}

// CreateBinary inserts a binary of revision 1; engine.ErrExists.
func (s *Store) CreateBinary(ctx context.Context, binary engine.Binary) error {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	operation := "create binary " + binary.Key()
	raw, err := bson.Marshal(newBinaryDocument(&binary))
	if err != nil {
		return s.failed(operation, err)
	}
	there, err := s.insert(ctx, s.binaries, change{id: binary.Key(), document: raw}, func(stored bson.Raw) (bool, error) {
		return s.sameBinary(stored, raw)
	})
	if err == nil && there {
		err = engine.ErrExists
	}
	return s.failed(operation, err)
}

// ReplaceBinary writes a binary on condition that the stored revision is the previous one; engine.ErrConflict or
// engine.ErrNotFound.
func (s *Store) ReplaceBinary(ctx context.Context, binary engine.Binary) error {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	operation := "replace binary " + binary.Key()
	raw, err := bson.Marshal(newBinaryDocument(&binary))
	if err != nil {
		return s.failed(operation, err)
	}
	gone := false
	write := change{id: binary.Key(), document: raw, condition: revisionOf(binary.Revision - 1), first: stepReplace}
	refused, err := s.settle(ctx, s.binaries, []change{write}, func(_ int, stored bson.Raw) (step, error) {
		if gone = stored == nil; gone {
			return stepRefused, nil
		}
		revision, _ := stored.Lookup("revision").AsInt64OK()
		same, err := s.sameBinary(stored, raw)
		return revised(binary.Revision, revision, same), err
	})
	switch {
	case err != nil:
	case gone:
		err = engine.ErrNotFound
	case len(refused) > 0:
		err = engine.ErrConflict
	}
	return s.failed(operation, err)
}

// sameBinary reports whether what is stored is what a write holds, however another program has ordered its fields.
func (s *Store) sameBinary(stored, mine bson.Raw) (bool, error) {
	found, err := decode[binaryDocument](s.binaries, stored)
	if err != nil {
		return false, err
	}
	again, err := bson.Marshal(newBinaryDocument(&found))
	return bytes.Equal(again, mine), err
}

// DeleteBinary removes a binary of this revision; engine.ErrConflict or engine.ErrNotFound.
func (s *Store) DeleteBinary(ctx context.Context, namespace, name string, revision int64) error {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	id := nameID(namespace, name)
	deleted, err := s.deleteOne(ctx, s.binaries, id, revisionOf(revision))
	if err == nil && !deleted {
		if _, err = one[binaryDocument](ctx, s.binaries, byID(id)); err == nil {
			err = engine.ErrConflict
		}
	}
	return s.failed("delete binary "+id, err)
}

// Binary returns one binary; engine.ErrNotFound.
func (s *Store) Binary(ctx context.Context, namespace, name string) (engine.Binary, error) {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	binary, err := one[binaryDocument](ctx, s.binaries, byID(nameID(namespace, name)))
	return binary, s.failed("read binary "+nameID(namespace, name), err)
}

// BinariesByKey returns those binaries ("namespace/name") that exist, in no order.
func (s *Store) BinariesByKey(ctx context.Context, keys []string) ([]engine.Binary, error) {
	ctx = s.paced(ctx)
	binaries, err := listAmong[binaryDocument](ctx, s.binaries, "_id", keys, nil, s.config.BulkSize)
	return binaries, s.failed("read binaries", err)
}

// Binaries lists binaries of a namespace ("" for all) by name, with the cursor of the next page.
func (s *Store) Binaries(ctx context.Context, namespace, cursor string, limit int) (binaries []engine.Binary, next string, err error) {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	after, _, err := engine.DecodeCursor("binaries", cursor)
	if err != nil {
		return nil, "", fmt.Errorf("mongo: list binaries: %w", err)
	}
	limit = pageSize(limit)
	binaries, err = list[binaryDocument](ctx, s.binaries, above(namespace, after.ID),
		options.Find().SetSort(ascending("_id")).SetLimit(int64(limit+1)))
	if err != nil {
		return nil, "", s.failed("list binaries", err)
	}
	binaries, last := cut(binaries, limit)
	if last != nil {
		next = engine.Cursor{ID: last.Key()}.Encode("binaries")
	}
	return binaries, next, nil
}
