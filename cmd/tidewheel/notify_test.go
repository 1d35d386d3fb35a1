package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/client/wire"
)

func TestNotificationsByCommandLine(t *testing.T) {
	got := make(chan string, 10)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got <- r.Header.Get("Webhook-Signature") }))
	defer receiver.Close()
	s := startServer(t, serverConfigFor(t))
	s.refused(exitRefused, "there is no notification target", "notify", "target", "set", "ops")
	s.refused(exitRefused, "loopback", "notify", "target", "set", "ops", "--webhook", receiver.URL)
	if out := s.mustWith(receiver.URL+"\n", "notify", "target", "set", "ops", "--webhook", "-", "--allow-private"); !strings.Contains(out, "whsec_") {
		t.Errorf("said %q", out)
	}
	s.must("notify", "target", "set", "ops", "--digest", "10m")
	if out := s.must("notify", "target", "ls"); !strings.Contains(out, "10m") || !strings.Contains(out, receiver.URL) {
		t.Errorf("listed %q", out)
	}
	s.must("notify", "target", "set", "ops", "--digest", "0s")
	if out := s.must("notify", "target", "test", "ops"); !strings.Contains(out, "ops took the test: 200 OK") || !strings.HasPrefix(<-got, "v1,") {
		t.Errorf("said %q", out)
	}
	if out := s.must("notify", "rules", "set", "--on", "failed,recovered", "--lag", "5m", "--to", "ops"); !strings.Contains(out, "failed, recovered") {
		t.Errorf("said %q", out)
	}
	s.refused(exitRefused, "rules", "notify", "target", "rm", "ops", "--force")
	s.refused(exitRefused, "--for", "notify", "silence", "add")
	made := decode[wire.NotifySilence](t, s.must("notify", "silence", "add", "report-*", "--for", "2h", "-o", "json"))
	if out := s.must("notify", "silence", "ls"); !strings.Contains(out, made.ID) || !strings.Contains(out, "report-*") {
		t.Errorf("listed %q", out)
	}
	s.must("notify", "silence", "rm", made.ID)

	s.push("breaker", "exit 3")
	s.apply("kind: Job\nname: nightly\nbinary: breaker@stable\nalerts: {on: [failed], to: [ops]}\n")
	s.run("run", "nightly", "--wait")
	if signature := <-got; !strings.HasPrefix(signature, "v1,") {
		t.Errorf("signed %q", signature)
	}
	if out := s.must("notify", "ls", "--target", "ops"); !strings.Contains(out, "nightly failed") {
		t.Errorf("listed %q", out)
	}
	if out := s.must("notify", "incidents"); !strings.Contains(out, "nightly failed") {
		t.Errorf("listed %q", out)
	}
	s.refused(exitRefused, "there is no notification", "notify", "retry", "none")
	s.must("notify", "-n", "*", "target", "set", "ops", "--slack", "https://hooks.example.com/x")
	if out := s.must("notify", "-n", "*", "silence", "add", "--for", "1h"); !strings.Contains(out, "`tidewheel notify -n '*' silence rm ") {
		t.Errorf("said %q", out)
	}
	if out := s.must("notify", "-n", "*", "rules", "set", "--on", "executor_silent", "--to", "ops"); !strings.Contains(out, "executor_silent") {
		t.Errorf("said %q", out)
	}
}

// A job as a target: its program reads the message, and the answer is the run. It is not run to report on itself.
func TestJobIsANotificationTarget(t *testing.T) {
	s := startServer(t, serverConfigFor(t))
	s.push("breaker", "exit 3")
	s.push("reader", "cat\n")
	s.refused(exitRefused, "there is no job", "notify", "target", "set", "robot", "--job", "reporter")
	s.apply("kind: Job\nname: reporter\nbinary: reader@stable\noverlap: allow\n")
	s.must("notify", "target", "set", "robot", "--job", "reporter")
	s.apply("kind: Job\nname: nightly\nbinary: breaker@stable\nretry: {max_attempts: 1}\nalerts: {on: [failed], to: [robot]}\n")
	s.run("run", "nightly", "--wait")
	report := s.await("reporter")
	var message struct {
		Type string
		Data struct{ Job, Reason, Title string }
	}
	if err := json.Unmarshal(report.Payload, &message); err != nil || message.Type != "incident.opened" || message.Data.Job != "nightly" || !strings.Contains(message.Data.Reason, "3") {
		t.Errorf("read %s, %v", report.Payload, err)
	}
	if report.By != "notification" || report.Status.String() != "succeeded" || !strings.Contains(s.must("logs", report.ID), "nightly") {
		t.Errorf("ran %+v", report)
	}
	until(t, "the delivery names the run", func() bool { return strings.Contains(s.must("notify", "ls", "-o", "json"), "run "+report.ID) })
	if out := s.must("notify", "target", "test", "robot"); !strings.Contains(out, "robot took the test: run ") {
		t.Errorf("said %q", out)
	}
	s.apply("kind: Job\nname: reporter\nbinary: breaker@stable\nretry: {max_attempts: 1}\nalerts: {on: [failed], to: [robot]}\n")
	s.run("run", "reporter", "--wait")
	until(t, "it is not run to report on itself", func() bool {
		return strings.Contains(s.must("notify", "ls", "-o", "json"), "not run to report on itself")
	})
	if runs := decode[struct{ Items []wire.Run }](t, s.must("get", "runs", "--job", "reporter", "-o", "json")).Items; len(runs) != 3 {
		t.Errorf("reporter has %d runs, want those of the incident, of the test and the manual one", len(runs))
	}
}

// The restart of a killed server is the same node, which sends at once what it had claimed.
func TestNodeHasANameOfItsOwn(t *testing.T) {
	dir := t.TempDir()
	var names []string
	for range 2 {
		folder, err := openDataFolder(dir)
		must(t, err)
		name, err := folder.node()
		must(t, err)
		must(t, folder.lock.Unlock())
		names = append(names, name)
	}
	folder, err := openDataFolder(t.TempDir())
	must(t, err)
	other, err := folder.node()
	must(t, err)
	if names[0] == "" || names[0] != names[1] || names[0] == other {
		t.Errorf("%q, and another %q", names, other)
	}
	must(t, folder.lock.Unlock())
}

func TestNotificationsAreKeptForADayAtLeast(t *testing.T) {
	config := serverConfigFor(t)
	config.RetentionNotifications = time.Hour
	if _, err := startNode(t, config); exitStatus(err) != exitRefused || !strings.Contains(err.Error(), "--retention-notifications") {
		t.Errorf("an hour: %v", err)
	}
}
