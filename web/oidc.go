package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/access"
	"github.com/tidewheel/tidewheel/web/issuer"
)

const (
	oidcPath = "/login/oidc"
	// attemptCookie holds a login under way at the provider.
	attemptCookie = "tidewheel_login"
	// mostGroups is how many groups that give no role are named to their user.
	mostGroups = 20
)

// LoginIssuer is the button of the login page that leads to the provider.
type LoginIssuer struct {
	Name string // its host
	Path string // where the button leads
	Away bool   // it did not answer when it was last asked
}

// issuerButton returns the button to a provider, nil where there is none.
func (s *Server) issuerButton(next string) *LoginIssuer {
	provider := s.config.Issuer
	if provider == nil {
		return nil
	}
	return &LoginIssuer{Name: provider.Name(), Path: oidcPath + "?" + url.Values{"next": {next}}.Encode(), Away: !provider.Reachable()}
}

// callback is where the provider sends the browser of a request back to.
func callback(c echo.Context) string {
	return c.Scheme() + "://" + c.Request().Host + issuer.CallbackPath
}

// oidcBegin sends a browser to the provider.
func (s *Server) oidcBegin(c echo.Context) error {
	next := localPath(c.QueryParam("next"))
	if s.config.Issuer == nil {
		return echo.ErrNotFound
	}
	attempt, target, err := s.config.Issuer.Begin(c.Request().Context(), callback(c), next)
	if err != nil {
		return s.refuseLogin(c, next, "", err)
	}
	keepAttempt(c, attempt.Encode(), issuer.AttemptLife)
	return c.Redirect(http.StatusSeeOther, target)
}

// oidcEnd takes what the provider says about a browser that it sends back. An attempt is used once, however it ends.
func (s *Server) oidcEnd(c echo.Context) error {
	if s.config.Issuer == nil {
		return echo.ErrNotFound
	}
	var attempt issuer.Attempt
	if cookie, err := c.Cookie(attemptCookie); err == nil {
		attempt = issuer.DecodeAttempt(cookie.Value)
	}
	keepAttempt(c, "", -time.Second)
	next := localPath(attempt.Next)
	ctx, provider := c.Request().Context(), s.config.Issuer
	account, err := provider.Finish(ctx, callback(c), attempt, c.QueryParams())
	if err != nil {
		return s.refuseLogin(c, next, "", err)
	}
	identity, err := s.config.Service.Access.SignInFrom(ctx, access.Proof{
		Issuer: provider.Issuer(), Subject: account.Subject, Name: account.Name, Grants: provider.Grants(account.Groups),
	})
	if err != nil {
		return s.refuseLogin(c, next, account.Name, s.explainIssued(&account, err))
	}
	return s.signIn(c, identity, "at "+provider.Name(), next)
}

func keepAttempt(c echo.Context, value string, life time.Duration) {
	c.SetCookie(&http.Cookie{ //nolint:gosec // Secure is set where TLS is spoken; a server without TLS must let users in, too
		Name: attemptCookie, Value: value, Path: oidcPath, MaxAge: int(life / time.Second), HttpOnly: true, SameSite: http.SameSiteLaxMode,
		Secure: c.Scheme() == "https",
	})
}

// explainIssued puts into words why a user whom the provider vouches for does not get in; errors of the store pass unchanged.
func (s *Server) explainIssued(account *issuer.Account, err error) error {
	var (
		invalid *access.InvalidError
		name    = s.config.Issuer.Name()
	)
	refuse := func(format string, args ...any) error {
		return issuer.Refuse(http.StatusForbidden, err, format, args...)
	}
	switch {
	case errors.Is(err, access.ErrNoRole):
		return refuse("%s signed you in as %s, but none of your groups gives you a role here. %s "+
			"An administrator of this server maps a group to a role: "+
			"--oidc-role GROUP=ROLE, or GROUP=ROLE@NAMESPACE.", name, account.Name, s.groupsInWords(account.Groups))
	case errors.Is(err, access.ErrOtherUser):
		return refuse("%s signed you in as %s, and another user of this name is here: one with a password, or another account of the provider. "+
			"Sign in with the password, or ask an administrator to delete that user.", name, account.Name)
	case errors.Is(err, access.ErrDisabled):
		return refuse("The user %s is disabled here. Ask an administrator.", account.Name)
	case errors.Is(err, access.ErrLastAdmin):
		return refuse("Your groups at %s no longer make you admin for all namespaces, and you are the last one. "+
			"Add another admin first, with the token in the server's data folder, or go back into the group.", name)
	case errors.As(err, &invalid):
		return refuse("%s calls you %q, which cannot be the name of a user here: %s.", name, account.Name, invalid.Reason)
	}
	return err
}

func (s *Server) groupsInWords(groups []string) string {
	switch more := len(groups) - mostGroups; {
	case len(groups) == 0:
		return fmt.Sprintf("It sent no groups, which are looked for in the claim %q.", s.config.Issuer.GroupsClaim())
	case more > 0:
		return fmt.Sprintf("It sent the groups %s and %d more.", strings.Join(groups[:mostGroups], ", "), more)
	}
	return "It sent the groups " + strings.Join(groups, ", ") + "."
}

// refuseLogin shows why a login at the provider ended without a session; name is "" while the user is unknown.
func (s *Server) refuseLogin(c echo.Context, next, name string, err error) error {
	var refusal *issuer.Refusal
	if !errors.As(err, &refusal) {
		return s.undecided(c, err)
	}
	what := "login at " + s.config.Issuer.Name()
	if name != "" {
		what += " as " + name
	}
	s.recordLogin(c, "", refusal.Status, what+": "+refusal.Error())
	s.config.Log.Warn("a login failed", "how", "at "+s.config.Issuer.Name(), "name", name, "remote", addressOf(c.Request()), "error",
		refusal)
	ctx, cancel := context.WithTimeout(c.Request().Context(), time.Second)
	defer cancel()
	admin, err := s.config.Service.Access.HasAdmin(ctx)
	return s.showLogin(c, LoginPage{Status: refusal.Status, Message: refusal.Text, Next: next, Users: admin || err != nil})
}
