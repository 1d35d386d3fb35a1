package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"log/slog"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/internal/certs/certstest"
)

// startTLSServer starts a server with a certificate for localhost, whose authority the command line does not know.
func startTLSServer(t *testing.T, change func(*ServerConfig)) (*testServer, *certstest.Authority) {
	t.Helper()
	ca, config := certstest.New(t), serverConfigFor(t)
	config.TLSCert, config.TLSKey = ca.Issue(time.Now().Add(300*24*time.Hour), "localhost")
	if change != nil {
		change(&config)
	}
	return startServer(t, config), ca
}

func TestServerSpeaksTLSToPeopleProgramsAndTheCommandLine(t *testing.T) {
	s, ca := startTLSServer(t, nil)
	address := s.env["TIDEWHEEL_URL"]
	if !strings.HasPrefix(address, "https://localhost:") || !strings.Contains(s.greet.String(), "log in    "+address+"/login?token=") {
		t.Fatalf("the server is at %s, and says\n%s", address, s.greet)
	}
	s.refused(exitUnreachable, "--ca-file", "get", "jobs")
	s.refused(exitUnreachable, "--ca-file", "ready")
	s.refused(exitRefused, "no such file", "get", "jobs", "--ca-file", ca.File+"x")
	s.refused(exitUnreachable, "use a name that the certificate has", "get", "jobs", "--ca-file", ca.File, "--url",
		strings.Replace(address, "localhost", "127.0.0.1", 1))
	s.refused(exitRefused, "write https://", "get", "jobs", "--url", strings.Replace(address, "https://", "http://", 1))

	s.env["TIDEWHEEL_CA_FILE"] = ca.File
	s.must("ready")
	if _, err := exec.LookPath("curl"); err != nil {
		if os.Getenv("CI") != "" { // where .ci/run has installed it
			t.Fatal(err)
		}
		t.Skip(err)
	}
	s.push("charge", `
curl -sS -o answer -w '%{http_code} ' -X POST -H "Authorization: Bearer $TIDEWHEEL_RUN_TOKEN" "$TIDEWHEEL_API/effects/charge-1"
echo "$TIDEWHEEL_API"`)
	// Jobs may run as another user, who reads no folder of the test.
	shared := filepath.Join(filepath.Dir(filepath.Dir(s.config.Data)), "ca.pem")
	text, err := os.ReadFile(ca.File)
	if err == nil {
		err = os.WriteFile(shared, text, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	s.apply("kind: Job\nname: charge\nbinary: charge\nenv: {CURL_CA_BUNDLE: " + shared + "}\n")
	if out := s.must("run", "charge", "--wait"); out != "201 "+address+"/api/v1\n" {
		t.Errorf("the program was answered %q", out)
	}
}

func TestCertificateIsReplacedWhileTheServerRuns(t *testing.T) {
	s, ca := startTLSServer(t, nil)
	serial := func() string {
		t.Helper()
		dialer := &tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}
		conn, err := dialer.DialContext(t.Context(), "tcp", strings.TrimPrefix(s.env["TIDEWHEEL_URL"], "https://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		return conn.(*tls.Conn).ConnectionState().PeerCertificates[0].SerialNumber.String()
	}
	first := serial()
	ca.IssueTo(s.config.TLSCert, s.config.TLSKey, time.Now().Add(300*24*time.Hour), "localhost")
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for end := time.Now().Add(10 * time.Second); serial() == first; <-ticker.C {
		if time.Now().After(end) {
			t.Fatal("the server shows the certificate of before")
		}
	}
}

func TestPagesAreNamedAsTheCertificateSays(t *testing.T) {
	for name, want := range map[string]string{"tide.example": "tide.example", "127.0.0.1": "127.0.0.1", "*.example": "127.0.0.1"} {
		s := &Server{config: ServerConfig{}, log: testLog(t)}
		s.config.TLSCert, s.config.TLSKey = certstest.New(t).Issue(time.Now().Add(300*24*time.Hour), name)
		if err := s.openCertificate(); err != nil {
			t.Fatal(err)
		}
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer listener.Close()
		s.listener = listener
		if parsed, err := url.Parse(s.URL()); err != nil || parsed.Scheme != "https" || parsed.Hostname() != want {
			t.Errorf("with a certificate for %s the pages are at %s, %v", name, s.URL(), err)
		}
	}
}

func TestCertificateThatCannotBeServedIsRefused(t *testing.T) {
	ca := certstest.New(t)
	cert, key := ca.Issue(time.Now().Add(300*24*time.Hour), "localhost")
	_, otherKey := ca.Issue(time.Now().Add(300*24*time.Hour), "localhost")
	for words, files := range map[string][2]string{
		"--tls-cert and --tls-key belong together": {cert, ""},
		"belong together":                          {"", key},
		cert + "x cannot be read":                  {cert + "x", key},
		otherKey:                                   {cert, otherKey},
	} {
		config := serverConfigFor(t)
		config.TLSCert, config.TLSKey = files[0], files[1]
		server, err := NewServer(config, testLog(t), io.Discard)
		if err == nil {
			err = server.Start(t.Context())
		}
		if err == nil || exitStatus(err) != exitRefused || !strings.Contains(err.Error(), words) {
			t.Errorf("%q: %v", files, err)
		}
	}
	config := serverConfigFor(t)
	config.TLSCert, config.TLSKey = cert, key
	if !slices.Contains(config.closedToJobs(), key) {
		t.Error("jobs may read the key")
	}
}

func TestExecutorReachesItsServerWithTLS(t *testing.T) {
	ca := certstest.New(t)
	config := serverConfigFor(t)
	config.TLSCert, config.TLSKey = ca.Issue(time.Now().Add(300*24*time.Hour), "localhost", "127.0.0.1")
	config.Roles = []string{roleEngine, roleWeb}
	config.NATSListen, config.NATSCredentials, config.S3Listen = "localhost:0", "tide:wheel", "127.0.0.1:0"
	s := startServer(t, config)
	s.env["TIDEWHEEL_CA_FILE"] = ca.File
	keys := s.server.gateway.Credentials()

	away := serverConfigFor(t)
	away.Roles, away.Tier, away.LockTTL = []string{roleExecutor}, "all", config.LockTTL
	away.NATSURL, away.NATSCredentials = s.server.nats.URL(), "tide:wheel"
	away.S3Endpoint, away.S3AccessKey, away.S3SecretKey = s.server.gateway.Public(), keys.AccessKey, keys.SecretKey
	away.APIURL, away.TaskKeysFile = s.server.URL(), filepath.Join(config.Data, publicTaskKeys)
	if !strings.HasPrefix(away.NATSURL, "tls://") || !strings.HasPrefix(away.S3Endpoint, "https://") {
		t.Fatalf("executors get %s and %s", away.NATSURL, away.S3Endpoint)
	}
	begin := func() (*Server, error) {
		t.Helper()
		server, err := NewServer(away, testLog(t), io.Discard)
		if err != nil {
			return nil, err
		}
		return server, server.Start(t.Context())
	}
	away.S3CAFile = ca.File
	if _, err := begin(); err == nil || !strings.Contains(err.Error(), "--nats-tls-ca") {
		t.Errorf("without the authority of NATS: %v", err)
	}
	away.NATSTLS.CAs, away.S3CAFile = ca.File, ""
	if _, err := begin(); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("without the authority of S3: %v", err)
	}
	away.S3CAFile = ca.File
	executor, err := begin()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = executor.Close(context.WithoutCancel(t.Context())) })
	s.push("hello", `echo "through"`)
	s.apply("kind: Job\nname: greeting\nbinary: hello\n")
	if out := s.must("run", "greeting", "--wait"); out != "through\n" {
		t.Errorf("the job printed %q", out)
	}
}

func TestSettingsOfTLSThatDoNothingAreRefused(t *testing.T) {
	for words, change := range map[string]func(*ServerConfig){
		"--nats-tls-cert and --nats-tls-key belong together": func(c *ServerConfig) { c.NATSURL, c.NATSTLS.Cert = "nats://a", "x" },
		"which --nats-url names":                             func(c *ServerConfig) { c.NATSTLS.CAs = "x" },
		"--s3-endpoint https://":                             func(c *ServerConfig) { c.S3Endpoint, c.S3CAFile = "http://a", "x" },
	} {
		config := serverConfigFor(t)
		change(&config)
		if err := config.validate(); err == nil || exitStatus(err) != exitRefused || !strings.Contains(err.Error(), words) {
			t.Errorf("want %q: %v", words, err)
		}
	}
	var log bytes.Buffer
	s := &Server{log: slog.New(slog.NewTextHandler(&log, nil))}
	if s.listenTLS("--nats-listen", "0.0.0.0:4222") != nil || !strings.Contains(log.String(), "--tls-cert") {
		t.Errorf("of an address that others reach without TLS the log says %q", &log)
	}
	log.Reset()
	if s.listenTLS("--nats-listen", "127.0.0.1:4222") != nil || s.listenTLS("--nats-listen", "") != nil || log.Len() > 0 {
		t.Errorf("of loopback the log says %q", &log)
	}
}
