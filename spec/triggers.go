package spec

import (
	"fmt"
	"slices"
	"strings"
)

// Bounds of triggers.
const (
	// MaxUpstreams is how many definitions after_success may name, and how many namespaces allow_after.
	MaxUpstreams = 20

	upstreamPattern = `^([A-Za-z0-9][A-Za-z0-9_-]{0,127}/)?[A-Za-z0-9][A-Za-z0-9_-]{0,127}$`
)

// Triggers say which events start a run of a job or a wave of a DAG, besides its schedule. Each event starts it once.
type Triggers struct {
	// Webhook lets a signed request start it.
	Webhook *WebhookTrigger `json:"webhook,omitempty"`
	// AfterSuccess names jobs and DAGs, of another namespace as namespace/name: each success of one starts it.
	AfterSuccess []string `json:"after_success,omitempty"`
	// AllowAfter names the namespaces whose definitions may name this one in AfterSuccess. Its own namespace may always.
	AllowAfter []string `json:"allow_after,omitempty"`
}

// WebhookTrigger is a request that starts a job or DAG.
type WebhookTrigger struct {
	// Secret is the name of the namespace's secret that requests are signed with.
	Secret string `json:"secret,omitempty"`
}

// Upstream is a job or DAG that after_success names.
type Upstream struct{ Namespace, Name string }

// ParseUpstream reads an entry of after_success of a definition in a namespace.
func ParseUpstream(namespace, entry string) Upstream {
	if other, name, qualified := strings.Cut(entry, "/"); qualified {
		return Upstream{other, name}
	}
	return Upstream{namespace, entry}
}

// Upstreams returns what after_success names in a definition of a namespace.
func (t *Triggers) Upstreams(namespace string) []Upstream {
	if t == nil {
		return nil
	}
	upstreams := make([]Upstream, len(t.AfterSuccess))
	for i, entry := range t.AfterSuccess {
		upstreams[i] = ParseUpstream(namespace, entry)
	}
	return upstreams
}

// MayFollow reports whether a definition of a namespace may name the one that has t, of the namespace own, in after_success.
func (t *Triggers) MayFollow(own, namespace string) bool {
	return own == namespace || t != nil && slices.Contains(t.AllowAfter, namespace)
}

// HookSecret returns the name of the secret of the webhook, "" without one.
func (t *Triggers) HookSecret() string {
	if t == nil || t.Webhook == nil {
		return ""
	}
	return t.Webhook.Secret
}

// clone returns a copy that shares nothing with t; nil stays nil.
func (t *Triggers) clone() *Triggers {
	if t == nil {
		return nil
	}
	clone := *t
	if t.Webhook != nil {
		webhook := *t.Webhook
		clone.Webhook = &webhook
	}
	clone.AfterSuccess, clone.AllowAfter = slices.Clone(t.AfterSuccess), slices.Clone(t.AllowAfter)
	return &clone
}

// canonical sorts the sets of t in place. Triggers that say nothing are nil.
func (t *Triggers) canonical() *Triggers {
	if t == nil || t.Webhook == nil && len(t.AfterSuccess) == 0 && len(t.AllowAfter) == 0 {
		return nil
	}
	slices.Sort(t.AfterSuccess)
	slices.Sort(t.AllowAfter)
	return t
}

// triggers judges those of a job or a DAG.
func (v *validator) triggers(name string, t *Triggers) {
	if t == nil {
		return
	}
	if t.Webhook != nil {
		if t.Webhook.Secret == "" {
			v.add("triggers.webhook.secret", "is missing: name the secret that requests are signed with, which `tidewheel secret set` stores")
		} else if fault := nameFault(t.Webhook.Secret); fault != "" {
			v.add("triggers.webhook.secret", "must be the name of a secret; it %s", fault)
		}
	}
	v.atMost("triggers.after_success", len(t.AfterSuccess), MaxUpstreams, "entries")
	for i, entry := range t.AfterSuccess {
		path := fmt.Sprintf("triggers.after_success[%d]", i)
		namespace, upstream, qualified := strings.Cut(entry, "/")
		if !qualified {
			namespace, upstream = "", entry
		}
		switch {
		case nameFault(upstream) != "":
			v.add(path, "must name a job or DAG, as etl, or as sales/etl in another namespace; it %s", nameFault(upstream))
		case qualified && nameFault(namespace) != "":
			v.add(path, "must name a job or DAG, as etl, or as sales/etl in another namespace; its namespace %s", nameFault(namespace))
		case slices.Contains(t.AfterSuccess[:i], entry):
			v.add(path, "repeats %s: list each job or DAG once", quote(entry))
		case entry == name:
			v.add(path, "is %s itself, which would start again after each success: use a schedule, such as after: 1m", quote(name))
		}
	}
	v.atMost("triggers.allow_after", len(t.AllowAfter), MaxUpstreams, "namespaces")
	for i, namespace := range t.AllowAfter {
		path := fmt.Sprintf("triggers.allow_after[%d]", i)
		if fault := nameFault(namespace); fault != "" {
			v.add(path, "must be the name of a namespace; it %s", fault)
		} else if slices.Contains(t.AllowAfter[:i], namespace) {
			v.add(path, "repeats %s: list each namespace once", quote(namespace))
		}
	}
}
