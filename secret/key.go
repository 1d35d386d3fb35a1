package secret

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"filippo.io/age"
)

// Key opens values. It holds one identity of age or several: new values are sealed for the first, and the others open
// those that were sealed before a rotation.
type Key struct{ identities []*age.X25519Identity }

// NewKey makes a key with one identity.
func NewKey() (*Key, error) {
	made, err := age.GenerateX25519Identity()
	if err != nil {
		return nil, fmt.Errorf("make a key of secrets: %w", err)
	}
	return &Key{identities: []*age.X25519Identity{made}}, nil
}

// ParseKey reads a key as Text and age-keygen write it: an identity on each line, and comments that begin with #. Its
// errors hold nothing of the text.
func ParseKey(text []byte) (*Key, error) {
	key := &Key{}
	number := 0
	for line := range strings.Lines(string(text)) {
		number++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		identity, err := age.ParseX25519Identity(line)
		if err != nil {
			return nil, fmt.Errorf("line %d is no identity of age: each begins with AGE-SECRET-KEY-1, as age-keygen makes them", number)
		}
		if !key.Holds(identity.Recipient().String()) {
			key.identities = append(key.identities, identity)
		}
	}
	if len(key.identities) == 0 {
		return nil, errors.New("it holds no identity of age: a line that begins with AGE-SECRET-KEY-1, as age-keygen makes them")
	}
	return key, nil
}

// Text is the key as ParseKey reads it. It is as secret as all that was ever sealed for it.
func (k *Key) Text() []byte {
	var text bytes.Buffer
	text.WriteString("# The key of Tidewheel's secrets. Without it they cannot be read: keep a copy in a safe place.\n")
	for i, identity := range k.identities {
		if i > 0 {
			text.WriteString("# Before a rotation:\n")
		}
		fmt.Fprintf(&text, "# public key: %s\n%s\n", identity.Recipient(), identity)
	}
	return text.Bytes()
}

// Recipient names what new values are sealed for: the public part of the first identity.
func (k *Key) Recipient() string { return k.identities[0].Recipient().String() }

// Holds reports whether the key opens what was sealed for a recipient.
func (k *Key) Holds(recipient string) bool {
	for _, identity := range k.identities {
		if identity.Recipient().String() == recipient {
			return true
		}
	}
	return false
}

// Rotated returns a key whose first identity is that of fresh, followed by those of k that keep says are still needed.
func (k *Key) Rotated(fresh *Key, keep func(recipient string) bool) *Key {
	rotated := &Key{identities: []*age.X25519Identity{fresh.identities[0]}}
	for _, identity := range k.identities {
		if keep(identity.Recipient().String()) {
			rotated.identities = append(rotated.identities, identity)
		}
	}
	return rotated
}

// String keeps the key out of logs and error messages.
func (k *Key) String() string { return "the key of " + k.Recipient() }

// GoString is String.
func (k *Key) GoString() string { return k.String() }
