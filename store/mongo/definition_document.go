package mongo

import (
	"bytes"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/tidewheel/tidewheel/engine"
)

// definitionDocument is a document of jobs or of dags. It holds the current version of the definition; generations and
// dag_generations hold the earlier ones.
type definitionDocument struct {
	ID         string         `bson:"_id"` // namespace/name
	UID        string         `bson:"uid"`
	Namespace  string         `bson:"namespace"`
	Name       string         `bson:"name"`
	Shard      int            `bson:"shard"`
	Definition bson.Raw       `bson:"definition"`
	Generation int64          `bson:"generation"`
	Known      int64          `bson:"known"` // the generation that Tidewheel wrote last: below Generation, another program has edited this
	Revision   int64          `bson:"revision"`
	Paused     bool           `bson:"paused"`
	PausedAt   *bson.DateTime `bson:"paused_at,omitempty"`
	PausedBy   string         `bson:"paused_by,omitempty"`
	PausedWhy  string         `bson:"paused_reason,omitempty"`
	OneOff     bool           `bson:"one_off,omitempty"`
	Deleted    bool           `bson:"deleted"`
	Pending    bool           `bson:"pending"`
	CreatedAt  bson.DateTime  `bson:"created_at"`
	CreatedBy  string         `bson:"created_by,omitempty"`
	UpdatedAt  bson.DateTime  `bson:"updated_at"`
	UpdatedBy  string         `bson:"updated_by,omitempty"`
	Message    string         `bson:"message,omitempty"`
	Source     string         `bson:"source,omitempty"` // left out of what is read for a list
}

func (of *definitions[S]) document(d *engine.Definition[S]) (*definitionDocument, error) {
	definition, err := of.write(&d.Spec)
	if err != nil {
		return nil, err
	}
	return &definitionDocument{
		ID: d.Key(), UID: d.UID, Namespace: d.Namespace, Name: d.Name, Shard: d.Shard,
		Definition: definition, Generation: d.Generation, Known: d.Generation, Revision: d.Revision,
		Paused: d.Paused, PausedAt: someDate(d.PausedAt), PausedBy: d.PausedBy, PausedWhy: d.PausedReason, OneOff: d.OneOff, Deleted: d.Deleted, Pending: d.Pending,
		CreatedAt: date(d.CreatedAt), CreatedBy: d.CreatedBy, UpdatedAt: date(d.UpdatedAt), UpdatedBy: d.UpdatedBy,
		Message: d.Message, Source: d.Source,
	}, nil
}

func (of *definitions[S]) value(d definitionDocument) (engine.Definition[S], error) {
	definition, err := of.read(d.Definition)
	return engine.Definition[S]{
		UID: d.UID, Namespace: d.Namespace, Name: d.Name, Shard: d.Shard,
		Spec: definition, Generation: d.Generation, Revision: d.Revision,
		Paused: d.Paused, PausedAt: someInstant(d.PausedAt), PausedBy: d.PausedBy, PausedReason: d.PausedWhy, OneOff: d.OneOff, Deleted: d.Deleted, Pending: d.Pending,
		CreatedAt: instant(d.CreatedAt), CreatedBy: d.CreatedBy, UpdatedAt: instant(d.UpdatedAt), UpdatedBy: d.UpdatedBy,
		Message: d.Message, Source: d.Source,
	}, err
}

// same reports whether d and other are the same write of a definition. Pending does not count: the engine clears it without
// another revision.
func (d definitionDocument) same(other definitionDocument) bool {
	d.Pending, other.Pending = false, false
	mine, err := bson.Marshal(d)
	if err != nil {
		return false
	}
	theirs, err := bson.Marshal(other)
	return err == nil && bytes.Equal(mine, theirs)
}

// generationDocument is a document of generations or of dag_generations.
type generationDocument struct {
	ID         string        `bson:"_id"` // uid-g<generation>
	UID        string        `bson:"uid"`
	Generation int64         `bson:"generation"`
	Definition bson.Raw      `bson:"definition"`
	By         string        `bson:"by,omitempty"`
	At         bson.DateTime `bson:"at"`
	Message    string        `bson:"message,omitempty"`
	Source     string        `bson:"source,omitempty"`   // left out of what is read for a list
	Revision   int64         `bson:"revision,omitempty"` // of the definition when this was written down
}

func generationID(uid string, generation int64) string { return fmt.Sprintf("%s-g%d", uid, generation) }

// present is the generation that a definition is in.
func (d definitionDocument) present() generationDocument {
	return generationDocument{
		ID: generationID(d.UID, d.Generation), UID: d.UID, Generation: d.Generation, Definition: d.Definition,
		By: d.UpdatedBy, At: d.UpdatedAt, Message: d.Message, Source: d.Source, Revision: d.Revision,
	}
}

// versionDocument makes the document of a generation that comes from another store.
func (of *definitions[S]) versionDocument(g *engine.GenerationOf[S]) (generationDocument, error) {
	definition, err := of.write(&g.Spec)
	return generationDocument{
		ID: generationID(g.UID, g.Generation), UID: g.UID, Generation: g.Generation, Definition: definition,
		By: g.By, At: date(g.At), Message: g.Message, Source: g.Source, Revision: 1,
	}, err
}

func (of *definitions[S]) version(d generationDocument) (engine.GenerationOf[S], error) {
	definition, err := of.read(d.Definition)
	return engine.GenerationOf[S]{
		UID: d.UID, Generation: d.Generation, Spec: definition, By: d.By, At: instant(d.At), Message: d.Message, Source: d.Source,
	}, err
}
