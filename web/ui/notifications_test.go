package ui_test

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/notify"
	"github.com/tidewheel/tidewheel/web/service"
)

func TestTargetsAreSetTestedAndDeletedOnTheirPage(t *testing.T) {
	s := newSite(t)
	const path = "/notifications"
	if page := s.see(t, path); !strings.Contains(page, "There are no targets.") {
		t.Error("the page does not offer to add the first one")
	}
	response := s.ask(t, http.MethodPost, path+"/targets/new", url.Values{"kind": {"webhook"}, "name": {"ops"}, "url": {"https://hooks.example.com/hunter2"}, "digest": {"10"}})
	if made := response.Body.String(); response.Code != http.StatusOK || !strings.Contains(made, "whsec_") {
		t.Errorf("making a webhook shows %d %.300s", response.Code, made)
	}
	refused := s.ask(t, http.MethodPost, path+"/targets/new", url.Values{"kind": {"slack"}, "name": {"x"}, "url": {"http://127.0.0.1/hunter2"}})
	if refused.Code != http.StatusUnprocessableEntity || !strings.Contains(refused.Body.String(), "loopback") {
		t.Errorf("a loopback address is answered %d", refused.Code)
	}
	if to := s.act(t, path+"/targets/ops/edit", url.Values{"kind": {"webhook"}}); to != path+"?done=target-set" {
		t.Errorf("it leads to %s", to)
	}
	s.PutBinary(t, "report")
	s.PutJob(t, `{"name":"nightly","binary":"report","alerts":{"on":["failed"],"to":["ops"]}}`)
	page := s.see(t, path)
	for _, words := range []string{"https://hooks.example.com", `href="/jobs/nightly"`, `href="/notifications/targets/ops/delete"`} {
		if !strings.Contains(page, words) {
			t.Errorf("the page does not say %q", words)
		}
	}
	if tested := s.ask(t, http.MethodPost, path+"/targets/ops/test", nil).Body.String(); !strings.Contains(tested, "ops took the test: 200 OK") {
		t.Error("the answer to a test is not shown")
	}
	s.Test = func(string) (string, error) { return "", errors.New("503 <b>") }
	if tested := s.ask(t, http.MethodPost, path+"/targets/ops/test", nil); tested.Code != http.StatusConflict || !strings.Contains(tested.Body.String(), "503 &lt;b&gt;") {
		t.Errorf("a test that failed is answered %d", tested.Code)
	}
	if job := s.see(t, "/jobs/nightly"); !strings.Contains(job, "Sends: failed to ops") || !strings.Contains(job, "Silence for") {
		t.Error("the page of the job does not say what is sent")
	}
	if form := s.see(t, "/jobs/nightly/edit"); !strings.Contains(form, `value="ops"`) {
		t.Error("the form does not offer the target")
	}
	if question := s.see(t, path+"/targets/ops/delete"); !strings.Contains(question, "1 definition names") {
		t.Error("it is not asked before a target that is named is deleted")
	}
	if to := s.act(t, path+"/targets/ops/delete", url.Values{"force": {"true"}}); to != path+"?done=target-deleted" {
		t.Errorf("it leads to %s", to)
	}
	if job := s.see(t, "/jobs/nightly"); !strings.Contains(job, "There is no notification target") {
		t.Error("the page of the job does not say that its target is gone")
	}
	if strings.Contains(page, "hunter2") || strings.Contains(page, "whsec_") {
		t.Error("the page shows what is secret")
	}
}

func TestSilencesRulesAndDeliveriesOnTheirPage(t *testing.T) {
	s := newSite(t)
	const path = "/notifications"
	s.ask(t, http.MethodPost, path+"/targets/new", url.Values{"kind": {"slack"}, "name": {"ops"}, "url": {"https://hooks.example.com/x"}})
	if to := s.act(t, path+"/rules", url.Values{"on": {"failed", "recovered"}, "lag": {"5m"}, "to": {"ops"}}); to != path+"?done=rules-set" {
		t.Errorf("it leads to %s", to)
	}
	for _, wrong := range []url.Values{{"on": {"failed"}, "lag": {"soon"}, "to": {"ops"}}, {"on": {"recovered"}, "to": {"ops"}}} {
		if refused := s.ask(t, http.MethodPost, path+"/rules", wrong); refused.Code != http.StatusUnprocessableEntity {
			t.Errorf("rules %v are answered %d", wrong, refused.Code)
		}
	}
	if to := s.act(t, path+"/silences", url.Values{"definition": {"report"}, "for": {""}, "hours": {"2"}, "back": {"/jobs/report"}}); to != "/jobs/report?done=silenced" {
		t.Errorf("it leads to %s", to)
	}
	for _, back := range []string{"//evil.example/x", "https://evil.example", "/users/x", "/jobs/../x"} {
		if got := s.ask(t, http.MethodPost, path+"/silences", url.Values{"for": {"1h"}, "back": {back}}).Code; got != http.StatusBadRequest {
			t.Errorf("to go back to %s is answered %d", back, got)
		}
	}
	notifier := notify.NewNotifier(s.Notify, func() {}, func(string) {}, s.Log)
	incident := engine.Incident{
		ID: "u-failed", Namespace: "default", UID: "u", Job: "report", Alert: "failed", Since: s.Now, Latest: s.Now, Count: 1, Reason: "exit 3", To: []string{"ops"},
	}
	if err := notifier.Notify(t.Context(), incident); err != nil {
		t.Fatal(err)
	}
	page := s.see(t, path)
	for _, words := range []string{"All alerts of report", "silenced", "exit 3", "Send again", `id="rules-on-failed" value="failed" checked`} {
		if !strings.Contains(page, words) {
			t.Errorf("the page does not say %q", words)
		}
	}
	deliveries, _, err := s.Deliveries(t.Context(), notify.DeliveryFilter{Namespace: "default", Limit: 9})
	if err != nil || len(deliveries) != 1 {
		t.Fatalf("%d deliveries, %v", len(deliveries), err)
	}
	if to := s.act(t, path+"/deliveries/"+deliveries[0].ID+"/retry", nil); to != path+"?done=redelivered" {
		t.Errorf("it leads to %s", to)
	}
	silences, err := s.Silences(t.Context(), "default")
	if err != nil || len(silences) != 1 || silences[0].Until.Sub(silences[0].From) != 2*time.Hour {
		t.Fatalf("%+v, %v", silences, err)
	}
	if to := s.act(t, path+"/silences/"+silences[0].ID+"/end", nil); to != path+"?done=silence-ended" {
		t.Errorf("it leads to %s", to)
	}
}

// Admins of all namespaces see what is wrong with the installation, and a target that cannot be sent to says why.
func TestInstallationAndUnableTargetsOnTheirPage(t *testing.T) {
	s := newSite(t, service.Config{Notifications: service.Notifications{
		Unable: func(context.Context, string, string) (string, error) { return "no key of secrets", nil },
		Installation: func(context.Context) ([]engine.Incident, error) {
			return []engine.Incident{{Namespace: notify.Installation, UID: "x1", Alert: notify.AlertExecutorSilent, Since: time.Now(), Reason: "not heard of", Count: 1}}, nil
		},
	}})
	s.ask(t, http.MethodPost, "/notifications/targets/new", url.Values{"kind": {"slack"}, "name": {"ops"}, "url": {"https://hooks.example.com/x"}})
	page := s.ask(t, http.MethodGet, "/notifications", nil).Body.String()
	for _, want := range []string{"Executor x1", "not heard of", "This server cannot send to it: no key of secrets"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}

// The installation has targets, rules and silences of its own, on a page of its own; those of namespaces are not on it.
func TestNotificationsOfTheInstallationHaveAPage(t *testing.T) {
	s := newSite(t, service.Config{Notifications: service.Notifications{
		Installation: func(context.Context) ([]engine.Incident, error) {
			return []engine.Incident{{Namespace: notify.Installation, UID: "x1", Alert: notify.AlertExecutorSilent, Since: time.Now(), Reason: "not heard of", Count: 1}}, nil
		},
	}})
	const path = "/notifications/installation"
	s.ask(t, http.MethodPost, "/notifications/targets/new", url.Values{"kind": {"slack"}, "name": {"team"}, "url": {"https://hooks.example.com/x"}})
	if page := s.see(t, "/notifications"); !strings.Contains(page, `href="`+path+`"`) {
		t.Error("the page of a namespace does not lead there")
	}
	page := s.see(t, path)
	for _, want := range []string{"<h1>Notifications of the installation</h1>", "Executor x1", "There are no targets.", "Rules of the installation", `<a href="/notifications">Notifications</a>`, "tidewheel notify -n &#39;*&#39; target set"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if form := s.see(t, path+"/targets/new"); strings.Contains(form, "kind=job") || !strings.Contains(form, `action="`+path+`/targets/new"`) {
		t.Error("the form offers a job, or leads elsewhere")
	}
	if to := s.act(t, path+"/targets/new", url.Values{"kind": {"slack"}, "name": {"ops"}, "url": {"https://hooks.example.com/y"}}); to != path+"?done=target-set" {
		t.Errorf("a target leads to %s", to)
	}
	if to := s.act(t, path+"/rules", url.Values{"on": {"executor_silent", "recovered"}, "to": {"ops"}}); to != path+"?done=rules-set" {
		t.Errorf("rules lead to %s", to)
	}
	if rules, err := s.NotificationRules(t.Context(), notify.Installation); err != nil || service.AlertWords(&rules) != "executor_silent, recovered to ops" {
		t.Errorf("rules %+v, %v", rules, err)
	}
	if refused := s.ask(t, http.MethodPost, path+"/rules", url.Values{"on": {"failed"}, "to": {"ops"}}); refused.Code != http.StatusUnprocessableEntity {
		t.Errorf("a rule about jobs is answered %d", refused.Code)
	}
	if to := s.act(t, path+"/silences", url.Values{"for": {"1h"}, "alert": {"executor_silent"}}); to != path+"?done=silence-added" && to != path+"?done=silenced" {
		t.Errorf("a silence leads to %s", to)
	}
	page = s.see(t, path)
	for _, want := range []string{`value="executor_silent" checked`, `href="` + path + `/targets/ops/edit"`, `action="` + path + `/targets/ops/test"`, path + "/silences/"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	for _, not := range []string{"team", `name="lag"`, `name="definition"`, `value="failed"> `} {
		if strings.Contains(page, not) {
			t.Errorf("the page says %q", not)
		}
	}
	if question := s.see(t, path+"/targets/ops/delete"); !strings.Contains(question, "rules of the installation") {
		t.Error("the question does not name the rules")
	}
	if targets, _, err := s.Targets(t.Context(), "default", "", 10); err != nil || len(targets) != 1 {
		t.Errorf("the namespace has %d targets, %v", len(targets), err)
	}
}
