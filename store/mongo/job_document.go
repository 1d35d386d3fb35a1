package mongo

import (
	"bytes"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/tidewheel/tidewheel/engine"
)

// jobDocument is a document of jobs. It holds the present form of the definition; generations holds the earlier ones.
type jobDocument struct {
	ID         string         `bson:"_id"` // namespace/name
	UID        string         `bson:"uid"`
	Namespace  string         `bson:"namespace"`
	Name       string         `bson:"name"`
	Shard      int            `bson:"shard"`
	Definition bson.Raw       `bson:"definition"`
	Generation int64          `bson:"generation"`
	Revision   int64          `bson:"revision"`
	Paused     bool           `bson:"paused"`
	PausedAt   *bson.DateTime `bson:"paused_at,omitempty"`
	PausedBy   string         `bson:"paused_by,omitempty"`
	Deleted    bool           `bson:"deleted"`
	Pending    bool           `bson:"pending"`
	CreatedAt  bson.DateTime  `bson:"created_at"`
	CreatedBy  string         `bson:"created_by,omitempty"`
	UpdatedAt  bson.DateTime  `bson:"updated_at"`
	UpdatedBy  string         `bson:"updated_by,omitempty"`
	Message    string         `bson:"message,omitempty"`
}

func newJobDocument(j *engine.Job) (*jobDocument, error) {
	definition, err := newDefinition(&j.Spec)
	if err != nil {
		return nil, err
	}
	raw, err := bson.Marshal(definition)
	if err != nil {
		return nil, err
	}
	return &jobDocument{
		ID: j.Key(), UID: j.UID, Namespace: j.Namespace, Name: j.Name, Shard: j.Shard,
		Definition: raw, Generation: j.Generation, Revision: j.Revision,
		Paused: j.Paused, PausedAt: someDate(j.PausedAt), PausedBy: j.PausedBy, Deleted: j.Deleted, Pending: j.Pending,
		CreatedAt: date(j.CreatedAt), CreatedBy: j.CreatedBy, UpdatedAt: date(j.UpdatedAt), UpdatedBy: j.UpdatedBy,
		Message: j.Message,
	}, nil
}

func (d jobDocument) value() (engine.Job, error) {
	definition, err := readDefinition(d.Definition)
	return engine.Job{
		UID: d.UID, Namespace: d.Namespace, Name: d.Name, Shard: d.Shard,
		Spec: definition, Generation: d.Generation, Revision: d.Revision,
		Paused: d.Paused, PausedAt: someInstant(d.PausedAt), PausedBy: d.PausedBy, Deleted: d.Deleted, Pending: d.Pending,
		CreatedAt: instant(d.CreatedAt), CreatedBy: d.CreatedBy, UpdatedAt: instant(d.UpdatedAt), UpdatedBy: d.UpdatedBy,
		Message: d.Message,
	}, err
}

// same tells whether d and other are the same write of a job. Pending does not count: the engine clears it without
// another revision.
func (d jobDocument) same(other jobDocument) bool {
	d.Pending, other.Pending = false, false
	mine, err := bson.Marshal(d)
	if err != nil {
		return false
	}
	theirs, err := bson.Marshal(other)
	return err == nil && bytes.Equal(mine, theirs)
}

// generationDocument is a document of generations.
type generationDocument struct {
	ID         string        `bson:"_id"` // uid-g<generation>
	UID        string        `bson:"uid"`
	Generation int64         `bson:"generation"`
	Definition bson.Raw      `bson:"definition"`
	By         string        `bson:"by,omitempty"`
	At         bson.DateTime `bson:"at"`
	Message    string        `bson:"message,omitempty"`
}

func generationID(uid string, generation int64) string { return fmt.Sprintf("%s-g%d", uid, generation) }

// present is the generation that a job is in.
func (d jobDocument) present() generationDocument {
	return generationDocument{
		ID: generationID(d.UID, d.Generation), UID: d.UID, Generation: d.Generation, Definition: d.Definition,
		By: d.UpdatedBy, At: d.UpdatedAt, Message: d.Message,
	}
}

func (d generationDocument) value() (engine.Generation, error) {
	definition, err := readDefinition(d.Definition)
	return engine.Generation{
		UID: d.UID, Generation: d.Generation, Spec: definition, By: d.By, At: instant(d.At), Message: d.Message,
	}, err
}
