package secret

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tidewheel/tidewheel/engine"
)

// The kinds of the records.
const (
	kindSecret = "secret"     // key: namespace/name
	kindKey    = "secret-key" // key: keyRecord
)

// KindTarget is the kind of the records of package notify that hold a Value: these keys rotate with those of secrets.
const KindTarget = "notify-target" // key: namespace/name

// Value is what is sealed inside a record of another package.
type Value struct {
	Recipient string `json:"recipient"` // what Sealed is sealed for
	Sealed    []byte `json:"sealed"`
}

// bound is the namespace under which a value is sealed that a record of KindTarget holds. No namespace has such a name, so that a
// program's secret does not open as one of these, nor the other way around.
func bound(kind, namespace string) string {
	if kind == kindSecret {
		return namespace
	}
	return kind + ":" + namespace
}

// Seal encrypts what the server itself needs again, of the record of KindTarget with this namespace and name. Errors:
// ErrUnsettled, ErrOtherKey, ErrLost.
func (v *Vault) Seal(ctx context.Context, namespace, name string, value []byte) (Value, error) {
	recipient, err := v.sealsFor(ctx)
	if err != nil {
		return Value{}, err
	}
	sealed, err := seal(recipient, bound(KindTarget, namespace), name, value)
	return Value{recipient, sealed}, err
}

// Unseal decrypts what Seal has sealed: ErrNoKey, ErrOtherKey, ErrDamaged, or the value.
func (v *Vault) Unseal(ctx context.Context, namespace, name string, value Value) ([]byte, error) {
	if v.ring == nil {
		return nil, ErrNoKey
	}
	return v.ring.Open(ctx, bound(KindTarget, namespace), name, value.Sealed)
}

// Secret is what there is to say of a secret but its value.
type Secret struct {
	Namespace, Name      string
	CreatedAt, UpdatedAt time.Time
	CreatedBy, UpdatedBy string
	Version              int64 // 1 when it was made, +1 with each value
}

// stored is the data of a record.
type stored struct {
	CreatedAt time.Time `json:"created_at"`
	CreatedBy string    `json:"created_by,omitempty"`
	UpdatedAt time.Time `json:"updated_at"`
	UpdatedBy string    `json:"updated_by,omitempty"`
	Version   int64     `json:"version"`
	Recipient string    `json:"recipient"` // what Sealed is sealed for
	Sealed    []byte    `json:"sealed"`
}

// ValueError reports why a value cannot be kept.
type ValueError struct{ Reason string }

func (e *ValueError) Error() string { return e.Reason }

// ErrUnsettled means that no node with a key has been there yet, so that nothing can be sealed.
var ErrUnsettled = errors.New("no node has brought a key of secrets yet: make one by `tidewheel secret new-key`, " +
	"and start the executors and a node with the role web or engine with --secrets-key-file")

// ErrLost means that this server keeps secrets for a key that it had, and has no more.
var ErrLost = errors.New("the key that the secrets are sealed for is not here, so that runs that need secrets fail; nothing was changed: " +
	"put it back as secrets.key into the data folder or give it by --secrets-key-file; if it is lost, delete all secrets, " +
	"start the server again, and set the secrets again")

// Vault keeps secrets as records of a store. It is safe for concurrent use.
type Vault struct {
	store engine.Records
	ring  *Ring
	now   func() time.Time
	lost  bool // nothing is sealed, as nothing opens it
}

// NewVault makes a vault. Without a ring (nil) it sets values, and opens none.
func NewVault(store engine.Records, ring *Ring, now func() time.Time) *Vault {
	return &Vault{store: store, ring: ring, now: now}
}

// Lost lets Set fail with ErrLost: a value that is set would never open. It must be called before the vault is used.
func (v *Vault) Lost() { v.lost = true }

func key(namespace, name string) string { return namespace + "/" + name }

// checkValue reports why a value cannot be the value of an environment variable, as a *ValueError.
func checkValue(value []byte) error {
	switch {
	case len(value) == 0:
		return &ValueError{"the value is empty: delete the secret instead"}
	case len(value) > MaxValue:
		return &ValueError{fmt.Sprintf("the value has %d bytes, and a secret has at most %d: keep larger ones where the program can fetch them, "+
			"and a key to them here", len(value), MaxValue)}
	case !utf8.Valid(value):
		return &ValueError{"the value is not UTF-8, and programs read it from their environment: encode it, such as in base64"}
	case strings.ContainsRune(string(value), 0):
		return &ValueError{"the value holds a zero byte, which no environment variable can: encode it, such as in base64"}
	}
	return nil
}

// Set gives a secret a value, and reports whether it was made by that. Errors: *ValueError, ErrUnsettled, ErrOtherKey.
func (v *Vault) Set(ctx context.Context, namespace, name string, value []byte, by string) (_ Secret, created bool, err error) {
	if err := checkValue(value); err != nil {
		return Secret{}, false, err
	}
	recipient, err := v.sealsFor(ctx)
	if err != nil {
		return Secret{}, false, err
	}
	sealed, err := seal(recipient, namespace, name, value)
	if err != nil {
		return Secret{}, false, err
	}
	for {
		now := v.now().UTC().Truncate(time.Millisecond)
		next := stored{CreatedAt: now, CreatedBy: by, UpdatedAt: now, UpdatedBy: by, Version: 1, Recipient: recipient, Sealed: sealed}
		record, before, err := v.read(ctx, namespace, name)
		switch {
		case errors.Is(err, engine.ErrNotFound):
			record = engine.Record{Kind: kindSecret, Key: key(namespace, name), Revision: 1}
		case err != nil:
			return Secret{}, false, err
		default:
			next.CreatedAt, next.CreatedBy, next.Version = before.CreatedAt, before.CreatedBy, before.Version+1
			record.Revision++
		}
		if record.Data, err = json.Marshal(next); err != nil {
			return Secret{}, false, fmt.Errorf("write secret %s: %w", record.Key, err)
		}
		if record.Revision == 1 {
			err = v.store.InsertRecord(ctx, record)
		} else {
			err = v.store.ReplaceRecord(ctx, record)
		}
		if errors.Is(err, engine.ErrExists) || errors.Is(err, engine.ErrConflict) || errors.Is(err, engine.ErrNotFound) {
			continue // another writer was first; the last one counts
		}
		if err != nil {
			return Secret{}, false, fmt.Errorf("write secret %s: %w", record.Key, err)
		}
		return next.about(namespace, name), record.Revision == 1, nil
	}
}

func (s *stored) about(namespace, name string) Secret {
	return Secret{
		Namespace: namespace, Name: name, CreatedAt: s.CreatedAt, CreatedBy: s.CreatedBy,
		UpdatedAt: s.UpdatedAt, UpdatedBy: s.UpdatedBy, Version: s.Version,
	}
}

func (v *Vault) read(ctx context.Context, namespace, name string) (engine.Record, stored, error) {
	record, err := v.store.Record(ctx, kindSecret, key(namespace, name))
	if err != nil {
		return engine.Record{}, stored{}, err
	}
	kept, err := decode(&record)
	return record, kept, err
}

func decode(record *engine.Record) (kept stored, err error) {
	if err := json.Unmarshal(record.Data, &kept); err != nil {
		return stored{}, fmt.Errorf("read secret %s: %w", record.Key, err)
	}
	return kept, nil
}

// Secret returns what there is to say of a secret; engine.ErrNotFound.
func (v *Vault) Secret(ctx context.Context, namespace, name string) (Secret, error) {
	_, kept, err := v.read(ctx, namespace, name)
	if err != nil {
		return Secret{}, err
	}
	return kept.about(namespace, name), nil
}

// Secrets lists those of a namespace by name, at most limit with names above after.
func (v *Vault) Secrets(ctx context.Context, namespace, after string, limit int) ([]Secret, error) {
	filter := engine.RecordFilter{Kind: kindSecret, Prefix: namespace + "/", Limit: limit}
	if after != "" {
		filter.After = key(namespace, after)
	}
	records, err := v.store.Records(ctx, filter)
	if err != nil {
		return nil, fmt.Errorf("list secrets: %w", err)
	}
	secrets := make([]Secret, 0, len(records))
	for i := range records {
		kept, err := decode(&records[i])
		if err != nil {
			return nil, err
		}
		secrets = append(secrets, kept.about(namespace, strings.TrimPrefix(records[i].Key, filter.Prefix)))
	}
	return secrets, nil
}

// Namespaces lists the namespaces that have a secret. It reads one secret of each.
func (v *Vault) Namespaces(ctx context.Context) (names []string, err error) {
	filter := engine.RecordFilter{Kind: kindSecret, Limit: 1}
	for {
		records, err := v.store.Records(ctx, filter)
		if err != nil {
			return nil, fmt.Errorf("list secrets: %w", err)
		}
		if len(records) == 0 {
			return names, nil
		}
		namespace, _ := split(records[0].Key)
		names = append(names, namespace)
		filter.After = key(namespace, "~") // above all names: they are letters, digits, - and _
	}
}

// Delete removes a secret; engine.ErrNotFound.
func (v *Vault) Delete(ctx context.Context, namespace, name string) error {
	return v.store.DeleteRecord(ctx, kindSecret, key(namespace, name), 0)
}

// Sealed returns a secret's latest value as ciphertext, which executors open; engine.ErrNotFound.
func (v *Vault) Sealed(ctx context.Context, namespace, name string) ([]byte, error) {
	_, kept, err := v.read(ctx, namespace, name)
	return kept.Sealed, err
}

// Open returns a secret's latest value, for the server itself: engine.ErrNotFound, ErrNoKey, ErrOtherKey, ErrDamaged.
func (v *Vault) Open(ctx context.Context, namespace, name string) ([]byte, error) {
	if v.ring == nil {
		return nil, ErrNoKey
	}
	sealed, err := v.Sealed(ctx, namespace, name)
	if err != nil {
		return nil, err
	}
	return v.ring.Open(ctx, bound(kindSecret, namespace), name, sealed)
}

// split is the reverse of key.
func split(recordKey string) (namespace, name string) {
	namespace, name, _ = strings.Cut(recordKey, "/")
	return namespace, name
}
