package api_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/notify"
	"github.com/tidewheel/tidewheel/web/service"
)

const notifyTargets = "/api/v1/notify/targets"

func TestNotificationTargetsAreSetListedTestedAndDeleted(t *testing.T) {
	s := newSite(t)
	s.PutBinary(t, "report")
	const secretPart = "/services/T0/hunter2"
	made := into[wire.NotifyTarget](s.ask("PUT", notifyTargets+"/ops", `{"kind":"webhook","url":"https://hooks.example.com`+secretPart+`"}`).is(http.StatusCreated))
	if made.Name != "ops" || made.Kind != "webhook" || made.URL != "https://hooks.example.com" || !strings.HasPrefix(made.SigningSecret, "whsec_") {
		t.Errorf("made %+v", made)
	}
	changed := s.ask("PUT", notifyTargets+"/ops", `{"kind":"webhook","digest":"10m"}`).is(http.StatusOK)
	if got := into[wire.NotifyTarget](changed); got.URL != made.URL || got.Digest.String() != "10m" || got.SigningSecret != "" {
		t.Errorf("changed to %+v", got)
	}
	s.ask("PUT", notifyTargets+"/ops?namespace=finance", `{"kind":"slack","url":"https://slack.example.com/x"}`).is(http.StatusCreated)
	list := s.ask("GET", notifyTargets, "").is(http.StatusOK)
	if got := into[wire.List[wire.NotifyTarget]](list); len(got.Items) != 1 || got.Items[0].Name != "ops" {
		t.Errorf("listed %+v", got)
	}
	for _, body := range [][]byte{changed.body, list.body, s.ask("GET", notifyTargets+"/ops", "").is(http.StatusOK).body} {
		if strings.Contains(string(body), "hunter2") || strings.Contains(string(body), "whsec_") {
			t.Errorf("answered %s", body)
		}
	}

	if got := into[wire.NotifyTested](s.ask("POST", notifyTargets+"/ops/test", "").is(http.StatusOK)); got.Target != "ops" || got.Answer != "200 OK" {
		t.Errorf("the test was answered %+v", got)
	}
	s.Test = func(string) (string, error) { return "", errors.New("503 Service Unavailable") }
	s.ask("POST", notifyTargets+"/ops/test", "").problem(http.StatusConflict, "test_failed", "503 Service Unavailable")
	s.ask("POST", notifyTargets+"/none/test", "").problem(http.StatusNotFound, "notification_target_not_found")

	s.ask("POST", "/api/v1/jobs", `{"name":"a","binary":"report","alerts":{"on":["failed"],"to":["ops"]}}`).is(http.StatusCreated)
	s.ask("DELETE", notifyTargets+"/ops", "").problem(http.StatusConflict, "target_in_use", "a (1 in all)")
	s.ask("PUT", "/api/v1/notify/rules", `{"on":["failed"],"to":["ops"]}`).is(http.StatusOK)
	s.ask("DELETE", notifyTargets+"/ops?force=true", "").problem(http.StatusConflict, "target_in_use", "rules")
	s.ask("PUT", "/api/v1/notify/rules", `{}`).is(http.StatusOK)
	s.ask("DELETE", notifyTargets+"/ops?force=true", "").is(http.StatusNoContent)
	s.ask("DELETE", notifyTargets+"/ops", "").problem(http.StatusNotFound, "notification_target_not_found")
}

// What is refused of a target says in which field it is wrong, and does not give its URL back.
func TestInvalidNotificationTargetsAreRefused(t *testing.T) {
	s := newSite(t)
	for body, want := range map[string][2]string{
		`{"kind":"webhook","url":"http://127.0.0.1/hunter2"}`: {"invalid_notification_target", "body.url"},
		`{"kind":"webhook"}`: {"invalid_notification_target", "body.url"},
		`{"kind":"slack","url":"https://a.example/hunter2","addresses":["a@b.c"]}`: {"invalid_notification_target", "body.addresses"},
		`{"kind":"email","addresses":["ada@example.com"]}`:                         {"no_smtp", "body.kind"},
		`{"kind":"job","job":"missing"}`:                                           {"job_not_found", "body.job"},
		`{"kind":"webhook","url":"https://a.example/hunter2","digest":"1s"}`:       {"invalid_notification_target", "body.digest"},
	} {
		answer := s.ask("PUT", notifyTargets+"/ops", body)
		refused := answer.problem(http.StatusUnprocessableEntity, want[0])
		at(t, refused, want[1])
		if strings.Contains(string(answer.body), "hunter2") {
			t.Errorf("answered %s", answer.body)
		}
	}
	mail := newSite(t, service.Config{Notifications: service.Notifications{Mail: true}})
	mail.ask("PUT", notifyTargets+"/lead", `{"kind":"email","addresses":["ada@example.com"]}`).is(http.StatusCreated)
}

// The server refuses to save alerts that would reach no target.
func TestAlertsThatCannotBeDeliveredAreRefused(t *testing.T) {
	s := newSite(t)
	s.PutBinary(t, "report")
	job := func(alerts string) *answer {
		return s.ask("PUT", "/api/v1/jobs/a", `{"binary":"report","alerts":`+alerts+`}`)
	}
	refused := job(`{"on":["failed"],"to":["ops"]}`).problem(http.StatusUnprocessableEntity, "target_not_found", "tidewheel notify target set ops")
	at(t, refused, "body.alerts.to[0]")
	at(t, job(`{"on":["failed"]}`).problem(http.StatusUnprocessableEntity, "alerts_undelivered", "alerts.to"), "body.alerts")
	job(`{"on":["fialed"]}`).problem(http.StatusUnprocessableEntity, "invalid_definition", "did you mean failed?")
	if got := job(`{"lag":"20s"}`).status; got != http.StatusCreated {
		t.Errorf("lag alone is answered %d", got)
	}
	s.ask("PUT", notifyTargets+"/ops", `{"kind":"slack","url":"https://slack.example.com/x"}`).is(http.StatusCreated)
	at(t, job(`{"to":["ops"]}`).problem(http.StatusUnprocessableEntity, "alerts_of_nothing"), "body.alerts.to")
	job(`{"on":["failed"],"to":["ops"]}`).is(http.StatusOK)
	at(t, s.ask("PUT", "/api/v1/dags/d", `{"tasks":{"t":{"binary":"report","alerts":{"on":["failed"],"to":["ops","none"]}}}}`).
		problem(http.StatusUnprocessableEntity, "target_not_found", "task t"), "body.tasks.t.alerts.to[1]")

	s.ask("PUT", "/api/v1/notify/rules", `{"on":["dead"],"to":["none"]}`).problem(http.StatusUnprocessableEntity, "invalid_rules", "none")
	at(t, s.ask("PUT", "/api/v1/notify/rules", `{"on":["recovered"],"to":["ops"]}`).problem(http.StatusUnprocessableEntity, "invalid_rules"), "body.on")
	s.ask("PUT", "/api/v1/notify/rules", `{"on":["dead","recovered"],"lag":"5m","to":["ops"]}`).is(http.StatusOK)
	if got := into[wire.NotifyRules](s.ask("GET", "/api/v1/notify/rules", "").is(http.StatusOK)); len(got.On) != 2 || got.To[0] != "ops" || got.Lag.String() != "5m" {
		t.Errorf("the rules are %+v", got)
	}
	job(`{"on":["failed"]}`).is(http.StatusOK) // the rules name the target
	job(`{"to":["ops"]}`).is(http.StatusOK)    // the rules say of what
}

func TestSilencesAreMadeOnceListedAndEnded(t *testing.T) {
	s := newSite(t)
	const path, body = "/api/v1/notify/silences", `{"definition":"report-*","for":"2h","reason":"the database moves"}`
	made := into[wire.NotifySilence](s.ask("POST", path, body, "Idempotency-Key", "k").is(http.StatusCreated))
	if made.Definition != "report-*" || made.Until.Sub(made.From) != 2*time.Hour || made.By == "" || made.Reason == "" {
		t.Errorf("made %+v", made)
	}
	if again := into[wire.NotifySilence](s.ask("POST", path, body, "Idempotency-Key", "k").is(http.StatusOK)); *again != *made {
		t.Errorf("sent again it made %+v", again)
	}
	s.ask("POST", path, `{"for":"1h"}`, "Idempotency-Key", "k").problem(http.StatusUnprocessableEntity, "key_reused")
	for _, wrong := range []string{`{}`, `{"for":"1h","until":"2026-12-01T00:00:00Z"}`, `{"for":"3000h"}`, `{"for":"1h","alert":"fialed"}`, `{"for":"1h","definition":"["}`} {
		s.ask("POST", path, wrong).problem(http.StatusUnprocessableEntity, "invalid_silence")
	}
	if got := into[wire.List[wire.NotifySilence]](s.ask("GET", path, "").is(http.StatusOK)); len(got.Items) != 1 || got.Items[0] != *made {
		t.Errorf("listed %+v", got)
	}
	s.ask("DELETE", path+"/"+made.ID, "").is(http.StatusNoContent)
	s.ask("DELETE", path+"/"+made.ID, "").problem(http.StatusNotFound, "silence_not_found")
}

func TestDeliveriesAndIncidentsAreListedAndSentAgain(t *testing.T) {
	s := newSite(t)
	s.ask("PUT", notifyTargets+"/ops", `{"kind":"slack","url":"https://slack.example.com/x"}`).is(http.StatusCreated)
	notifier := notify.NewNotifier(s.Notify, func() {}, func(string) {}, s.Log)
	incident := func(n int, to ...string) engine.Incident {
		since := s.Now.Add(time.Duration(n) * time.Minute)
		return engine.Incident{
			ID: "u" + string(rune('a'+n)) + "-failed", Namespace: "default", UID: "u", Job: "report", Alert: "failed", Since: since, Latest: since, Count: 3,
			Run: "u-s1", Reason: "exit status 1", To: to,
		}
	}
	for n, target := range []string{"ops", "none", "ops"} {
		if err := notifier.Notify(t.Context(), incident(n, target)); err != nil {
			t.Fatal(err)
		}
	}
	const path = "/api/v1/notify/deliveries"
	all := into[wire.List[wire.NotifyDelivery]](s.ask("GET", path, "").is(http.StatusOK))
	if len(all.Items) != 3 || all.Items[0].Incident.Count != 3 || all.Items[1].Target != "none" || all.Items[1].State != "failed" || all.Items[1].Reason == "" {
		t.Fatalf("listed %+v", all.Items)
	}
	if !all.Items[0].Incident.Since.After(all.Items[2].Incident.Since) {
		t.Error("the newest is not the first")
	}
	first := into[wire.List[wire.NotifyDelivery]](s.ask("GET", path+"?limit=2", "").is(http.StatusOK))
	second := into[wire.List[wire.NotifyDelivery]](s.ask("GET", path+"?limit=2&cursor="+first.Next, "").is(http.StatusOK))
	if len(first.Items) != 2 || len(second.Items) != 1 || second.Items[0].ID != all.Items[2].ID {
		t.Errorf("pages of %d and %d", len(first.Items), len(second.Items))
	}
	if got := into[wire.List[wire.NotifyDelivery]](s.ask("GET", path+"?target=ops&state=waiting", "").is(http.StatusOK)); len(got.Items) != 2 {
		t.Errorf("filtered %+v", got)
	}
	if got := into[wire.List[wire.NotifyDelivery]](s.ask("GET", path+"?namespace=finance", "").is(http.StatusOK)); len(got.Items) != 0 {
		t.Errorf("another namespace has %+v", got)
	}
	failed := all.Items[1].ID
	if got := into[wire.NotifyDelivery](s.ask("POST", path+"/"+failed+"/retry", "").is(http.StatusAccepted)); got.State != "waiting" {
		t.Errorf("it is %+v", got)
	}
	s.ask("POST", path+"/none/retry", "").problem(http.StatusNotFound, "notification_not_found")

	owner := s.Store.Store
	term, err := owner.Take(t.Context(), 1, "e")
	if err != nil {
		t.Fatal(err)
	}
	open := incident(1, "ops")
	open.Shard, open.Revision = 1, 1
	if errs := owner.Commit(t.Context(), []engine.ShardCommit{{Shard: 1, Term: term.Number, Position: term.Position + 1, Batch: &engine.Batch{Incidents: []engine.Incident{open}}}}); errs[0] != nil {
		t.Fatal(errs[0])
	}
	if got := into[wire.List[wire.NotifyIncident]](s.ask("GET", "/api/v1/notify/incidents", "").is(http.StatusOK)); len(got.Items) != 1 ||
		got.Items[0].Job != "report" || got.Items[0].Reason != "exit status 1" {
		t.Errorf("open are %+v", got)
	}
}

// What is wrong with the installation as a whole is listed under the namespace *, in pages.
func TestIncidentsOfTheInstallationAreListed(t *testing.T) {
	var open []engine.Incident
	s := newSite(t, service.Config{Notifications: service.Notifications{
		Installation: func(context.Context) ([]engine.Incident, error) { return slices.Clone(open), nil },
	}})
	for n := range 5 {
		open = append(open, engine.Incident{
			ID: "x" + string(rune('a'+n)) + "-executor_silent", Namespace: notify.Installation, UID: "x" + string(rune('a'+n)), Alert: notify.AlertExecutorSilent,
			Since: s.Now.Add(time.Duration(n/2) * time.Minute), Count: 1, Reason: "not heard of",
		})
	}
	var subjects []string
	for cursor := ""; ; {
		list := into[wire.List[wire.NotifyIncident]](s.ask("GET", "/api/v1/notify/incidents?namespace=*&limit=2&cursor="+cursor, "").is(http.StatusOK))
		for _, one := range list.Items {
			subjects = append(subjects, one.Subject)
		}
		if cursor = list.Next; cursor == "" {
			break
		}
	}
	if got := strings.Join(subjects, " "); got != "xe xd xc xb xa" {
		t.Errorf("listed %s", got)
	}
	if got := into[wire.List[wire.NotifyIncident]](s.ask("GET", "/api/v1/notify/incidents", "").is(http.StatusOK)); len(got.Items) > 0 {
		t.Errorf("a namespace has %+v", got)
	}
}

// A target that this server cannot send to, though another may, says why: where it is listed, where it is saved and where a definition
// that names it is saved.
func TestTargetThatThisServerCannotSendToSaysWhy(t *testing.T) {
	const why = "its URL cannot be opened here"
	s := newSite(t, service.Config{Notifications: service.Notifications{
		Unable: func(_ context.Context, _, target string) (string, error) {
			if target == "ops" {
				return why, nil
			}
			return "", nil
		},
	}})
	s.PutBinary(t, "report")
	if set := into[wire.NotifyTarget](s.ask("PUT", notifyTargets+"/ops", `{"kind":"slack","url":"https://slack.example.com/x"}`).is(http.StatusCreated)); set.Problem != why {
		t.Errorf("set with %+v", set)
	}
	s.ask("PUT", notifyTargets+"/dev", `{"kind":"slack","url":"https://slack.example.com/x"}`).is(http.StatusCreated)
	list := into[wire.List[wire.NotifyTarget]](s.ask("GET", notifyTargets, "").is(http.StatusOK))
	if len(list.Items) != 2 || list.Items[0].Problem != "" || list.Items[1].Problem != why {
		t.Errorf("listed %+v", list.Items)
	}
	const document = `{"kind":"Job","name":"a","binary":"report","alerts":{"on":["failed"],"to":["ops","dev"]}}`
	for _, path := range []string{"/api/v1/validate", "/api/v1/apply"} {
		if answer := s.ask("POST", path, document); strings.Count(string(answer.body), why) != 1 || !strings.Contains(string(answer.body), "warnings") {
			t.Errorf("%s: %s", path, answer.body)
		}
	}
	job, err := s.Service.Jobs.Get(t.Context(), "default", "a")
	if err != nil {
		t.Fatal(err)
	}
	if found, err := s.Service.Hindrances(t.Context(), &job); err != nil || !slices.ContainsFunc(found, func(h service.Hindrance) bool { return h.Code == "target_unable" }) {
		t.Errorf("its page says %+v, %v", found, err)
	}
}
