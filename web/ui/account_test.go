package ui_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/access"
	"github.com/tidewheel/tidewheel/web"
	"github.com/tidewheel/tidewheel/web/auth"
	"github.com/tidewheel/tidewheel/web/ui"
	"github.com/tidewheel/tidewheel/web/webtest"
)

const userPassword = "correct horse battery"

// newGuardedSite makes a site that asks who one is.
func newGuardedSite(t *testing.T) *site {
	t.Helper()
	made := &site{World: webtest.New(t)}
	pages := ui.New(made.Service, ui.Config{Now: func() time.Time { return made.Now }, SignOut: true})
	server, err := web.New(web.Config{Service: made.Service, Guard: auth.NewGuard(made.Access), Log: made.Log, Pages: func(e *echo.Echo, api []byte) { pages.Register(e, api) }})
	if err != nil {
		t.Fatal(err)
	}
	made.server = server
	return made
}

// user adds a user, and returns the header with their session.
func (s *site) user(t *testing.T, name string, grants access.Grants) []string {
	t.Helper()
	if _, err := s.Access.CreateUser(t.Context(), access.NewUser{Name: name, Password: userPassword, Grants: grants}); err != nil {
		t.Fatal(err)
	}
	return s.signIn(t, name)
}

func (s *site) signIn(t *testing.T, name string) []string {
	t.Helper()
	answer := s.ask(t, http.MethodPost, "/login", url.Values{"name": {name}, "password": {userPassword}}, "Accept", "text/html")
	cookie, _, _ := strings.Cut(answer.Header().Get("Set-Cookie"), ";")
	if cookie == "" {
		t.Fatalf("%s is not signed in: %d %s", name, answer.Code, answer.Body)
	}
	return []string{"Cookie", cookie}
}

// says fails unless an answer has a status and holds a text.
func says(t *testing.T, answer *httptest.ResponseRecorder, status int, text string) {
	t.Helper()
	if answer.Code != status || !strings.Contains(answer.Body.String(), text) {
		t.Errorf("%d, want %d with %q: %s", answer.Code, status, text, answer.Body)
	}
}

var everyAdmin = access.Grants{access.Everywhere: access.Admin}

func TestTokenIsShownOnceAndBoundByItsMaker(t *testing.T) {
	s := newGuardedSite(t)
	s.PutNamespace(t, "shop")
	bob := s.user(t, "bob", access.Grants{"shop": access.Editor})
	create := func(name, role, namespace, expires string) *httptest.ResponseRecorder {
		return s.ask(t, http.MethodPost, "/settings/tokens", url.Values{"name": {name}, "role": {role}, "namespace": {namespace}, "expires": {expires}}, bob...)
	}
	says(t, create("deploy", "admin", "shop", "30d"), 422, "A token may no more than you")
	says(t, create("deploy", "viewer", "*", "30d"), 422, "A token may no more than you")
	says(t, create("deploy", "owner", "shop", "30d"), 422, "is no role")
	says(t, create("deploy", "viewer", "shop", "some day"), 422, "Choose how long the token lasts")
	made := create("Deploy", "viewer", "shop", "30d")
	says(t, made, 201, "it is not shown again")
	secret := regexp.MustCompile(`tw_[a-z0-9]{20,}`).FindString(made.Body.String())
	page := s.see(t, "/settings/tokens", bob...)
	if secret == "" || strings.Contains(page, secret) || !strings.Contains(page, "deploy") {
		t.Errorf("the token %q, or the list: %s", secret, page)
	}
	identity, err := s.Access.ByToken(t.Context(), secret)
	if err != nil || len(identity.Grants) != 1 || identity.Grants["shop"] != access.Viewer {
		t.Errorf("it is %+v, %v", identity, err)
	}
	says(t, create("deploy", "viewer", "shop", ""), 409, "deploy")
	says(t, create("same", "", "shop", ""), 201, "it is not shown again")
	tokens, err := s.Access.Tokens(t.Context(), "bob")
	if err != nil || len(tokens) != 2 {
		t.Fatalf("%+v, %v", tokens, err)
	}
	for _, token := range tokens {
		switch want := s.Now.AddDate(0, 0, 30); {
		case token.Name == "deploy" && !token.ExpiresAt.Equal(want):
			t.Errorf("it ends at %s, want %s", token.ExpiresAt, want)
		case token.Name == "same" && (token.Grants["shop"] != access.Editor || !token.ExpiresAt.IsZero()):
			t.Errorf("the same as its maker's in shop: %+v", token)
		}
	}
	eve := s.user(t, "eve", access.Grants{"shop": access.Viewer})
	if answer := s.ask(t, http.MethodPost, "/settings/tokens/"+tokens[0].ID+"/revoke", url.Values{}, eve...); answer.Code != 403 {
		t.Errorf("another revokes it: %d", answer.Code)
	}
	s.ask(t, http.MethodPost, "/settings/tokens/"+tokens[0].ID+"/revoke", url.Values{}, bob...)
	if left, _ := s.Access.Tokens(t.Context(), "bob"); len(left) != 1 {
		t.Errorf("after that: %+v", left)
	}
}

func TestOwnPasswordNeedsTheCurrentOne(t *testing.T) {
	s := newGuardedSite(t)
	for _, name := range []string{"ada", "bob"} { // an admin, too
		grants := everyAdmin
		if name == "bob" {
			grants = nil
		}
		session := s.user(t, name, grants)
		change := func(current, first, second string) *httptest.ResponseRecorder {
			return s.ask(t, http.MethodPost, "/settings/password", url.Values{"current": {current}, "password": {first}, "again": {second}}, session...)
		}
		const next = "battery horse correct"
		says(t, change("", next, next), 422, "Enter your current password")
		says(t, change("wrong", next, next), 422, "This is not your password")
		says(t, change(userPassword, next, next+"x"), 422, "The two new passwords differ: type")
		says(t, change(userPassword, "short", "short"), 422, "at least 10")
		if answer := change(userPassword, next, next); answer.Header().Get("Location") != "/login?done=password-changed" {
			t.Errorf("%s: %d %v", name, answer.Code, answer.Header())
		}
		if answer := s.ask(t, http.MethodGet, "/settings", nil, session...); answer.Code != http.StatusSeeOther {
			t.Errorf("the session of before opens: %d", answer.Code)
		}
		if _, err := s.Access.Login(t.Context(), name, next, "10.0.0.1"); err != nil {
			t.Error(err)
		}
	}
}

func TestOtherSessionsEnd(t *testing.T) {
	s := newGuardedSite(t)
	first := s.user(t, "bob", nil)
	second, third := s.signIn(t, "bob"), s.signIn(t, "bob")
	s.ask(t, http.MethodPost, "/settings/sessions/end", url.Values{}, second...)
	for session, want := range map[string]int{first[1]: 303, second[1]: 200, third[1]: 303} {
		if answer := s.ask(t, http.MethodGet, "/settings", nil, "Cookie", session); answer.Code != want {
			t.Errorf("%s: %d, want %d", session, answer.Code, want)
		}
	}
}

func TestUsersAreFoundAmongMany(t *testing.T) {
	s := newGuardedSite(t)
	ada := s.user(t, "ada", everyAdmin)
	for i := range 499 {
		if _, err := s.Access.CreateUser(t.Context(), access.NewUser{Name: fmt.Sprintf("person-%03d", i), From: "https://id.example"}); err != nil {
			t.Fatal(err)
		}
	}
	row := regexp.MustCompile(`<td><a href="/users/([^"]+)"`)
	seen, pages := map[string]bool{}, 0
	for path := "/users"; path != ""; pages++ {
		page := s.see(t, path, ada...)
		for _, found := range row.FindAllStringSubmatch(page, -1) {
			if seen[found[1]] {
				t.Errorf("%s is listed twice", found[1])
			}
			seen[found[1]] = true
		}
		path = ""
		if next := regexp.MustCompile(`href="([^"]+)" rel="next"`).FindStringSubmatch(page); next != nil {
			path = strings.ReplaceAll(next[1], "&amp;", "&")
		}
	}
	if len(seen) != 500 || pages != 10 {
		t.Errorf("%d users on %d pages", len(seen), pages)
	}
	if found := row.FindAllString(s.see(t, "/users?q=N-49", ada...), -1); len(found) != 9 {
		t.Errorf("found %v", found)
	}
	if page := s.see(t, "/users?q=nobody", ada...); !strings.Contains(page, "No name contains that.") {
		t.Error(page)
	}
	says(t, s.ask(t, http.MethodPost, "/users/person-001/role", url.Values{"namespace": {"default"}, "role": {"viewer"}}, ada...), 422, "come from groups at https://id.example")
	says(t, s.ask(t, http.MethodPost, "/users/person-001/password", url.Values{"password": {userPassword}}, ada...), 422, "has no password here")
}

func TestAdminChangesUsersButNotTheLastAdmin(t *testing.T) {
	s := newGuardedSite(t)
	s.PutNamespace(t, "shop")
	ada := s.user(t, "ada", everyAdmin)
	post := func(path string, form url.Values) *httptest.ResponseRecorder {
		t.Helper()
		return s.ask(t, http.MethodPost, path, form, ada...)
	}
	const last = "This is the last enabled user who is admin for all namespaces"
	says(t, post("/users/ada/disable", url.Values{}), 409, last)
	says(t, post("/users/ada/delete", url.Values{}), 409, last)
	says(t, post("/users/ada/role", url.Values{"namespace": {"*"}, "remove": {"true"}}), 409, last)
	says(t, post("/users/ada/role", url.Values{"namespace": {"*"}, "role": {"editor"}}), 409, last)

	says(t, post("/users", url.Values{"name": {"bob"}, "password": {"short"}, "namespace": {"*"}}), 422, "at least 10 bytes")
	says(t, post("/users", url.Values{"name": {"ada"}, "password": {userPassword}, "namespace": {"*"}}), 409, "ada")
	if to := post("/users", url.Values{"name": {"Bob"}, "password": {userPassword}, "namespace": {"shop"}, "role": {"viewer"}}).Header().Get("Location"); to != "/users/bob?done=user-added" {
		t.Errorf("it leads to %s", to)
	}
	bob := s.signIn(t, "bob")
	says(t, post("/users/bob/role", url.Values{"namespace": {"nowhere"}, "role": {"editor"}}), 404, "nowhere")
	says(t, post("/users/bob/role", url.Values{"namespace": {"shop"}, "role": {"owner"}}), 422, "is no role")
	post("/users/bob/role", url.Values{"namespace": {"*"}, "role": {"operator"}})
	post("/namespaces/shop/members", url.Values{"user": {"bob"}, "role": {"editor"}})
	user, err := s.Access.User(t.Context(), "bob")
	if err != nil || user.Grants["shop"] != access.Editor || user.Grants[access.Everywhere] != access.Operator {
		t.Errorf("%+v, %v", user, err)
	}
	says(t, post("/namespaces/shop/members", url.Values{"user": {"nobody"}, "role": {"editor"}}), 422, "There is no user")
	post("/namespaces/shop/members", url.Values{"user": {"bob"}, "role": {"none"}})
	if user, _ = s.Access.User(t.Context(), "bob"); user.Grants["shop"] != 0 {
		t.Errorf("the role stays: %+v", user)
	}
	sessions, err := s.Access.Sessions(t.Context(), "bob")
	if err != nil || len(sessions) != 1 {
		t.Fatalf("%+v, %v", sessions, err)
	}
	post("/users/bob/sessions/"+sessions[0].ID+"/end", url.Values{})
	if answer := s.ask(t, http.MethodGet, "/settings", nil, bob...); answer.Code != http.StatusSeeOther {
		t.Errorf("the session goes on: %d", answer.Code)
	}
	post("/users/bob/disable", url.Values{})
	if _, err := s.Access.Login(t.Context(), "bob", userPassword, "10.0.0.1"); err == nil {
		t.Error("a disabled user signs in")
	}
	post("/users/bob/enable", url.Values{})
	s.signIn(t, "bob")
	if to := post("/users/bob/delete", url.Values{}).Header().Get("Location"); to != "/users?done=user-deleted" {
		t.Errorf("it leads to %s", to)
	}
	carol := s.user(t, "carol", access.Grants{"shop": access.Admin})
	if answer := s.ask(t, http.MethodGet, "/users", nil, carol...); answer.Code != http.StatusForbidden {
		t.Errorf("an admin of one namespace sees the users: %d", answer.Code)
	}
}
