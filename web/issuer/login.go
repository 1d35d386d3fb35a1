package issuer

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

// AttemptLife is how long a user may take at the provider.
const AttemptLife = 10 * time.Minute

// Attempt is a login under way. The browser that began it keeps it, and no other one.
type Attempt struct {
	State, Nonce, Verifier string
	Next                   string // where to continue, a path of this server
	BeganAt                time.Time
}

// Encode returns the attempt as the value of a cookie.
func (a *Attempt) Encode() string {
	text, _ := json.Marshal(a) // it holds nothing that cannot be encoded
	return base64.RawURLEncoding.EncodeToString(text)
}

// DecodeAttempt reads what Encode wrote; the zero Attempt, which ends in a refusal, for anything else.
func DecodeAttempt(value string) (attempt Attempt) {
	text, err := base64.RawURLEncoding.DecodeString(value)
	if err != nil || json.Unmarshal(text, &attempt) != nil {
		return Attempt{}
	}
	return attempt
}

// Account is what the provider says about who has signed in there.
type Account struct {
	Subject string // never given to another account of the provider
	Name    string
	Groups  []string
}

// Begin begins a login, and returns where to send the browser. redirect is where it comes back to, unless the configuration says
// so. Errors: *Refusal.
func (p *Provider) Begin(ctx context.Context, redirect, next string) (Attempt, string, error) {
	found, err := p.discover(ctx)
	if err != nil {
		return Attempt{}, "", err
	}
	attempt := Attempt{State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier(), Next: next, BeganAt: p.config.Now()}
	return attempt, p.oauth(found, redirect).AuthCodeURL(attempt.State, oidc.Nonce(attempt.Nonce),
		oauth2.S256ChallengeOption(attempt.Verifier)), nil
}

// Finish ends a login with what the browser brings back from the provider; *Refusal.
func (p *Provider) Finish(ctx context.Context, redirect string, attempt Attempt, answer url.Values) (Account, error) {
	age := p.config.Now().Sub(attempt.BeganAt)
	if attempt.State == "" || age > AttemptLife || subtle.ConstantTimeCompare([]byte(attempt.State), []byte(answer.Get("state"))) != 1 {
		return Account{}, Refuse(http.StatusBadRequest, errors.New("no login with this state is under way in the browser"),
			"This sign-in was used before, took longer than %d minutes, or began in another window or at another address. Begin again.",
			int(AttemptLife.Minutes()))
	}
	if code := answer.Get("error"); code != "" {
		return Account{}, Refuse(http.StatusForbidden, fmt.Errorf("the provider answers %q: %q", short(code),
			short(answer.Get("error_description"))),
			"%s did not sign you in: %s. Try again, or ask its administrator.", p.Name(), described(code, answer.Get("error_description")))
	}
	if answer.Get("code") == "" {
		return Account{}, Refuse(http.StatusBadRequest, fmt.Errorf("%w: there is no code", errNoAnswer),
			"%s sent you back without a sign-in. Begin again.", p.Name())
	}
	found, err := p.discover(ctx)
	if err != nil {
		return Account{}, err
	}
	ctx = p.with(ctx)
	token, err := p.oauth(found, redirect).Exchange(ctx, answer.Get("code"), oauth2.VerifierOption(attempt.Verifier))
	if err != nil {
		return Account{}, p.explainExchange(err)
	}
	idToken, err := p.verify(ctx, found, token, attempt.Nonce)
	if err != nil {
		return Account{}, err
	}
	return p.account(ctx, found, token, idToken)
}

// explainExchange reports why the provider gave no token for a code.
func (p *Provider) explainExchange(err error) error {
	var answer *oauth2.RetrieveError
	if !errors.As(err, &answer) || answer.ErrorCode == "" {
		return Refuse(http.StatusServiceUnavailable, err, "%s does not answer as it should. Try again in a moment.", p.Name())
	}
	switch answer.ErrorCode {
	case "invalid_grant":
		return Refuse(http.StatusBadRequest, err,
			"%s no longer accepts this sign-in: it was used before, or took too long. Begin again.", p.Name())
	case "invalid_client", "unauthorized_client":
		return Refuse(http.StatusServiceUnavailable, err, "%s does not accept this server: %s. An administrator compares --oidc-client-id and "+
			"--oidc-client-secret-file with what the provider has.", p.Name(), described(answer.ErrorCode, answer.ErrorDescription))
	}
	return Refuse(http.StatusServiceUnavailable, err, "%s did not sign you in: %s. Begin again; if it stays so, ask an administrator.",
		p.Name(), described(answer.ErrorCode, answer.ErrorDescription))
}

// verify checks the ID token that came for a code.
func (p *Provider) verify(ctx context.Context, found *discovered, token *oauth2.Token, nonce string) (*oidc.IDToken, error) {
	raw, _ := token.Extra("id_token").(string)
	if raw == "" {
		return nil, Refuse(http.StatusBadGateway, fmt.Errorf("%w: there is no ID token", errNoAnswer),
			"%s sent no ID token. An administrator checks that the client there is one of OpenID Connect.", p.Name())
	}
	idToken, err := found.verifier.Verify(ctx, raw)
	var expired *oidc.TokenExpiredError
	switch {
	case errors.As(err, &expired):
		return nil, Refuse(http.StatusUnauthorized, err, "The ID token from %s expired at %s, and here it is %s. Begin again; "+
			"if it stays so, an administrator compares the clocks of both machines.", p.Name(), expired.Expiry.UTC().Format(time.RFC3339),
			p.config.Now().UTC().Format(time.RFC3339))
	case err != nil:
		return nil, Refuse(http.StatusUnauthorized, err,
			"The ID token from %s cannot be trusted: it was altered, is not signed by the provider, or the provider's keys "+
				"do not come. Begin again; the server's log says more.", p.Name())
	}
	var authorized struct {
		Party string `json:"azp"`
	}
	if err := idToken.Claims(&authorized); err != nil {
		return nil, Refuse(http.StatusUnauthorized, err, "The ID token from %s cannot be read. The server's log says more.", p.Name())
	}
	if !slices.Contains(idToken.Audience, p.config.ClientID) || authorized.Party != "" && authorized.Party != p.config.ClientID {
		return nil, Refuse(http.StatusUnauthorized, fmt.Errorf("the ID token is for %q, authorized party %q", idToken.Audience,
			authorized.Party),
			"The ID token from %s is for another application. An administrator compares --oidc-client-id with the client at the provider.",
			p.Name())
	}
	if subtle.ConstantTimeCompare([]byte(idToken.Nonce), []byte(nonce)) != 1 {
		return nil, Refuse(http.StatusUnauthorized, errors.New("the nonce of the ID token is of another login"),
			"The ID token from %s belongs to another sign-in. Begin again.", p.Name())
	}
	return idToken, nil
}

// account reads who it is: from the ID token, and what that leaves out from the provider's user info.
func (p *Provider) account(ctx context.Context, found *discovered, token *oauth2.Token, idToken *oidc.IDToken) (Account, error) {
	var claims map[string]json.RawMessage
	err := idToken.Claims(&claims)
	account := Account{Subject: idToken.Subject, Name: nameIn(claims)}
	_, grouped := claims[p.config.GroupsClaim]
	if err == nil && (account.Name == "" || !grouped) && found.provider.UserInfoEndpoint() != "" {
		var info *oidc.UserInfo
		if info, err = found.provider.UserInfo(ctx, oauth2.StaticTokenSource(token)); err == nil && info.Subject != idToken.Subject {
			err = fmt.Errorf("the user info is about %q, and the ID token about %q", short(info.Subject), short(idToken.Subject))
		}
		if err == nil {
			var more map[string]json.RawMessage
			err = info.Claims(&more)
			for name, value := range more {
				if _, given := claims[name]; !given {
					claims[name] = value
				}
			}
			account.Name = nameIn(claims)
		}
	}
	if err == nil {
		account.Groups, err = groupsIn(claims[p.config.GroupsClaim])
	}
	switch {
	case err != nil:
		return Account{}, Refuse(http.StatusBadGateway, err,
			"%s does not say what this server needs to know about you: %s. Ask an administrator.",
			p.Name(), short(err.Error()))
	case account.Name == "" || account.Subject == "":
		return Account{}, Refuse(http.StatusForbidden, fmt.Errorf("%w: neither preferred_username nor a verified email", errNoAnswer),
			"%s says neither your preferred_username nor a verified email. "+
				"An administrator gives the client there the scopes profile and email.", p.Name())
	}
	return account, nil
}

// nameIn returns what a user is called here: preferred_username, else an email that is not known to be unverified; "" for none.
func nameIn(claims map[string]json.RawMessage) (name string) {
	if json.Unmarshal(claims["preferred_username"], &name) == nil && name != "" {
		return name
	}
	verified := true
	_ = json.Unmarshal(claims["email_verified"], &verified)
	if json.Unmarshal(claims["email"], &name) != nil || !verified {
		return ""
	}
	return name
}

// groupsIn reads a claim of groups: a list of names, one name, or nothing.
func groupsIn(claim json.RawMessage) (groups []string, err error) {
	var one string
	switch {
	case len(claim) == 0 || string(claim) == "null":
		return nil, nil
	case json.Unmarshal(claim, &one) == nil:
		return []string{one}, nil
	case json.Unmarshal(claim, &groups) != nil:
		return nil, errors.New("the claim of groups is no list of names: name another one by --oidc-groups-claim")
	}
	return groups, nil
}

// described puts an error of the provider's into words.
func described(code, description string) string {
	if code == "access_denied" && description == "" {
		return "access_denied, the sign-in was refused or cancelled"
	}
	if description == "" {
		return short(code)
	}
	return short(code) + ", " + strings.TrimSuffix(short(description), ".")
}

// short bounds a text of the provider's for a page and the log.
func short(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
	if runes := []rune(text); len(runes) > 200 {
		return string(runes[:200]) + "…"
	}
	return text
}
