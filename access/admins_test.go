package access_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/access"
	"github.com/tidewheel/tidewheel/store/memory"
)

func TestLastAdminStays(t *testing.T) {
	w := newWorld()
	w.user(t, "ada", everywhere)
	w.user(t, "bob", access.Grants{"shop": access.Admin})
	off := true
	change := func(name string, change access.UserChange) error {
		_, _, err := w.ChangeUser(t.Context(), name, change)
		return err
	}
	refused := func(what string) {
		t.Helper()
		want(t, what+": to lower the last admin", change("ada", access.UserChange{Grants: access.Grants{access.Everywhere: access.Editor}}), access.ErrLastAdmin)
		want(t, what+": to disable it", change("ada", access.UserChange{Disabled: &off}), access.ErrLastAdmin)
		want(t, what+": to delete it", w.DeleteUser(t.Context(), "ada"), access.ErrLastAdmin)
	}
	refused("alone")
	w.user(t, "eve", everywhere)
	want(t, "to disable the second", change("eve", access.UserChange{Disabled: &off}), nil)
	refused("with a disabled one")
	on := false
	want(t, "to enable the second", change("eve", access.UserChange{Disabled: &on}), nil)
	want(t, "to delete the first", w.DeleteUser(t.Context(), "ada"), nil)
	want(t, "to delete what is the last now", w.DeleteUser(t.Context(), "eve"), access.ErrLastAdmin)
	if admin, err := w.HasAdmin(t.Context()); !admin || err != nil {
		t.Errorf("an admin: %v, %v", admin, err)
	}
}

// crashing fails to write users.
type crashing struct{ *memory.Store }

func TestUserWhoWasNotMadeAdminInTheEndDoesNotCountAsOne(t *testing.T) {
	w := newWorld()
	w.user(t, "ada", everywhere)
	w.user(t, "bob", nil)
	crashed := access.New(crashing{w.store}, rootToken, func() time.Time { return w.now })
	if _, _, err := crashed.ChangeUser(t.Context(), "bob", access.UserChange{Grants: everywhere}); err == nil {
		t.Fatal("it was written")
	}
	w.login(t, "bob") // his record has the revision by now that would have made him one
	want(t, "to delete the only admin", w.DeleteUser(t.Context(), "ada"), access.ErrLastAdmin)
}

// racing lets others act before a record of the admins is written.
type racing struct {
	*memory.Store
	mu     sync.Mutex
	before []func()
}

func TestOfTwoAdminsWhoDeleteEachOtherOneRemains(t *testing.T) {
	w := newWorld()
	w.user(t, "ada", everywhere)
	w.user(t, "bob", everywhere)
	var second error
	store := &racing{Store: w.store, before: []func(){func() { second = w.DeleteUser(t.Context(), "ada") }}}
	first := access.New(store, rootToken, func() time.Time { return w.now }).DeleteUser(t.Context(), "bob")
	want(t, "the second", second, nil)
	want(t, "the first", first, access.ErrLastAdmin)
	if admin, err := w.HasAdmin(t.Context()); !admin || err != nil {
		t.Errorf("an admin: %v, %v", admin, err)
	}
}

func TestOneAdminRemainsHoweverManyLeaveAtOnce(t *testing.T) {
	w := newWorld()
	var names []string
	for i := range 6 {
		names = append(names, fmt.Sprint("admin-", i))
		if _, err := w.CreateUser(t.Context(), access.NewUser{Name: names[i], From: issuer, Subject: names[i], Grants: everywhere}); err != nil {
			t.Fatal(err)
		}
	}
	off := true
	var group sync.WaitGroup
	for i, name := range names {
		node := access.New(w.store, rootToken, func() time.Time { return w.now })
		group.Go(func() {
			var err error
			switch i % 3 {
			case 0:
				err = node.DeleteUser(t.Context(), name)
			case 1:
				_, _, err = node.ChangeUser(t.Context(), name, access.UserChange{Disabled: &off})
			default:
				_, err = node.SignInFrom(t.Context(), access.Proof{Issuer: issuer, Subject: name, Name: name, Grants: access.Grants{"shop": access.Viewer}})
			}
			if err != nil && !errors.Is(err, access.ErrLastAdmin) {
				t.Error(err)
			}
		})
		group.Go(func() { _, _ = node.SignIn(t.Context(), name) }) // writes their records all the while
	}
	group.Wait()
	users, err := w.Users(t.Context(), "", 100)
	if err != nil {
		t.Fatal(err)
	}
	admins := 0
	for _, user := range users {
		if !user.Disabled && user.Grants[access.Everywhere] == access.Admin {
			admins++
		}
	}
	if admins < 1 {
		text, _ := json.Marshal(users)
		t.Errorf("no admin is left: %s\n%s", text, w.kept(t))
	}
}
