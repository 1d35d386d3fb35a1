package web_test

import (
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/access"
	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/web"
	"github.com/tidewheel/tidewheel/web/auth"
	"github.com/tidewheel/tidewheel/web/ui"
	"github.com/tidewheel/tidewheel/web/webtest"
)

var update = flag.Bool("update", false, "write the files that are compared with")

// asRole is the header by which a test says who makes a request.
const asRole = "Test-Role"

// roleHolders are identities that have a role in finance, by what asRole says; "" is the root token of newSite.
func roleHolders() map[string]access.Grants {
	holders := map[string]access.Grants{"nobody": {}, "all": {access.Everywhere: access.Admin}}
	for _, role := range access.Roles() {
		holders[role.String()] = access.Grants{"finance": role}
	}
	return holders
}

// newRoleSite is a whole server with its real pages, where asRole says who makes a request, and with the namespaces finance and
// harbour.
func newRoleSite(t *testing.T, holders map[string]access.Grants) *site {
	t.Helper()
	s := newSite(t, func(config *web.Config) {
		pages := ui.New(config.Service, ui.Config{})
		config.Pages = func(e *echo.Echo, api []byte) { pages.Register(e, api) }
		config.RunTokens = auth.NewRunTokens(runKey, nil)
	})
	guard := auth.NewGuard(s.Access)
	s.server.IdentifyBy(func(r *http.Request) (access.Identity, error) {
		if grants, is := holders[r.Header.Get(asRole)]; is {
			return access.Identity{Kind: access.KindUser, Name: r.Header.Get(asRole), Grants: grants}, nil
		}
		return guard.Check(r)
	})
	for _, namespace := range []string{"finance", "harbour"} {
		s.PutNamespace(t, namespace)
		s.PutBinaryIn(t, namespace, "report")
		s.PutBinaryIn(t, namespace, "kept") // so that the namespace cannot be deleted
	}
	return s
}

// roleColumn is one identity and one namespace that it asks about.
type roleColumn struct {
	name, namespace string
	headers         []string
}

func roleColumns(runToken string) []roleColumn {
	columns := []roleColumn{
		{"none", "finance", nil},
		{"run", "finance", []string{authorization, "Bearer " + runToken}},
		{"nobody", "finance", []string{asRole, "nobody"}},
	}
	for _, namespace := range []string{"finance", "harbour"} {
		for _, role := range access.Roles() {
			columns = append(columns, roleColumn{role.String(), namespace, []string{asRole, role.String()}})
		}
	}
	return append(columns, roleColumn{"all", "finance", []string{asRole, "all"}}, roleColumn{"root", "finance", []string{authorization, bearer}})
}

// reached is the header that an answer has where the request got past all that decides about it.
const reached = "Test-Reached"

// outcome says in a word how a request was met: "yes" where it got through to the handler, whatever that made of it.
func outcome(t *testing.T, response *http.Response) string {
	t.Helper()
	defer response.Body.Close()
	if response.Header.Get(reached) != "" {
		return "yes" // some have no end
	}
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if response.StatusCode == http.StatusSeeOther && strings.HasPrefix(response.Header.Get("Location"), "/login") {
		return "401"
	}
	if problem := (wire.Problem{}); json.Unmarshal(body, &problem) != nil {
		t.Errorf("refused without a problem: %d %s", response.StatusCode, body)
	} else if problem.Code != map[int]string{401: "unauthenticated", 403: "forbidden", 404: "namespace_not_found"}[response.StatusCode] {
		if code := problem.Code; code != "invalid_token" && code != "invalid_run_token" && code != "no_role" {
			t.Errorf("refused with %d %s", response.StatusCode, body)
		}
	}
	return strconv.Itoa(response.StatusCode)
}

// requestTo is a request to a route with something in place of each parameter.
func requestTo(route, namespace string) (method, path string) {
	method, path, _ = strings.Cut(route, " ")
	named := strings.Contains(path, "/namespaces/")
	path = strings.NewReplacer(":name", map[bool]string{true: namespace, false: "report"}[named], ":id", "none", ":n", "1", ":key", "k", ":alias", "stable",
		":user", "mira", "*", "app.js").Replace(path)
	return method, path + "?namespace=" + namespace
}

// The file is the only list of who may do what, and is read line by line when it changes.
func TestEachRouteIsOpenOnlyToItsRoles(t *testing.T) {
	s := newRoleSite(t, roleHolders())
	s.server.Handler().(*echo.Echo).Use(func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			c.Response().Header().Set(reached, "yes")
			return next(c)
		}
	})
	columns := roleColumns((&programSite{site: s}).tokenOf("none"))
	var table strings.Builder
	fmt.Fprintf(&table, "%-53s", "")
	for _, column := range columns {
		fmt.Fprintf(&table, " %-8s", column.namespace)
	}
	fmt.Fprintf(&table, "\n%-53s", "")
	for _, column := range columns {
		fmt.Fprintf(&table, " %-8s", column.name)
	}
	table.WriteString("\n")
	routes := web.Ruled()
	slices.SortStableFunc(routes, func(a, b string) int {
		_, first, _ := strings.Cut(a, " ")
		_, second, _ := strings.Cut(b, " ")
		return strings.Compare(first, second)
	})
	for _, route := range routes {
		fmt.Fprintf(&table, "%-53s", route)
		for _, column := range columns {
			method, path := requestTo(route, column.namespace)
			response := s.open(method, path, "", append([]string{"Content-Type", "application/json"}, column.headers...)...)
			fmt.Fprintf(&table, " %-8s", outcome(t, response))
		}
		table.WriteString("\n")
	}
	var got strings.Builder
	for line := range strings.Lines(table.String()) {
		got.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	file := filepath.Join("testdata", "roles.txt")
	if *update {
		if err := os.WriteFile(file, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) == got.String() {
		return
	}
	wanted := strings.Split(string(want), "\n")
	for i, line := range strings.Split(got.String(), "\n") {
		if i >= len(wanted) || wanted[i] != line {
			t.Errorf("%s differs in line %d: got\n%s", file, i+1, line)
		}
	}
	t.Error("run the test with -update, and read what changed: it is who may do what")
}

func TestEachRuleHasARoute(t *testing.T) {
	s := newRoleSite(t, nil)
	registered := map[string]bool{}
	for _, route := range s.server.Handler().(*echo.Echo).Routes() {
		registered[route.Method+" "+route.Path] = true
	}
	for _, route := range web.Ruled() {
		if !registered[route] {
			t.Errorf("there is a rule for %s, but no such route: delete its line", route)
		}
	}
}

func TestRouteWithoutARuleKeepsTheServerFromStarting(t *testing.T) {
	_, err := web.New(web.Config{
		Service: webtest.New(t).Service, Guard: auth.Open(), Pages: func(e *echo.Echo, _ []byte) { e.GET("/secret-door", nil) },
	})
	if err == nil || !strings.Contains(err.Error(), "GET /secret-door") || !strings.Contains(err.Error(), "web/rules.go") {
		t.Errorf("it starts: %v", err)
	}
}

func TestRouteThatIsAddedLaterIsClosed(t *testing.T) {
	s := newRoleSite(t, roleHolders())
	s.server.Handler().(*echo.Echo).GET("/secret-door", func(c echo.Context) error { return c.String(http.StatusOK, "open") })
	s.ask("GET", "/secret-door", "", authorization, bearer).problem(404, "not_found")
}

func TestForeignNamespaceIsAnsweredLikeOneThatIsNotThere(t *testing.T) {
	s := newRoleSite(t, roleHolders())
	for _, method := range []string{"GET /api/v1/jobs", "POST /api/v1/jobs", "GET /jobs", "DELETE /api/v1/binaries/:name", "GET /api/v1/namespaces/:name"} {
		answers := map[string]string{}
		for _, namespace := range []string{"harbour", "nowhere"} {
			verb, path := requestTo(method, namespace)
			got := s.ask(verb, path, "", asRole, "admin").is(404)
			header := got.header.Clone()
			for _, own := range []string{"X-Request-Id", "Date", "Content-Length"} {
				header.Del(own)
			}
			answers[namespace] = strings.ReplaceAll(fmt.Sprint(got.body, header), namespace, "NAMESPACE")
		}
		if answers["harbour"] != answers["nowhere"] {
			t.Errorf("%s distinguishes them:\n%s\n%s", method, answers["harbour"], answers["nowhere"])
		}
	}
}

func TestRefusalSaysWhichRoleIsNeededAndWhoGivesIt(t *testing.T) {
	s := newRoleSite(t, roleHolders())
	s.ask("POST", "/api/v1/jobs/report/run?namespace=finance", "{}", asRole, "viewer").
		problem(403, "forbidden", "the role operator in the namespace finance", "you have the role viewer", "namespace member set")
	s.ask("GET", "/api/v1/backup", "", asRole, "admin").problem(403, "forbidden", "the role admin for all namespaces")
	s.ask("GET", "/api/v1/executors", "", asRole, "nobody").problem(403, "no_role", "no role in any namespace")
	page := s.ask("POST", "/jobs/report/run", "", asRole, "viewer", "Accept", html, "Cookie", "tidewheel_namespace=finance").is(403)
	if !strings.Contains(page.body, "the role operator in the namespace finance") {
		t.Errorf("the page does not say why: %s", page.body)
	}
	part := s.ask("GET", "/jobs", "", asRole, "viewer", "HX-Request", "true", "HX-Current-URL", s.url+"/jobs?q=x", "Cookie", "tidewheel_namespace=harbour").is(404)
	if part.header.Get("HX-Redirect") != "/jobs?q=x" || part.body != "" {
		t.Errorf("a part of a page leads to %q: %s", part.header.Get("HX-Redirect"), part.body)
	}
	refused := s.audit("?in=finance&outcome=refused")
	if len(refused) != 2 || refused[0].By != "viewer" || refused[0].Action != "POST /jobs/:name/run" {
		t.Errorf("the audit log has %+v", refused)
	}
}

func TestNamespaceIsNamedOnce(t *testing.T) {
	s := newRoleSite(t, roleHolders())
	for _, path := range []string{"/api/v1/jobs", "/jobs"} {
		s.ask("GET", path+"?namespace=finance&namespace=harbour", "", asRole, "admin").problem(400, "invalid_request", "once")
	}
}

func TestCursorOfAnotherNamespaceIsRefused(t *testing.T) {
	s := newRoleSite(t, roleHolders())
	for _, list := range []string{"jobs", "dags", "binaries"} {
		cursor := func(id string) string {
			word := engine.Cursor{ID: id}.Encode(list)
			if list == "binaries" {
				return word
			}
			return base64.RawURLEncoding.EncodeToString([]byte("list\n" + word + "\n"))
		}
		s.ask("GET", "/api/v1/"+list+"?namespace=finance&cursor="+cursor("finance/a"), "", asRole, "viewer").is(200)
		s.ask("GET", "/api/v1/"+list+"?namespace=finance&cursor="+cursor("harbour/a"), "", asRole, "viewer").problem(422, "invalid_cursor")
	}
}

// A cursor that names a run of another namespace is a place in the list, and opens nothing.
func TestCursorAtARunOfAnotherNamespaceShowsNoneOfIts(t *testing.T) {
	s := newRoleSite(t, roleHolders())
	ids := map[string]string{}
	for n, namespace := range []string{"finance", "harbour", "finance", "harbour"} {
		id := fmt.Sprintf("uid-s%d", n)
		s.PutRun(t, engine.Run{
			ID: id, Revision: 1, Namespace: namespace, JobUID: "uid", Job: "charge", Tier: "light", Class: "standard", Trigger: "schedule",
			Status: engine.StatusQueued, Attempt: 1, CreatedAt: s.Now.Add(time.Duration(n) * time.Second),
			Attempts: []engine.Attempt{{N: 1, Status: engine.StatusQueued}},
		})
		ids[id] = namespace
	}
	list := func(namespace, query, as string) (page wire.List[wire.Run]) {
		t.Helper()
		body := s.ask("GET", "/api/v1/runs?namespace="+namespace+query, "", asRole, as).is(200).body
		if err := json.Unmarshal([]byte(body), &page); err != nil {
			t.Fatal(err)
		}
		return page
	}
	next := list("harbour", "&limit=1", "all").Next
	if next == "" {
		t.Fatal("the list of the other namespace has one page")
	}
	for _, query := range []string{"", "&cursor=" + url.QueryEscape(next)} {
		found := list("finance", query, "viewer").Items
		if len(found) == 0 {
			t.Errorf("%q: nothing is found", query)
		}
		for i := range found {
			if ids[found[i].ID] != "finance" {
				t.Errorf("%q: shows %s of %s", query, found[i].ID, ids[found[i].ID])
			}
		}
	}
}

func TestNamespaceAdminReadsTheAuditLogOfTheNamespaceAlone(t *testing.T) {
	s := newRoleSite(t, roleHolders())
	for _, namespace := range []string{"finance", "harbour"} {
		s.ask("PUT", "/api/v1/binaries/report/aliases/next?namespace="+namespace, `{"version": 1}`, asRole, "all", "Content-Type", "application/json").is(200)
	}
	entries := func(query string) (of []string) {
		t.Helper()
		var page wire.List[wire.AuditEntry]
		if err := json.Unmarshal([]byte(s.ask("GET", "/api/v1/audit"+query, "", asRole, "admin").is(200).body), &page); err != nil {
			t.Fatal(err)
		}
		for _, entry := range page.Items {
			of = append(of, entry.Namespace)
		}
		return of
	}
	for _, query := range []string{"?namespace=finance", "?namespace=finance&in=finance"} {
		if got := entries(query); !slices.Equal(got, []string{"finance"}) {
			t.Errorf("%s: entries of %v", query, got)
		}
	}
	s.ask("GET", "/api/v1/audit?namespace=finance&in=harbour", "", asRole, "admin").problem(404, "namespace_not_found")
	if page := s.ask("GET", "/audit", "", asRole, "admin", "Cookie", "tidewheel_namespace=finance", "Accept", html).is(200); strings.Contains(page.body, "harbour") {
		t.Error("the page shows entries of another namespace")
	}
}
