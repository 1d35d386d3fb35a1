package access

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

const (
	tokenMark = "tw_" // begins each token, so that people and scanners know one
	// shownOfToken is how much of a token is kept to recognize it, in bytes.
	shownOfToken = len(tokenMark) + 4
	// expiredKept is how long an expired token is remembered, to say of it that it has expired.
	expiredKept = 30 * 24 * time.Hour
)

// Token is an API token without what opens.
type Token struct {
	ID     string `json:"-"`
	Name   string `json:"name"`
	Owner  string `json:"owner"`            // a user's name, or RootName
	Prefix string `json:"prefix"`           // how the token begins
	Grants Grants `json:"grants,omitempty"` // the most that it may, if its owner may it too; nil: all that its owner may

	CreatedAt time.Time `json:"created_at"`
	ExpiresAt time.Time `json:"expires_at,omitzero"` // zero: never
	UsedAt    time.Time `json:"used_at,omitzero"`    // to the minute; zero: never
}

// storedToken is the data of a record.
type storedToken struct {
	Token
	Stamp string `json:"stamp,omitempty"` // of the user, see storedUser
}

// NewToken is what a token is made of. Nil Grants let it do all that its maker may, a zero ExpiresAt lets it last.
type NewToken struct {
	Name      string
	Grants    Grants
	ExpiresAt time.Time
}

// CreateToken makes a token of an identity, and returns its secret, which is kept nowhere. A token that makes another one gives
// it no more than it has. Errors: *InvalidError, engine.ErrExists.
func (d *Directory) CreateToken(ctx context.Context, by Identity, made NewToken) (secret string, _ Token, err error) {
	secret = tokenMark + strings.ToLower(rand.Text())
	token := storedToken{Token: Token{
		ID: digest(secret)[:idLength], Name: PlainName(made.Name), Owner: by.User, Prefix: secret[:shownOfToken],
		Grants: maps.Clone(made.Grants), CreatedAt: d.moment(), ExpiresAt: made.ExpiresAt.UTC().Truncate(time.Millisecond),
	}}
	if by.User != RootName { // root's last until they are revoked, also where its token is another
		token.Stamp = by.stamp
	}
	if token.Name == "" {
		token.Name = "token-" + token.ID[:6]
	}
	if err := d.checkToken(by, &token.Token); err != nil {
		return "", Token{}, err
	}
	if by.Kind == KindToken {
		if err := d.boundBy(ctx, by.Token, &token.Token); err != nil {
			return "", Token{}, err
		}
	}
	others, err := d.Tokens(ctx, token.Owner)
	if err != nil {
		return "", Token{}, err
	}
	if slices.ContainsFunc(others, func(other Token) bool { return other.Name == token.Name }) {
		return "", Token{}, engine.ErrExists
	}
	record := engine.Record{Kind: kindToken, Key: digest(secret), Revision: 1}
	if !token.ExpiresAt.IsZero() {
		record.ExpiresAt = token.ExpiresAt.Add(expiredKept)
	}
	return secret, token.Token, d.write(ctx, record, &token)
}

func (d *Directory) checkToken(by Identity, token *Token) error {
	switch {
	case by.Kind == KindLocal:
		return &InvalidError{"owner", "with --auth off no token is needed, and none is made: start the server with --auth on"}
	case !validName.MatchString(token.Name):
		return &InvalidError{"name", "a name begins with a letter or digit and has at most 64 letters, digits and . _ @ + -"}
	case token.Grants != nil && len(token.Grants) == 0:
		return &InvalidError{"grants", "a token without a role opens nothing: leave grants out to let it do all that you may"}
	case !token.ExpiresAt.IsZero() && !token.ExpiresAt.After(d.now()):
		return &InvalidError{"expires_at", "this time is over: give one to come, or none"}
	}
	for namespace, role := range token.Grants {
		if by.Grants.In(namespace) < role {
			return &InvalidError{"grants", fmt.Sprintf("a token may no more than you: your role in namespace %s is %s", namespace, by.Grants.In(namespace))}
		}
	}
	return checkGrants(token.Grants)
}

// boundBy bounds a token by the one that makes it.
func (d *Directory) boundBy(ctx context.Context, id string, token *Token) error {
	_, maker, err := d.tokenByID(ctx, id)
	if err != nil {
		return err
	}
	if token.Grants == nil {
		token.Grants = maker.Grants
	}
	if !maker.ExpiresAt.IsZero() && (token.ExpiresAt.IsZero() || token.ExpiresAt.After(maker.ExpiresAt)) {
		token.ExpiresAt = maker.ExpiresAt
	}
	return nil
}

// ByToken returns the identity that a token stands for: an API token or the root token. Errors: ErrNoToken, ErrTokenExpired. Its
// use is noted.
func (d *Directory) ByToken(ctx context.Context, secret string) (Identity, error) {
	if d.isRoot(secret) {
		return rootIdentity(d.rootStamp), nil
	}
	if !strings.HasPrefix(secret, tokenMark) {
		return Identity{}, ErrNoToken
	}
	identity, record, err := d.tokenIdentity(ctx, digest(secret))
	if err != nil {
		return Identity{}, err
	}
	var token storedToken
	if err := json.Unmarshal(record.Data, &token); err == nil && d.moment().Sub(token.UsedAt) >= noteEvery {
		token.UsedAt = d.moment()
		record.Revision++
		_ = d.write(ctx, record, &token) // the next request tries again, if no other one has noted it
	}
	return identity, nil
}

// LoginByToken is ByToken for what is typed at the login page: failed tries are bounded by address. Errors also: *ThrottledError.
func (d *Directory) LoginByToken(ctx context.Context, secret, address string) (Identity, error) {
	if err := d.logins.check(d.now(), "", address); err != nil {
		return Identity{}, err
	}
	identity, err := d.ByToken(ctx, secret)
	if errors.Is(err, ErrNoToken) || errors.Is(err, ErrTokenExpired) {
		d.logins.failed(d.now(), "", address)
	}
	return identity, err
}

// Root returns the identity of the root token, for the link of the first start.
func (d *Directory) Root() Identity { return rootIdentity(d.rootStamp) }

// tokenIdentity returns the identity of the token with a hash.
func (d *Directory) tokenIdentity(ctx context.Context, hash string) (Identity, engine.Record, error) {
	var token storedToken
	record, err := d.read(ctx, kindToken, hash, &token)
	if errors.Is(err, engine.ErrNotFound) {
		return Identity{}, record, ErrNoToken
	}
	if err != nil {
		return Identity{}, record, err
	}
	if !token.ExpiresAt.IsZero() && !d.now().Before(token.ExpiresAt) {
		return Identity{}, record, ErrTokenExpired
	}
	owner, err := d.owner(ctx, token.Owner)
	if errors.Is(err, engine.ErrNotFound) || err == nil && token.Owner != RootName && owner.stamp != token.Stamp {
		return Identity{}, record, ErrNoToken
	}
	if err != nil {
		return Identity{}, record, err
	}
	identity := Identity{
		Kind: KindToken, Name: token.Owner + "/" + token.Name, User: token.Owner, Grants: owner.Grants, Token: hash[:idLength], stamp: token.Stamp,
	}
	if token.Grants != nil {
		identity.Grants = token.Grants.lowered(owner.Grants)
	}
	return identity, record, nil
}

// tokenByID returns a token by its id; engine.ErrNotFound.
func (d *Directory) tokenByID(ctx context.Context, id string) (engine.Record, Token, error) {
	var (
		found  engine.Record
		token  storedToken
		exists bool
	)
	if len(id) != idLength {
		return found, Token{}, engine.ErrNotFound
	}
	err := d.each(ctx, kindToken, id, func(record *engine.Record) error {
		found, exists = *record, true
		return json.Unmarshal(record.Data, &token)
	})
	if err == nil && !exists {
		err = engine.ErrNotFound
	}
	token.ID = id
	return found, token.Token, err
}

// TokenByID returns a token by its id; engine.ErrNotFound.
func (d *Directory) TokenByID(ctx context.Context, id string) (Token, error) {
	_, token, err := d.tokenByID(ctx, id)
	return token, err
}

// Tokens lists the tokens of a user or of RootName, "" for all, by when they were made. Expired ones are among
// them for a while.
func (d *Directory) Tokens(ctx context.Context, owner string) (tokens []Token, err error) {
	owners := map[string]Identity{}
	err = d.each(ctx, kindToken, "", func(record *engine.Record) error {
		var token storedToken
		if err := json.Unmarshal(record.Data, &token); err != nil {
			return fmt.Errorf("access: read token %s: %w", record.Key[:idLength], err)
		}
		if owner != "" && token.Owner != owner {
			return nil
		}
		of, known := owners[token.Owner]
		if !known {
			var err error
			if of, err = d.owner(ctx, token.Owner); err != nil && !errors.Is(err, engine.ErrNotFound) {
				return err
			}
			owners[token.Owner] = of
		}
		if of.Name == "" || token.Owner != RootName && of.stamp != token.Stamp {
			return nil // it ended with something of its owner's
		}
		token.ID = record.Key[:idLength]
		tokens = append(tokens, token.Token)
		return nil
	})
	slices.SortFunc(tokens, func(a, b Token) int { return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.Name, b.Name)) })
	return tokens, err
}

// RevokeToken ends a token by its id; engine.ErrNotFound.
func (d *Directory) RevokeToken(ctx context.Context, id string) error {
	record, _, err := d.tokenByID(ctx, id)
	if err != nil {
		return err
	}
	return d.store.DeleteRecord(ctx, kindToken, record.Key, 0)
}
