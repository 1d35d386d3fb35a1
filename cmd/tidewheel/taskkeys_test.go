package main

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/queue/jetstream"
	"github.com/tidewheel/tidewheel/signing"
	"github.com/tidewheel/tidewheel/spec"
)

// keyFile keeps texts of keys in a file.
func keyFile(t *testing.T, texts ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "keys.pem")
	writeKeys(t, path, texts...)
	return path
}

func writeKeys(t *testing.T, path string, texts ...string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(strings.Join(texts, "")), 0o600); err != nil {
		t.Fatal(err)
	}
}

// splitRoles starts an engine with pages and returns the configuration of an executor elsewhere.
func splitRoles(t *testing.T, taskKeys string) (main *testServer, elsewhere ServerConfig) {
	t.Helper()
	config := serverConfigFor(t)
	config.Roles = []string{roleEngine, roleWeb}
	config.NATSListen, config.S3Listen, config.NATSCredentials, config.TaskKeysFile = freeAddress(t), freeAddress(t), "tide:hush", taskKeys
	main = startServer(t, config)
	keys := main.server.gateway.Credentials()
	elsewhere = serverConfigFor(t)
	elsewhere.Roles, elsewhere.StateFolder = []string{roleExecutor}, ""
	elsewhere.NATSURL, elsewhere.NATSCredentials = "nats://"+config.NATSListen, config.NATSCredentials
	elsewhere.S3Endpoint, elsewhere.S3AccessKey, elsewhere.S3SecretKey = "http://"+config.S3Listen, keys.AccessKey, keys.SecretKey
	return main, elsewhere
}

// startNode starts a node that has no pages.
func startNode(t *testing.T, config ServerConfig) (*Server, error) {
	t.Helper()
	node, err := NewServer(config, testLog(t), &safeBuffer{})
	if err != nil {
		return nil, err
	}
	if err := node.Start(t.Context()); err != nil {
		return nil, err
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if err := node.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return node, nil
}

func TestKeysOfTasksRotateWhileExecutorsElsewhereWork(t *testing.T) {
	cli := newTestCLI(t)
	before, after := cli.must("task-key", "new"), cli.must("task-key", "new")
	engineFile := keyFile(t, before)
	main, elsewhere := splitRoles(t, engineFile)
	elsewhere.TaskKeysFile = keyFile(t, cli.must("task-key", "public", engineFile))
	executor, err := startNode(t, elsewhere)
	if err != nil {
		t.Fatal(err)
	}
	main.push("hello", "echo hello")
	main.apply("kind: Job\nname: greeting\nbinary: hello@stable\n")
	main.must("run", "greeting", "--wait")

	// Executors first, and then the engines; the minute in which they look is not waited for.
	newPublic := cli.must("task-key", "public", keyFile(t, after))
	writeKeys(t, elsewhere.TaskKeysFile, cli.must("task-key", "public", engineFile), newPublic)
	writeKeys(t, engineFile, after, before)
	for _, node := range []*Server{executor, main.server} {
		if err := node.taskKeys.Reload(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if used, err := main.server.queue.TaskKey(t.Context()); err != nil || main.server.taskKeys.Keys().Signs() == used {
		t.Errorf("the engine signs with the key %s as before, %v", used, err)
	}
	main.must("run", "greeting", "--wait")
	writeKeys(t, elsewhere.TaskKeysFile, newPublic)
	if err := executor.taskKeys.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	main.must("run", "greeting", "--wait")
	executors := decode[wire.List[wire.Executor]](t, main.must("get", "executors", "-o", "json"))
	if len(executors.Items) != 1 || executors.Items[0].Refused != nil {
		t.Errorf("the executors are %+v", executors.Items)
	}
}

// A server makes its key by itself, and leaves the public part for executors elsewhere.
func TestExecutorElsewhereNeedsTheEnginesPublicKey(t *testing.T) {
	cli := newTestCLI(t)
	private := cli.must("task-key", "new")
	public := serverConfigFor(t)
	public.TaskKeysFile = keyFile(t, cli.must("task-key", "public", keyFile(t, private)))
	if _, err := startNode(t, public); err == nil || !strings.Contains(err.Error(), "give it the private key") {
		t.Errorf("an engine with a public key: %v", err)
	}

	main, elsewhere := splitRoles(t, "")
	path := filepath.Join(main.config.Data, publicTaskKeys)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	main.stop()
	main.start()
	if again, err := os.ReadFile(path); err != nil || string(again) != string(text) {
		t.Errorf("after a start its key is another: %v", err)
	}
	keys := main.server.gateway.Credentials() // others since the start
	elsewhere.S3AccessKey, elsewhere.S3SecretKey = keys.AccessKey, keys.SecretKey
	for words, file := range map[string]string{
		"is not among these keys":                           keyFile(t, cli.must("task-key", "public", keyFile(t, private))),
		"it holds a private key, which is for engines only": keyFile(t, private),
		"it holds no key":                                   keyFile(t, "tw_secret"),
		"there is no file":                                  "/nowhere/keys.pem",
	} {
		elsewhere.TaskKeysFile = file
		_, err := startNode(t, elsewhere)
		if err == nil {
			t.Errorf("an executor starts; want %q", words)
			continue
		}
		if text := explainError(err); exitStatus(err) != exitRefused || !strings.Contains(text, words) || strings.Contains(text, "tw_secret") || strings.Contains(text, "PRIVATE") {
			t.Errorf("exit %d, %q; want %q", exitStatus(err), text, words)
		}
	}
	elsewhere.TaskKeysFile = path
	if _, err := startNode(t, elsewhere); err != nil {
		t.Fatal(err)
	}
	main.push("hello", "echo hello")
	main.apply("kind: Job\nname: greeting\nbinary: hello@stable\n")
	main.must("run", "greeting", "--wait")
}

// An attacker who reaches NATS can put messages there. What no engine has signed does not run, and is reported.
func TestForgedTaskInTheQueueOfARunningServerDoesNotRunAndIsReported(t *testing.T) {
	config := serverConfigFor(t)
	config.NATSListen, config.NATSCredentials, config.Auth = freeAddress(t), "tide:hush", false
	s := startServer(t, config)
	witness := filepath.Join(t.TempDir(), "ran")
	s.push("hello", `echo "$1"; [ -z "$1" ] || touch "$1"`)
	s.apply("kind: Job\nname: greeting\nbinary: hello@stable\n")
	genuine := decode[wire.Run](t, s.must("run", "greeting", "--wait", "-o", "json"))

	stranger := &signing.Ring{}
	keys, err := signing.NewKeys()
	if err != nil {
		t.Fatal(err)
	}
	stranger.Use(keys)
	attacker, err := jetstream.Connect(t.Context(), jetstream.Config{
		URL: "nats://" + config.NATSListen, Credentials: jetstream.Credentials{User: "tide", Password: "hush"}, Keys: stranger,
		ClaimWindow: 12 * config.LockTTL, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer attacker.Close()
	published := make(chan error, 1)
	attacker.Publish(&engine.Task{
		Run: "uid-forged", Attempt: 1, JobUID: "uid", Lock: "uid", Namespace: "default", Job: "greeting", Tier: spec.TierLight, Class: spec.ClassStandard,
		QueuedAt: time.Now(), Digest: genuine.Digest, Kind: "script", Args: []string{witness}, Timeout: time.Minute,
	}, func(err error) { published <- err })
	if err := <-published; err != nil {
		t.Fatal(err)
	}
	var refused *wire.Refused
	for began := time.Now(); refused == nil; { // it is put back twice before, as another executor might know the key
		if time.Since(began) > 30*time.Second {
			t.Fatal("the executor does not report that it refused a task")
		}
		executors := decode[wire.List[wire.Executor]](t, s.must("get", "executors", "-o", "json"))
		if i := slices.IndexFunc(executors.Items, func(e wire.Executor) bool { return e.Refused != nil }); i >= 0 {
			refused = executors.Items[i].Refused
		}
	}
	if refused.Last != string(engine.RefusedForged) || !strings.Contains(refused.Why, "uid-forged") || !strings.Contains(refused.Why, "not trusted") {
		t.Errorf("it reports %+v", refused)
	}
	if _, err := os.Stat(witness); err == nil {
		t.Error("the forged task ran")
	}
	s.must("run", "greeting", "--wait") // all else continues
	for path, words := range map[string]string{
		"/metrics": `tidewheel_tasks_refused_total{reason="forged"} 1`, "/executors": "Refused 1 task", "/": "refused 1 task",
	} {
		if _, page := get(t, s.server.URL()+path); !strings.Contains(page, words) {
			t.Errorf("%s does not say %q", path, words)
		}
	}
}
