package access

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

// The kinds of the records.
const (
	kindUser    = "user"    // key: the name
	kindAdmins  = "admins"  // key: Everywhere
	kindSession = "session" // key: the user's name, "/", the hash of the session's secret
	kindToken   = "token"   // key: the hash of the token
)

const (
	// page is how many records are read at once.
	page = 200
	// noteEvery is how often the last use of a session or a token is written at most.
	noteEvery = time.Minute
	// idLength is how many digits of a hash name a session or a token.
	idLength = 16
)

// Why credentials open nothing.
var (
	// ErrLogin means that a name and a password do not belong together, or that the user is disabled.
	ErrLogin = errors.New("no enabled user has this name and password")
	// ErrNoSession means that a session has ended, or never was.
	ErrNoSession = errors.New("the session is over")
	// ErrNoToken means that a token is not known, or that its owner is disabled or gone.
	ErrNoToken = errors.New("this token is not known")
	// ErrTokenExpired means that a token's time is over.
	ErrTokenExpired = errors.New("this token has expired")
)

// ErrLastAdmin means that a change would leave no enabled user who is admin for all namespaces.
var ErrLastAdmin = errors.New("this is the last enabled user who is admin for all namespaces: give another user that role first")

// InvalidError reports which field cannot be kept as it was given, and why.
type InvalidError struct{ Field, Reason string }

func (e *InvalidError) Error() string { return e.Reason }

// ThrottledError says after how long the next login may be tried.
type ThrottledError struct{ After time.Duration }

func (e *ThrottledError) Error() string {
	return fmt.Sprintf("there were too many failed logins: try again in %d seconds", e.Seconds())
}

// Seconds is After in whole seconds, as Retry-After has it.
func (e *ThrottledError) Seconds() int { return int((e.After + time.Second - 1) / time.Second) }

// Directory keeps users, sessions and tokens as records of a store. It is safe for concurrent use, also by several nodes on
// one store.
type Directory struct {
	store     engine.Records
	now       func() time.Time
	root      [sha256.Size]byte // of the root token
	rootStamp string            // of the root token, see storedUser
	hashing   chan struct{}     // one entry for each password that is hashed at this moment
	logins    *throttle
}

// New makes a directory over a store, which stays the caller's. rootToken is the token of the data folder or of --token-file; ""
// with --auth off.
func New(store engine.Records, rootToken string, now func() time.Time) *Directory {
	d := &Directory{store: store, now: now, hashing: make(chan struct{}, mostHashing), logins: newThrottle()}
	if rootToken != "" {
		d.root = sha256.Sum256([]byte(rootToken))
		d.rootStamp = digest("sessions of root " + rootToken)[:idLength]
	}
	return d
}

// isRoot reports whether a token is the root token. It takes the same time however much of it is right.
func (d *Directory) isRoot(token string) bool {
	sum := sha256.Sum256([]byte(token))
	return subtle.ConstantTimeCompare(sum[:], d.root[:]) == 1
}

func (d *Directory) moment() time.Time { return d.now().UTC().Truncate(time.Millisecond) }

// digest is the SHA-256 of a secret that was drawn at random, in hex.
func digest(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// write inserts or replaces a record by its revision.
func (d *Directory) write(ctx context.Context, record engine.Record, data any) (err error) {
	if record.Data, err = json.Marshal(data); err != nil {
		return fmt.Errorf("access: write %s: %w", record.Kind, err)
	}
	if record.Revision == 1 {
		err = d.store.InsertRecord(ctx, record)
	} else {
		err = d.store.ReplaceRecord(ctx, record)
	}
	if err != nil {
		return fmt.Errorf("access: write %s: %w", record.Kind, err)
	}
	return nil
}

// read reads a record into data; engine.ErrNotFound.
func (d *Directory) read(ctx context.Context, kind, key string, data any) (engine.Record, error) {
	record, err := d.store.Record(ctx, kind, key)
	if err == nil {
		err = json.Unmarshal(record.Data, data)
	}
	if err != nil {
		return engine.Record{}, fmt.Errorf("access: read %s: %w", kind, err)
	}
	return record, nil
}

// each calls visit with every record of a kind whose key begins with prefix.
func (d *Directory) each(ctx context.Context, kind, prefix string, visit func(*engine.Record) error) error {
	for after := ""; ; {
		records, err := d.store.Records(ctx, engine.RecordFilter{Kind: kind, Prefix: prefix, After: after, Limit: page})
		if err != nil {
			return fmt.Errorf("access: list %ss: %w", kind, err)
		}
		for i := range records {
			if err := visit(&records[i]); err != nil {
				return err
			}
		}
		if len(records) < page {
			return nil
		}
		after = records[len(records)-1].Key
	}
}

// lost reports whether another writer was first.
func lost(err error) bool {
	return errors.Is(err, engine.ErrExists) || errors.Is(err, engine.ErrConflict) || errors.Is(err, engine.ErrNotFound)
}
