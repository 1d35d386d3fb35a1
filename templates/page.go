package templates

import "time"

// Section is a part of the product, as the head lists them.
type Section string

// The sections.
const (
	SectionOverview  Section = "overview"
	SectionJobs      Section = "jobs"
	SectionDAGs      Section = "dags"
	SectionRuns      Section = "runs"
	SectionTimeline  Section = "timeline"
	SectionBinaries  Section = "binaries"
	SectionExecutors Section = "executors"
)

var sections = []struct {
	section Section
	name    string
	href    string
}{
	{SectionOverview, "Overview", "/"},
	{SectionJobs, "Jobs", "/jobs"},
	{SectionDAGs, "DAGs", "/dags"},
	{SectionRuns, "Runs", "/runs"},
	{SectionTimeline, "Timeline", "/timeline"},
	{SectionBinaries, "Binaries", "/binaries"},
	{SectionExecutors, "Executors", "/executors"},
}

// The sections of the settings. Their pages have a list of all of them above their title.
const (
	SectionAccount       Section = "account"
	SectionTokens        Section = "tokens"
	SectionRetention     Section = "retention"
	SectionAbout         Section = "about"
	SectionSecrets       Section = "secrets"
	SectionNotifications Section = "notifications"
	SectionNamespaces    Section = "namespaces"
	SectionUsers         Section = "users"
	SectionAudit         Section = "audit"
)

type settingsPage struct {
	section    Section
	name, href string
	offered    func(May, Page) bool // nil: to all
}

var settings = []settingsPage{
	{SectionAccount, "Profile", SettingsPath, nil},
	{SectionTokens, "API tokens", TokensPath, func(_ May, p Page) bool { return !p.Open }},
	{SectionSecrets, "Secrets", "/settings/secrets", nil},
	{SectionNotifications, "Notifications", NotificationsPath, nil},
	{SectionNamespaces, "Namespaces", "/namespaces", nil},
	{SectionRetention, "Retention", RetentionPath, nil},
	{SectionUsers, "Users", UsersPath, func(may May, p Page) bool { return may.Root && !p.Open }},
	{SectionAudit, "Audit log", "/audit", func(may May, _ Page) bool { return may.Admin }},
	{SectionAbout, "About", AboutPath, nil},
}

// Page is what the frame of a page needs.
type Page struct {
	Title   string  // of the browser's window, before " · Tidewheel"
	Section Section // marked in the head; "" for none
	Now     time.Time
	Version string
	Assets  Assets
	Notice  string // what the reader has just done, in words; "" for nothing
	Undo    *Undo  // a deletion that can be taken back; nil for none
	User    string // who reads; "" before signing in
	// SignOut offers to end the session.
	SignOut bool
	// Open warns that the server asks for no credentials.
	Open bool
	// Trail is the way to a page below a section's own; the last of it is the page itself, without an address.
	Trail []Crumb
	Theme Theme
	Zone  string // that of the reader's profile; "" is that of the browser
	// Namespace is the one that the page shows, Namespaces are all that the reader may choose, at most MostNamespaces of them.
	Namespace  string
	Namespaces []string
}

// Undo is a deletion that the reader has asked for, and that has not begun.
type Undo struct {
	ID   string
	What string // "job nightly-report", "3 jobs"
	Many bool
	Left time.Duration // until it begins
}

func (u Undo) words() string {
	if u.Many {
		return u.What + " are deleted in ten seconds."
	}
	return u.What + " is deleted in ten seconds."
}

// MostNamespaces is how many namespaces the menu in the head offers: the page of namespaces has all.
const MostNamespaces = 20

// Crumb is a step of the way to a page.
type Crumb struct{ Name, Href string }

// Theme is the colours that the reader has chosen; the zero value leaves it to the reader's system.
type Theme string

// The themes.
const (
	ThemeSystem Theme = ""
	ThemeLight  Theme = "light"
	ThemeDark   Theme = "dark"
)

var themes = []struct {
	theme      Theme
	name, icon string
}{
	{ThemeSystem, "System", "system"},
	{ThemeLight, "Light", "light"},
	{ThemeDark, "Dark", "dark"},
}

// ParseTheme reads a theme's name; another word is the system's.
func ParseTheme(name string) Theme {
	switch theme := Theme(name); theme {
	case ThemeLight, ThemeDark:
		return theme
	case ThemeSystem:
	}
	return ThemeSystem
}

func pressed(is bool) string {
	if is {
		return "true"
	}
	return "false"
}

// Assets are where the bundled files are served; an empty one is left out.
type Assets struct {
	Script, Style, Icon string
}

// Problem is one thing that is wrong, for people.
type Problem struct {
	Message string
	Line    int // in the text that was sent; 0 is not known
	Column  int
}

// Pager leads to further pages of a list; empty addresses are not offered.
type Pager struct {
	First string
	Next  string
}
