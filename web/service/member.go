package service

import (
	"context"
	"fmt"

	"github.com/tidewheel/tidewheel/access"
	"github.com/tidewheel/tidewheel/audit"
)

// Members lists the users who have a role in a namespace.
func (s *Service) Members(ctx context.Context, namespace string) ([]access.Member, error) {
	if _, err := s.namespaceNamed(ctx, namespace); err != nil {
		return nil, err
	}
	members, err := s.Access.Members(ctx, namespace)
	if err != nil {
		return nil, fmt.Errorf("list the members of %s: %w", namespace, err)
	}
	return members, nil
}

// SetMember gives a user a role in a namespace, or, for admins of all, in access.Everywhere.
func (s *Service) SetMember(ctx context.Context, namespace, user, role string) (access.Member, error) {
	parsed, err := access.ParseRole(role)
	if err != nil {
		return access.Member{}, field("invalid_role", "body.role", "%s", err)
	}
	return access.Member{User: access.PlainName(user), Role: parsed}, s.setMember(ctx, namespace, user, parsed)
}

// RemoveMember takes a user's role in a namespace away. The user's requests and open pages notice within seconds.
func (s *Service) RemoveMember(ctx context.Context, namespace, user string) error {
	return s.setMember(ctx, namespace, user, 0)
}

func (s *Service) setMember(ctx context.Context, namespace, user string, role access.Role) error {
	scope, where := namespace, "in "+namespace
	if namespace == access.Everywhere {
		if err := requireAdmin(ctx); err != nil {
			return err
		}
		scope, where = "", "everywhere"
	} else if _, err := s.namespaceNamed(ctx, namespace); err != nil {
		return err
	}
	before, err := s.Access.SetMember(ctx, namespace, user, role)
	if err != nil {
		return explainAccess(err, "user", access.PlainName(user))
	}
	audit.Describe(ctx, scope, audit.Change{What: "role of " + access.PlainName(user) + " " + where, Before: before.String(), After: role.String()})
	return nil
}
