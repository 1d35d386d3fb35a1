package access_test

import (
	"errors"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/access"
	"github.com/tidewheel/tidewheel/engine"
)

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
	// With another root token its sessions end, and its API tokens stay valid.
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
