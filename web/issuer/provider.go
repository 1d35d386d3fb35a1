package issuer

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

const (
	// patience bounds each request to the provider.
	patience = 10 * time.Second
	// clockSkew is how much the clock of the provider may be behind.
	clockSkew = time.Minute
)

// CallbackPath is where the provider sends browsers back to.
const CallbackPath = "/login/oidc/callback"

// Config defines which provider vouches for users, and what it knows this server as.
type Config struct {
	Issuer       string // its URL, exactly as its tokens have it
	ClientID     string
	ClientSecret string // "" for a public client
	// RedirectURL is where the provider sends browsers back to, with CallbackPath; "" for the address that the browser uses.
	RedirectURL string
	GroupsClaim string
	Roles       []GroupRole
	Now         func() time.Time // nil: time.Now
}

// Provider is an OpenID Connect provider. It is safe for concurrent use.
type Provider struct {
	config Config
	client *http.Client

	mu      sync.Mutex
	found   *discovered // nil until it has answered
	problem error       // why it did not the last time
}

// discovered is what a provider says about itself.
type discovered struct {
	provider *oidc.Provider
	verifier *oidc.IDTokenVerifier
	scopes   []string
}

// New makes a provider that is asked nothing yet.
func New(config Config) *Provider {
	if config.Now == nil {
		config.Now = time.Now
	}
	client := &http.Client{Timeout: patience, Transport: &http.Transport{
		Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true, // logins are rare
		TLSHandshakeTimeout: patience, ForceAttemptHTTP2: true,
	}}
	return &Provider{config: config, client: client}
}

// Name is what users know the provider by: its host.
func (p *Provider) Name() string {
	if parsed, err := url.Parse(p.config.Issuer); err == nil && parsed.Host != "" {
		return parsed.Host
	}
	return p.config.Issuer
}

// Issuer returns the URL of the provider.
func (p *Provider) Issuer() string { return p.config.Issuer }

// GroupsClaim is the claim that holds the groups.
func (p *Provider) GroupsClaim() string { return p.config.GroupsClaim }

// Reachable reports whether the provider answered when it was last asked, or was not asked yet.
func (p *Provider) Reachable() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.problem == nil
}

// Discover asks the provider about itself, unless it has answered before; *Refusal.
func (p *Provider) Discover(ctx context.Context) error {
	_, err := p.discover(ctx)
	return err
}

func (p *Provider) discover(ctx context.Context) (*discovered, error) {
	p.mu.Lock()
	found := p.found
	p.mu.Unlock()
	if found != nil {
		return found, nil
	}
	found, err := p.ask(p.with(ctx))
	p.mu.Lock()
	defer p.mu.Unlock()
	p.problem = err
	if err != nil {
		return nil, Refuse(http.StatusServiceUnavailable, err, "%s cannot be asked to sign you in. Try again in a moment; "+
			"if it stays so, an administrator compares --oidc-issuer with the address of the provider.", p.Name())
	}
	p.found = found
	return found, nil
}

func (p *Provider) ask(ctx context.Context) (*discovered, error) {
	provider, err := oidc.NewProvider(ctx, p.config.Issuer)
	if err != nil {
		return nil, fmt.Errorf("discover %s: %w", p.config.Issuer, err)
	}
	var says struct {
		Scopes []string `json:"scopes_supported"`
	}
	if err := provider.Claims(&says); err != nil {
		return nil, fmt.Errorf("discover %s: %w", p.config.Issuer, err)
	}
	found := &discovered{provider: provider, scopes: []string{oidc.ScopeOpenID, "profile", "email"}}
	if slices.Contains(says.Scopes, "groups") { // providers that do not know a scope may refuse it
		found.scopes = append(found.scopes, "groups")
	}
	// The keys are fetched beyond this request.
	found.verifier = provider.VerifierContext(oidc.ClientContext(context.Background(), p.client), &oidc.Config{
		SkipClientIDCheck: true, // Finish checks it, to say which client it is for
		Now:               func() time.Time { return p.config.Now().Add(-clockSkew) },
	})
	return found, nil
}

// with has the libraries use the client with our limits.
func (p *Provider) with(ctx context.Context) context.Context {
	return oidc.ClientContext(ctx, p.client)
}

func (p *Provider) oauth(found *discovered, redirect string) *oauth2.Config {
	if p.config.RedirectURL != "" {
		redirect = p.config.RedirectURL
	}
	endpoint := found.provider.Endpoint()
	if p.config.ClientSecret == "" {
		endpoint.AuthStyle = oauth2.AuthStyleInParams
	}
	return &oauth2.Config{
		ClientID: p.config.ClientID, ClientSecret: p.config.ClientSecret, Endpoint: endpoint, RedirectURL: redirect, Scopes: found.scopes,
	}
}

// Refusal reports why a user is not signed in.
type Refusal struct {
	Status int    // of the answer
	Text   string // whole sentences for the user
	err    error  // for the log; may be nil
}

func (r *Refusal) Error() string {
	if r.err == nil {
		return r.Text
	}
	return r.err.Error()
}

// Unwrap returns the cause, or nil.
func (r *Refusal) Unwrap() error { return r.err }

// Refuse makes a Refusal; err may be nil.
func Refuse(status int, err error, format string, args ...any) error {
	return &Refusal{Status: status, Text: fmt.Sprintf(format, args...), err: err}
}

// errNoAnswer is for answers of the provider without the fields that they must have.
var errNoAnswer = errors.New("the provider's answer is incomplete")
