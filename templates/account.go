package templates

import (
	"net/url"
	"strings"
	"time"
)

// Addresses of the pages about accounts.
const (
	SettingsPath  = "/settings"
	TokensPath    = "/settings/tokens"
	RetentionPath = "/settings/retention"
	AboutPath     = "/settings/about"

	UsersPath = "/users"
)

// UserPath is the address of a user, or of what is done with one; act may be "".
func UserPath(name, act string) string {
	path := UsersPath + "/" + url.PathEscape(name)
	if act != "" {
		path += "/" + act
	}
	return path
}

// everywhere is how forms name all namespaces.
const everywhere = "*"

// Grant is a role.
type Grant struct{ Namespace, Role string }

func (g Grant) where() string {
	if g.Namespace == everywhere {
		return "all namespaces"
	}
	return g.Namespace
}

// Settings is the page of a reader's own account.
type Settings struct {
	Page Page
	Zone string // of the profile
	// ProfileProblem is why the profile was not saved.
	ProfileProblem string
	Name           string
	Kind           string // in words; "" for a user
	From           string // where the user signs in; "" for here
	Grants         []Grant
	Sessions       []SessionRow
	Tokens         []TokenRow
	Password       bool // there is a password to change
	// PasswordProblem and TokenProblem say why the last try of a form did not succeed; "" for nothing.
	PasswordProblem, TokenProblem string
	Token                         TokenForm
	Made                          *MadeToken // the token that was just made
}

// SessionRow is one session.
type SessionRow struct {
	ID, Address, Agent  string
	Made, Seen, Expires time.Time
	Current             bool
}

// TokenRow is one API token, without what opens.
type TokenRow struct {
	ID, Name, Prefix       string
	Grants                 []Grant // none: all that its owner may
	Created, Used, Expires time.Time
}

// TokenForm is what the form for a token begins with.
type TokenForm struct {
	Name, Role, Namespace, Expires string
	Namespaces                     []string
}

// MadeToken is a token that is shown once.
type MadeToken struct{ Name, Secret string }

// Users is the list of users.
type Users struct {
	Page    Page
	Rows    []UserRow
	Pager   Pager
	Text    string // that was searched for
	Problem string // why a user was not added; "" for nothing
	Form    UserForm
}

// UserForm is what the form for a user begins with.
type UserForm struct {
	Name, Role, Namespace string
	Namespaces            []string
}

// UserRow is one user.
type UserRow struct {
	Name, From, By string
	Grants         []Grant
	Disabled       bool
	Created, Last  time.Time
}

// User is the page of one user.
type User struct {
	Page       Page
	User       UserRow
	Self       bool   // the reader themselves
	Problem    string // why the last change was refused; "" for nothing
	Namespaces []string
	Sessions   []SessionRow
	Tokens     []TokenRow
}

var roleNames = []string{"viewer", "operator", "editor", "admin"}

// lifetimes are how long a token may last.
var lifetimes = []struct{ Value, Name string }{{"30d", "30 days"}, {"90d", "90 days"}, {"365d", "a year"}, {"", "for ever"}}

// browserName is what a browser calls itself, in a word or two.
func browserName(agent string) string {
	for _, known := range []struct{ mark, name string }{
		{"Edg/", "Edge"}, {"OPR/", "Opera"}, {"Firefox/", "Firefox"}, {"Chrome/", "Chrome"}, {"Safari/", "Safari"}, {"curl/", "curl"},
	} {
		if strings.Contains(agent, known.mark) {
			return known.name + systemOf(agent)
		}
	}
	return agent
}

func systemOf(agent string) string {
	for _, known := range []struct{ mark, name string }{
		{"Windows", "Windows"}, {"Android", "Android"}, {"iPhone", "iPhone"}, {"Mac OS", "macOS"}, {"Linux", "Linux"},
	} {
		if strings.Contains(agent, known.mark) {
			return " on " + known.name
		}
	}
	return ""
}
