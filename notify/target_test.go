package notify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/secret"
	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/store/memory"
)

// aVault is a vault with a key of its own.
func aVault(t *testing.T, records engine.Records, key *secret.Key) *secret.Vault {
	t.Helper()
	ring, err := secret.NewRing(t.Context(), func(context.Context) ([]byte, error) { return key.Text(), nil })
	if err != nil {
		t.Fatal(err)
	}
	vault := secret.NewVault(records, ring, time.Now)
	if state, err := vault.Establish(t.Context()); err != nil || state != secret.KeyFits {
		t.Fatalf("the key %s, %v", state, err)
	}
	return vault
}

func aKey(t *testing.T) *secret.Key {
	t.Helper()
	key, err := secret.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func aBook(t *testing.T) (*Book, *memory.Store) {
	t.Helper()
	store := memory.New()
	return NewBook(store, aVault(t, store, aKey(t)), time.Now), store
}

func mustSet(t *testing.T, b *Book, target Target) (signingSecret string) {
	t.Helper()
	_, _, signingSecret, err := b.SetTarget(t.Context(), target, "ada")
	if err != nil {
		t.Fatal(err)
	}
	return signingSecret
}

// The path of a webhook's URL is what authorizes: it is nowhere in the store, and no reader is shown it.
func TestURLsAndSigningSecretsAreSealed(t *testing.T) {
	b, store := aBook(t)
	hook := Target{Namespace: "default", Name: "ops", Kind: TargetWebhook, URL: "https://hooks.example.com/T000/Xsecret?key=Ysecret"}
	set, created, signing, err := b.SetTarget(t.Context(), hook, "ada")
	if err != nil || !created || len(signing) < 40 || set.URL != "https://hooks.example.com" {
		t.Fatalf("made %v %q: %+v, %v", created, signing, set, err)
	}
	read, err := b.Target(t.Context(), "default", "ops")
	if err != nil || read.URL != "https://hooks.example.com" || read.Shown() != read.URL || read.CreatedBy != "ada" {
		t.Fatalf("read %+v, %v", read, err)
	}
	record, err := store.Record(t.Context(), kindTarget, "default/ops")
	if err != nil {
		t.Fatal(err)
	}
	for _, hidden := range []string{"secret", "T000", signing[6:20]} {
		if bytes.Contains(record.Data, []byte(hidden)) {
			t.Errorf("%q stands in the store: %s", hidden, record.Data)
		}
	}
	// What is left out stays: the URL, and the secret that the receiver checks with.
	hook.URL, hook.Digest = "", time.Hour
	if again := mustSet(t, b, hook); again != "" {
		t.Errorf("a change made another signing secret: %q", again)
	}
	hook.URL = "https://other.example.com/in"
	if again := mustSet(t, b, hook); again != "" {
		t.Errorf("another URL made another signing secret: %q", again)
	}
	var now storedTarget
	if _, err := b.read(t.Context(), kindTarget, "default/ops", &now); err != nil {
		t.Fatal(err)
	}
	kept, err := b.unseal(t.Context(), "default", "ops", &now)
	if err != nil || kept.URL != hook.URL || kept.Secret != signing {
		t.Errorf("kept %+v, %v", kept, err)
	}
	if _, err := b.unseal(t.Context(), "default", "other", &now); !errors.Is(err, secret.ErrDamaged) {
		t.Errorf("in the place of another target it opens: %v", err)
	}
}

func TestInvalidTargetIsRefused(t *testing.T) {
	b, _ := aBook(t)
	for i, c := range []struct {
		field  string
		target Target
	}{
		{"name", Target{Name: "a b", Kind: TargetWebhook, URL: "https://example.com/"}},
		{"kind", Target{Name: "a", Kind: "pager", URL: "https://example.com/"}},
		{"url", Target{Name: "a", Kind: TargetWebhook}},
		{"url", Target{Name: "a", Kind: TargetSlack, URL: "ftp://example.com"}},
		{"url", Target{Name: "a", Kind: TargetSlack, URL: "https://ada:pw@example.com"}},
		{"url", Target{Name: "a", Kind: TargetTeams, URL: "http://127.0.0.1/x"}},
		{"url", Target{Name: "a", Kind: TargetTeams, URL: "http://[::ffff:169.254.169.254]/latest"}},
		{"url", Target{Name: "a", Kind: TargetEmail, URL: "https://example.com", Addresses: []string{"a@example.com"}}},
		{"allow_private", Target{Name: "a", Kind: TargetEmail, AllowPrivate: true, Addresses: []string{"a@example.com"}}},
		{"addresses", Target{Name: "a", Kind: TargetEmail}},
		{"addresses", Target{Name: "a", Kind: TargetEmail, Addresses: []string{"Ada <a@example.com>"}}},
		{"addresses", Target{Name: "a", Kind: TargetEmail, Addresses: []string{"a@example.com\r\nBcc: b@example.com"}}},
		{"job", Target{Name: "a", Kind: TargetJob, Job: ""}},
		{"digest", Target{Name: "a", Kind: TargetJob, Job: "j", Digest: time.Second}},
		{"kind", Target{Namespace: Installation, Name: "a", Kind: TargetJob, Job: "j"}},
	} {
		if c.target.Namespace == "" {
			c.target.Namespace = "default"
		}
		var invalid *InvalidError
		if _, _, _, err := b.SetTarget(t.Context(), c.target, "ada"); !errors.As(err, &invalid) || invalid.Field != c.field {
			t.Errorf("%d: %+v: %v, want %s", i, c.target, err, c.field)
		}
	}
	mustSet(t, b, Target{Namespace: "default", Name: "local", Kind: TargetWebhook, URL: "http://127.0.0.1/x", AllowPrivate: true})
	var invalid *InvalidError
	_, _, _, err := b.SetTarget(t.Context(), Target{Namespace: "default", Name: "local", Kind: TargetWebhook}, "ada")
	if !errors.As(err, &invalid) || invalid.Field != "allow_private" {
		t.Errorf("a private URL that is kept without leave: %v", err)
	}
}

func TestTargetsAreListedByName(t *testing.T) {
	b, _ := aBook(t)
	for _, name := range []string{"c", "a", "b"} {
		mustSet(t, b, Target{Namespace: "default", Name: name, Kind: TargetEmail, Addresses: []string{"ops@example.com"}})
	}
	mustSet(t, b, Target{Namespace: "default2", Name: "d", Kind: TargetJob, Job: "page"})
	got := ""
	for after := ""; ; {
		some, err := b.Targets(t.Context(), "default", after, 2)
		if err != nil {
			t.Fatal(err)
		}
		for i := range some {
			got += fmt.Sprint(some[i].Name, " ", some[i].Shown(), "; ")
		}
		if len(some) < 2 {
			break
		}
		after = some[1].Name
	}
	if want := "a ops@example.com; b ops@example.com; c ops@example.com; "; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A key that rotates takes the URLs of targets along, and a key that is new cannot take the place of one that they need.
func TestTargetsFollowTheKeyOfSecrets(t *testing.T) {
	store := memory.New()
	key := aKey(t)
	ring, err := secret.NewRing(t.Context(), func(context.Context) ([]byte, error) { return key.Text(), nil })
	if err != nil {
		t.Fatal(err)
	}
	vault := secret.NewVault(store, ring, time.Now)
	if _, err := vault.Establish(t.Context()); err != nil {
		t.Fatal(err)
	}
	b := NewBook(store, vault, time.Now)
	mustSet(t, b, Target{Namespace: "default", Name: "mail", Kind: TargetEmail, Addresses: []string{"ops@example.com"}})
	if kept, err := vault.Kept(t.Context()); err != nil || kept {
		t.Fatalf("e-mail addresses count as sealed: %v, %v", kept, err)
	}
	mustSet(t, b, Target{Namespace: "default", Name: "ops", Kind: TargetSlack, URL: "https://hooks.example.com/x", Digest: time.Hour})
	if kept, err := vault.Kept(t.Context()); err != nil || !kept {
		t.Fatalf("a URL does not count as sealed: %v, %v", kept, err)
	}
	fresh := aKey(t)
	key = key.Rotated(fresh, func(string) bool { return true })
	if state, resealed, foreign, err := vault.Tend(t.Context()); err != nil || state != secret.KeyFits || resealed != 1 || foreign != 0 {
		t.Fatalf("tended: %s, %d, %d, %v", state, resealed, foreign, err)
	}
	key = fresh // the previous one is gone
	if err := ring.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	var now storedTarget
	if _, err := b.read(t.Context(), kindTarget, "default/ops", &now); err != nil {
		t.Fatal(err)
	}
	if kept, err := b.unseal(t.Context(), "default", "ops", &now); err != nil || kept.URL != "https://hooks.example.com/x" {
		t.Errorf("after the rotation: %+v, %v", kept, err)
	}
	if now.Digest != time.Hour || now.Host != "https://hooks.example.com" {
		t.Errorf("the rotation changed something else: %+v", now)
	}
}

func TestRulesNameWhatIsThere(t *testing.T) {
	b, _ := aBook(t)
	mustSet(t, b, Target{Namespace: "default", Name: "ops", Kind: TargetEmail, Addresses: []string{"ops@example.com"}})
	for field, rules := range map[string]spec.Alerts{
		"to":         {On: []spec.Alert{spec.AlertFailed}},
		"on":         {On: []spec.Alert{spec.AlertLate}, To: []string{"ops"}},
		"silent_for": {SilentFor: spec.Duration(time.Hour), To: []string{"ops"}},
		"lag":        {Lag: -1, To: []string{"ops"}},
	} {
		var invalid *InvalidError
		if err := b.SetRules(t.Context(), "default", rules, "ada"); !errors.As(err, &invalid) || invalid.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
	var invalid *InvalidError
	if err := b.SetRules(t.Context(), "default", spec.Alerts{To: []string{"ops", "none"}}, "ada"); !errors.As(err, &invalid) || invalid.Field != "to" {
		t.Errorf("a target that is not there: %v", err)
	}
	want := spec.Alerts{On: []spec.Alert{spec.AlertFailed, spec.AlertRecovered}, To: []string{"ops"}}
	if err := b.SetRules(t.Context(), "default", want, "ada"); err != nil {
		t.Fatal(err)
	}
	if all, err := b.AllRules(t.Context()); err != nil || len(all) != 1 || fmt.Sprint(all["default"]) != fmt.Sprint(want) {
		t.Errorf("all rules: %v, %v", all, err)
	}
	var used *InUseError
	if err := b.DeleteTarget(t.Context(), "default", "ops"); !errors.As(err, &used) {
		t.Errorf("deleting a target that rules name: %v", err)
	}
	if err := b.SetRules(t.Context(), "default", spec.Alerts{}, "ada"); err != nil {
		t.Fatal(err)
	}
	if err := b.DeleteTarget(t.Context(), "default", "ops"); err != nil {
		t.Error(err)
	}
}

func TestSilenceCoversWhatItNames(t *testing.T) {
	b, _ := aBook(t)
	hour := time.Now().Add(time.Hour)
	for field, silence := range map[string]Silence{
		"definition": {Definition: "[", Until: hour},
		"alert":      {Alert: spec.AlertRecovered, Until: hour},
		"until":      {Until: time.Now()},
	} {
		silence.Namespace = "default"
		var invalid *InvalidError
		if _, err := b.AddSilence(t.Context(), silence); !errors.As(err, &invalid) || invalid.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
	added, err := b.AddSilence(t.Context(), Silence{Namespace: "default", Definition: "report-*", Alert: spec.AlertFailed, Until: hour, By: "ada"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		incident engine.Incident
		at       time.Time
		want     bool
	}{
		{engine.Incident{Job: "report-a", Alert: spec.AlertFailed}, added.From, true},
		{engine.Incident{DAG: "report-a", Alert: spec.AlertFailed}, added.From, true},
		{engine.Incident{Job: "report-a", Alert: spec.AlertMissed}, added.From, false},
		{engine.Incident{Job: "other", Alert: spec.AlertFailed}, added.From, false},
		{engine.Incident{Job: "report-a", Alert: spec.AlertFailed}, added.Until, false},
		{engine.Incident{Job: "report-a", Alert: spec.AlertFailed}, added.From.Add(-1), false},
	} {
		if got := added.Covers(&c.incident, c.at); got != c.want {
			t.Errorf("%+v at %s: %v", c.incident, c.at, got)
		}
	}
	list, err := b.Silences(t.Context(), "default")
	if err != nil || len(list) != 1 || list[0] != added {
		t.Errorf("listed %+v, want %+v: %v", list, added, err)
	}
	if err := b.DeleteSilence(t.Context(), "default", added.ID); err != nil {
		t.Error(err)
	}
}
