package access

import (
	"context"
	"maps"
)

// Member is a user who has a role in a namespace.
type Member struct {
	User string
	Role Role
	All  bool   // the role is for all namespaces: it is not the namespace's to change
	From string // the issuer whose groups give the role, which is not the namespace's to change either; "" for none
}

// Members lists the users who have a role in a namespace, by name.
func (d *Directory) Members(ctx context.Context, namespace string) (members []Member, err error) {
	for after := ""; ; {
		users, err := d.Users(ctx, after, page)
		if err != nil {
			return nil, err
		}
		for i := range users {
			user := &users[i]
			if own := user.Grants[namespace]; own > 0 && own >= user.Grants[Everywhere] {
				members = append(members, Member{User: user.Name, Role: own, From: user.From})
			} else if all := user.Grants[Everywhere]; all > 0 {
				members = append(members, Member{User: user.Name, Role: all, All: true, From: user.From})
			}
		}
		if len(users) < page {
			return members, nil
		}
		after = users[len(users)-1].Name
	}
}

// SetMember gives a user a role in a namespace, and takes it away with the zero role. It returns the role that they had there.
// Errors: engine.ErrNotFound for the user, *InvalidError for one whose issuer gives the roles.
func (d *Directory) SetMember(ctx context.Context, namespace, name string, role Role) (before Role, err error) {
	old, _, err := d.changeUser(ctx, PlainName(name), func(user *storedUser) error {
		if err := user.checkRolesOwn(); err != nil {
			return err
		}
		grants := Grants{}
		maps.Copy(grants, user.Grants)
		if delete(grants, namespace); role > 0 {
			grants[namespace] = role
		}
		user.Grants = grants
		return nil
	})
	return old.Grants[namespace], err
}
