package access_test

import (
	"errors"
	"maps"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/access"
)

const issuer = "https://id.example"

func proof(name string, grants access.Grants) access.Proof {
	return access.Proof{Issuer: issuer, Subject: "id of " + access.PlainName(name), Name: name, Grants: grants}
}

func wantField(t *testing.T, what string, got error, field string) {
	t.Helper()
	var invalid *access.InvalidError
	if !errors.As(got, &invalid) || invalid.Field != field {
		t.Errorf("%s: %v, want one about %s", what, got, field)
	}
}

func TestIssuerMakesUserAndItsGroupsDecideAtEachLogin(t *testing.T) {
	w := newWorld()
	w.user(t, "root-of-all", everywhere)
	for _, grants := range []access.Grants{{"shop": access.Editor}, {"bank": access.Viewer, "shop": access.Viewer}, everywhere, {"bank": access.Admin}} {
		identity, err := w.SignInFrom(t.Context(), proof("Olga@Example.org", grants))
		if err != nil || identity.Name != "olga@example.org" || !maps.Equal(identity.Grants, grants) {
			t.Fatalf("%v: %+v, %v", grants, identity, err)
		}
	}
	user, err := w.User(t.Context(), "olga@example.org")
	if err != nil || user.From != issuer || user.LastLogin.IsZero() || user.Grants["bank"] != access.Admin {
		t.Errorf("%+v, %v", user, err)
	}
	identity, _ := w.SignInFrom(t.Context(), proof("olga@example.org", access.Grants{"bank": access.Admin}))
	cookie := w.session(t, identity)
	_, err = w.SignInFrom(t.Context(), proof("olga@example.org", nil))
	want(t, "without a role", err, access.ErrNoRole)
	if now, err := w.BySession(t.Context(), cookie); err != nil || now.May("bank", access.Viewer) {
		t.Errorf("an open session keeps what the groups gave: %+v, %v", now, err)
	}
}

func TestSignInByIssuerIsRefusedForUsersOfOtherOrigin(t *testing.T) {
	w := newWorld()
	w.user(t, "ada", everywhere)
	_, err := w.SignInFrom(t.Context(), proof("Ada", everywhere))
	want(t, "a user with a password", err, access.ErrOtherUser)
	_, err = w.SignInFrom(t.Context(), proof("Ada", nil))
	want(t, "a user with a password, without a role", err, access.ErrOtherUser)
	w.login(t, "ada") // with her roles and her password
	if _, err := w.SignInFrom(t.Context(), proof("bob", everywhere)); err != nil {
		t.Fatal(err)
	}
	other := proof("bob", everywhere)
	other.Subject = "another"
	_, err = w.SignInFrom(t.Context(), other)
	want(t, "another account of the issuer", err, access.ErrOtherUser)
	other = proof("bob", everywhere)
	other.Issuer = "https://other.example"
	_, err = w.SignInFrom(t.Context(), other)
	want(t, "another issuer", err, access.ErrOtherUser)
	_, err = w.SignInFrom(t.Context(), proof("carol", nil))
	want(t, "a new one without a role", err, access.ErrNoRole)
	if _, err := w.User(t.Context(), "carol"); err == nil {
		t.Error("a user without a role was made")
	}
	for _, name := range []string{"root", "", "a b"} {
		_, err = w.SignInFrom(t.Context(), proof(name, everywhere))
		wantField(t, name, err, "name")
	}
}

func TestIssuerLeavesTheLastAdmin(t *testing.T) {
	w := newWorld()
	if _, err := w.SignInFrom(t.Context(), proof("olga", everywhere)); err != nil {
		t.Fatal(err)
	}
	for _, grants := range []access.Grants{nil, {"shop": access.Viewer}} {
		_, err := w.SignInFrom(t.Context(), proof("olga", grants))
		want(t, "the last admin", err, access.ErrLastAdmin)
	}
	if admin, err := w.HasAdmin(t.Context()); !admin || err != nil {
		t.Errorf("an admin: %v, %v", admin, err)
	}
	w.user(t, "ada", everywhere)
	if _, err := w.SignInFrom(t.Context(), proof("olga", access.Grants{"shop": access.Viewer})); err != nil {
		t.Errorf("one of two: %v", err)
	}
}

func TestRolesOfAnIssuerUserCannotBeSetManually(t *testing.T) {
	w := newWorld()
	olga := proof("olga", access.Grants{"shop": access.Viewer})
	identity, err := w.SignInFrom(t.Context(), olga)
	if err != nil {
		t.Fatal(err)
	}
	text, off := password, true
	_, _, err = w.ChangeUser(t.Context(), "olga", access.UserChange{Password: &text})
	wantField(t, "a password", err, "password")
	_, _, err = w.ChangeUser(t.Context(), "olga", access.UserChange{Grants: everywhere})
	wantField(t, "roles", err, "grants")
	_, err = w.SetMember(t.Context(), "bank", "olga", access.Viewer)
	wantField(t, "a role in a namespace", err, "grants")
	cookie := w.session(t, identity)
	w.now = w.now.Add(access.IssuedSessionLife - time.Second)
	if _, err := w.BySession(t.Context(), cookie); err != nil {
		t.Errorf("within its time: %v", err)
	}
	w.now = w.now.Add(time.Second)
	_, err = w.BySession(t.Context(), cookie)
	want(t, "a session whose roles may be old", err, access.ErrNoSession)
	if _, _, err := w.ChangeUser(t.Context(), "olga", access.UserChange{Disabled: &off}); err != nil {
		t.Fatal(err)
	}
	_, err = w.SignInFrom(t.Context(), olga)
	want(t, "a disabled user", err, access.ErrDisabled)
}
