package spec

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Bounds of triggers.
const (
	// MaxUpstreams is how many definitions after_success may name, and how many namespaces allow_after.
	MaxUpstreams = 20

	// MaxObjectPrefix is how long the prefix of an objects trigger may be, in bytes.
	MaxObjectPrefix = 512

	bucketPattern   = `^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`
	subjectPattern  = `^([A-Za-z0-9_-]+|\*)(\.([A-Za-z0-9_-]+|\*))*(\.>)?$|^>$`
	upstreamPattern = `^([A-Za-z0-9][A-Za-z0-9_-]{0,127}/)?[A-Za-z0-9][A-Za-z0-9_-]{0,127}$`
)

var (
	validBucket  = regexp.MustCompile(bucketPattern)
	validSubject = regexp.MustCompile(subjectPattern)
)

// Triggers define which events start a run of a job or a wave of a DAG, besides its schedule. Each event starts it once.
type Triggers struct {
	// Webhook lets a signed request start it.
	Webhook *WebhookTrigger `json:"webhook,omitempty"`
	// AfterSuccess names jobs and DAGs, of another namespace as namespace/name: each success of one starts it.
	AfterSuccess []string `json:"after_success,omitempty"`
	// Message lets a message to a subject of NATS start it.
	Message *MessageTrigger `json:"message,omitempty"`
	// Objects lets each object that appears in a bucket of S3 start it.
	Objects *ObjectsTrigger `json:"objects,omitempty"`
	// AllowAfter names the namespaces whose definitions may name this one in AfterSuccess. Its own namespace may always.
	AllowAfter []string `json:"allow_after,omitempty"`
}

// WebhookTrigger is a request that starts a job or DAG.
type WebhookTrigger struct {
	// Secret is the name of the namespace's secret that requests are signed with.
	Secret string `json:"secret,omitempty"`
}

// MessageTrigger is a message that starts a job or DAG.
type MessageTrigger struct {
	// Subject is what messages are published to, after triggers.<namespace>; * stands for one token of it, > for the rest.
	Subject string `json:"subject,omitempty"`
}

// Takes reports whether a message to a subject without wildcards starts it.
func (m *MessageTrigger) Takes(subject string) bool {
	wanted, tokens := strings.Split(m.Subject, "."), strings.Split(subject, ".")
	for i, token := range wanted {
		switch {
		case token == ">":
			return i < len(tokens)
		case i >= len(tokens) || token != "*" && token != tokens[i]:
			return false
		}
	}
	return len(tokens) == len(wanted)
}

// ObjectsTrigger is an object of S3 that starts a job or DAG.
type ObjectsTrigger struct {
	// Bucket is one that the server opens to the namespace.
	Bucket string `json:"bucket,omitempty"`
	// Prefix begins the keys of the objects; "" for all of the bucket.
	Prefix string `json:"prefix,omitempty"`
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

// Starts reports whether there are events that start the job or DAG.
func (t *Triggers) Starts() bool {
	return t != nil && (t.Webhook != nil || t.Message != nil || t.Objects != nil || len(t.AfterSuccess) > 0)
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
	if t.Message != nil {
		message := *t.Message
		clone.Message = &message
	}
	if t.Objects != nil {
		objects := *t.Objects
		clone.Objects = &objects
	}
	clone.AfterSuccess, clone.AllowAfter = slices.Clone(t.AfterSuccess), slices.Clone(t.AllowAfter)
	return &clone
}

// canonical sorts the sets of t in place. Triggers that say nothing are nil.
func (t *Triggers) canonical() *Triggers {
	if t == nil || !t.Starts() && len(t.AllowAfter) == 0 {
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
	if t.Message != nil && !validSubject.MatchString(t.Message.Subject) {
		v.add("triggers.message.subject", "must be a subject of NATS such as orders.paid, orders.* or orders.>: letters, digits, - and _ between dots")
	}
	if t.Objects != nil {
		if !validBucket.MatchString(t.Objects.Bucket) {
			v.add("triggers.objects.bucket", "must be the name of a bucket of S3, such as incoming")
		}
		if prefix := t.Objects.Prefix; len(prefix) > MaxObjectPrefix || strings.HasPrefix(prefix, "/") {
			v.add("triggers.objects.prefix", "must be how keys begin, such as orders/, without / before it, and of at most %d bytes", MaxObjectPrefix)
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
