package templates

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/a-h/templ"
)

// NotificationsPath is the address of the page of notifications, and InstallationPath that of those about the installation as a whole.
const (
	NotificationsPath = "/notifications"
	InstallationPath  = NotificationsPath + "/installation"
)

type installationKey struct{}

// WithInstallation makes the pages of notifications those of the installation as a whole.
func WithInstallation(ctx context.Context) context.Context {
	return context.WithValue(ctx, installationKey{}, true)
}

// OfInstallation reports whether the pages of notifications are those of the installation as a whole.
func OfInstallation(ctx context.Context) bool { return ctx.Value(installationKey{}) != nil }

// notifyCommand begins the commands that a page names.
func notifyCommand(ctx context.Context) string {
	if OfInstallation(ctx) {
		return "tidewheel notify -n '*'"
	}
	return "tidewheel notify"
}

// askHow says how something comes to be sent.
func askHow(ctx context.Context) string {
	if OfInstallation(ctx) {
		return "Ask for it in the rules below, or send a test to a target:"
	}
	return "Ask for it in a definition, for some of them in the rules below, or send a test to a target:"
}

// rulesOf names the rules.
func rulesOf(ctx context.Context) string {
	if OfInstallation(ctx) {
		return "rules of the installation"
	}
	return "rules of the namespace"
}

// NotificationsPathOf is the address of the page of notifications that a page belongs to.
func NotificationsPathOf(ctx context.Context) string {
	if OfInstallation(ctx) {
		return InstallationPath
	}
	return NotificationsPath
}

// Notifications is the page of what is wrong, what was sent about it and to whom.
type Notifications struct {
	Page          Page
	Incidents     []IncidentRow
	MoreIncidents bool
	// Installation is what is wrong with the installation as a whole, for readers who may know.
	Installation      []IncidentRow
	InstallationRules string // what is asked for of it, in words; "" for nothing
	Deliveries        []DeliveryRow
	Pager             Pager
	Target, State     string // of the deliveries that are shown; "" for all
	Targets           []TargetRow
	MoreUsers         bool // not every definition was looked at to tell who uses targets
	Silences          []SilenceRow
	Silence           SilenceForm
	Rules             RulesForm
	RulesWords        string // "" for none
	Tested            *TestedTarget
	Unsent            bool // this server sends nothing
}

// Narrowed reports whether not all deliveries are shown.
func (v Notifications) narrowed() bool { return v.Target != "" || v.State != "" }

// IncidentRow is one thing that is wrong.
type IncidentRow struct {
	About  AboutWhat
	Alert  string
	Since  time.Time
	Latest time.Time
	Count  int64
	Reason string
}

// AboutWhat is what an incident is about.
type AboutWhat struct {
	Job, DAG, Task string
	Subject        string // of an incident of the installation, such as "Executor x1"
	Run            string // of the latest sign; "" for none
	Wave           string
}

func (a AboutWhat) name() string {
	switch {
	case a.Task != "":
		return a.DAG + "/" + a.Task
	case a.DAG != "":
		return a.DAG
	case a.Job != "":
		return a.Job
	}
	return a.Subject
}

// href is where it is; "" for nowhere.
func (a AboutWhat) href() string {
	switch {
	case a.DAG != "":
		return "/dags/" + url.PathEscape(a.DAG)
	case a.Job != "":
		return "/jobs/" + url.PathEscape(a.Job)
	}
	return ""
}

// latest is the run or wave of the latest sign; "" for none.
func (a AboutWhat) latest() string {
	switch {
	case a.Run != "":
		return "/runs/" + url.PathEscape(a.Run)
	case a.Wave != "":
		return "/waves/" + url.PathEscape(a.Wave)
	}
	return ""
}

// DeliveryRow is one message to one target.
type DeliveryRow struct {
	ID, Target string
	About      AboutWhat
	Alert      string
	Over       bool
	Reason     string // of the incident
	State      string
	Answer     string // of the latest attempt, or why there is none
	Tries      int
	At, NextAt time.Time
}

// again reports whether it can be sent again.
func (r DeliveryRow) again() bool {
	return r.State == "failed" || r.State == "silenced" || r.State == "waiting" && r.Tries > 0
}

// TargetRow is where messages go.
type TargetRow struct {
	Name, Kind, Where string
	Private           bool
	Digest            string // "" for each at once
	By                string
	At                time.Time
	Users             []string // jobs, DAGs as "DAG name", and tasks as dag/task
	ByRules           bool     // the rules of the namespace name it
	Problem           string   // why this server cannot send to it; "" where it can
}

// words say where it is, and how.
func (r TargetRow) words() string {
	words := r.Where
	if r.Private {
		words += ", private addresses allowed"
	}
	if r.Digest != "" {
		words += ", a digest every " + r.Digest
	}
	return words
}

// TargetPath is the address of what is done with a target.
func TargetPath(ctx context.Context, name, act string) string {
	return NotificationsPathOf(ctx) + "/targets/" + url.PathEscape(name) + "/" + act
}

// targetUserPath is the page of what names a target.
func targetUserPath(user string) templ.SafeURL {
	if dag, is := strings.CutPrefix(user, "DAG "); is {
		return templ.SafeURL("/dags/" + dag)
	}
	return userPath(user)
}

type targetKind struct{ kind, name, about string }

// targetKinds are the kinds of targets, with what is said of each.
var targetKinds = []targetKind{
	{"webhook", "Webhook", "POSTs JSON, signed as Standard Webhooks are."},
	{"slack", "Slack", "An incoming webhook of Slack, or of what takes the same: Mattermost, Rocket.Chat, Discord with /slack."},
	{"teams", "Teams", "A workflow of Microsoft Teams that posts what a webhook receives."},
	{"email", "E-mail", "By the server's SMTP server."},
	{"job", "Job", "Runs a job of this namespace, with the message as its payload: a program of your own."},
}

// targetKindsOf are those that there may be: the installation has no jobs.
func targetKindsOf(ctx context.Context) []targetKind {
	if OfInstallation(ctx) {
		return slices.DeleteFunc(slices.Clone(targetKinds), func(k targetKind) bool { return k.kind == "job" })
	}
	return targetKinds
}

func targetKindName(kind string) string {
	for _, one := range targetKinds {
		if one.kind == kind {
			return one.name
		}
	}
	return kind
}

// TestedTarget is how a test of a target ended.
type TestedTarget struct {
	Target, Answer string
	Problem        string // "" if the target took it
}

// SilenceRow keeps messages from being sent.
type SilenceRow struct {
	ID, Definition, Alert string
	From, Until           time.Time
	By, Reason            string
}

func (r SilenceRow) what() string {
	what := "All alerts"
	if r.Alert != "" {
		what = "Alert " + r.Alert
	}
	if r.Definition != "" {
		return what + " of " + r.Definition
	}
	return what
}

// SilenceForm is what the form of a new silence begins with.
type SilenceForm struct {
	Definition, Alert, For, Hours, Reason string
	Problem                               string
}

var (
	silenceSpans  = []choice{{"1h", "1 hour"}, {"8h", "8 hours"}, {"24h", "1 day"}, {"168h", "1 week"}, {"", "other, in hours:"}}
	silenceAlerts = []choice{
		{"", "all alerts"}, {"failed", "failed"}, {"dead", "dead"}, {"missed", "missed"}, {"skipped", "skipped"}, {"late", "late"}, {"slow", "slow"}, {"silent", "silent"},
	}
)

// RulesForm are the rules of a namespace.
type RulesForm struct {
	On, To        []string
	Lag, Duration string // Go durations; "" for none
	Problem       string
}

var ruleChoices = []choice{
	{"failed", "a run or wave fails"}, {"dead", "a run leaves a dead letter"}, {"missed", "a slot is missed"},
	{"skipped", "a slot is skipped because of the run before it"}, {"recovered", "it is over again"},
}

// installationChoices are those of the installation; see notify.
var installationChoices = []choice{
	{"executor_silent", "an executor falls silent"}, {"shard_without_owner", "a shard has no engine"},
	{"ledger_difference", "the slot ledger has a difference"}, {"recovered", "it is over again"},
}

func rulesChoices(ctx context.Context) []choice {
	if OfInstallation(ctx) {
		return installationChoices
	}
	return ruleChoices
}

// silenceChoices are the alerts that a silence may be for.
func silenceChoices(ctx context.Context) []choice {
	if OfInstallation(ctx) {
		return append([]choice{{"", "all alerts"}}, installationChoices[:len(installationChoices)-1]...)
	}
	return silenceAlerts
}

func (f RulesForm) asks(alert string) bool    { return slices.Contains(f.On, alert) }
func (f RulesForm) notifies(name string) bool { return slices.Contains(f.To, name) }

// TargetForm makes or changes a target.
type TargetForm struct {
	Page      Page
	Edits     bool // it changes one that is there
	Kind      string
	Name      string
	Where     string // of the URL that is kept
	Addresses string // one a line
	Job       string
	Private   bool
	Digest    string // minutes
	Problem   string
}

func (v TargetForm) hasURL() bool {
	return v.Kind == "webhook" || v.Kind == "slack" || v.Kind == "teams"
}

func (v TargetForm) about() string {
	for _, one := range targetKinds {
		if one.kind == v.Kind {
			return one.about
		}
	}
	return ""
}

func (v TargetForm) action(ctx context.Context) string {
	if v.Edits {
		return TargetPath(ctx, v.Name, "edit")
	}
	return NotificationsPathOf(ctx) + "/targets/new"
}

// MadeTarget shows, once, what messages to a new webhook are signed with.
type MadeTarget struct {
	Page          Page
	Name, Signing string
}

// TargetDelete asks before a target is deleted.
type TargetDelete struct {
	Page   Page
	Target TargetRow
}

// deliveryStates are those of deliveries.
var deliveryStates = []string{"waiting", "held", "delivered", "failed", "silenced"}
