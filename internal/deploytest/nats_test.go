package deploytest

import (
	"context"
	"errors"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// natsOptions reads nats.conf with the secrets that make-secrets.sh has made, as the containers mount them.
func natsOptions(t *testing.T, secrets, name string) *server.Options {
	t.Helper()
	dir := t.TempDir()
	for target, text := range map[string]string{
		"nats.conf":     read(t, "deploy/compose/nats.conf"),
		"operator.conf": contents(t, secrets, "nats-operator.conf"),
		"routes.conf":   contents(t, secrets, "nats-routes.conf"),
	} {
		if err := os.WriteFile(filepath.Join(dir, target), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	options := &server.Options{CheckConfig: true} // which refuses unknown words
	if err := options.ProcessConfigFile(filepath.Join(dir, "nats.conf")); err != nil {
		t.Fatal(err)
	}
	options.CheckConfig, options.ServerName = false, name
	return options
}

func contents(t *testing.T, dir, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

// The three servers of docker-compose.yml, on this machine: they become a cluster that keeps three copies, and admit no client
// in without the credentials.
func TestNATSBecomesACluster(t *testing.T) {
	dir := secrets(t)
	p := project(t)
	names := []string{"nats-1", "nats-2", "nats-3"}
	ports := make([]string, len(names))
	for i := range names {
		listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		ports[i] = port(listener.Addr().String())
		if err := listener.Close(); err != nil {
			t.Fatal(err)
		}
	}
	var servers []*server.Server
	for i, name := range names {
		service := p.Services[name]
		if !slices.Contains(service.Command, name) {
			t.Errorf("the service %s is called %q", name, service.Command)
		}
		options := natsOptions(t, dir, name)
		if options.Port != 4222 || options.Cluster.Port != 6222 || options.HTTPPort != 8222 || options.StoreDir != "/data" {
			t.Errorf("the ports are %d, %d and %d, and the folder %s", options.Port, options.Cluster.Port, options.HTTPPort, options.StoreDir)
		}
		if options.SyncInterval <= 0 || options.SyncInterval > time.Second {
			t.Errorf("a power cut of all three may take %s of what was acknowledged; docs/guarantees.md says a second", options.SyncInterval)
		}
		if len(service.Volumes) != 1 || service.Volumes[0].Target != options.StoreDir {
			t.Errorf("%s keeps its data in no volume", name)
		}
		var routes []*url.URL
		for _, route := range options.Routes {
			host, _, _ := net.SplitHostPort(route.Host)
			reaches(t, p, &service, host)
			moved := *route
			moved.Host = "127.0.0.1:" + ports[slices.Index(names, host)]
			routes = append(routes, &moved)
		}
		options.Routes = routes
		options.Host, options.Port, options.HTTPHost, options.HTTPPort = "127.0.0.1", server.RANDOM_PORT, "", 0
		options.Cluster.Host, options.Cluster.Port = "127.0.0.1", atoi(t, ports[i])
		options.StoreDir, options.NoSigs, options.NoLog = t.TempDir(), true, true
		made, err := server.NewServer(options)
		if err != nil {
			t.Fatal(err)
		}
		made.Start()
		t.Cleanup(func() { made.Shutdown(); made.WaitForShutdown() })
		servers = append(servers, made)
	}
	for _, s := range servers {
		if !s.ReadyForConnections(time.Minute) {
			t.Fatalf("%s does not start", s.Name())
		}
	}
	if _, err := nats.Connect(servers[0].ClientURL()); !errors.Is(err, nats.ErrAuthorization) {
		t.Errorf("connecting without credentials: got %v, want %v", err, nats.ErrAuthorization)
	}
	conn, err := nats.Connect(servers[0].ClientURL(), nats.UserCredentials(filepath.Join(dir, "nats-engine.creds")))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	ticker := time.NewTicker(200 * time.Millisecond)
	defer ticker.Stop()
	for { // until the three have found each other and a leader: before that there is no answer
		try, stop := context.WithTimeout(ctx, 2*time.Second)
		stream, err := js.CreateStream(try, jetstream.StreamConfig{Name: "COPIES", Subjects: []string{"copies"}, Replicas: 3})
		stop()
		if err == nil {
			if got := stream.CachedInfo().Config.Replicas; got != 3 {
				t.Errorf("%d copies", got)
			}
			break
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			t.Fatalf("no stream with three copies: %v", err)
		}
	}
	if _, err := js.Publish(ctx, "copies", []byte("x")); err != nil {
		t.Error(err)
	}
}

func atoi(t *testing.T, text string) int {
	t.Helper()
	number, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return number
}
