package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// get asks an address without any token.
func get(t *testing.T, url string) (status int, text string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(body)
}

// An executor has no pages, and is looked after all the same.
func TestNodeWithoutPagesTellsItsHealth(t *testing.T) {
	main := serverConfigFor(t)
	main.NATSListen, main.S3Listen = freeAddress(t), freeAddress(t)
	main.NATSCredentials = "tide:hush"
	all := startServer(t, main)
	keys := all.server.gateway.Credentials()

	config := serverConfigFor(t)
	config.Roles = []string{roleExecutor}
	config.NATSURL, config.NATSCredentials = "nats://"+main.NATSListen, main.NATSCredentials
	config.S3Endpoint, config.S3AccessKey, config.S3SecretKey = "http://"+main.S3Listen, keys.AccessKey, keys.SecretKey
	config.MetricsListen = "127.0.0.1:0"
	config.StateFolder = ""
	executor, err := NewServer(config, testLog(t), &safeBuffer{})
	if err != nil {
		t.Fatal(err)
	}
	if err := executor.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if err := executor.Close(ctx); err != nil {
			t.Logf("close, without NATS: %v", err)
		}
	})
	base := "http://" + executor.health.Addr().String()
	for path, want := range map[string]string{"/livez": "ok", "/readyz": "ok", "/metrics": "tidewheel_attempts_started_total"} {
		if status, text := get(t, base+path); status != http.StatusOK || !strings.Contains(text, want) {
			t.Errorf("%s: %d\n%s", path, status, text)
		}
	}
	if status, _ := get(t, base+"/api/v1/jobs"); status != http.StatusNotFound {
		t.Errorf("the API is served without a token: %d", status)
	}
	if told := all.must("ready", "--url", base); !strings.Contains(told, "ok") {
		t.Errorf("tidewheel ready: %s", told)
	}

	all.stop() // and with it NATS and S3
	if status, text := get(t, base+"/readyz"); status != http.StatusServiceUnavailable || !strings.Contains(text, "does not answer") {
		t.Errorf("readyz without NATS: %d %s", status, text)
	}
	if status, _ := get(t, base+"/livez"); status != http.StatusOK {
		t.Errorf("livez without NATS: %d; the node would be ended for another's fault", status)
	}
	all.refused(exitFailed, "does not answer", "ready", "--url", base)
	all.refused(exitUnreachable, "", "ready", "--url", "http://"+freeAddress(t))
}

// While a node drains it lives, and wants no more requests.
func TestDrainingNodeIsNotReady(t *testing.T) {
	config := serverConfigFor(t)
	config.MetricsListen = "127.0.0.1:0"
	s := startServer(t, config)
	base := "http://" + s.server.health.Addr().String()
	ending, asked := make(chan struct{}), make(chan struct{})
	s.server.parts.add("a slow part", func(ctx context.Context) error { // the last that was added ends first
		<-ctx.Done()
		close(ending)
		<-asked
		return nil
	})
	closed := make(chan error, 1)
	go func() { closed <- s.server.Close(context.WithoutCancel(t.Context())) }()
	<-ending
	if status, text := get(t, base+"/readyz"); status != http.StatusServiceUnavailable {
		t.Errorf("readyz while the node ends: %d %s", status, text)
	}
	if status, _ := get(t, base+"/livez"); status != http.StatusOK {
		t.Errorf("livez while the node ends: %d", status)
	}
	close(asked)
	if err := <-closed; err != nil {
		t.Error(err)
	}
}

// freeAddress is a port of loopback that nobody listened on a moment ago.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}
