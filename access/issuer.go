package access

import (
	"context"
	"errors"
	"maps"

	"github.com/tidewheel/tidewheel/engine"
)

// Why a user for whom an issuer vouches is not signed in.
var (
	// ErrNoRole means that their groups give them no role.
	ErrNoRole = errors.New("no group of this user gives a role")
	// ErrOtherUser means that their name is that of a user with a password, or of another account of the issuer.
	ErrOtherUser = errors.New("another user has this name")
	// ErrDisabled means that an admin has disabled them.
	ErrDisabled = errors.New("this user is disabled")
)

// Proof is what an issuer vouches for.
type Proof struct {
	// Subject names the account at the Issuer. A name may be given to another person there; a subject never is.
	Issuer, Subject string
	Name            string
	Grants          Grants // what their groups give them; may be empty
}

// SignInFrom returns the identity of a user for whom an issuer vouches. It makes the user at the first login, and replaces their
// roles by those of the proof at each one, also where it then refuses. Errors: *InvalidError for the name, ErrNoRole,
// ErrOtherUser, ErrDisabled, ErrLastAdmin.
func (d *Directory) SignInFrom(ctx context.Context, proof Proof) (Identity, error) {
	name := PlainName(proof.Name)
	_, err := d.readUser(ctx, name)
	switch {
	case !errors.Is(err, engine.ErrNotFound):
	case len(proof.Grants) == 0:
		return Identity{}, ErrNoRole
	default:
		_, err = d.CreateUser(ctx, NewUser{Name: name, From: proof.Issuer, Subject: proof.Subject})
	}
	if err != nil && !errors.Is(err, engine.ErrExists) { // another login of theirs was first
		return Identity{}, err
	}
	_, user, err := d.changeUser(ctx, name, func(user *storedUser) error {
		if user.From != proof.Issuer || user.Subject != proof.Subject {
			return ErrOtherUser
		}
		user.Grants = maps.Clone(proof.Grants)
		if !user.Disabled && len(proof.Grants) > 0 {
			user.LastLogin = d.moment()
		}
		return nil
	})
	switch {
	case err != nil:
		return Identity{}, err
	case user.Disabled:
		return Identity{}, ErrDisabled
	case len(proof.Grants) == 0:
		return Identity{}, ErrNoRole
	}
	return user.identity(), nil
}

// checkRolesOwn refuses to change the roles that an issuer's groups give.
func (u *storedUser) checkRolesOwn() error {
	if u.From == "" {
		return nil
	}
	return &InvalidError{"grants", "the roles of this user come from groups at " + u.From +
		" at each login: change the groups, or the --oidc-role of the server"}
}
