package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// get asks an address without any token.
func get(t *testing.T, url string) (status int, text string) {
	t.Helper()
	return getWith(t, url, "")
}

func getWith(t *testing.T, url, token string) (status int, text string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
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

// keepSecret keeps something secret in a file, as container engines hand it over.
func keepSecret(t *testing.T, secret string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(path, []byte(secret+"\n"), 0o400); err != nil {
		t.Fatal(err)
	}
	return path
}

// An executor has no pages, and is looked after all the same.
func TestNodeWithoutPagesReportsItsHealth(t *testing.T) {
	main := serverConfigFor(t)
	main.NATSListen, main.S3Listen = freeAddress(t), freeAddress(t)
	main.NATSCredentials = "tide:hush"
	all := startServer(t, main)
	keys := all.server.gateway.Credentials()

	config := serverConfigFor(t)
	config.Roles = []string{roleExecutor}
	config.NATSURL, config.NATSCredentials = "nats://"+main.NATSListen, main.NATSCredentials
	config.S3Endpoint, config.S3AccessKey, config.S3SecretKey = "http://"+main.S3Listen, keys.AccessKey, keys.SecretKey
	config.MetricsListen, config.MetricsTokenFile = "127.0.0.1:0", keepSecret(t, "a-token-of-the-collector")
	config.StateFolder, config.TaskKeysFile = "", filepath.Join(main.Data, publicTaskKeys)
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
	for path, want := range map[string]string{"/livez": "ok", "/readyz": "ok"} {
		if status, text := get(t, base+path); status != http.StatusOK || !strings.Contains(text, want) {
			t.Errorf("%s: %d\n%s", path, status, text)
		}
	}
	for token, want := range map[string]int{"": http.StatusUnauthorized, "another": http.StatusUnauthorized, "a-token-of-the-collector": http.StatusOK} {
		if status, text := getWith(t, base+"/metrics", token); status != want || (status == http.StatusOK) != strings.Contains(text, "tidewheel_attempts_started_total") {
			t.Errorf("metrics with the token %q: %d\n%s", token, status, text)
		}
	}
	if status, _ := getWith(t, all.server.URL()+"/metrics", "a-token-of-the-collector"); status != http.StatusUnauthorized {
		t.Errorf("the token of one node opens the metrics of another: %d", status)
	}
	if status, _ := get(t, base+"/api/v1/jobs"); status != http.StatusNotFound {
		t.Errorf("the API is served without a token: %d", status)
	}
	if output := all.must("ready", "--url", base); !strings.Contains(output, "ok") {
		t.Errorf("tidewheel ready: %s", output)
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

// freeAddress is a port of loopback that was free a moment ago.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}
