package web_test

import (
	"encoding/json"
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/access"
	"github.com/tidewheel/tidewheel/audit"
	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/web/auth"
)

const (
	formType = "application/x-www-form-urlencoded"
	password = "correct horse battery"
)

// form sends a form as a browser does.
func (s *site) form(path string, values url.Values, headers ...string) *answer {
	s.t.Helper()
	return s.ask("POST", path, values.Encode(), append(headers, "Content-Type", formType, "Accept", html)...)
}

// cookie is what a browser sends after an answer.
func (a *answer) cookie() string {
	all := a.header.Values("Set-Cookie")
	if len(all) == 0 {
		return ""
	}
	cookie, _, _ := strings.Cut(all[len(all)-1], ";")
	return cookie
}

func (s *site) user(name string, grants access.Grants) {
	s.t.Helper()
	if _, err := s.Access.CreateUser(s.t.Context(), access.NewUser{Name: name, Password: password, Grants: grants}); err != nil {
		s.t.Fatal(err)
	}
}

// signIn returns the cookie of a user's session.
func (s *site) signIn(name string) string {
	s.t.Helper()
	return s.form("/login", url.Values{"name": {name}, "password": {password}}).is(303).cookie()
}

var everywhere = access.Grants{access.Everywhere: access.Admin}

func TestLinkOfTheFirstStartMakesTheFirstAdmin(t *testing.T) {
	s := newSite(t, nil)
	unused := s.codes.Issue(time.Hour)
	cookie := s.ask("GET", "/login?token="+s.codes.Issue(time.Hour), "", "Accept", html).is(303).cookie()
	if page := s.ask("GET", "/welcome?next=/jobs", "", "Cookie", cookie, "Accept", html).is(200); !strings.Contains(page.body, `href="/jobs">Not now`) {
		t.Errorf("the page: %s", page.body)
	}
	s.ask("GET", "/jobs/a", "", "Cookie", cookie).is(404) // "Not now" continues as root
	enter := func(name, first, second string) *answer {
		return s.form("/welcome", url.Values{"name": {name}, "password": {first}, "again": {second}, "next": {"/jobs"}}, "Cookie", cookie)
	}
	for what, bad := range map[string]*answer{
		"differ": enter("ada", password, password+"x"), "at least 10": enter("ada", "short", "short"), "is no name for a user": enter("root", password, password),
	} {
		if bad.is(422); !strings.Contains(bad.body, what) {
			t.Errorf("not %q: %s", what, bad.body)
		}
	}
	in := enter("ada", password, password).is(303)
	if in.header.Get("Location") != "/jobs" {
		t.Errorf("it leads to %s", in.header.Get("Location"))
	}
	var me wire.Identity
	if err := json.Unmarshal([]byte(s.ask("GET", "/api/v1/users/me", "", "Cookie", in.cookie()).is(200).body), &me); err != nil || me.Name != "ada" || me.Grants["*"] != "admin" {
		t.Errorf("signed in as %+v, %v", me, err)
	}
	s.ask("GET", "/api/v1/jobs", "", "Cookie", cookie).problem(401, "session_expired")
	if late := s.ask("GET", "/login?token="+unused, "", "Accept", html).is(401); !strings.Contains(late.body, "there is one") || late.cookie() != "" {
		t.Errorf("a link after that: %s", late.body)
	}
	root := s.form("/login", url.Values{"token": {token}}).is(303).cookie()
	for _, path := range []string{"/welcome", "/welcome?next=/jobs"} {
		s.ask("GET", path, "", "Cookie", root, "Accept", html).is(303)
	}
	if again := s.form("/welcome", url.Values{"name": {"eve"}, "password": {password}, "again": {password}}, "Cookie", root); again.status != 303 {
		t.Errorf("a second first admin: %d", again.status)
	}
	if _, err := s.Access.User(t.Context(), "eve"); err == nil {
		t.Error("a second first admin was made")
	}
	s.ask("GET", "/welcome", "", "Accept", html).is(303)
}

func TestUserSignsInByNameAndPassword(t *testing.T) {
	s := newSite(t, nil)
	s.user("ada", everywhere)
	in := s.form("/login", url.Values{"name": {" Ada"}, "password": {password}, "next": {"/jobs/a"}}).is(303)
	if in.header.Get("Location") != "/jobs/a" || !strings.HasPrefix(in.cookie(), auth.Cookie+"=ada.") {
		t.Errorf("logged in: %v", in.header)
	}
	s.PutBinary(t, "report")
	if got := s.ask("POST", "/api/v1/jobs", `{"name":"a","binary":"report"}`, "Cookie", in.cookie()).is(201); !strings.Contains(got.body, `"created_by":"ada"`) {
		t.Errorf("made by %s", got.body)
	}
	const typed = "my secret typed as a name"
	for _, wrong := range []url.Values{
		{"name": {"ada"}, "password": {"x"}}, {"name": {typed}, "password": {password}}, {"name": {"ada"}}, {"password": {password}}, {"token": {"tw_wrong"}},
	} {
		if got := s.form("/login", wrong).is(401); got.cookie() != "" {
			t.Errorf("%v opens", wrong)
		}
	}
	s.form("/login", url.Values{"name": {"ada"}, "password": {password}}, "Sec-Fetch-Site", "cross-site").is(403)
	entries, _, err := s.Audit.List(t.Context(), audit.Filter{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	var outcomes []string
	for _, e := range entries {
		if e.Target == "/login" {
			outcomes = append(outcomes, string(e.Outcome)+" "+e.By)
		}
	}
	if got := strings.Join(outcomes, ","); got != "refused ,refused ,refused ,refused ,refused ,done ada" {
		t.Errorf("in the audit log: %s", got)
	}
	text, _ := json.Marshal(entries)
	for _, log := range []string{string(text), s.log.String()} {
		if strings.Contains(log, typed) || strings.Contains(log, password) || strings.Contains(log, "tw_wrong") {
			t.Errorf("a log holds what was typed: %s", log)
		}
	}
}

func TestFailedLoginsAreBounded(t *testing.T) {
	s := newSite(t, nil)
	s.user("ada", everywhere)
	for range 10 {
		s.form("/login", url.Values{"name": {"ada"}, "password": {"wrong"}}).is(401)
	}
	got := s.form("/login", url.Values{"name": {"ada"}, "password": {password}}).is(429)
	if got.header.Get("Retry-After") != "30" || !strings.Contains(got.body, "30 seconds") {
		t.Errorf("%v %s", got.header, got.body)
	}
	s.Now = s.Now.Add(30 * time.Second)
	s.signIn("ada")
}

func TestUnavailableStoreEndsNoSession(t *testing.T) {
	s := newSite(t, nil)
	s.user("ada", everywhere)
	cookie := s.signIn("ada")
	s.Store.Fail(errors.New("the disk is on fire"))
	s.ask("GET", "/api/v1/users/me", "", "Cookie", cookie).problem(503, "unavailable", "try again")
	s.ask("GET", "/", "", "Cookie", cookie, "Accept", html).is(503)
	s.ask("GET", "/api/v1/users/me", "", authorization, "Bearer tw_x").problem(503, "unavailable")
	s.form("/login", url.Values{"name": {"ada"}, "password": {password}}).is(503)
	s.ask("GET", "/api/v1/users/me", "", authorization, bearer).is(200)
	s.Store.Fail(nil)
	s.ask("GET", "/api/v1/users/me", "", "Cookie", cookie).is(200)
}

func TestAdminsLookAfterUsers(t *testing.T) {
	s := newSite(t, nil)
	made := s.ask("POST", "/api/v1/users", `{"name":"Ada","password":"`+password+`","grants":{"*":"admin"}}`, authorization, bearer).is(201)
	if strings.Contains(made.body, "argon2") || !strings.Contains(made.body, `"name":"ada"`) || !strings.Contains(made.body, `"created_by":"root"`) {
		t.Errorf("made %s", made.body)
	}
	s.ask("POST", "/api/v1/users", `{"name":"ada","password":"`+password+`"}`, authorization, bearer).problem(409, "user_exists")
	s.ask("POST", "/api/v1/users", `{"name":"bob","password":"short"}`, authorization, bearer).problem(422, "invalid_password", "at least 10")
	s.ask("POST", "/api/v1/users", `{"name":"bob","password":"`+password+`","grants":{"shop":"owner"}}`, authorization, bearer).problem(422, "invalid_grants", "viewer, operator")
	s.ask("POST", "/api/v1/users", `{"name":"bob","password":"`+password+`","grants":{"shop":"admin"}}`, authorization, bearer).is(201)
	ada, bob := s.signIn("ada"), s.signIn("bob")
	for _, refused := range []struct{ method, path, body string }{
		{"GET", "/users", ""}, {"GET", "/users/ada", ""}, {"POST", "/users", `{"name":"eve","password":"` + password + `"}`}, {"DELETE", "/users/ada", ""},
		{"PUT", "/users/bob", `{"grants":{"*":"admin"}}`}, {"PUT", "/users/bob", `{"disabled":false}`}, {"PUT", "/users/ada", `{"password":"` + password + `"}`},
		{"GET", "/tokens?all=true", ""}, {"GET", "/sessions?user=ada", ""}, {"DELETE", "/sessions/0123456789abcdef?user=ada", ""},
	} {
		s.ask(refused.method, "/api/v1"+refused.path, refused.body, "Cookie", bob).problem(403, "forbidden", "admin for all namespaces")
	}
	s.ask("GET", "/api/v1/users/bob", "", "Cookie", bob).is(200)
	s.ask("PUT", "/api/v1/users/ada", `{"disabled":true}`, "Cookie", ada).problem(409, "last_admin", "give another user that role first")
	s.ask("DELETE", "/api/v1/users/ada", "", authorization, bearer).problem(409, "last_admin")
	s.ask("PUT", "/api/v1/users/eve", `{}`, "Cookie", ada).problem(404, "user_not_found")
	s.ask("PUT", "/api/v1/users/bob", `{"disabled":true}`, "Cookie", ada).is(200)
	s.ask("GET", "/api/v1/users/me", "", "Cookie", bob).problem(401, "session_expired")
	s.ask("DELETE", "/api/v1/users/bob", "", "Cookie", ada).is(204)
	s.ask("GET", "/api/v1/users/bob", "", "Cookie", ada).problem(404, "user_not_found")

	var words []string
	entries, _, err := s.Audit.List(t.Context(), audit.Filter{Limit: 100, By: "ada"})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		for _, change := range e.Changes {
			words = append(words, change.What+": "+change.Before+" → "+change.After)
		}
	}
	want := "user bob: there → |user bob: admin in shop → admin in shop, disabled|login with a password:  → "
	if got := strings.Join(words, "|"); got != want {
		t.Errorf("in the audit log: %s, want %s", got, want)
	}
}

func TestUsersChangeTheirOwnPassword(t *testing.T) {
	s := newSite(t, nil)
	s.user("ada", everywhere)
	s.user("bob", nil)
	bob := s.signIn("bob")
	const fresh = "another good password"
	s.ask("PUT", "/api/v1/users/bob", `{"password":"`+fresh+`"}`, "Cookie", bob).problem(422, "invalid_password", "not your password")
	s.ask("PUT", "/api/v1/users/bob", `{"password":"`+fresh+`","current_password":"x"}`, "Cookie", bob).problem(422, "invalid_password")
	s.ask("PUT", "/api/v1/users/bob", `{"password":"`+fresh+`","current_password":"`+password+`"}`, "Cookie", bob).is(200)
	s.ask("GET", "/api/v1/users/me", "", "Cookie", bob).problem(401, "session_expired")
	s.form("/login", url.Values{"name": {"bob"}, "password": {fresh}}).is(303)
}

func TestTokenOpensWhatItMayUntilItExpires(t *testing.T) {
	s := newSite(t, nil)
	s.user("ada", everywhere)
	s.user("bob", access.Grants{"shop": access.Editor})
	ada, bob := s.signIn("ada"), s.signIn("bob")
	create := func(cookie, body string) wire.MadeToken {
		t.Helper()
		var made wire.MadeToken
		if err := json.Unmarshal([]byte(s.ask("POST", "/api/v1/tokens", body, "Cookie", cookie).is(201).body), &made); err != nil {
			t.Fatal(err)
		}
		return made
	}
	made := create(ada, `{"name":"deploy","grants":{"shop":"viewer"},"expires_at":"`+s.Now.Add(time.Hour).Format(time.RFC3339)+`"}`)
	with := "Bearer " + made.Token
	var me wire.Identity
	if err := json.Unmarshal([]byte(s.ask("GET", "/api/v1/users/me", "", authorization, with).is(200).body), &me); err != nil || me.Name != "ada/deploy" || me.Grants["shop"] != "viewer" {
		t.Errorf("it is %+v, %v", me, err)
	}
	s.ask("GET", "/api/v1/users", "", authorization, with).problem(403, "forbidden")
	s.ask("POST", "/api/v1/tokens", `{"grants":{"shop":"admin"}}`, "Cookie", bob).problem(422, "invalid_grants", "no more than you")
	s.ask("POST", "/api/v1/tokens", `{"name":"deploy"}`, "Cookie", ada).problem(409, "token_exists")
	if list := s.ask("GET", "/api/v1/tokens", "", "Cookie", ada).is(200); strings.Contains(list.body, made.Token) || !strings.Contains(list.body, made.Detail.ID) {
		t.Errorf("the list: %s", list.body)
	}
	theirs := create(bob, `{}`)
	s.ask("DELETE", "/api/v1/tokens/"+made.Detail.ID, "", "Cookie", bob).problem(403, "forbidden")
	s.ask("DELETE", "/api/v1/tokens/"+theirs.Detail.ID, "", "Cookie", ada).is(204)
	s.ask("GET", "/api/v1/users/me", "", authorization, "Bearer "+theirs.Token).problem(401, "invalid_token")
	session := s.form("/login", url.Values{"token": {made.Token}}).is(303).cookie()
	s.ask("GET", "/api/v1/users", "", "Cookie", session).problem(403, "forbidden") // the session may no more than the token
	s.Now = s.Now.Add(time.Hour)
	s.ask("GET", "/api/v1/users/me", "", authorization, with).problem(401, "token_expired", "tidewheel token create")
	s.ask("GET", "/api/v1/users/me", "", "Cookie", session).problem(401, "session_expired")
	if strings.Contains(s.log.String(), made.Token) {
		t.Error("the log holds the token")
	}
}

func TestSessionsAreListedAndEnded(t *testing.T) {
	s := newSite(t, nil)
	s.user("ada", everywhere)
	s.user("bob", nil)
	ada, bob, other := s.signIn("ada"), s.signIn("bob"), s.signIn("bob")
	list := func(path, cookie string) []wire.Session {
		t.Helper()
		var list wire.List[wire.Session]
		if err := json.Unmarshal([]byte(s.ask("GET", "/api/v1/sessions"+path, "", "Cookie", cookie).is(200).body), &list); err != nil {
			t.Fatal(err)
		}
		return list.Items
	}
	own := list("", bob)
	if len(own) != 2 || own[0].Current == own[1].Current || own[0].User != "bob" || own[0].Address != "127.0.0.1" {
		t.Fatalf("sessions %+v", own)
	}
	if !own[0].Current {
		own[0], own[1] = own[1], own[0]
	}
	s.ask("DELETE", "/api/v1/sessions/"+own[1].ID, "", "Cookie", bob).is(204)
	s.ask("GET", "/api/v1/users/me", "", "Cookie", other).problem(401, "session_expired")
	s.ask("DELETE", "/api/v1/sessions/"+own[0].ID, "", "Cookie", ada).problem(404, "session_not_found")
	if of := list("?user=bob", ada); len(of) != 1 || of[0].Current {
		t.Errorf("of bob: %+v", of)
	}
	s.ask("DELETE", "/api/v1/sessions/"+own[0].ID+"?user=bob", "", "Cookie", ada).is(204)
	s.ask("GET", "/api/v1/users/me", "", "Cookie", bob).problem(401, "session_expired")
	s.form("/logout", nil, "Cookie", ada).is(303)
	entries, _, err := s.Audit.List(t.Context(), audit.Filter{Limit: 1})
	if err != nil || entries[0].By != "ada" || entries[0].Action != "POST /logout" {
		t.Errorf("the logout in the audit log: %+v, %v", entries, err)
	}
}
