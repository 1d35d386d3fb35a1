package notify

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/mail"
	"slices"
	"strings"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/internal/outgoing"
	"github.com/tidewheel/tidewheel/secret"
	"github.com/tidewheel/tidewheel/spec"
)

// TargetKind is how a target is reached.
type TargetKind string

// The kinds.
const (
	TargetWebhook TargetKind = "webhook" // a POST that is signed as Standard Webhooks are
	TargetSlack   TargetKind = "slack"   // an incoming webhook of Slack, or of what takes the same
	TargetTeams   TargetKind = "teams"   // a workflow of Microsoft Teams that posts what a webhook receives
	TargetEmail   TargetKind = "email"   // e-mail by the server's SMTP server
	TargetJob     TargetKind = "job"     // a run of a job of the namespace, with the message as its payload
)

// TargetKinds lists the kinds.
func TargetKinds() []TargetKind {
	return []TargetKind{TargetWebhook, TargetSlack, TargetTeams, TargetEmail, TargetJob}
}

// hasURL reports whether targets of the kind are reached at a URL.
func (k TargetKind) hasURL() bool { return k == TargetWebhook || k == TargetSlack || k == TargetTeams }

// Bounds of targets.
const (
	MaxAddresses = 20
	MaxURL       = 2048 // bytes
	MinDigest    = time.Minute
	MaxDigest    = 24 * time.Hour
)

// Target is where messages go.
type Target struct {
	Namespace, Name string // Namespace may be Installation
	Kind            TargetKind
	// URL is of a webhook, Slack or Teams. A Book returns no more of it than Shown does. Given empty, it stays as it was.
	URL       string
	Addresses []string // of e-mail
	Job       string   // of the namespace
	// AllowPrivate permits loopback, private and link-local addresses, which are refused otherwise: at save and at each connection.
	AllowPrivate bool
	// Digest is for how long messages are collected, to be sent as one; 0: each is sent at once.
	Digest time.Duration

	CreatedAt, UpdatedAt time.Time
	CreatedBy, UpdatedBy string
}

// Shown returns where the target is without what is secret: the scheme and host of a URL, the addresses, or the job.
func (t *Target) Shown() string {
	switch t.Kind {
	case TargetEmail:
		return strings.Join(t.Addresses, ", ")
	case TargetJob:
		return "job " + t.Job
	default:
		return shownURL(t.URL)
	}
}

// shownURL is the scheme and host of a URL.
func shownURL(text string) string {
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok {
		return ""
	}
	host, _, _ := strings.Cut(rest, "/")
	host, _, _ = strings.Cut(host, "?")
	return scheme + "://" + host
}

// storedTarget is the data of a record. Of a target without a URL, the Value is empty.
type storedTarget struct {
	secret.Value
	Kind         TargetKind    `json:"kind"`
	Host         string        `json:"host,omitempty"` // the scheme and host of the URL
	Addresses    []string      `json:"addresses,omitempty"`
	Job          string        `json:"job,omitempty"`
	AllowPrivate bool          `json:"allow_private,omitempty"`
	Digest       time.Duration `json:"digest,omitempty"` // nanoseconds
	CreatedAt    time.Time     `json:"created_at"`
	CreatedBy    string        `json:"created_by,omitempty"`
	UpdatedAt    time.Time     `json:"updated_at"`
	UpdatedBy    string        `json:"updated_by,omitempty"`
}

// hidden is what is sealed of a target.
type hidden struct {
	URL    string `json:"url"`
	Secret string `json:"secret,omitempty"` // what messages to a webhook are signed with: "whsec_" and base64
}

func (s *storedTarget) target(namespace, name string) Target {
	return Target{
		Namespace: namespace, Name: name, Kind: s.Kind, URL: s.Host, Addresses: s.Addresses, Job: s.Job, AllowPrivate: s.AllowPrivate,
		Digest: s.Digest, CreatedAt: s.CreatedAt, CreatedBy: s.CreatedBy, UpdatedAt: s.UpdatedAt, UpdatedBy: s.UpdatedBy,
	}
}

// check returns what is wrong with a target, as an *InvalidError. keepsURL: an empty URL leaves the one that is kept.
func (t *Target) check(keepsURL bool) error {
	if err := spec.ValidName("target", t.Name); err != nil {
		return &InvalidError{"name", err.Error()}
	}
	if !slices.Contains(TargetKinds(), t.Kind) {
		return &InvalidError{"kind", fmt.Sprintf("%q is no kind of target: use webhook, slack, teams, email or job", t.Kind)}
	}
	for _, field := range []struct {
		name  string
		given bool
		fits  bool
	}{
		{"url", t.URL != "", t.Kind.hasURL()},
		{"addresses", len(t.Addresses) > 0, t.Kind == TargetEmail},
		{"job", t.Job != "", t.Kind == TargetJob},
		{"allow_private", t.AllowPrivate, t.Kind.hasURL()},
	} {
		if field.given && !field.fits {
			return &InvalidError{field.name, fmt.Sprintf("a target of kind %s has no %s: leave it out", t.Kind, field.name)}
		}
	}
	if t.Digest != 0 && (t.Digest < MinDigest || t.Digest > MaxDigest) {
		return &InvalidError{"digest", fmt.Sprintf("messages are collected for %s to %s, or 0 to send each at once", spec.Duration(MinDigest), spec.Duration(MaxDigest))}
	}
	switch t.Kind {
	case TargetEmail:
		return t.checkAddresses()
	case TargetJob:
		if t.Namespace == Installation {
			return &InvalidError{"kind", "the installation has no jobs: use a webhook or e-mail"}
		}
		if err := spec.ValidName("job", t.Job); err != nil {
			return &InvalidError{"job", err.Error()}
		}
		return nil
	default:
	}
	if t.URL == "" && keepsURL {
		return nil
	}
	if len(t.URL) > MaxURL {
		return &InvalidError{"url", fmt.Sprintf("it is longer than %d bytes", MaxURL)}
	}
	switch _, err := outgoing.CheckURL(t.URL, t.AllowPrivate); {
	case errors.Is(err, outgoing.ErrRefused):
		return &InvalidError{"url", err.Error() + ": set allow_private to allow it for this target"}
	case err != nil:
		return &InvalidError{"url", err.Error()}
	}
	return nil
}

func (t *Target) checkAddresses() error {
	if len(t.Addresses) == 0 || len(t.Addresses) > MaxAddresses {
		return &InvalidError{"addresses", fmt.Sprintf("give from 1 to %d e-mail addresses", MaxAddresses)}
	}
	for _, address := range t.Addresses {
		if parsed, err := mail.ParseAddress(address); err != nil || parsed.Address != address {
			return &InvalidError{"addresses", fmt.Sprintf("%q is no e-mail address such as ops@example.com", address)}
		}
	}
	return nil
}

// SetTarget makes or changes a target, and reports which. signingSecret is what messages to a webhook are signed with; it is
// returned when it is made, and never again. Errors: *InvalidError, and those of Vault.Seal.
func (b *Book) SetTarget(ctx context.Context, target Target, by string) (set Target, created bool, signingSecret string, err error) {
	for {
		set, created, signingSecret, err = b.setTarget(ctx, target, by)
		if !errors.Is(err, errLost) { // the last writer counts
			return set, created, signingSecret, err
		}
	}
}

func (b *Book) setTarget(ctx context.Context, target Target, by string) (_ Target, created bool, signingSecret string, err error) {
	var before storedTarget
	record, err := b.read(ctx, kindTarget, key(target.Namespace, target.Name), &before)
	switch {
	case errors.Is(err, engine.ErrNotFound):
		record, created = engine.Record{Kind: kindTarget, Key: key(target.Namespace, target.Name)}, true
	case err != nil:
		return Target{}, false, "", err
	}
	same := !created && before.Kind == target.Kind
	if err := target.check(same); err != nil {
		return Target{}, false, "", err
	}
	if same && target.URL == "" && !target.AllowPrivate && target.Kind.hasURL() {
		if _, err := outgoing.CheckURL(before.Host, false); err != nil {
			return Target{}, false, "", &InvalidError{"allow_private", "the URL that is kept needs it: " + err.Error()}
		}
	}
	next := storedTarget{
		Kind: target.Kind, Addresses: target.Addresses, Job: target.Job, AllowPrivate: target.AllowPrivate, Digest: target.Digest,
		CreatedAt: before.CreatedAt, CreatedBy: before.CreatedBy, UpdatedAt: b.moment(), UpdatedBy: by,
	}
	if created {
		next.CreatedAt, next.CreatedBy = next.UpdatedAt, by
	}
	switch {
	case same && target.URL == "": // also where there is none
		next.Value, next.Host = before.Value, before.Host
	case target.Kind.hasURL():
		sealed := hidden{URL: target.URL}
		if target.Kind == TargetWebhook {
			if sealed.Secret, err = b.secretOf(ctx, target, before, same); err != nil {
				return Target{}, false, "", err
			}
			if sealed.Secret == "" {
				sealed.Secret = newSigningSecret()
				signingSecret = sealed.Secret
			}
		}
		text, err := json.Marshal(sealed) //nolint:gosec // it is sealed before it is kept
		if err != nil {
			return Target{}, false, "", fmt.Errorf("notify: write target: %w", err)
		}
		if next.Value, err = b.vault.Seal(ctx, target.Namespace, target.Name, text); err != nil {
			return Target{}, false, "", err
		}
		next.Host = shownURL(target.URL)
	}
	record.Revision++
	if err := b.write(ctx, record, &next); err != nil {
		return Target{}, false, "", err
	}
	return next.target(target.Namespace, target.Name), created, signingSecret, nil
}

// secretOf returns the signing secret of a webhook that gets another URL, so that its receiver need not change; "" if there is none
// that this node can open.
func (b *Book) secretOf(ctx context.Context, target Target, before storedTarget, same bool) (string, error) {
	if !same {
		return "", nil
	}
	kept, err := b.unseal(ctx, target.Namespace, target.Name, &before)
	if errors.Is(err, secret.ErrNoKey) {
		return "", &InvalidError{"url", "this node has no key of secrets, and cannot keep the signing secret: delete the target and create it again"}
	}
	if err != nil { // as of a key that is lost
		return "", nil
	}
	return kept.Secret, nil
}

// newSigningSecret draws 256 bits, in the form of Standard Webhooks.
func newSigningSecret() string {
	var drawn [32]byte
	_, _ = rand.Read(drawn[:]) // it never fails
	return "whsec_" + base64.StdEncoding.EncodeToString(drawn[:])
}

// unseal returns what is sealed of a target.
func (b *Book) unseal(ctx context.Context, namespace, name string, of *storedTarget) (kept hidden, err error) {
	text, err := b.vault.Unseal(ctx, namespace, name, of.Value)
	if err != nil {
		return hidden{}, err
	}
	if err := json.Unmarshal(text, &kept); err != nil {
		return hidden{}, fmt.Errorf("notify: read target %s: %w", name, err)
	}
	return kept, nil
}

// Target returns a target; engine.ErrNotFound.
func (b *Book) Target(ctx context.Context, namespace, name string) (Target, error) {
	var kept storedTarget
	if _, err := b.read(ctx, kindTarget, key(namespace, name), &kept); err != nil {
		return Target{}, err
	}
	return kept.target(namespace, name), nil
}

// Targets lists those of a namespace by name, at most limit with names above after.
func (b *Book) Targets(ctx context.Context, namespace, after string, limit int) ([]Target, error) {
	filter := engine.RecordFilter{Kind: kindTarget, Prefix: key(namespace, ""), Limit: limit}
	if after != "" {
		filter.After = key(namespace, after)
	}
	records, err := b.records.Records(ctx, filter)
	if err != nil {
		return nil, fmt.Errorf("notify: list targets: %w", err)
	}
	targets := make([]Target, 0, len(records))
	for i := range records {
		var kept storedTarget
		if err := decode(&records[i], &kept); err != nil {
			return nil, err
		}
		targets = append(targets, kept.target(namespace, strings.TrimPrefix(records[i].Key, filter.Prefix)))
	}
	return targets, nil
}

// DeleteTarget removes a target. What waits for it is recorded as failed. Errors: engine.ErrNotFound, *InUseError where the rules of
// the namespace name it.
func (b *Book) DeleteTarget(ctx context.Context, namespace, name string) error {
	rules, err := b.Rules(ctx, namespace)
	if err != nil {
		return err
	}
	if slices.Contains(rules.To, name) {
		return &InUseError{"the rules of the namespace"}
	}
	return b.records.DeleteRecord(ctx, kindTarget, key(namespace, name), 0)
}

// Missing returns which of some names are no targets of a namespace.
func (b *Book) Missing(ctx context.Context, namespace string, names []string) (missing []string, err error) {
	for _, name := range names {
		switch _, err := b.Target(ctx, namespace, name); {
		case errors.Is(err, engine.ErrNotFound):
			missing = append(missing, name)
		case err != nil:
			return nil, err
		}
	}
	return missing, nil
}
