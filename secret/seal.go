package secret

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"filippo.io/age"
)

// MaxValue is the most bytes of a value. Values travel in messages, and the environment of a program holds them.
const MaxValue = 64 << 10

// LeastMasked is the length in bytes from which on a value is masked in what programs print.
const LeastMasked = 4

// sealedMark begins what is sealed; the namespace and name follow on the same line, and the value after it.
const sealedMark = "tidewheel secret 1 "

// Why a value does not open.
var (
	// ErrNoKey means that this node has no key of secrets.
	ErrNoKey = errors.New("there is no key of secrets here: give --secrets-key-file")
	// ErrOtherKey means that the value was sealed for a key that this node does not have.
	ErrOtherKey = errors.New("it was sealed for another key of secrets than the one here: give the key of the cluster by --secrets-key-file")
	// ErrDamaged means that what was sealed is damaged, or stands in the place of something else.
	ErrDamaged = errors.New("it is damaged, or was sealed for another name: set it again")
)

// seal encrypts a value of namespace/name for a recipient.
func seal(recipient, namespace, name string, value []byte) ([]byte, error) {
	to, err := age.ParseX25519Recipient(recipient)
	if err != nil {
		return nil, fmt.Errorf("seal a secret: the recipient that is kept with the secrets is none of age: %w", err)
	}
	var sealed bytes.Buffer
	w, err := age.Encrypt(&sealed, to)
	if err != nil {
		return nil, fmt.Errorf("seal a secret: %w", err)
	}
	_, err = w.Write(append([]byte(sealedMark+namespace+"/"+name+"\n"), value...))
	if err = errors.Join(err, w.Close()); err != nil {
		return nil, fmt.Errorf("seal a secret: %w", err)
	}
	return sealed.Bytes(), nil
}

// Open decrypts a value of namespace/name: ErrOtherKey, ErrDamaged, or the value.
func (k *Key) Open(namespace, name string, sealed []byte) ([]byte, error) {
	identities := make([]age.Identity, len(k.identities))
	for i, identity := range k.identities {
		identities[i] = identity
	}
	r, err := age.Decrypt(bytes.NewReader(sealed), identities...)
	var none *age.NoIdentityMatchError
	switch {
	case errors.As(err, &none):
		return nil, ErrOtherKey
	case err != nil:
		return nil, ErrDamaged
	}
	mark := []byte(sealedMark + namespace + "/" + name + "\n")
	text, err := io.ReadAll(io.LimitReader(r, int64(len(mark)+MaxValue)+1))
	if err != nil || len(text) > len(mark)+MaxValue {
		return nil, ErrDamaged
	}
	value, ok := bytes.CutPrefix(text, mark)
	if !ok {
		return nil, ErrDamaged
	}
	return value, nil
}
