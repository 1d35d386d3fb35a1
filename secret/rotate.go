package secret

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

// keyRecord is the key of the one record of kindKey.
const keyRecord = "current"

// page is how many records are read at once.
const page = 200

// settled is the data of the record that says which key the cluster's secrets are sealed for.
type settled struct {
	Recipient string    `json:"recipient"`
	Retired   []string  `json:"retired,omitempty"` // those before it, which never come back
	At        time.Time `json:"at"`
}

// KeyState is how a node's key stands to the secrets that are kept.
type KeyState string

// The states.
const (
	KeyFits    KeyState = "fits"    // values that are set now open here
	KeyWrong   KeyState = "wrong"   // secrets are kept for a key that this node does not have, and it has another
	KeyMissing KeyState = "missing" // this node has no key; it may not need one
)

// Establish compares this node's key with the one that the secrets are sealed for. The first key that comes is kept, as
// is one that a node brings together with the previous one. Where no secret is kept, any key is that was not kept before.
// Nothing else changes what is kept: a node with a wrong key overwrites nothing.
func (v *Vault) Establish(ctx context.Context) (KeyState, error) {
	if v.ring == nil {
		return KeyMissing, nil
	}
	own := v.ring.Key()
	for {
		record, now, err := v.readSettled(ctx)
		next := settled{Recipient: own.Recipient(), At: v.now().UTC().Truncate(time.Millisecond)}
		switch {
		case errors.Is(err, engine.ErrNotFound):
			record = engine.Record{Kind: kindKey, Key: keyRecord}
		case err != nil:
			return "", err
		case now.Recipient == own.Recipient():
			return KeyFits, nil
		case own.Holds(now.Recipient) && slices.Contains(now.Retired, own.Recipient()):
			return KeyFits, nil // another node has rotated, and this one's file is in the order of before
		default:
			next.Retired = append(slices.Clone(now.Retired), now.Recipient)
			if own.Holds(now.Recipient) {
				break
			}
			if slices.Contains(now.Retired, own.Recipient()) {
				return KeyWrong, nil
			}
			if kept, err := v.Kept(ctx); err != nil || kept {
				return KeyWrong, err
			}
		}
		if record.Data, err = json.Marshal(next); err != nil {
			return "", fmt.Errorf("write the key that secrets are for: %w", err)
		}
		record.Revision++
		if record.Revision == 1 {
			err = v.store.InsertRecord(ctx, record)
		} else {
			err = v.store.ReplaceRecord(ctx, record)
		}
		switch {
		case errors.Is(err, engine.ErrExists), errors.Is(err, engine.ErrConflict), errors.Is(err, engine.ErrNotFound):
			continue // another node was first
		case err != nil:
			return "", fmt.Errorf("write the key that secrets are for: %w", err)
		}
		return KeyFits, nil
	}
}

func (v *Vault) readSettled(ctx context.Context) (engine.Record, settled, error) {
	record, err := v.store.Record(ctx, kindKey, keyRecord)
	if err != nil {
		return engine.Record{}, settled{}, err
	}
	var now settled
	if err := json.Unmarshal(record.Data, &now); err != nil {
		return engine.Record{}, settled{}, fmt.Errorf("read the key that secrets are for: %w", err)
	}
	return record, now, nil
}

// Kept reports whether anything is kept that is sealed, in any namespace.
func (v *Vault) Kept(ctx context.Context) (bool, error) {
	for _, kind := range sealedKinds {
		for after := ""; ; {
			records, err := v.store.Records(ctx, engine.RecordFilter{Kind: kind, After: after, Limit: page})
			if err != nil {
				return false, err
			}
			for i := range records {
				if kept, err := valueOf(&records[i]); err != nil || kept.Recipient != "" {
					return err == nil, err
				}
			}
			if len(records) < page {
				break
			}
			after = records[len(records)-1].Key
		}
	}
	return false, nil
}

// sealsFor returns what new values are sealed for. A node whose key does not fit seals nothing: it would take values that
// no program here can be given.
func (v *Vault) sealsFor(ctx context.Context) (string, error) {
	if v.lost {
		return "", ErrLost
	}
	_, now, err := v.readSettled(ctx)
	switch {
	case errors.Is(err, engine.ErrNotFound):
		return "", ErrUnsettled
	case err != nil:
		return "", fmt.Errorf("read the key that secrets are for: %w", err)
	case v.ring != nil && !v.ring.Key().Holds(now.Recipient):
		return "", ErrOtherKey
	}
	return now.Recipient, nil
}

// Tend reads this node's key again, establishes it, and reseals what this node can open and was sealed for a key
// before. It returns how many values that were, and how many remain that only another key opens.
func (v *Vault) Tend(ctx context.Context) (state KeyState, resealed, foreign int, err error) {
	if v.ring == nil {
		return KeyMissing, 0, 0, nil
	}
	if err := v.ring.Reload(ctx); err != nil {
		return "", 0, 0, fmt.Errorf("read the key of secrets: %w", err)
	}
	if state, err = v.Establish(ctx); err != nil || state != KeyFits {
		return state, 0, 0, err
	}
	recipient, err := v.sealsFor(ctx)
	if err != nil {
		return state, 0, 0, err
	}
	err = v.each(ctx, func(record *engine.Record, kept Value) error {
		if kept.Recipient == recipient {
			return nil
		}
		if !v.ring.Key().Holds(kept.Recipient) {
			foreign++
			return nil
		}
		done, err := v.reseal(ctx, record, kept, recipient)
		if done {
			resealed++
		}
		return err
	})
	return state, resealed, foreign, err
}

// sealedKinds are the kinds of records that hold a Value, among other fields.
var sealedKinds = []string{kindSecret, KindTarget}

// valueOf reads the Value of a record, whose other fields may be of another package.
func valueOf(record *engine.Record) (kept Value, err error) {
	if err := json.Unmarshal(record.Data, &kept); err != nil {
		return Value{}, fmt.Errorf("read %s %s: %w", record.Kind, record.Key, err)
	}
	return kept, nil
}

// withValue returns the data of a record with another Value in it, and all other fields as they are.
func withValue(record *engine.Record, value Value) ([]byte, error) {
	fields := map[string]json.RawMessage{}
	err := json.Unmarshal(record.Data, &fields)
	if err == nil {
		fields["recipient"], err = json.Marshal(value.Recipient)
	}
	if err == nil {
		fields["sealed"], err = json.Marshal(value.Sealed)
	}
	if err != nil {
		return nil, fmt.Errorf("write %s %s: %w", record.Kind, record.Key, err)
	}
	return json.Marshal(fields)
}

// each calls visit with everything that is sealed.
func (v *Vault) each(ctx context.Context, visit func(*engine.Record, Value) error) error {
	for _, kind := range sealedKinds {
		if err := v.eachOf(ctx, kind, visit); err != nil {
			return err
		}
	}
	return nil
}

func (v *Vault) eachOf(ctx context.Context, kind string, visit func(*engine.Record, Value) error) error {
	for after := ""; ; {
		records, err := v.store.Records(ctx, engine.RecordFilter{Kind: kind, After: after, Limit: page})
		if err != nil {
			return fmt.Errorf("list %ss: %w", kind, err)
		}
		for i := range records {
			kept, err := valueOf(&records[i])
			if err != nil {
				return err
			}
			if kept.Recipient == "" {
				continue // a target without an address that is secret
			}
			if err := visit(&records[i], kept); err != nil {
				return err
			}
		}
		if len(records) < page {
			return nil
		}
		after = records[len(records)-1].Key
	}
}

// reseal seals a value for another recipient; false: it was changed or deleted meanwhile, or is damaged.
func (v *Vault) reseal(ctx context.Context, record *engine.Record, kept Value, recipient string) (bool, error) {
	namespace, name := split(record.Key)
	namespace = bound(record.Kind, namespace)
	value, err := v.ring.Key().Open(namespace, name, kept.Sealed)
	if err != nil {
		return false, nil // it stays as it is: the run that asks for it says why it does not open
	}
	if kept.Sealed, err = seal(recipient, namespace, name, value); err != nil {
		return false, err
	}
	kept.Recipient = recipient
	next := *record
	next.Revision++
	if next.Data, err = withValue(record, kept); err != nil {
		return false, err
	}
	err = v.store.ReplaceRecord(ctx, next)
	if errors.Is(err, engine.ErrConflict) || errors.Is(err, engine.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("write %s %s: %w", record.Kind, record.Key, err)
	}
	return true, nil
}

// InUse lists the recipients that values are sealed for.
func (v *Vault) InUse(ctx context.Context) (map[string]bool, error) {
	used := map[string]bool{}
	err := v.each(ctx, func(_ *engine.Record, kept Value) error {
		used[kept.Recipient] = true
		return nil
	})
	return used, err
}
