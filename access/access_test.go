package access_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
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

func TestRevokedRightsTakeEffectAtOnce(t *testing.T) {
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
	// The name has letters that no hash in hex has.
	w.user(t, "grace", nil)
	w.session(t, w.login(t, "grace"))
	w.token(t, w.login(t, "grace"), access.NewToken{})
	w.token(t, w.Root(), access.NewToken{Name: "ci"})
	want(t, "to delete", w.DeleteUser(t.Context(), "grace"), nil)
	if kept := w.kept(t); strings.Contains(kept, "grace") || !strings.Contains(kept, "ci") {
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

func digestPrefix(t *testing.T, w *world) string {
	t.Helper()
	records, err := w.store.Records(t.Context(), engine.RecordFilter{Kind: "token", Limit: 1})
	if err != nil || len(records) != 1 {
		t.Fatal(records, err)
	}
	return records[0].Key[:8]
}

func TestUnavailableStoreIsNotReportedAsAWrongCredential(t *testing.T) {
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

func (c crashing) ReplaceRecord(ctx context.Context, record engine.Record) error {
	if record.Kind == "user" {
		return errors.New("the node was killed")
	}
	return c.Store.ReplaceRecord(ctx, record)
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
