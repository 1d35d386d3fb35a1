package access

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

// RootName is the name of the root token's identity, LocalName that of all who use a server with --auth off.
const (
	RootName  = "root"
	LocalName = "local"
)

var (
	validName = regexp.MustCompile(`^[a-z0-9][a-z0-9._@+-]{0,63}$`)
	reserved  = []string{RootName, LocalName, "me", "admins", "system"}
)

// User is a person who signs in.
type User struct {
	Name     string `json:"name"` // in lower case
	Grants   Grants `json:"grants,omitempty"`
	Disabled bool   `json:"disabled,omitempty"`
	// From is the issuer that vouches for the user; "" for a user with a password.
	From      string    `json:"from,omitempty"`
	CreatedAt time.Time `json:"created_at"`
	CreatedBy string    `json:"created_by,omitempty"`
	LastLogin time.Time `json:"last_login,omitzero"`
}

// storedUser is the data of a record.
type storedUser struct {
	User
	Password string `json:"password,omitempty"` // its hash
	Subject  string `json:"subject,omitempty"`  // see Proof
	// Stamp is on each session and token of the user. A new one ends all that were made before, in the same write.
	Stamp string `json:"stamp"`

	revision int64
}

// isAdmin reports whether the user counts as one of the admins of whom one must remain.
func (u *storedUser) isAdmin() bool { return !u.Disabled && u.Grants[Everywhere] == Admin }

func (u *storedUser) identity() Identity {
	return Identity{Kind: KindUser, Name: u.Name, User: u.Name, Grants: maps.Clone(u.Grants), stamp: u.Stamp, issued: u.From != ""}
}

func newStamp() string { return rand.Text()[:idLength] }

// PlainName is a user's name as it is kept: without blanks around it, in lower case.
func PlainName(name string) string { return strings.ToLower(strings.TrimSpace(name)) }

func checkName(name string) error {
	switch {
	case !validName.MatchString(name):
		return &InvalidError{"name", "a name begins with a letter or digit and has at most 64 letters, digits and . _ @ + -"}
	case slices.Contains(reserved, name):
		return &InvalidError{"name", fmt.Sprintf("%q is no name for a user: it stands for something else", name)}
	}
	return nil
}

func checkGrants(grants Grants) error {
	for namespace, role := range grants {
		if namespace == "" || len(namespace) > 128 {
			return &InvalidError{"grants", fmt.Sprintf("%q is no namespace: name one, or use * for all", namespace)}
		}
		if !slices.Contains(Roles(), role) {
			return &InvalidError{"grants", fmt.Sprintf("the role in namespace %s is none of viewer, operator, editor and admin", namespace)}
		}
	}
	return nil
}

// NewUser is what a user is made of: with a password, or with an issuer who vouches for them as its account Subject.
type NewUser struct {
	Name, Password, From, Subject, By string
	Grants                            Grants
}

// CreateUser makes a user; *InvalidError, engine.ErrExists.
func (d *Directory) CreateUser(ctx context.Context, made NewUser) (User, error) {
	user := storedUser{
		User:  User{Name: PlainName(made.Name), Grants: maps.Clone(made.Grants), From: made.From, CreatedAt: d.moment(), CreatedBy: made.By},
		Stamp: newStamp(), Subject: made.Subject, revision: 1,
	}
	err := errors.Join(checkName(user.Name), checkGrants(made.Grants))
	if err == nil && made.From == "" {
		user.Password, err = d.hash(ctx, made.Password)
	}
	if err != nil {
		return User{}, err
	}
	admin := user.isAdmin()
	if admin {
		delete(user.Grants, Everywhere) // the list of admins is about users that there are
	}
	if err := d.writeUser(ctx, &user); err != nil || !admin {
		return user.User, err
	}
	_, after, err := d.changeUser(ctx, user.Name, func(user *storedUser) error {
		user.Grants = maps.Clone(made.Grants)
		return nil
	})
	return after.User, err
}

func (d *Directory) writeUser(ctx context.Context, user *storedUser) error {
	return d.write(ctx, engine.Record{Kind: kindUser, Key: user.Name, Revision: user.revision}, user)
}

func (d *Directory) readUser(ctx context.Context, name string) (user storedUser, err error) {
	if !validName.MatchString(name) {
		return storedUser{}, engine.ErrNotFound
	}
	record, err := d.read(ctx, kindUser, name, &user)
	user.revision = record.Revision
	return user, err
}

// User returns a user; engine.ErrNotFound.
func (d *Directory) User(ctx context.Context, name string) (User, error) {
	user, err := d.readUser(ctx, PlainName(name))
	return user.User, err
}

// Users lists users by name, at most limit with names above after.
func (d *Directory) Users(ctx context.Context, after string, limit int) ([]User, error) {
	records, err := d.store.Records(ctx, engine.RecordFilter{Kind: kindUser, After: after, Limit: limit})
	if err != nil {
		return nil, fmt.Errorf("access: list users: %w", err)
	}
	users := make([]User, len(records))
	for i := range records {
		if err := json.Unmarshal(records[i].Data, &users[i]); err != nil {
			return nil, fmt.Errorf("access: read user %s: %w", records[i].Key, err)
		}
	}
	return users, nil
}

// UserChange is a change of a user; nil fields stay as they are.
type UserChange struct {
	Password *string
	Grants   Grants // nil: they stay; an empty map takes all away
	Disabled *bool
}

// ChangeUser changes a user. A new password, and disabling, end the user's sessions and tokens. Errors: engine.ErrNotFound,
// *InvalidError, ErrLastAdmin.
func (d *Directory) ChangeUser(ctx context.Context, name string, change UserChange) (before, after User, err error) {
	var hash string
	if err := checkGrants(change.Grants); err != nil {
		return User{}, User{}, err
	}
	if change.Password != nil {
		if hash, err = d.hash(ctx, *change.Password); err != nil {
			return User{}, User{}, err
		}
	}
	old, changed, err := d.changeUser(ctx, PlainName(name), func(user *storedUser) error {
		if change.Password != nil {
			if user.From != "" {
				return &InvalidError{"password", "this user has no password here, and signs in at " + user.From}
			}
			user.Password, user.Stamp = hash, newStamp()
		}
		if change.Grants != nil {
			if err := user.checkRolesOwn(); err != nil {
				return err
			}
			user.Grants = maps.Clone(change.Grants)
		}
		if change.Disabled != nil {
			if *change.Disabled && !user.Disabled {
				user.Stamp = newStamp()
			}
			user.Disabled = *change.Disabled
		}
		return nil
	})
	if err != nil {
		return User{}, User{}, err
	}
	if old.Stamp != changed.Stamp {
		d.removeCredentials(ctx, &changed)
	}
	return old.User, changed.User, nil
}

// changeUser writes what change makes of a user, again and again while others write too.
func (d *Directory) changeUser(ctx context.Context, name string, change func(*storedUser) error) (old, changed storedUser, err error) {
	for {
		if old, err = d.readUser(ctx, name); err != nil {
			return old, changed, err
		}
		changed = old
		changed.revision++
		if err := change(&changed); err != nil {
			return old, changed, err
		}
		switch {
		case changed.isAdmin():
			err = d.addAdmin(ctx, &changed)
		case old.isAdmin():
			err = d.dropAdmin(ctx, name)
		}
		if err == nil {
			err = d.writeUser(ctx, &changed)
		}
		if !lost(err) {
			return old, changed, err
		}
	}
}

// DeleteUser removes a user, and ends their sessions and tokens; engine.ErrNotFound, ErrLastAdmin.
func (d *Directory) DeleteUser(ctx context.Context, name string) error {
	name = PlainName(name)
	for {
		user, err := d.readUser(ctx, name)
		if err == nil && user.isAdmin() {
			err = d.dropAdmin(ctx, name)
		}
		if err != nil {
			return err
		}
		err = d.store.DeleteRecord(ctx, kindUser, name, user.revision)
		if errors.Is(err, engine.ErrConflict) {
			continue // it was changed in between, and may be an admin now
		}
		if err != nil {
			return fmt.Errorf("access: delete user %s: %w", name, err)
		}
		user.Stamp = ""
		d.removeCredentials(ctx, &user)
		return nil
	}
}

// removeCredentials removes the sessions and tokens that an earlier stamp of a user's has ended. What it does not reach opens
// nothing all the same, and is in no list.
func (d *Directory) removeCredentials(ctx context.Context, user *storedUser) {
	remove := func(record *engine.Record) error {
		var of struct{ Owner, Stamp string }
		if err := json.Unmarshal(record.Data, &of); err != nil || of.Owner != user.Name || of.Stamp == user.Stamp {
			return nil
		}
		return d.store.DeleteRecord(ctx, record.Kind, record.Key, 0)
	}
	_ = d.each(ctx, kindSession, user.Name+"/", remove)
	_ = d.each(ctx, kindToken, "", remove)
}

// SignIn returns the identity of an enabled user who has proven who they are; ErrLogin.
func (d *Directory) SignIn(ctx context.Context, name string) (Identity, error) {
	_, user, err := d.changeUser(ctx, PlainName(name), func(user *storedUser) error {
		if user.Disabled {
			return ErrLogin
		}
		user.LastLogin = d.moment()
		return nil
	})
	if errors.Is(err, engine.ErrNotFound) {
		return Identity{}, ErrLogin
	}
	if err != nil {
		return Identity{}, err
	}
	return user.identity(), nil
}

// Login returns the identity of the enabled user with a name and a password. Failed logins are bounded by name and by address.
// Errors: ErrLogin, *ThrottledError.
func (d *Directory) Login(ctx context.Context, name, password, address string) (Identity, error) {
	name = PlainName(name)
	user, err := d.checkPassword(ctx, name, password, address)
	if err != nil {
		return Identity{}, err
	}
	identity, err := d.SignIn(ctx, name)
	if err != nil {
		return Identity{}, err
	}
	identity.stamp = user.Stamp // if the password has changed since it was checked, nothing opens
	return identity, nil
}

// checkPassword returns the user, enabled or not, whose name and password these are.
func (d *Directory) checkPassword(ctx context.Context, name, password, address string) (storedUser, error) {
	release, err := d.acquireHashSlot(ctx)
	if err != nil {
		return storedUser{}, err
	}
	defer release()
	// Checked while the hash slot is held, so that no more than mostHashing attempts exceed the bound.
	if err := d.logins.check(d.now(), name, address); err != nil {
		return storedUser{}, err
	}
	user, err := d.readUser(ctx, name)
	if err != nil && !errors.Is(err, engine.ErrNotFound) {
		return storedUser{}, err
	}
	hash := user.Password
	if hash == "" {
		hash = noPassword
	}
	if !matches(hash, password) {
		d.logins.failed(d.now(), name, address)
		return storedUser{}, ErrLogin
	}
	return user, nil
}
