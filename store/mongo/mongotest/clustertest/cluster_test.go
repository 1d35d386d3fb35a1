package clustertest

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/tidewheel/tidewheel/client"
	"github.com/tidewheel/tidewheel/e2e"
)

const (
	// startLimit and endLimit are how long a node may take on a busy machine.
	startLimit = time.Minute
	endLimit   = time.Minute
	// token opens the API.
	token = "tw_cluster-test-0123456789abcdef0123456789"
)

// cluster is all processes, and what they say.
type cluster struct {
	t       *testing.T
	dir     string
	program string // of this version
	happens *happenings

	nats      []*node
	mongo, s3 *node
	engines   []*node
	executors []*node
	webs      []*node

	natsURL, mongoURI, s3URL string
	keys                     struct {
		AccessKey string `json:"access_key"`
		SecretKey string `json:"secret_key"`
	}
	addresses map[string]string // of web nodes
	earlier   string            // the program of an earlier version
	older     map[string]bool   // nodes that run it

	catchUp time.Duration // how long it takes to make up for backLimit of slots; measured
}

// newCluster starts all parts and returns once each is ready.
func newCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{t: t, dir: folder(t), happens: &happenings{}, addresses: map[string]string{}, older: map[string]bool{}}
	var flags []string
	if *racing {
		flags = append(flags, "-race")
	}
	var err error
	if c.program, err = e2e.Build(t.Context(), folder(t), flags...); err != nil {
		t.Fatal(err)
	}
	c.makeTaskKeys()
	c.startNATS()
	mongo := freeAddress(t)
	c.mongo = c.node("mongodb", func() *exec.Cmd { return helper(helperMongo, mongo) })
	c.mongoURI = "mongodb://" + mongo + "/tidewheel?replicaSet=mongotest"
	s3 := freeAddress(t)
	c.s3URL = "http://" + s3
	c.s3 = c.node("s3", func() *exec.Cmd {
		return c.command(c.program, "s3", "engine,web", "--http", "127.0.0.1:0", "--s3-listen", s3)
	})
	if err := os.WriteFile(filepath.Join(c.dir, "token"), []byte(token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c.mongo.start()
	c.s3.start()
	text, err := os.ReadFile(filepath.Join(c.dir, "s3", "s3.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &c.keys); err != nil {
		t.Fatal(err)
	}
	for _, n := range c.nats {
		n.awaitReady()
	}
	c.webs = []*node{c.web("web-1"), c.web("web-2")}
	c.webs[0].start() // the first makes the streams and the bucket
	c.engines = []*node{c.engine("engine-1"), c.engine("engine-2")}
	for _, tier := range []string{"light", "medium", "heavy"} {
		c.executors = append(c.executors, c.executor(tier+"-1", tier))
	}
	rest := append(append([]*node{c.webs[1]}, c.engines...), c.executors...)
	for _, n := range rest {
		n.begin()
	}
	for _, n := range rest {
		n.awaitReady()
	}
	return c
}

// The files of the keys that engines sign tasks with, and executors verify them by.
const (
	privateTaskKeys = "engines.pem"
	publicTaskKeys  = "executors.pem"
)

func (c *cluster) makeTaskKeys() {
	for _, file := range []struct {
		name  string
		words []string
	}{{privateTaskKeys, []string{"task-key", "new"}}, {publicTaskKeys, []string{"task-key", "public", filepath.Join(c.dir, privateTaskKeys)}}} {
		text, err := exec.CommandContext(c.t.Context(), c.program, file.words...).Output()
		if err == nil {
			err = os.WriteFile(filepath.Join(c.dir, file.name), text, 0o600)
		}
		if err != nil {
			c.t.Fatal(err)
		}
	}
}

// startNATS begins three servers that find each other.
func (c *cluster) startNATS() {
	var clients, routes []string
	for range 3 {
		clients, routes = append(clients, freeAddress(c.t)), append(routes, freeAddress(c.t))
	}
	c.natsURL = "nats://" + strings.Join(clients, ",nats://")
	for i := range clients {
		name := fmt.Sprintf("nats-%d", i+1)
		n := c.node(name, func() *exec.Cmd {
			return helper(helperNATS, name, filepath.Join(c.dir, name), clients[i], routes[i], strings.Join(routes, ","))
		})
		n.begin()
		c.nats = append(c.nats, n)
	}
}

func (c *cluster) node(name string, command func() *exec.Cmd) *node {
	return newNode(c.t, c.happens, c.dir, name, command)
}

// helper makes the command of a process of this test's own program.
func helper(arguments ...string) *exec.Cmd { return exec.Command(os.Args[0], arguments...) }

// command makes that of a `tidewheel server`.
func (c *cluster) command(program, name, roles string, more ...string) *exec.Cmd {
	command := exec.Command(program, append([]string{"server", "--data", filepath.Join(c.dir, name), "--roles", roles}, more...)...)
	command.Env = append(os.Environ(), "XDG_STATE_HOME="+filepath.Join(c.dir, "state"))
	return command
}

// member makes a node of the cluster.
func (c *cluster) member(name, roles string, more ...string) *node {
	return c.node(name, func() *exec.Cmd {
		program, keys := c.program, []string(nil)
		if c.older[name] {
			program = c.earlier
		}
		switch roles {
		case "engine":
			keys = []string{"--task-keys-file", filepath.Join(c.dir, privateTaskKeys)}
		case "executor":
			keys = []string{"--task-keys-file", filepath.Join(c.dir, publicTaskKeys)}
		}
		return c.command(program, name, roles, append([]string{
			"--nats-url", c.natsURL, "--nats-credentials", natsUser + ":" + natsPassword, "--nats-replicas", "3",
			"--s3-endpoint", c.s3URL, "--s3-bucket", "cluster", "--s3-access-key", c.keys.AccessKey, "--s3-secret-key", c.keys.SecretKey,
		}, append(keys, more...)...)...)
	})
}

func (c *cluster) engine(name string) *node {
	return c.member(name, "engine", "--mongodb-uri", c.mongoURI, "--retention", "0")
}

func (c *cluster) executor(name, tier string) *node {
	return c.member(name, "executor", "--tier", tier)
}

func (c *cluster) web(name string) *node {
	c.addresses[name] = freeAddress(c.t)
	return c.member(name, "web", "--mongodb-uri", c.mongoURI, "--http", c.addresses[name], "--token-file", filepath.Join(c.dir, "token"))
}

// api speaks to a web node.
func (c *cluster) api(web *node) *client.Client {
	c.t.Helper()
	made, err := client.New(client.Config{URL: "http://" + c.addresses[web.name], Token: token})
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(made.Close)
	return made
}

// disconnect lets the database close all connections and take none for a while, as a fail-over does.
func (c *cluster) disconnect(ctx context.Context, away time.Duration) {
	c.t.Helper()
	connection, err := mongo.Connect(options.Client().ApplyURI(c.mongoURI))
	if err != nil {
		c.t.Fatal(err)
	}
	defer func() { _ = connection.Disconnect(context.WithoutCancel(ctx)) }()
	fault := bson.D{{Key: "mongotestFault", Value: "refuse"}, {Key: "milliseconds", Value: away.Milliseconds()}}
	if err := connection.Database("admin").RunCommand(ctx, fault).Err(); err != nil {
		c.t.Fatal(err)
	}
}

// folder returns a folder of the test that jobs can pass through, as they may run as nobody.
func folder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, closed := range []string{filepath.Dir(dir), dir} {
		if err := os.Chmod(closed, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// freeAddress finds a free address.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	return listener.Addr().String()
}
