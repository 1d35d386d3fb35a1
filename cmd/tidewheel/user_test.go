package main

import (
	"strings"
	"testing"

	"github.com/tidewheel/tidewheel/client/wire"
)

func TestUsersAndTokensFromTheCommandLine(t *testing.T) {
	s := startServer(t, serverConfigFor(t))
	c := newTestCLI(t)
	as := func(token string, input string, args ...string) result {
		t.Helper()
		return c.runWith(input, append(args, "--url", s.server.URL(), "--token", token)...)
	}
	root := func(args ...string) result { return as(s.server.token, "", args...) }

	if got := as(s.server.token, "too short\n", "user", "add", "ada", "--role", "admin"); got.status != exitRefused || !strings.Contains(got.err, "at least 10 bytes") {
		t.Fatalf("a short password: %+v", got)
	}
	if got := as(s.server.token, "a long password\n", "user", "add", "Ada", "--role", "admin"); got.status != exitDone || !strings.Contains(got.out, "User ada is added: admin everywhere.") {
		t.Fatalf("add: %+v", got)
	}
	if got := as(s.server.token, "a long password", "user", "add", "bob", "--role", "editor", "-n", "shop", "-o", "json"); decode[wire.User](t, got.out).Grants["shop"] != "editor" {
		t.Fatalf("add in a namespace: %+v", got)
	}
	if got := root("user", "add", "eve", "--role", "owner"); got.status != exitRefused {
		t.Errorf("a role that there is not: %+v", got)
	}
	if users := decode[wire.List[wire.User]](t, root("user", "ls", "-o", "json").out).Items; len(users) != 2 || users[0].Name != "ada" || users[1].CreatedBy != "root" {
		t.Errorf("users %+v", users)
	}
	if got := root("user", "set", "ada", "--disable"); got.status != exitRefused || !strings.Contains(got.err, "last enabled user") {
		t.Errorf("the last admin: %+v", got)
	}
	if got := root("user", "set", "bob", "--role", "none", "-o", "json"); len(decode[wire.User](t, got.out).Grants) != 0 {
		t.Errorf("no role: %+v", got)
	}
	if got := root("user", "set", "bob"); got.status != exitRefused || !strings.Contains(got.err, "--role") {
		t.Errorf("nothing to change: %+v", got)
	}
	if got := root("user", "rm", "bob"); got.status != exitDone {
		t.Errorf("delete: %+v", got)
	}

	made := decode[wire.MadeToken](t, root("token", "create", "--name", "ci", "--role", "viewer", "-n", "shop", "--expires", "1h", "-o", "json").out)
	if !strings.HasPrefix(made.Token, made.Detail.Prefix) || made.Detail.Grants["shop"] != "viewer" || made.Detail.ExpiresAt.IsZero() {
		t.Fatalf("made %+v", made)
	}
	if got := as(made.Token, "", "user", "me"); got.out != "You are root/ci: viewer in shop.\n" {
		t.Errorf("who it is: %+v", got)
	}
	if got := as(made.Token, "", "user", "ls"); got.status != exitRefused || !strings.Contains(got.err, "the role admin for all namespaces") {
		t.Errorf("what it may not: %+v", got)
	}
	narrow := decode[wire.MadeToken](t, root("token", "create", "-n", "shop", "-o", "json").out)
	if len(narrow.Detail.Grants) != 1 || narrow.Detail.Grants["shop"] != "admin" {
		t.Errorf("in one namespace: %+v", narrow.Detail)
	}
	if list := root("token", "ls"); !strings.Contains(list.out, made.Detail.ID) || strings.Contains(list.out, made.Token) {
		t.Errorf("list: %+v", list)
	}
	if got := root("token", "revoke", made.Detail.ID); got.status != exitDone {
		t.Errorf("revoke: %+v", got)
	}
	if got := as(made.Token, "", "user", "me"); got.status != exitRefused || !strings.Contains(got.err, "this token is not known") {
		t.Errorf("after that: %+v", got)
	}
	if sessions := root("session", "ls", "--user", "ada"); !strings.Contains(sessions.err, "There are no sessions") {
		t.Errorf("sessions: %+v", sessions)
	}
	if got := root("session", "end", "0123456789abcdef"); got.status != exitRefused {
		t.Errorf("to end a session that there is not: %+v", got)
	}
}
