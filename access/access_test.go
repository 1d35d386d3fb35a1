package access_test

import (
	"maps"
	"testing"

	"github.com/tidewheel/tidewheel/access"
)

func TestEachRoleMayDoWhatThoseBeforeItMay(t *testing.T) {
	roles := access.Roles()
	for i, role := range roles {
		for k, other := range roles {
			if role.Includes(other) != (i >= k) {
				t.Errorf("%s includes %s: %v", role, other, i < k)
			}
		}
		for _, unknown := range []access.Role{"", "root", "Viewer"} {
			if role.Includes(unknown) || unknown.Includes(role) || unknown.Includes(unknown) {
				t.Errorf("%s and %q", role, unknown)
			}
		}
		if parsed, err := access.ParseRole(string(role)); err != nil || parsed != role {
			t.Errorf("parsed %q, %v", parsed, err)
		}
	}
	if _, err := access.ParseRole("root"); err == nil {
		t.Error("root is a role")
	}
}

func TestGrantsOfANamespaceAndEverywhere(t *testing.T) {
	grants := access.Grants{"finance": access.Editor, "default": access.Viewer, access.Everywhere: access.Operator}
	for namespace, want := range map[string]access.Role{
		"finance": access.Editor, "default": access.Operator, "other": access.Operator, access.Everywhere: access.Operator,
	} {
		if got := grants.Role(namespace); got != want {
			t.Errorf("%s: %s, want %s", namespace, got, want)
		}
	}
	if access.Grants(nil).Allow("default", access.Viewer) {
		t.Error("no grants allow something")
	}
	only := access.Grants{"finance": access.Admin}
	if only.Allow(access.Everywhere, access.Viewer) || only.Allow("", access.Viewer) || !only.Allow("finance", access.Admin) {
		t.Error("an administrator of a namespace")
	}
	if names, all := grants.Namespaces(access.Editor); len(names) != 1 || names[0] != "finance" || all {
		t.Errorf("editor in %v, %v", names, all)
	}
}

func TestATokenHoldsNoMoreThanItsOwner(t *testing.T) {
	for _, c := range []struct{ owner, token, want access.Grants }{
		{access.Grants{"*": access.Admin}, access.Grants{"finance": access.Editor}, access.Grants{"finance": access.Editor}},
		{access.Grants{"finance": access.Viewer}, access.Grants{"*": access.Admin}, access.Grants{"finance": access.Viewer}},
		{access.Grants{"finance": access.Viewer}, access.Grants{"other": access.Admin}, access.Grants{}},
		{access.Grants{"*": access.Viewer, "finance": access.Admin}, access.Grants{"*": access.Editor}, access.Grants{"*": access.Viewer, "finance": access.Editor}},
		{nil, access.Grants{"*": access.Admin}, access.Grants{}},
	} {
		if got := c.token.Within(c.owner); !maps.Equal(got, c.want) {
			t.Errorf("%v within %v: %v, want %v", c.token, c.owner, got, c.want)
		}
	}
}
