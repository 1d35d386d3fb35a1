package signing

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
)

// The types of PEM blocks that keys stand in, as openssl writes them.
const (
	blockPrivate = "PRIVATE KEY"
	blockPublic  = "PUBLIC KEY"
)

// Keys are what one node knows: public keys that it trusts, and the private key that it signs with, if it has one.
type Keys struct {
	private   ed25519.PrivateKey // nil: this node cannot sign
	privateID string
	trusted   map[string]ed25519.PublicKey
	order     []string // of the ids of trusted
}

// NewKeys makes a private key.
func NewKeys() (*Keys, error) {
	_, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		return nil, fmt.Errorf("make a key of tasks: %w", err)
	}
	return fromPrivate(private), nil
}

// KeysOfSeed returns the private key of a seed, which has SeedSize random bytes.
func KeysOfSeed(seed []byte) (*Keys, error) {
	if len(seed) != SeedSize {
		return nil, fmt.Errorf("a key of tasks has a seed of %d bytes, and not of %d", SeedSize, len(seed))
	}
	return fromPrivate(ed25519.NewKeyFromSeed(seed)), nil
}

// SeedSize is the length of the seed of a key, in bytes.
const SeedSize = ed25519.SeedSize

func fromPrivate(private ed25519.PrivateKey) *Keys {
	keys := &Keys{trusted: make(map[string]ed25519.PublicKey)}
	keys.addPrivate(private)
	return keys
}

// ParseKeys reads the text of a file: Ed25519 keys in PEM, as PrivateText and openssl write them. The first private key
// signs; the public parts of all keys are trusted. Its errors hold nothing of the text.
func ParseKeys(text []byte) (*Keys, error) {
	keys := &Keys{trusted: make(map[string]ed25519.PublicKey)}
	number := 0
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		number++
		var err error
		switch block.Type {
		case blockPrivate:
			err = keys.parsePrivate(block.Bytes)
		case blockPublic:
			err = keys.parsePublic(block.Bytes)
		default:
			err = fmt.Errorf("it is a %s", block.Type)
		}
		if err != nil {
			return nil, fmt.Errorf("block %d is no Ed25519 key (`tidewheel task-key new` makes one): %w", number, err)
		}
	}
	if number == 0 {
		return nil, errors.New("it holds no key: give Ed25519 keys in PEM, as `tidewheel task-key new` makes them")
	}
	return keys, nil
}

var errOtherAlgorithm = errors.New("it is of another algorithm")

func (k *Keys) parsePrivate(der []byte) error {
	parsed, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return errors.New("it is damaged")
	}
	private, ok := parsed.(ed25519.PrivateKey)
	if !ok {
		return errOtherAlgorithm
	}
	k.addPrivate(private)
	return nil
}

func (k *Keys) parsePublic(der []byte) error {
	parsed, err := x509.ParsePKIXPublicKey(der)
	if err != nil {
		return errors.New("it is damaged")
	}
	public, ok := parsed.(ed25519.PublicKey)
	if !ok {
		return errOtherAlgorithm
	}
	k.trust(public)
	return nil
}

func (k *Keys) addPrivate(private ed25519.PrivateKey) {
	public := private.Public().(ed25519.PublicKey) // as its documentation promises
	if k.private == nil {
		k.private, k.privateID = private, idOf(public)
	}
	k.trust(public)
}

func (k *Keys) trust(public ed25519.PublicKey) {
	id := idOf(public)
	if _, known := k.trusted[id]; !known {
		k.trusted[id] = public
		k.order = append(k.order, id)
	}
}

// idOf names a key: the beginning of the SHA-256 of its public part.
func idOf(public ed25519.PublicKey) string {
	sum := sha256.Sum256(public)
	return hex.EncodeToString(sum[:8])
}

// Signs returns the id of the key that this node signs with; "" without a private key.
func (k *Keys) Signs() string { return k.privateID }

// Trusts reports whether the key with an id is trusted.
func (k *Keys) Trusts(id string) bool {
	_, known := k.trusted[id]
	return known
}

// PrivateText is the private key as ParseKeys reads it.
func (k *Keys) PrivateText() ([]byte, error) {
	if k.private == nil {
		return nil, errNoPrivate
	}
	der, err := x509.MarshalPKCS8PrivateKey(k.private)
	if err != nil {
		return nil, fmt.Errorf("write a key of tasks: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: blockPrivate, Bytes: der}), nil
}

// PublicText is all that executors need: the public parts of all keys, as ParseKeys reads them.
func (k *Keys) PublicText() ([]byte, error) {
	var text bytes.Buffer
	for _, id := range k.order {
		der, err := x509.MarshalPKIXPublicKey(k.trusted[id])
		if err != nil {
			return nil, fmt.Errorf("write a key of tasks: %w", err)
		}
		text.Write(pem.EncodeToMemory(&pem.Block{Type: blockPublic, Bytes: der}))
	}
	return text.Bytes(), nil
}

// String keeps the private key out of logs and error messages.
func (k *Keys) String() string { return fmt.Sprintf("keys of tasks %v", k.order) }

// GoString is String.
func (k *Keys) GoString() string { return k.String() }
