// Package enrol keeps which executors have credentials of their own. An admin makes a token that works once and for a short time, or
// gives the web nodes one that enrols any number; an executor shows it with the public part of a key that it has made, and gets
// credentials for its tier, which it renews by proving that it has the key. One that is revoked gets none any more.
package enrol

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// The kinds of the records.
const (
	kindToken    = "enrolment-token" //nolint:gosec // key: the hash of the token
	kindExecutor = "executor"        // key: the name
	kindTaskKeys = "task-keys"       // key: publicKeys; the PEM text
)

const (
	publicKeys = "public"
	tokenMark  = "twe_" // begins each token, so that people and scanners know one
	// clockSlack is how far the clock of an executor may be off when it proves who it is.
	clockSlack = 5 * time.Minute
	// page is how many records are read at once.
	page = 200
)

// The lives of enrolment tokens.
const (
	DefaultTTL = time.Hour
	MaxTTL     = 7 * 24 * time.Hour
)

// DefaultLife is how long the credentials of an executor are good. They are renewed at half of it. A NATS that is not embedded keeps the
// connection of a revoked executor for so long, and an executor works on without web nodes for nearly as long.
const DefaultLife = 15 * time.Minute

// AllTiers is the tier of an executor that serves all of them alike.
const AllTiers = "all"

// Why an executor gets no credentials.
var (
	ErrToken     = errors.New("this enrolment token is not known: it was used, or never made")
	ErrExpired   = errors.New("this enrolment token has expired")
	ErrRevoked   = errors.New("this executor is not enrolled: it was revoked, or never was")
	ErrProof     = errors.New("this was not signed with the executor's key")
	ErrClock     = fmt.Errorf("this was signed more than %v ago or ahead: set the clock of the executor's machine", clockSlack)
	ErrNameTaken = errors.New("an executor of this name is enrolled: give another name, or revoke that one first")
)

// InvalidError reports which field cannot be taken as it was given, and why.
type InvalidError struct{ Field, Reason string }

func (e *InvalidError) Error() string { return e.Reason }

// Token is an enrolment token without what opens.
type Token struct {
	Tier      string    `json:"tier"` // light, medium, heavy or AllTiers
	CreatedBy string    `json:"created_by"`
	CreatedAt time.Time `json:"created_at"`
	ExpiresAt time.Time `json:"expires_at"`
}

// Executor is one that is enrolled.
type Executor struct {
	Name       string    `json:"name"`
	Tier       string    `json:"tier"`
	PublicKey  string    `json:"public_key"` // of its NATS user
	InvitedBy  string    `json:"invited_by"` // who made its token
	EnrolledAt time.Time `json:"enrolled_at"`
}

// Issuer makes and verifies what a NATS understands.
type Issuer interface {
	// Issue makes credentials for an executor with labels, which expire at until.
	Issue(ctx context.Context, to Executor, labels map[string]string, until time.Time) (string, error)
	// Verify returns nil if message was signed with the private part of a user's key.
	Verify(publicKey string, message, signature []byte) error
}

// Proof is what an executor signs to show that it has its key. An attacker who reads one can repeat it for some minutes,
// and gets credentials that are of no use without the key.
type Proof struct {
	Name      string            `json:"name"`
	PublicKey string            `json:"public_key"`
	At        time.Time         `json:"at"`
	Labels    map[string]string `json:"labels,omitempty"`
	Signature []byte            `json:"signature"`
}

// Statement returns the bytes that are signed for a purpose: "enrol" or "renew".
func (p *Proof) Statement(purpose string) []byte {
	signed := *p
	signed.Signature = nil
	signed.At = p.At.UTC()
	text, err := json.Marshal(signed)
	if err != nil { // a time beyond the year 9999
		return nil
	}
	return append([]byte("tidewheel executor "+purpose+"\n"), text...)
}

// Credentials are what an executor is given.
type Credentials struct {
	Executor  Executor
	JWT       string
	ExpiresAt time.Time
	TaskKeys  string // public keys of the engines that sign tasks, in PEM
}

// Register keeps tokens and executors as records of a store. It is safe for concurrent use, also by several nodes on one store.
type Register struct {
	store  engine.Records
	config Config
	now    func() time.Time
}

// Config defines how a node gives credentials.
type Config struct {
	Issuer Issuer        // nil on nodes that make none
	Life   time.Duration // of credentials; 0: DefaultLife
	// JoinTokens returns the join tokens of now. nil: there are none.
	JoinTokens func() ([]JoinToken, error)
}

// New makes a register over a store, which stays the caller's.
func New(store engine.Records, config Config, now func() time.Time) *Register {
	config.Life = cmp.Or(config.Life, DefaultLife)
	return &Register{store, config, now}
}

// Issues reports whether this node makes credentials.
func (r *Register) Issues() bool { return r.config.Issuer != nil }

func (r *Register) moment() time.Time { return r.now().UTC().Truncate(time.Millisecond) }

func digest(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

func validTier(tier string) bool {
	return slices.Contains([]string{string(spec.TierLight), string(spec.TierMedium), string(spec.TierHeavy), AllTiers}, tier)
}

// CreateToken makes a token that enrols one executor of a tier within ttl, 0 for DefaultTTL. It returns its secret, which is kept
// nowhere. Errors: *InvalidError.
func (r *Register) CreateToken(ctx context.Context, tier, by string, ttl time.Duration) (secret string, _ Token, err error) {
	ttl = cmp.Or(ttl, DefaultTTL)
	switch {
	case !validTier(tier):
		return "", Token{}, &InvalidError{"tier", fmt.Sprintf("%q is no tier: use light, medium, heavy or all", tier)}
	case ttl < time.Second || ttl > MaxTTL:
		return "", Token{}, &InvalidError{"ttl", fmt.Sprintf("%v: an enrolment token lasts for 1s to %v", ttl, MaxTTL)}
	}
	secret = tokenMark + strings.ToLower(rand.Text())
	token := Token{Tier: tier, CreatedBy: by, CreatedAt: r.moment(), ExpiresAt: r.moment().Add(ttl)}
	// It is remembered for a while longer, to say that it has expired.
	record := engine.Record{Kind: kindToken, Key: digest(secret), Revision: 1, ExpiresAt: token.ExpiresAt.Add(MaxTTL)}
	return secret, token, r.insert(ctx, record, &token)
}

func (r *Register) insert(ctx context.Context, record engine.Record, data any) (err error) {
	if record.Data, err = json.Marshal(data); err == nil {
		err = r.store.InsertRecord(ctx, record)
	}
	if err != nil {
		return fmt.Errorf("enrol: write %s: %w", record.Kind, err)
	}
	return nil
}

func (r *Register) read(ctx context.Context, kind, key string, data any) (engine.Record, error) {
	record, err := r.store.Record(ctx, kind, key)
	if err == nil {
		err = json.Unmarshal(record.Data, data)
	}
	if err != nil {
		return record, fmt.Errorf("enrol: read %s: %w", kind, err)
	}
	return record, nil
}

// validName leaves room for what distinguishes the lives of an executor. It is a token of subjects.
var validName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$`)

func (r *Register) check(proof *Proof, purpose, publicKey string) error {
	if err := r.config.Issuer.Verify(publicKey, proof.Statement(purpose), proof.Signature); err != nil {
		return fmt.Errorf("%w: %w", ErrProof, err)
	}
	if off := r.now().Sub(proof.At).Abs(); off > clockSlack {
		return ErrClock
	}
	return nil
}

// Enrol returns credentials of a token's tier for the executor that shows the token, and uses the token up unless it is a join token.
// Errors: ErrToken, ErrExpired, ErrProof, ErrClock, ErrNameTaken, *InvalidError; after these the token is as it was.
func (r *Register) Enrol(ctx context.Context, secret string, proof *Proof) (Credentials, error) {
	token, used, err := r.token(ctx, secret)
	if err != nil {
		return Credentials{}, err
	}
	if !validName.MatchString(proof.Name) {
		return Credentials{}, &InvalidError{"name", "a name begins with a letter or digit and has at most 40 letters, digits, - and _"}
	}
	if err := r.check(proof, "enrol", proof.PublicKey); err != nil {
		return Credentials{}, err
	}
	executor := Executor{Name: proof.Name, Tier: token.Tier, PublicKey: proof.PublicKey, InvitedBy: token.CreatedBy, EnrolledAt: r.moment()}
	record := engine.Record{Kind: kindExecutor, Key: proof.Name, Revision: 1}
	if used == nil {
		record.ExpiresAt = r.moment().Add(forgetAfter)
	}
	err = r.insert(ctx, record, &executor)
	if errors.Is(err, engine.ErrExists) {
		return Credentials{}, ErrNameTaken
	}
	if err == nil && used != nil {
		err = r.use(ctx, used, proof.Name)
	}
	if err != nil {
		return Credentials{}, err
	}
	return r.credentials(ctx, executor, proof.Labels)
}

// token finds what a secret opens, and the record to delete when it is used; nil for a join token. ErrToken, ErrExpired.
func (r *Register) token(ctx context.Context, secret string) (*Token, *engine.Record, error) {
	join, err := r.joinToken(secret)
	if join != nil || err != nil {
		return join, nil, err
	}
	var token Token
	record, err := r.read(ctx, kindToken, digest(secret), &token)
	switch {
	case errors.Is(err, engine.ErrNotFound):
		return nil, nil, ErrToken
	case err != nil:
		return nil, nil, err
	case !r.now().Before(token.ExpiresAt):
		return nil, nil, ErrExpired
	}
	return &token, &record, nil
}

// use deletes a token. Of two that show it at once one deletes it; until then neither has credentials.
func (r *Register) use(ctx context.Context, token *engine.Record, name string) error {
	err := r.store.DeleteRecord(ctx, kindToken, token.Key, token.Revision)
	if err == nil {
		return nil
	}
	undo := r.store.DeleteRecord(ctx, kindExecutor, name, 1)
	if errors.Is(err, engine.ErrNotFound) || errors.Is(err, engine.ErrConflict) {
		return errors.Join(ErrToken, undo)
	}
	return errors.Join(fmt.Errorf("enrol: use the token up: %w", err), undo)
}

// Renew returns new credentials for an enrolled executor. Errors: ErrRevoked, ErrProof, ErrClock.
func (r *Register) Renew(ctx context.Context, proof *Proof) (Credentials, error) {
	var executor Executor
	record, err := r.read(ctx, kindExecutor, proof.Name, &executor)
	if errors.Is(err, engine.ErrNotFound) || err == nil && executor.PublicKey != proof.PublicKey {
		return Credentials{}, ErrRevoked
	}
	if err != nil {
		return Credentials{}, err
	}
	if err := r.check(proof, "renew", executor.PublicKey); err != nil {
		return Credentials{}, err
	}
	if err := r.keep(ctx, &record); err != nil {
		return Credentials{}, err
	}
	return r.credentials(ctx, executor, proof.Labels)
}

func (r *Register) credentials(ctx context.Context, to Executor, labels map[string]string) (Credentials, error) {
	// A NATS reads the end of credentials in whole seconds.
	given := Credentials{Executor: to, ExpiresAt: r.now().UTC().Add(r.config.Life).Truncate(time.Second)}
	var err error
	if given.JWT, err = r.config.Issuer.Issue(ctx, to, maps.Clone(labels), given.ExpiresAt); err != nil {
		return Credentials{}, fmt.Errorf("enrol: make credentials: %w", err)
	}
	keys, err := r.store.Record(ctx, kindTaskKeys, publicKeys)
	if err != nil && !errors.Is(err, engine.ErrNotFound) {
		return Credentials{}, fmt.Errorf("enrol: read the keys of tasks: %w", err)
	}
	given.TaskKeys = string(keys.Data)
	return given, nil
}

// Revoke ends the enrolment of an executor: it is given no credentials any more. engine.ErrNotFound.
func (r *Register) Revoke(ctx context.Context, name string) (Executor, error) {
	var executor Executor
	record, err := r.read(ctx, kindExecutor, name, &executor)
	if err != nil {
		return executor, err
	}
	return executor, r.store.DeleteRecord(ctx, kindExecutor, name, record.Revision)
}

// Executors lists those that are enrolled, by name.
func (r *Register) Executors(ctx context.Context) (all []Executor, err error) {
	for after := ""; ; {
		records, err := r.store.Records(ctx, engine.RecordFilter{Kind: kindExecutor, After: after, Limit: page})
		if err != nil {
			return nil, fmt.Errorf("enrol: list executors: %w", err)
		}
		for i := range records {
			var executor Executor
			if err := json.Unmarshal(records[i].Data, &executor); err != nil {
				return nil, fmt.Errorf("enrol: read executor %s: %w", records[i].Key, err)
			}
			all = append(all, executor)
			after = records[i].Key
		}
		if len(records) < page {
			return all, nil
		}
	}
}

// Enrolled reports whether an executor is enrolled under a name with a key.
func (r *Register) Enrolled(ctx context.Context, name, publicKey string) (bool, error) {
	var executor Executor
	_, err := r.read(ctx, kindExecutor, name, &executor)
	if errors.Is(err, engine.ErrNotFound) {
		return false, nil
	}
	return err == nil && executor.PublicKey == publicKey, err
}

// PublishTaskKeys keeps the public keys of engines for executors. Of engines that differ the last one counts.
func (r *Register) PublishTaskKeys(ctx context.Context, text []byte) error {
	record, err := r.store.Record(ctx, kindTaskKeys, publicKeys)
	switch {
	case errors.Is(err, engine.ErrNotFound):
		err = r.store.InsertRecord(ctx, engine.Record{Kind: kindTaskKeys, Key: publicKeys, Revision: 1, Data: text})
	case err == nil && string(record.Data) != string(text):
		record.Revision++
		record.Data = text
		err = r.store.ReplaceRecord(ctx, record)
	}
	if err != nil && !errors.Is(err, engine.ErrExists) && !errors.Is(err, engine.ErrConflict) { // another engine was faster
		return fmt.Errorf("enrol: publish the keys of tasks: %w", err)
	}
	return nil
}
