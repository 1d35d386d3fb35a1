package jetstream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"

	"github.com/tidewheel/tidewheel/spec"
)

// How long credentials may get, in bytes: they stand in the first line of a connection, for which a NATS has room for 4 KiB unless its
// max_control_line says otherwise, with some other things.
const (
	maxCredentials = 3500
	// serverLine is the max_control_line of the embedded server, and maxOfServer what credentials for it may take.
	serverLine  = 64 << 10
	maxOfServer = 48 << 10
)

// Account signs credentials for executors. Its key is that of a NATS account, or one of its signing keys.
type Account struct {
	key        nkeys.KeyPair
	issuer, id string // the public keys of what signs, and of the account
	room       int    // for credentials, in bytes
}

// ForServer makes an account whose credentials are for an embedded server, which has room for all pools of labels.
func (a *Account) ForServer() *Account {
	return &Account{key: a.key, issuer: a.issuer, id: a.id, room: maxOfServer}
}

// NewAccount reads the seed of a key that signs for an account (SA…). id is the account's public key (A…); "" where the key is the
// account's own. Its errors hold nothing of the seed.
func NewAccount(seed []byte, id string) (*Account, error) {
	key, err := nkeys.FromSeed(bytes.TrimSpace(seed))
	if err != nil {
		return nil, errors.New("it holds no seed of a NATS key: an account's begins with SA, as `nsc generate nkey --account` prints it")
	}
	issuer, err := key.PublicKey()
	if err != nil || !nkeys.IsValidPublicAccountKey(issuer) {
		return nil, errors.New("it is no key of an account: its seed begins with SA")
	}
	if id == "" {
		id = issuer
	}
	if !nkeys.IsValidPublicAccountKey(id) {
		return nil, fmt.Errorf("%q is no public key of an account: it begins with A", id)
	}
	return &Account{key: key, issuer: issuer, id: id, room: maxCredentials}, nil
}

// AccountSeed returns the seed of a key that is made of SeedSize random bytes.
func AccountSeed(random []byte) ([]byte, error) {
	seed, err := nkeys.EncodeSeed(nkeys.PrefixByteAccount, random)
	return seed, wrap("make a key of a NATS account", err)
}

// Grant says whom credentials are for, and what they let do.
type Grant struct {
	Name      string // of the executor
	PublicKey string // of its user key
	Tiers     []spec.Tier
	Labels    map[string]string
	Until     time.Time
}

// Issue makes credentials (a user JWT) for an executor: those of ExecutorPermissions with the pools of labels that are in use now and
// that its labels satisfy, as many as a NATS takes.
func (q *Queue) Issue(ctx context.Context, account *Account, to Grant) (string, error) {
	table, _, err := q.readPools(ctx)
	if err != nil {
		return "", wrap("jetstream: make credentials", err)
	}
	var pools []string
	for i := range table.Pools {
		if p := &table.Pools[i]; slices.Contains(to.Tiers, p.Tier) && spec.Satisfies(to.Labels, p.RunsOn) {
			pools = append(pools, p.token())
		}
	}
	slices.Sort(pools)
	for {
		text, err := account.issue(&to, ExecutorPermissions(q.config.Prefix, to.Name, to.Tiers, pools))
		if err != nil {
			return "", wrap("jetstream: make credentials", err)
		}
		if len(text) <= account.room || len(pools) == 0 {
			return text, nil
		}
		q.log.Warn("credentials have no room for all pools of labels that an executor could serve", "executor", to.Name, "left_out", pools[len(pools)-1])
		pools = pools[:len(pools)-1]
	}
}

func (a *Account) issue(to *Grant, may Permissions) (string, error) {
	if !nkeys.IsValidPublicUserKey(to.PublicKey) {
		return "", fmt.Errorf("%q is no public key of a NATS user", to.PublicKey)
	}
	claims := jwt.NewUserClaims(to.PublicKey)
	claims.Name, claims.Expires = to.Name, to.Until.Unix()
	if a.issuer != a.id {
		claims.IssuerAccount = a.id
	}
	claims.Pub.Allow.Add(may.Publish...)
	claims.Sub.Allow.Add(may.Subscribe...)
	return claims.Encode(a.key)
}

// UserKey proves who an executor is. It stays on the executor's machine.
type UserKey struct {
	pair   nkeys.KeyPair
	public string
}

// NewUserKey makes a key, and returns its seed to keep.
func NewUserKey() (*UserKey, []byte, error) {
	pair, err := nkeys.CreateUser()
	if err != nil {
		return nil, nil, wrap("make a key of a NATS user", err)
	}
	seed, err := pair.Seed()
	if err != nil {
		return nil, nil, wrap("make a key of a NATS user", err)
	}
	key, err := ParseUserKey(seed)
	return key, seed, err
}

// ParseUserKey reads a seed. Its errors hold nothing of it.
func ParseUserKey(seed []byte) (*UserKey, error) {
	pair, err := nkeys.FromSeed(bytes.TrimSpace(seed))
	if err != nil {
		return nil, errors.New("this is no seed of a NATS key")
	}
	public, err := pair.PublicKey()
	if err != nil || !nkeys.IsValidPublicUserKey(public) {
		return nil, errors.New("this is no seed of a NATS user's key")
	}
	return &UserKey{pair, public}, nil
}

// Public returns the public part.
func (k *UserKey) Public() string { return k.public }

// Sign signs a message.
func (k *UserKey) Sign(message []byte) ([]byte, error) {
	signature, err := k.pair.Sign(message)
	return signature, wrap("sign with the key of this executor", err)
}

// VerifyUser returns nil if a message was signed with the private part of a user's key.
func VerifyUser(public string, message, signature []byte) error {
	key, err := nkeys.FromPublicKey(public)
	if err != nil || !nkeys.IsValidPublicUserKey(public) {
		return errors.New("this is no public key of a NATS user: it begins with U")
	}
	return wrap("verify a signature", key.Verify(message, signature))
}

// permissionsOf reads credentials without verifying them: they are this process's own.
func permissionsOf(text string) (Permissions, error) {
	claims, err := jwt.DecodeUserClaims(text)
	if err != nil {
		return Permissions{}, errors.New("the credentials of this executor cannot be read: enrol it again")
	}
	return Permissions{Publish: claims.Pub.Allow, Subscribe: claims.Sub.Allow}, nil
}

// halfOver reports whether half the life of credentials is over.
func halfOver(text string, now time.Time) bool {
	claims, err := jwt.DecodeUserClaims(text)
	return err != nil || 2*now.Unix() >= claims.IssuedAt+claims.Expires
}

// samePermissions reports whether two credentials let do the same.
func samePermissions(a, b string) bool {
	one, err := permissionsOf(a)
	if err != nil {
		return false
	}
	other, err := permissionsOf(b)
	return err == nil && slices.Equal(one.Publish, other.Publish) && slices.Equal(one.Subscribe, other.Subscribe)
}
