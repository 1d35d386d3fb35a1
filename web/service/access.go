package service

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tidewheel/tidewheel/access"
	"github.com/tidewheel/tidewheel/audit"
)

// requireAdmin refuses what only admins for all namespaces may do.
func requireAdmin(ctx context.Context) error {
	if access.From(ctx).May(access.Everywhere, access.Admin) {
		return nil
	}
	return &Error{Kind: KindForbidden, Code: "forbidden", Detail: "this needs the role admin for all namespaces: ask an admin to do it, or for the role"}
}

// requireOwner refuses what only a user themselves, and admins, may do.
func requireOwner(ctx context.Context, owner string) error {
	if access.From(ctx).User == owner {
		return nil
	}
	return requireAdmin(ctx)
}

// explainAccess puts an error of the directory into words about what it concerns; other errors pass unchanged.
func explainAccess(err error, what, name string) error {
	var invalid *access.InvalidError
	switch {
	case errors.As(err, &invalid):
		return field("invalid_"+invalid.Field, "body."+invalid.Field, "%s", invalid.Reason)
	case errors.Is(err, access.ErrLastAdmin):
		return &Error{Kind: KindConflict, Code: "last_admin", Detail: access.ErrLastAdmin.Error(), Err: err}
	case errors.Is(err, access.ErrLogin):
		return field("invalid_password", "body.current_password", "this is not your password")
	}
	return explain(err, what, name)
}

// Users lists users by name.
func (s *Service) Users(ctx context.Context, cursor string, limit int) ([]access.User, string, error) {
	if err := requireAdmin(ctx); err != nil {
		return nil, "", err
	}
	users, err := s.Access.Users(ctx, cursor, limit)
	if err != nil || len(users) < limit {
		return users, "", err
	}
	return users, users[len(users)-1].Name, nil
}

// User returns a user, to themselves and to admins.
func (s *Service) User(ctx context.Context, name string) (access.User, error) {
	if err := requireOwner(ctx, access.PlainName(name)); err != nil {
		return access.User{}, err
	}
	user, err := s.Access.User(ctx, name)
	return user, explainAccess(err, "user", name)
}

// CreateUser makes a user with a password.
func (s *Service) CreateUser(ctx context.Context, name, password string, grants access.Grants) (access.User, error) {
	if err := requireAdmin(ctx); err != nil {
		return access.User{}, err
	}
	user, err := s.Access.CreateUser(ctx, access.NewUser{Name: name, Password: password, Grants: grants, By: Actor(ctx)})
	if err != nil {
		return access.User{}, explainAccess(err, "user", access.PlainName(name))
	}
	audit.Describe(ctx, "", audit.Change{What: "user " + user.Name, After: standing(&user)})
	s.log.Info("a user was created", "user", user.Name, "by", Actor(ctx))
	return user, nil
}

// ChangeUser changes a user. Users change their own password, and give the current one for that; all else is for admins, who
// may leave it out. One that is given is checked.
func (s *Service) ChangeUser(ctx context.Context, name string, change access.UserChange, current string) (access.User, error) {
	name = access.PlainName(name)
	own := access.From(ctx).User == name && change.Grants == nil && change.Disabled == nil
	if !own || current == "" && access.From(ctx).May(access.Everywhere, access.Admin) {
		if err := requireAdmin(ctx); err != nil {
			return access.User{}, err
		}
	} else if _, err := s.Access.Login(ctx, name, current, access.From(ctx).Address); err != nil {
		return access.User{}, explainAccess(err, "user", name)
	}
	before, after, err := s.Access.ChangeUser(ctx, name, change)
	if err != nil {
		return access.User{}, explainAccess(err, "user", name)
	}
	if change.Password != nil {
		audit.Describe(ctx, "", audit.Change{What: "password of user " + name})
	}
	if was, is := standing(&before), standing(&after); was != is {
		audit.Describe(ctx, "", audit.Change{What: "user " + name, Before: was, After: is})
	}
	s.log.Info("a user was changed", "user", name, "by", Actor(ctx))
	return after, nil
}

// DeleteUser removes a user, and ends their sessions and tokens.
func (s *Service) DeleteUser(ctx context.Context, name string) error {
	if err := requireAdmin(ctx); err != nil {
		return err
	}
	if err := s.Access.DeleteUser(ctx, name); err != nil {
		return explainAccess(err, "user", name)
	}
	audit.Describe(ctx, "", audit.Change{What: "user " + access.PlainName(name), Before: "there"})
	s.log.Info("a user was deleted", "user", access.PlainName(name), "by", Actor(ctx))
	return nil
}

// standing says in short what a user may do.
func standing(user *access.User) string {
	text := grantsInWords(user.Grants)
	if user.Disabled {
		text += ", disabled"
	}
	return text
}

func grantsInWords(grants access.Grants) string {
	words := make([]string, 0, len(grants))
	for _, namespace := range slices.Sorted(maps.Keys(grants)) {
		where := "in " + namespace
		if namespace == access.Everywhere {
			where = "everywhere"
		}
		words = append(words, grants[namespace].String()+" "+where)
	}
	if len(words) == 0 {
		return "no role"
	}
	return strings.Join(words, ", ")
}

// Tokens lists the API tokens of who asks, and all to admins who ask for all.
func (s *Service) Tokens(ctx context.Context, all bool) ([]access.Token, error) {
	owner := access.From(ctx).User
	if all {
		if err := requireAdmin(ctx); err != nil {
			return nil, err
		}
		owner = ""
	}
	return s.Access.Tokens(ctx, owner)
}

// CreateToken makes an API token of who asks, and returns its secret, which is shown once.
func (s *Service) CreateToken(ctx context.Context, made access.NewToken) (string, access.Token, error) {
	secret, token, err := s.Access.CreateToken(ctx, access.From(ctx), made)
	if err != nil {
		return "", access.Token{}, explainAccess(err, "token", made.Name)
	}
	audit.Describe(ctx, "", audit.Change{What: "token " + token.Owner + "/" + token.Name, After: scope(&token)})
	s.log.Info("a token was created", "token", token.Name, "owner", token.Owner, "by", Actor(ctx))
	return secret, token, nil
}

func scope(token *access.Token) string {
	text := "all that its owner may"
	if token.Grants != nil {
		text = grantsInWords(token.Grants)
	}
	if !token.ExpiresAt.IsZero() {
		text += ", until " + token.ExpiresAt.Format(time.RFC3339)
	}
	return text
}

// RevokeToken ends an API token: one's own, or, for admins, any.
func (s *Service) RevokeToken(ctx context.Context, id string) error {
	token, err := s.Access.TokenByID(ctx, id)
	if err != nil {
		return explainAccess(err, "token", id)
	}
	if err := requireOwner(ctx, token.Owner); err != nil {
		return err
	}
	if err := s.Access.RevokeToken(ctx, id); err != nil {
		return explainAccess(err, "token", id)
	}
	audit.Describe(ctx, "", audit.Change{What: "token " + token.Owner + "/" + token.Name, Before: scope(&token)})
	s.log.Info("a token was revoked", "token", token.Name, "owner", token.Owner, "by", Actor(ctx))
	return nil
}

// Sessions lists the sessions of a user, "" for who asks.
func (s *Service) Sessions(ctx context.Context, user string) ([]access.Session, error) {
	owner, err := sessionOwner(ctx, user)
	if err != nil {
		return nil, err
	}
	return s.Access.Sessions(ctx, owner)
}

// EndSession ends a session of a user, "" for who asks.
func (s *Service) EndSession(ctx context.Context, user, id string) error {
	owner, err := sessionOwner(ctx, user)
	if err != nil {
		return err
	}
	if err := s.Access.EndSession(ctx, owner, id); err != nil {
		return explainAccess(err, "session", id)
	}
	audit.Describe(ctx, "", audit.Change{What: fmt.Sprintf("session %s of %s", id, owner), Before: "open"})
	return nil
}

func sessionOwner(ctx context.Context, user string) (string, error) {
	if user = access.PlainName(user); user == "" {
		return access.From(ctx).User, nil
	}
	return user, requireOwner(ctx, user)
}
