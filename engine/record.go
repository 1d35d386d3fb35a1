package engine

import (
	"bytes"
	"context"
	"time"
)

// Record is one thing that the server keeps for its users besides definitions and history: a user, a token, a session, a
// namespace, a secret, an entry of the audit log. Only the package that owns a kind reads its data.
type Record struct {
	Kind     string `json:"kind"`     // a word in lower case: "user"
	Key      string `json:"key"`      // unique within the kind, at most MaxRecordKey bytes; lists are in its order, byte by byte
	Revision int64  `json:"revision"` // 1 when inserted, +1 with each write
	Data     []byte `json:"data"`     // at most MaxRecord bytes
	// ExpiresAt is when the record may be removed; zero means never. Until it is removed it is read like any other.
	ExpiresAt time.Time `json:"expires_at,omitzero"`
}

// Bounds of records, in bytes.
const (
	MaxRecordKey = 512
	MaxRecord    = 1 << 20
)

// Clone returns a copy that shares nothing with r.
func (r Record) Clone() Record {
	r.Data = bytes.Clone(r.Data)
	return r
}

// Place is the record's place among all documents.
func (r Record) Place() (Collection, string) { return CollectionRecords, r.Kind + "/" + r.Key }

// RecordFilter selects records of one kind, in the order of their keys.
type RecordFilter struct {
	Kind   string
	Prefix string // of the keys
	After  string // the key that the page before ended with; "" for the first page
	// Backwards lists from the last key to the first; After is then the key that the page before ended with, too.
	Backwards bool
	Limit     int // the most records of the page, from 1 to 1000
}

// Records is where a store keeps records. Each write is conditional on the revision, so that of two writers one learns
// that the other was first.
type Records interface {
	// InsertRecord inserts a record of revision 1; ErrExists.
	InsertRecord(ctx context.Context, record Record) error
	// ReplaceRecord writes a record on condition that the stored revision is record.Revision-1; ErrConflict or ErrNotFound.
	ReplaceRecord(ctx context.Context, record Record) error
	// DeleteRecord deletes a record of this revision, 0 for any; ErrConflict or ErrNotFound.
	DeleteRecord(ctx context.Context, kind, key string, revision int64) error
	// Record returns one record; ErrNotFound.
	Record(ctx context.Context, kind, key string) (Record, error)
	// Records lists records of a kind.
	Records(ctx context.Context, filter RecordFilter) ([]Record, error)
	// ExpireRecords deletes at most limit records that expired before an instant, and counts them.
	ExpireRecords(ctx context.Context, before time.Time, limit int) (deleted int, err error)
}
