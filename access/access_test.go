package access_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/access"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/store/memory"
)

const (
	rootToken = "tw_abcdefghijklmnopqrstuvwxyz"
	password  = "correct horse battery"
)

var everywhere = access.Grants{access.Everywhere: access.Admin}

type world struct {
	*access.Directory
	store *memory.Store
	now   time.Time
}

func newWorld() *world {
	w := &world{store: memory.New(), now: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)}
	w.Directory = access.New(w.store, rootToken, func() time.Time { return w.now })
	return w
}

func (w *world) user(t *testing.T, name string, grants access.Grants) {
	t.Helper()
	if _, err := w.CreateUser(t.Context(), access.NewUser{Name: name, Password: password, Grants: grants, By: access.RootName}); err != nil {
		t.Fatal(err)
	}
}

func (w *world) login(t *testing.T, name string) access.Identity {
	t.Helper()
	identity, err := w.Login(t.Context(), name, password, "10.0.0.7")
	if err != nil {
		t.Fatal(err)
	}
	return identity
}

func (w *world) session(t *testing.T, of access.Identity) string {
	t.Helper()
	cookie, err := w.BeginSession(t.Context(), of, "10.0.0.7", "Firefox")
	if err != nil {
		t.Fatal(err)
	}
	return cookie
}

func (w *world) token(t *testing.T, by access.Identity, made access.NewToken) (string, access.Token) {
	t.Helper()
	secret, token, err := w.CreateToken(t.Context(), by, made)
	if err != nil {
		t.Fatal(err)
	}
	return secret, token
}

func want(t *testing.T, what string, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// kept is all that the store keeps, as text.
func (w *world) kept(t *testing.T) string {
	t.Helper()
	var text strings.Builder
	for _, kind := range []string{"user", "session", "token", "admins"} {
		records, err := w.store.Records(t.Context(), engine.RecordFilter{Kind: kind, Limit: 1000})
		if err != nil {
			t.Fatal(err)
		}
		for _, record := range records {
			fmt.Fprintf(&text, "%s %s\n", record.Key, record.Data)
		}
	}
	return text.String()
}

func TestOnlyHashesAreKept(t *testing.T) {
	w := newWorld()
	w.user(t, "Ada", everywhere)
	ada := w.login(t, " ADA ")
	cookie := w.session(t, ada)
	secret, _ := w.token(t, ada, access.NewToken{Name: "deploy"})
	kept := w.kept(t)
	for _, hidden := range []string{password, cookie[len("ada."):], secret, secret[3:]} {
		if strings.Contains(kept, hidden) {
			t.Errorf("%q is kept: %s", hidden, kept)
		}
	}
	if !strings.Contains(kept, "$argon2id$v=19$m=19456,t=2,p=1$") {
		t.Errorf("a password is kept as %s", kept)
	}
}

func TestLoginNeedsTheRightPasswordOfAnEnabledUser(t *testing.T) {
	w := newWorld()
	w.user(t, "ada", everywhere)
	w.user(t, "bob", access.Grants{"shop": access.Editor})
	if bob := w.login(t, "bob"); bob.Kind != access.KindUser || bob.Name != "bob" || !bob.May("shop", access.Editor) || bob.May("default", access.Viewer) {
		t.Errorf("logged in as %+v", bob)
	}
	if user, err := w.User(t.Context(), "bob"); err != nil || !user.LastLogin.Equal(w.now) {
		t.Errorf("the login is noted as %+v, %v", user, err)
	}
	for _, c := range []struct{ name, password string }{
		{"bob", password + "x"}, {"bob", ""}, {"eve", password}, {"", password}, {"bob/x", password}, {strings.Repeat("b", 5000), password}, {"root", rootToken},
	} {
		_, err := w.Login(t.Context(), c.name, c.password, "10.0.0.8")
		want(t, "login as "+c.name, err, access.ErrLogin)
	}
	off := true
	if _, _, err := w.ChangeUser(t.Context(), "bob", access.UserChange{Disabled: &off}); err != nil {
		t.Fatal(err)
	}
	_, err := w.Login(t.Context(), "bob", password, "10.0.0.8")
	want(t, "a disabled user", err, access.ErrLogin)
	if _, err := w.CreateUser(t.Context(), access.NewUser{Name: "olga", From: "https://id.example"}); err != nil {
		t.Fatal(err)
	}
	_, err = w.Login(t.Context(), "olga", "", "10.0.0.8")
	want(t, "a user without a password", err, access.ErrLogin)
}

func TestUserIsRefusedWithAReason(t *testing.T) {
	w := newWorld()
	w.user(t, "ada", nil)
	for _, c := range []struct {
		user  access.NewUser
		field string
	}{
		{access.NewUser{Name: "eve", Password: "123456789"}, "password"},
		{access.NewUser{Name: "eve", Password: strings.Repeat("x", 1025)}, "password"},
		{access.NewUser{Name: "e/ve", Password: password}, "name"},
		{access.NewUser{Name: "", Password: password}, "name"},
		{access.NewUser{Name: "Root", Password: password}, "name"},
		{access.NewUser{Name: "eve", Password: password, Grants: access.Grants{"": access.Viewer}}, "grants"},
		{access.NewUser{Name: "eve", Password: password, Grants: access.Grants{"shop": 9}}, "grants"},
	} {
		_, err := w.CreateUser(t.Context(), c.user)
		var invalid *access.InvalidError
		if !errors.As(err, &invalid) || invalid.Field != c.field {
			t.Errorf("%+v: %v, want one about %s", c.user, err, c.field)
		}
	}
	_, err := w.CreateUser(t.Context(), access.NewUser{Name: "ADA", Password: password, Grants: everywhere})
	want(t, "a name that is taken", err, engine.ErrExists)
	if admin, err := w.HasAdmin(t.Context()); admin || err != nil {
		t.Errorf("an admin there is not: %v, %v", admin, err)
	}
}

func TestFailedLoginsAreBounded(t *testing.T) {
	w := newWorld()
	w.user(t, "ada", everywhere)
	throttled := func(name, password, address string) *access.ThrottledError {
		t.Helper()
		_, err := w.Login(t.Context(), name, password, address)
		var throttled *access.ThrottledError
		errors.As(err, &throttled)
		return throttled
	}
	for i := range 10 {
		if throttled("ada", "wrong password", fmt.Sprint("10.0.0.", i)) != nil {
			t.Fatalf("try %d is bounded", i)
		}
	}
	if got := throttled("Ada", password, "10.0.1.1"); got == nil || got.Seconds() != 30 {
		t.Errorf("by name: %v", got)
	}
	w.now = w.now.Add(30 * time.Second)
	w.login(t, "ada")

	for range 60 {
		_, err := w.LoginByToken(t.Context(), "tw_wrong", "10.9.9.9")
		want(t, "a wrong token", err, access.ErrNoToken)
	}
	_, err := w.LoginByToken(t.Context(), rootToken, "10.9.9.9")
	var bounded *access.ThrottledError
	if !errors.As(err, &bounded) || bounded.Seconds() > 2 {
		t.Errorf("by address: %v", err)
	}
	if _, err := w.LoginByToken(t.Context(), rootToken, "10.9.9.10"); err != nil {
		t.Errorf("from another address: %v", err)
	}
}

func TestSessionEndsByItself(t *testing.T) {
	const day = 24 * time.Hour
	w := newWorld()
	w.user(t, "ada", everywhere)
	used, idle := w.session(t, w.login(t, "ada")), w.session(t, w.login(t, "ada"))
	begun := w.now
	for w.now.Before(begun.Add(access.SessionLife - 20*day)) {
		w.now = w.now.Add(20 * day)
		if _, err := w.BySession(t.Context(), used); err != nil {
			t.Fatalf("after %s: %v", w.now.Sub(begun), err)
		}
	}
	_, err := w.BySession(t.Context(), idle)
	want(t, "one that is not used", err, access.ErrNoSession)
	w.now = begun.Add(access.SessionLife)
	_, err = w.BySession(t.Context(), used)
	want(t, "one that is old", err, access.ErrNoSession)
	if deleted, err := w.store.ExpireRecords(t.Context(), w.now.Add(time.Second), 10); deleted != 2 || err != nil {
		t.Errorf("the janitor removes %d, %v", deleted, err)
	}
}

func TestUseOfASessionIsNotedOnceAMinute(t *testing.T) {
	w := newWorld()
	w.user(t, "ada", everywhere)
	cookie := w.session(t, w.login(t, "ada"))
	for range 3 {
		w.now = w.now.Add(20 * time.Second)
		if _, err := w.BySession(t.Context(), cookie); err != nil {
			t.Fatal(err)
		}
	}
	records, err := w.store.Records(t.Context(), engine.RecordFilter{Kind: "session", Limit: 10})
	if err != nil || len(records) != 1 || records[0].Revision != 2 {
		t.Errorf("records %+v, %v", records, err)
	}
	sessions, err := w.Sessions(t.Context(), "ada")
	if err != nil || len(sessions) != 1 || !sessions[0].SeenAt.Equal(w.now) || sessions[0].Address != "10.0.0.7" || sessions[0].Agent != "Firefox" {
		t.Errorf("sessions %+v, %v", sessions, err)
	}
}

func TestOneSessionIsEndedByItsID(t *testing.T) {
	w := newWorld()
	w.user(t, "ada", everywhere)
	here, there := w.session(t, w.login(t, "ada")), w.session(t, w.login(t, "ada"))
	ada, err := w.BySession(t.Context(), here)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"", ada.Session[:8], "0123456789abcdef"} {
		want(t, "to end session "+id, w.EndSession(t.Context(), "ada", id), engine.ErrNotFound)
	}
	want(t, "to end that of another user", w.EndSession(t.Context(), "bob", ada.Session), engine.ErrNotFound)
	want(t, "to end it", w.EndSession(t.Context(), "ada", ada.Session), nil)
	_, err = w.BySession(t.Context(), here)
	want(t, "the one that was ended", err, access.ErrNoSession)
	_, err = w.BySession(t.Context(), there)
	want(t, "the other", err, nil)
}

func TestWhatIsTakenFromAUserOpensNothingAtOnce(t *testing.T) {
	off, fresh := true, "another good password"
	for name, take := range map[string]func(w *world) error{
		"a new password": func(w *world) error {
			_, _, err := w.ChangeUser(t.Context(), "ada", access.UserChange{Password: &fresh})
			return err
		},
		"disabling": func(w *world) error {
			_, _, err := w.ChangeUser(t.Context(), "ada", access.UserChange{Disabled: &off})
			return err
		},
		"disabling and enabling": func(w *world) error {
			_, _, err := w.ChangeUser(t.Context(), "ada", access.UserChange{Disabled: &off})
			if err == nil {
				_, _, err = w.ChangeUser(t.Context(), "ada", access.UserChange{Disabled: new(bool)})
			}
			return err
		},
		"deletion": func(w *world) error { return w.DeleteUser(t.Context(), "ada") },
		"deletion and another user of the name": func(w *world) error {
			if err := w.DeleteUser(t.Context(), "ada"); err != nil {
				return err
			}
			_, err := w.CreateUser(t.Context(), access.NewUser{Name: "ada", Password: fresh, Grants: everywhere})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			// The records of what has ended stay where they cannot be removed.
			w.Directory = access.New(keeping{w.store}, rootToken, func() time.Time { return w.now })
			w.user(t, "root-like", everywhere)
			w.user(t, "ada", everywhere)
			before := w.login(t, "ada")
			cookie := w.session(t, before)
			secret, _ := w.token(t, before, access.NewToken{Name: "deploy"})
			byToken, err := w.ByToken(t.Context(), secret)
			if err != nil {
				t.Fatal(err)
			}
			throughToken := w.session(t, byToken)
			if err := take(w); err != nil {
				t.Fatal(err)
			}
			_, err = w.BySession(t.Context(), cookie)
			want(t, "the session", err, access.ErrNoSession)
			_, err = w.ByToken(t.Context(), secret)
			want(t, "the token", err, access.ErrNoToken)
			_, err = w.BySession(t.Context(), throughToken)
			want(t, "the session that was begun with the token", err, access.ErrNoSession)
			// One that was being begun at that moment does not open either.
			late := w.session(t, before)
			_, err = w.BySession(t.Context(), late)
			want(t, "a session that was begun late", err, access.ErrNoSession)
			for _, list := range []func() (int, error){
				func() (int, error) { all, err := w.Sessions(t.Context(), "ada"); return len(all), err },
				func() (int, error) { all, err := w.Tokens(t.Context(), "ada"); return len(all), err },
			} {
				if n, err := list(); n != 0 || err != nil {
					t.Errorf("%d are listed, %v", n, err)
				}
			}
		})
	}
}

func TestNothingIsKeptOfADeletedUser(t *testing.T) {
	w := newWorld()
	w.user(t, "ada", nil)
	w.session(t, w.login(t, "ada"))
	w.token(t, w.login(t, "ada"), access.NewToken{})
	w.token(t, w.Root(), access.NewToken{Name: "ci"})
	want(t, "to delete", w.DeleteUser(t.Context(), "ada"), nil)
	if kept := w.kept(t); strings.Contains(kept, "ada") || !strings.Contains(kept, "ci") {
		t.Errorf("kept: %s", kept)
	}
}

// keeping removes no sessions and no tokens.
type keeping struct{ *memory.Store }

func (k keeping) DeleteRecord(ctx context.Context, kind, key string, revision int64) error {
	if kind == "session" || kind == "token" {
		return errors.New("the store is away")
	}
	return k.Store.DeleteRecord(ctx, kind, key, revision)
}

func TestRoleThatIsTakenIsGoneAtTheNextRequest(t *testing.T) {
	w := newWorld()
	w.user(t, "ada", everywhere)
	w.user(t, "bob", access.Grants{"shop": access.Admin})
	cookie := w.session(t, w.login(t, "bob"))
	if _, _, err := w.ChangeUser(t.Context(), "bob", access.UserChange{Grants: access.Grants{"shop": access.Viewer}}); err != nil {
		t.Fatal(err)
	}
	bob, err := w.BySession(t.Context(), cookie)
	if err != nil || bob.May("shop", access.Operator) || !bob.May("shop", access.Viewer) {
		t.Errorf("%+v, %v", bob, err)
	}
}

func TestRootTokenOpensEverything(t *testing.T) {
	w := newWorld()
	root, err := w.ByToken(t.Context(), rootToken)
	if err != nil || root.Kind != access.KindRoot || root.Name != access.RootName || !root.May(access.Everywhere, access.Admin) {
		t.Fatalf("%+v, %v", root, err)
	}
	cookie := w.session(t, root)
	secret, _ := w.token(t, root, access.NewToken{Name: "ci"})
	for _, bad := range []string{"", "tw_", rootToken + "x", rootToken[1:]} {
		_, err := w.ByToken(t.Context(), bad)
		want(t, "token "+bad, err, access.ErrNoToken)
	}
	// With another root token its sessions end, and its API tokens go on.
	moved := access.New(w.store, rootToken+"2", func() time.Time { return w.now })
	_, err = moved.ByToken(t.Context(), rootToken)
	want(t, "the old root token", err, access.ErrNoToken)
	_, err = moved.BySession(t.Context(), cookie)
	want(t, "its session", err, access.ErrNoSession)
	if ci, err := moved.ByToken(t.Context(), secret); err != nil || ci.Name != "root/ci" || ci.Kind != access.KindToken {
		t.Errorf("its token: %+v, %v", ci, err)
	}
	open := access.New(w.store, "", time.Now)
	_, err = open.ByToken(t.Context(), "")
	want(t, "no token where there is no root token", err, access.ErrNoToken)
}

func TestTokenMayNoMoreThanItsOwnerAndItself(t *testing.T) {
	w := newWorld()
	w.user(t, "ada", access.Grants{access.Everywhere: access.Viewer, "shop": access.Editor})
	ada := w.login(t, "ada")
	limited, made := w.token(t, ada, access.NewToken{Name: "deploy", Grants: access.Grants{"shop": access.Operator}})
	whole, _ := w.token(t, ada, access.NewToken{})
	if made.Prefix != limited[:7] || made.Owner != "ada" {
		t.Errorf("made %+v", made)
	}
	may := func(secret, namespace string) access.Role {
		t.Helper()
		identity, err := w.ByToken(t.Context(), secret)
		if err != nil {
			t.Fatal(err)
		}
		return identity.Grants.In(namespace)
	}
	for _, c := range []struct {
		secret, namespace string
		want              access.Role
	}{{limited, "shop", access.Operator}, {limited, "bank", 0}, {limited, access.Everywhere, 0}, {whole, "shop", access.Editor}, {whole, "bank", access.Viewer}} {
		if got := may(c.secret, c.namespace); got != c.want {
			t.Errorf("%s in %s: %s, want %s", c.secret[:6], c.namespace, got, c.want)
		}
	}
	if _, _, err := w.ChangeUser(t.Context(), "ada", access.UserChange{Grants: access.Grants{"shop": access.Viewer}}); err != nil {
		t.Fatal(err)
	}
	if got := may(limited, "shop"); got != access.Viewer {
		t.Errorf("after its owner was lowered it is %s", got)
	}
	var invalid *access.InvalidError
	for what, grants := range map[string]access.Grants{"a higher role": {"shop": access.Admin}, "another namespace": {"bank": access.Operator}, "all": everywhere, "nothing": {}} {
		if _, _, err := w.CreateToken(t.Context(), ada, access.NewToken{Name: "x", Grants: grants}); !errors.As(err, &invalid) {
			t.Errorf("a token for %s: %v", what, err)
		}
	}
	_, _, err := w.CreateToken(t.Context(), ada, access.NewToken{Name: "Deploy"})
	want(t, "a second token of a name", err, engine.ErrExists)
	if _, _, err := w.CreateToken(t.Context(), access.Local(), access.NewToken{}); !errors.As(err, &invalid) {
		t.Errorf("with --auth off: %v", err)
	}
}

func TestTokenMadeByATokenIsBoundByIt(t *testing.T) {
	w := newWorld()
	soon := w.now.Add(time.Hour)
	limited, _ := w.token(t, w.Root(), access.NewToken{Name: "ci", Grants: access.Grants{"shop": access.Editor}, ExpiresAt: soon})
	ci, err := w.ByToken(t.Context(), limited)
	if err != nil {
		t.Fatal(err)
	}
	_, child := w.token(t, ci, access.NewToken{Name: "child"})
	if child.Grants["shop"] != access.Editor || len(child.Grants) != 1 || !child.ExpiresAt.Equal(soon) || child.Owner != access.RootName {
		t.Errorf("made %+v", child)
	}
	var invalid *access.InvalidError
	if _, _, err := w.CreateToken(t.Context(), ci, access.NewToken{Name: "more", Grants: everywhere}); !errors.As(err, &invalid) {
		t.Errorf("with more than its maker: %v", err)
	}
}

func TestTokenExpiresAndIsRevoked(t *testing.T) {
	w := newWorld()
	short, _ := w.token(t, w.Root(), access.NewToken{Name: "short", ExpiresAt: w.now.Add(time.Hour)})
	long, made := w.token(t, w.Root(), access.NewToken{Name: "long"})
	var invalid *access.InvalidError
	if _, _, err := w.CreateToken(t.Context(), w.Root(), access.NewToken{Name: "over", ExpiresAt: w.now}); !errors.As(err, &invalid) {
		t.Errorf("one that has expired: %v", err)
	}
	byToken, err := w.ByToken(t.Context(), short)
	if err != nil {
		t.Fatal(err)
	}
	cookie := w.session(t, byToken)
	w.now = w.now.Add(time.Hour)
	_, err = w.ByToken(t.Context(), short)
	want(t, "after its time", err, access.ErrTokenExpired)
	_, err = w.BySession(t.Context(), cookie)
	want(t, "its session after its time", err, access.ErrNoSession)
	if _, err := w.ByToken(t.Context(), long); err != nil {
		t.Error(err)
	}
	if tokens, err := w.Tokens(t.Context(), access.RootName); err != nil || len(tokens) != 2 || tokens[0].Name != "long" || !tokens[0].UsedAt.Equal(w.now) {
		t.Errorf("tokens %+v, %v", tokens, err)
	}
	want(t, "to revoke it", w.RevokeToken(t.Context(), made.ID), nil)
	want(t, "to revoke it again", w.RevokeToken(t.Context(), made.ID), engine.ErrNotFound)
	want(t, "to revoke by half an id", w.RevokeToken(t.Context(), digestPrefix(t, w)), engine.ErrNotFound)
	_, err = w.ByToken(t.Context(), long)
	want(t, "after it was revoked", err, access.ErrNoToken)
	w.now = w.now.Add(31 * 24 * time.Hour)
	if deleted, err := w.store.ExpireRecords(t.Context(), w.now, 10); deleted != 2 || err != nil { // with its session
		t.Errorf("the janitor removes %d, %v", deleted, err)
	}
}

func digestPrefix(t *testing.T, w *world) string {
	t.Helper()
	records, err := w.store.Records(t.Context(), engine.RecordFilter{Kind: "token", Limit: 1})
	if err != nil || len(records) != 1 {
		t.Fatal(records, err)
	}
	return records[0].Key[:8]
}

func TestStoreThatIsAwayIsNoWrongCredential(t *testing.T) {
	w := newWorld()
	w.user(t, "ada", everywhere)
	ada := w.login(t, "ada")
	cookie := w.session(t, ada)
	secret, _ := w.token(t, ada, access.NewToken{})
	away := errors.New("the store is away")
	d := access.New(failing{w.store, away}, rootToken, func() time.Time { return w.now })
	_, err := d.BySession(t.Context(), cookie)
	want(t, "a session", err, away)
	_, err = d.ByToken(t.Context(), secret)
	want(t, "a token", err, away)
	_, err = d.Login(t.Context(), "ada", password, "10.0.0.7")
	want(t, "a login", err, away)
	if _, err := d.ByToken(t.Context(), rootToken); err != nil {
		t.Errorf("the root token needs no store: %v", err)
	}
}

type failing struct {
	*memory.Store
	err error
}

func (f failing) Record(context.Context, string, string) (engine.Record, error) {
	return engine.Record{}, f.err
}

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

func (c crashing) ReplaceRecord(ctx context.Context, record engine.Record) error {
	if record.Kind == "user" {
		return errors.New("the node was killed")
	}
	return c.Store.ReplaceRecord(ctx, record)
}

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

func (r *racing) ReplaceRecord(ctx context.Context, record engine.Record) error {
	r.mu.Lock()
	var act func()
	if record.Kind == "admins" && len(r.before) > 0 {
		act, r.before = r.before[0], r.before[1:]
	}
	r.mu.Unlock()
	if act != nil {
		act()
	}
	return r.Store.ReplaceRecord(ctx, record)
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

func TestRolesOrderAndNamespaces(t *testing.T) {
	for i, role := range access.Roles() {
		if parsed, err := access.ParseRole(role.String()); parsed != role || err != nil {
			t.Errorf("%s is parsed as %s, %v", role, parsed, err)
		}
		identity := access.Identity{Grants: access.Grants{"shop": role}}
		for k, least := range access.Roles() {
			if identity.May("shop", least) != (k <= i) || identity.May("bank", least) {
				t.Errorf("%s may what %s may: %v, elsewhere: %v", role, least, identity.May("shop", least), identity.May("bank", least))
			}
		}
	}
	if (access.Identity{}).May("shop", 0) || access.From(context.Background()).May("shop", access.Viewer) {
		t.Error("one without an identity may something")
	}
}
