package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

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
	if out := s.must("notify", "-n", "*", "rules", "set", "--on", "executor_silent", "--to", "ops"); !strings.Contains(out, "executor_silent") {
		t.Errorf("said %q", out)
	}
}
