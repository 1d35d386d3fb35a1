package jetstream

import (
	"context"
	"crypto/rand"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/queue/queuetest"
	"github.com/tidewheel/tidewheel/signing"
)

// testAckWait is short, so that a redelivery can be waited for.
const testAckWait = 2 * time.Second

// testKeys are those of all nodes in these tests.
var testKeys = ringOf(newKeys())

func newKeys() *signing.Keys {
	keys, err := signing.NewKeys()
	if err != nil {
		panic(err)
	}
	return keys
}

func ringOf(keys *signing.Keys) *signing.Ring {
	ring := &signing.Ring{}
	ring.Use(keys)
	return ring
}

func testLog(t testing.TB) *slog.Logger {
	return slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
}

func startServer(t *testing.T, folder, listen string) *Server {
	t.Helper()
	server, err := StartServer(t.Context(), ServerConfig{StoreDir: folder, Listen: listen, Logger: testLog(t)})
	if err != nil {
		t.Fatal(err)
	}
	return server
}

func connect(t *testing.T, config Config) *Queue {
	t.Helper()
	config.Logger, config.AckWait, config.ClaimWindow = testLog(t), testAckWait, 4*testAckWait
	if config.Keys == nil {
		config.Keys = testKeys
	}
	q, err := Connect(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(q.Close)
	return q
}

// TestEmbedded holds a server without a port to the promises. One server serves all subtests, each under a prefix of
// its own.
func TestEmbedded(t *testing.T) {
	t.Parallel()
	server := startServer(t, t.TempDir(), "")
	t.Cleanup(func() {
		if err := server.Shutdown(); err != nil {
			t.Error(err)
		}
	})
	queuetest.Run(t, func(*testing.T) queuetest.Harness {
		prefix := rand.Text()
		return queuetest.Harness{
			Connect: func(t *testing.T) queuetest.Queue {
				return connect(t, Config{Server: server, Prefix: prefix})
			},
			AckWait: testAckWait, ClaimWindow: 4 * testAckWait,
		}
	})
}

// TestListening holds a server that clients reach over TCP, and that is restarted under them.
func TestListening(t *testing.T) {
	t.Parallel()
	queuetest.RunRestarts(t, func(t *testing.T) queuetest.Harness {
		folder := t.TempDir()
		server := startServer(t, folder, "127.0.0.1:0")
		url := server.URL()
		t.Cleanup(func() {
			if err := server.Shutdown(); err != nil {
				t.Error(err)
			}
		})
		return queuetest.Harness{
			Connect: func(t *testing.T) queuetest.Queue { return connect(t, Config{URL: url}) },
			Restart: func(t *testing.T) {
				t.Helper()
				if err := server.Shutdown(); err != nil {
					t.Fatal(err)
				}
				server = startServer(t, folder, strings.TrimPrefix(url, "nats://"))
			},
			AckWait: testAckWait, ClaimWindow: 4 * testAckWait,
		}
	})
}

// TestExternal holds the NATS of TIDEWHEEL_TEST_NATS_URL.
func TestExternal(t *testing.T) {
	t.Parallel()
	url := os.Getenv("TIDEWHEEL_TEST_NATS_URL")
	if url == "" {
		t.Skip("TIDEWHEEL_TEST_NATS_URL names no NATS")
	}
	queuetest.Run(t, func(t *testing.T) queuetest.Harness {
		prefix := rand.Text()
		t.Cleanup(func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
			defer cancel()
			q, err := Connect(ctx, Config{URL: url, Prefix: prefix, Logger: testLog(t)})
			if err != nil {
				t.Error(err)
				return
			}
			defer q.Close()
			for _, stream := range []string{q.names.tasks, q.names.results, "KV_" + q.names.locks, "KV_" + q.names.leases} {
				if err := q.js.DeleteStream(ctx, stream); err != nil {
					t.Error(err)
				}
			}
		})
		return queuetest.Harness{
			Connect: func(t *testing.T) queuetest.Queue { return connect(t, Config{URL: url, Prefix: prefix}) },
			AckWait: testAckWait, ClaimWindow: 4 * testAckWait,
		}
	})
}
