package ui_test

import (
	"net/url"
	"strings"
	"testing"
)

func TestSecretIsSetAndDeletedOnItsPage(t *testing.T) {
	s := newSite(t)
	const value = "correct-horse-battery"
	if page := s.see(t, "/settings/secrets"); !strings.Contains(page, "There are no secrets.") || !strings.Contains(page, `type="password"`) {
		t.Error("the page does not offer to set the first one")
	}
	if to := s.act(t, "/settings/secrets", url.Values{"name": {"db"}, "value": {value}}); to != "/settings/secrets?done=secret-set" {
		t.Fatalf("it leads to %s", to)
	}
	s.PutBinary(t, "report")
	s.PutJob(t, `{"name":"nightly","binary":"report","secrets":{"P":"db"}}`)
	page := s.see(t, "/settings/secrets?name=db")
	for _, words := range []string{"<code>db</code>", `href="/jobs/nightly"`, `name="name" value="db"`, `href="/settings/secrets/db/delete"`} {
		if !strings.Contains(page, words) {
			t.Errorf("the page does not say %q", words)
		}
	}
	question := s.see(t, "/settings/secrets/db/delete")
	if !strings.Contains(question, "1 definition refers") || !strings.Contains(question, `name="force" value="true"`) {
		t.Error("it is not asked before a secret in use is deleted")
	}
	for _, seen := range []string{page, question, s.see(t, "/jobs/nightly"), s.see(t, "/jobs/nightly/edit")} {
		if strings.Contains(seen, value) {
			t.Error("a page shows the value")
		}
	}
	if to := s.act(t, "/settings/secrets/db/delete", url.Values{"force": {"true"}}); to != "/settings/secrets?done=secret-deleted" {
		t.Errorf("it leads to %s", to)
	}
	if !strings.Contains(s.see(t, "/settings/secrets"), "There are no secrets.") {
		t.Error("it is still listed")
	}
}
