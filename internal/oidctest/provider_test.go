package oidctest

import (
	"bytes"
	"context"
	"encoding/json"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/zitadel/oidc/v3/example/server/exampleop"
	"github.com/zitadel/oidc/v3/example/server/storage"
	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"
)

const (
	clientID     = "tidewheel"
	clientSecret = "a secret of the client"
	password     = "at the provider"
)

// provider is a provider of OpenID Connect with its own login form.
type provider struct {
	*storage.Storage
	issuer  string
	handler http.Handler
	// liesAbout is the subject that the user info says instead of the true one.
	liesAbout string
	inside    bool // claims are in the ID token, else in the user info alone

	mu     sync.Mutex
	users  map[string]*storage.User
	groups map[string]any // by user; a []string is usual
	// tamper changes the ID token on its way to the product; nil leaves it.
	tamper func(string) string
}

// newProvider starts a provider for one client, at the places where it may send browsers back to.
func newProvider(t *testing.T, inside bool, callbacks ...string) *provider {
	t.Helper()
	var p *provider
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { p.handler.ServeHTTP(w, r) }))
	t.Cleanup(server.Close)
	p = newProviderAt(server.URL, callbacks...)
	p.inside = inside
	return p
}

// newProviderAt makes a provider whose handler is served at an address.
func newProviderAt(address string, callbacks ...string) *provider {
	p := &provider{issuer: address, users: map[string]*storage.User{}, groups: map[string]any{}}
	p.Storage = storage.NewStorageWithClients(p, map[string]*storage.Client{
		clientID: storage.WebClient(clientID, clientSecret, callbacks...),
		"other":  storage.WebClient("other", clientSecret, callbacks...),
	})
	router := exampleop.SetupServer(address, p, nil, false)
	p.handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/oauth/token" {
			router.ServeHTTP(w, r)
			return
		}
		answer := httptest.NewRecorder()
		router.ServeHTTP(answer, r)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(answer.Code)
		_, _ = w.Write(p.tampered(answer.Body.Bytes()))
	})
	return p
}

func (p *provider) tampered(body []byte) []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	var answer map[string]any
	if p.tamper == nil || json.Unmarshal(body, &answer) != nil || answer["id_token"] == nil {
		return body
	}
	answer["id_token"] = p.tamper(answer["id_token"].(string))
	body, _ = json.Marshal(answer)
	return body
}

// user makes a user of the provider, or changes their groups.
func (p *provider) user(id, name string, groups any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.users[id] = &storage.User{ID: id, Username: name, Password: password, Email: id + "@example.com", EmailVerified: true}
	p.groups[id] = groups
}

func (p *provider) setTamper(tamper func(string) string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tamper = tamper
}

// GetUserByID implements storage.UserStore.
func (p *provider) GetUserByID(id string) *storage.User {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.users[id]
}

// GetUserByUsername implements storage.UserStore.
func (p *provider) GetUserByUsername(name string) *storage.User {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, user := range p.users {
		if user.Username == name {
			return user
		}
	}
	return nil
}

// ExampleClientID implements storage.UserStore.
func (p *provider) ExampleClientID() string { return storage.ServiceUserID }

type client struct {
	op.Client
	inside bool
}

func (c client) IDTokenUserinfoClaimsAssertion() bool { return c.inside }

// GetClientByClientID has the client say where claims go.
func (p *provider) GetClientByClientID(ctx context.Context, id string) (op.Client, error) {
	found, err := p.Storage.GetClientByClientID(ctx, id)
	return client{found, p.inside}, err
}

// SetUserinfoFromRequest adds the groups to the ID token.
func (p *provider) SetUserinfoFromRequest(ctx context.Context, info *oidc.UserInfo, token op.IDTokenRequest, scopes []string) error {
	err := p.Storage.SetUserinfoFromRequest(ctx, info, token, scopes)
	if p.inside {
		p.addGroups(info, token.GetSubject())
	}
	return err
}

// SetUserinfoFromToken adds the groups to the user info.
func (p *provider) SetUserinfoFromToken(ctx context.Context, info *oidc.UserInfo, token, subject, origin string) error {
	err := p.Storage.SetUserinfoFromToken(ctx, info, token, subject, origin)
	p.addGroups(info, subject)
	if p.liesAbout != "" {
		info.Subject = p.liesAbout
	}
	return err
}

func (p *provider) addGroups(info *oidc.UserInfo, id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if groups := p.groups[id]; groups != nil {
		info.AppendClaims("groups", groups)
	}
}

// browser follows links and forms as a browser does, and keeps cookies.
type browser struct {
	t      *testing.T
	client *http.Client
}

// page is what a browser shows.
type page struct {
	status  int
	url     *url.URL
	content string
}

func newBrowser(t *testing.T) *browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &browser{t, &http.Client{Jar: jar, Transport: transport}}
}

func (b *browser) send(method, address string, form url.Values) *page {
	b.t.Helper()
	request, err := http.NewRequestWithContext(b.t.Context(), method, address, strings.NewReader(form.Encode()))
	if err != nil {
		b.t.Fatal(err)
	}
	request.Header.Set("Accept", "text/html")
	if form != nil {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	answer, err := b.client.Do(request)
	if err != nil {
		b.t.Fatal(err)
	}
	defer answer.Body.Close()
	var content bytes.Buffer
	if _, err := io.Copy(&content, answer.Body); err != nil {
		b.t.Fatal(err)
	}
	return &page{answer.StatusCode, answer.Request.URL, html.UnescapeString(content.String())}
}

func (b *browser) open(address string) *page {
	b.t.Helper()
	return b.send(http.MethodGet, address, nil)
}

var (
	button = regexp.MustCompile(`<a class="button primary" href="(/login/oidc[^"]*)">Sign in with ([^<]+)</a>`)
	hidden = regexp.MustCompile(`<input type="hidden" name="id" value="([^"]+)">`)
)

// toProvider goes from the product's login page to the provider's login form.
func (b *browser) toProvider(p *provider, from string) *page {
	b.t.Helper()
	at := b.open(from)
	found := button.FindStringSubmatch(at.content)
	if found == nil || found[2] != strings.TrimPrefix(p.issuer, "http://") {
		b.t.Fatalf("no button of the provider at %s: %d %s", at.url, at.status, at.content)
	}
	form := b.open(at.url.ResolveReference(&url.URL{}).Scheme + "://" + at.url.Host + found[1])
	if !strings.HasPrefix(form.url.String(), p.issuer+"/login/username?") {
		b.t.Fatalf("the button leads to %s: %d %s", form.url, form.status, form.content)
	}
	return form
}

// enter fills the provider's login form in, and follows where it leads.
func (b *browser) enter(p *provider, form *page, name string) *page {
	b.t.Helper()
	id := hidden.FindStringSubmatch(form.content)
	if id == nil {
		b.t.Fatalf("no form: %s", form.content)
	}
	return b.send(http.MethodPost, p.issuer+"/login/username", url.Values{"id": {id[1]}, "username": {name}, "password": {password}})
}

// signIn goes the whole way from the product's login page.
func (b *browser) signIn(p *provider, from, name string) *page {
	b.t.Helper()
	return b.enter(p, b.toProvider(p, from), name)
}

// says fails unless a page has a status and all texts.
func (at *page) says(t *testing.T, status int, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(at.content, text) {
			t.Errorf("%s does not say %s: %s", at.url, strconv.Quote(text), at.content)
		}
	}
	if at.status != status {
		t.Errorf("%s answers %d, want %d: %s", at.url, at.status, status, at.content)
	}
}
