package ui

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/access"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/templates"
	"github.com/tidewheel/tidewheel/web/service"
)

func (u *UI) settingsRoutes(router Router) {
	router.GET(templates.SettingsPath, u.settings)
	router.POST("/settings/profile", u.profileSet)
	router.GET(templates.TokensPath, u.tokens)
	router.GET(templates.RetentionPath, u.retention)
	router.POST(templates.RetentionPath, u.retentionChange)
	router.GET(templates.AboutPath, u.about)
	router.POST("/settings/password", u.passwordChange)
	router.POST("/settings/sessions/end", u.sessionsEndOthers)
	router.POST("/settings/sessions/:id/end", u.sessionEnd)
	router.POST("/settings/tokens", u.tokenCreate)
	router.POST("/settings/tokens/:id/revoke", u.tokenRevoke)
}

// formProblem returns what a form shows of an error that its user can mend, and the status that goes with it; false for others.
func formProblem(err error) (text string, status int, is bool) {
	known, is := errors.AsType[*service.Error](err)
	if !is {
		var throttled *access.ThrottledError
		if errors.As(err, &throttled) {
			return sentence(throttled.Error()), http.StatusTooManyRequests, true
		}
		return "", 0, false
	}
	switch known.Kind {
	case service.KindInvalid:
		return sentence(known.Detail), http.StatusUnprocessableEntity, true
	case service.KindExists, service.KindConflict:
		return sentence(known.Detail), http.StatusConflict, true
	default: // nothing that a form can mend
		return "", 0, false
	}
}

func (u *UI) settings(c echo.Context) error {
	return u.settingsPage(c, http.StatusOK, templates.Settings{Zone: u.profile(c).Zone})
}

func (u *UI) tokens(c echo.Context) error {
	return u.tokensPage(c, http.StatusOK, templates.Settings{Token: templates.TokenForm{Expires: "90d"}})
}

// tokensPage shows the page with what a form left in view.
func (u *UI) tokensPage(c echo.Context, status int, view templates.Settings) error {
	view.Page, view.Name = u.page(c, templates.SectionTokens, "API tokens"), access.From(c.Request().Context()).Name
	view.Token.Namespaces = view.Page.Namespaces
	tokens, err := u.service.Tokens(c.Request().Context(), false)
	if err != nil {
		return err
	}
	view.Tokens = tokenRows(tokens)
	return u.render(c, status, templates.TokensPage(view))
}

// settingsPage shows the page with what a form left in view.
func (u *UI) settingsPage(c echo.Context, status int, view templates.Settings) error {
	ctx := c.Request().Context()
	me := access.From(ctx)
	view.Page, view.Name, view.Grants = u.page(c, templates.SectionAccount, "Profile"), me.Name, grantRows(me.Grants)
	switch me.Kind {
	case access.KindUser:
		user, err := u.service.User(ctx, me.User)
		if err != nil {
			return err
		}
		view.From, view.Password = user.From, user.From == ""
	case access.KindRoot:
		view.Kind = "the token of the server, which opens everything"
	case access.KindToken:
		view.Kind = "an API token"
	case access.KindLocal:
		view.Kind = "as all who use this server while authentication is off"
	case access.KindRun: // programs have no pages
	}
	var err error
	if view.Sessions, err = u.sessionRows(ctx, ""); err != nil {
		return err
	}
	return u.render(c, status, templates.SettingsPage(view))
}

// sessionRows lists the sessions of a user, "" for the reader, the last used first.
func (u *UI) sessionRows(ctx context.Context, user string) ([]templates.SessionRow, error) {
	sessions, err := u.service.Sessions(ctx, user)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(sessions, func(a, b access.Session) int { return b.SeenAt.Compare(a.SeenAt) })
	rows := make([]templates.SessionRow, len(sessions))
	for i, s := range sessions {
		rows[i] = templates.SessionRow{
			ID: s.ID, Address: s.Address, Agent: s.Agent, Made: s.MadeAt, Seen: s.SeenAt, Expires: s.ExpiresAt,
			Current: s.ID == access.From(ctx).Session,
		}
	}
	return rows, nil
}

func tokenRows(tokens []access.Token) []templates.TokenRow {
	rows := make([]templates.TokenRow, len(tokens))
	for i := range tokens {
		t := &tokens[i]
		rows[i] = templates.TokenRow{
			ID: t.ID, Name: t.Name, Prefix: t.Prefix, Grants: grantRows(t.Grants), Created: t.CreatedAt, Used: t.UsedAt, Expires: t.ExpiresAt,
		}
	}
	return rows
}

// grantRows lists roles by namespace; that for all comes first.
func grantRows(grants access.Grants) (rows []templates.Grant) {
	for namespace, role := range grants {
		rows = append(rows, templates.Grant{Namespace: namespace, Role: role.String()})
	}
	slices.SortFunc(rows, func(a, b templates.Grant) int { return strings.Compare(a.Namespace, b.Namespace) })
	return rows
}

// passwordChange changes the reader's own password, which ends their session.
func (u *UI) passwordChange(c echo.Context) error {
	ctx := c.Request().Context()
	current, password := c.FormValue("current"), c.FormValue("password")
	var err error
	switch {
	case current == "":
		err = &service.Error{Kind: service.KindInvalid, Detail: "enter your current password, too"}
	case password != c.FormValue("again"):
		err = &service.Error{Kind: service.KindInvalid, Detail: "the two new passwords differ: type the same one twice"}
	default:
		_, err = u.service.ChangeUser(ctx, access.From(ctx).User, access.UserChange{Password: &password}, current)
	}
	if text, status, is := formProblem(err); is {
		return u.settingsPage(c, status, templates.Settings{PasswordProblem: text, Zone: u.profile(c).Zone})
	}
	if err != nil {
		return err
	}
	return done(c, "/login", "password-changed")
}

func (u *UI) sessionEnd(c echo.Context) error {
	if err := u.service.EndSession(c.Request().Context(), "", c.Param("id")); err != nil {
		return err
	}
	return done(c, templates.SettingsPath, "session-ended")
}

// sessionsEndOthers ends all sessions of the reader but this one.
func (u *UI) sessionsEndOthers(c echo.Context) error {
	ctx := c.Request().Context()
	sessions, err := u.service.Sessions(ctx, "")
	if err != nil {
		return err
	}
	for i := range sessions {
		if sessions[i].ID == access.From(ctx).Session {
			continue
		}
		if err := u.service.EndSession(ctx, "", sessions[i].ID); err != nil && !errors.Is(err, engine.ErrNotFound) {
			return err
		}
	}
	return done(c, templates.SettingsPath, "sessions-ended")
}

// tokenCreate makes a token, and shows it on the page that it returns: the server does not keep it.
func (u *UI) tokenCreate(c echo.Context) error {
	ctx := c.Request().Context()
	form := templates.TokenForm{Name: c.FormValue("name"), Role: c.FormValue("role"), Namespace: c.FormValue("namespace"),
		Expires: c.FormValue("expires")}
	made := access.NewToken{Name: form.Name}
	err := tokenScope(access.From(ctx), form, u.now(), &made)
	secret := ""
	if err == nil {
		secret, _, err = u.service.CreateToken(ctx, made)
	}
	if text, status, is := formProblem(err); is {
		return u.tokensPage(c, status, templates.Settings{TokenProblem: text, Token: form})
	}
	if err != nil {
		return err
	}
	return u.tokensPage(c, http.StatusCreated, templates.Settings{
		Made: &templates.MadeToken{Name: access.PlainName(made.Name), Secret: secret}, Token: templates.TokenForm{Expires: "90d"},
	})
}

// tokenScope reads what a form says a token may, and until when.
func tokenScope(me access.Identity, form templates.TokenForm, now time.Time, made *access.NewToken) error {
	grants, err := grantOf(form.Namespace, form.Role)
	switch {
	case err != nil:
		return err
	case form.Role == "" && form.Namespace != access.Everywhere && me.Grants.In(form.Namespace) > 0: // the same as its owner's, there
		grants = access.Grants{form.Namespace: me.Grants.In(form.Namespace)}
	}
	if len(grants) > 0 {
		made.Grants = grants
	}
	switch form.Expires {
	case "":
	case "30d", "90d", "365d":
		days := map[string]int{"30d": 30, "90d": 90, "365d": 365}[form.Expires]
		made.ExpiresAt = now.AddDate(0, 0, days)
	default:
		return &service.Error{Kind: service.KindInvalid, Detail: "choose how long the token lasts"}
	}
	return nil
}

// grantOf reads a role in a namespace; "" is none.
func grantOf(namespace, role string) (access.Grants, error) {
	switch {
	case namespace == "":
		return nil, &service.Error{Kind: service.KindInvalid, Detail: "choose a namespace, or all"}
	case role == "":
		return nil, nil
	}
	parsed, err := access.ParseRole(role)
	if err != nil {
		return nil, &service.Error{Kind: service.KindInvalid, Detail: err.Error()}
	}
	return access.Grants{namespace: parsed}, nil
}

func (u *UI) tokenRevoke(c echo.Context) error {
	if err := u.service.RevokeToken(c.Request().Context(), c.Param("id")); err != nil {
		return err
	}
	return done(c, templates.TokensPath, "token-revoked")
}
