package chaos

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/client"
)

// Names of the parts; executors and lockers are numbered.
const (
	partNATS   = "nats"
	partEngine = "engine"
)

// The services, by which parts find each other.
const (
	serviceNATS = "nats"
	serviceS3   = "s3"
	serviceHTTP = "http"
)

// lockTTL is how long locks last unless a test says otherwise: short, so that what dies is noticed soon.
const lockTTL = 2 * time.Second

// startLimit is how long all parts may take to be ready on a busy machine.
const startLimit = time.Minute

// natsToken is what clients show to NATS, which insists where others could reach it.
const natsToken = "chaos"

// diskSize is how large the disks are that get full, in MiB.
const diskSize = 512

// cluster is a whole Tidewheel of separate processes.
type cluster struct {
	t       *testing.T
	program string
	dir     string
	config  Config

	network   network
	disks     map[string]*disk
	nats      *part
	engine    *part
	executors []*part
	lockers   []*part
	skipped   []string // what could not be had here, and why
}

// newCluster starts all parts and returns once each is ready.
func newCluster(t *testing.T, program string, config Config) *cluster {
	t.Helper()
	c := &cluster{t: t, program: program, dir: folder(t, config.Keep), config: config, disks: map[string]*disk{}}
	c.connect()
	for _, part := range []string{partNATS, partEngine} {
		path := filepath.Join(c.dir, part)
		if !config.Disks {
			continue
		}
		disk, err := newDisk(t, path, diskSize)
		if err != nil {
			c.skipped = append(c.skipped, "no disk gets full: "+err.Error())
			break
		}
		c.disks[part] = disk
	}
	ctx, cancel := context.WithTimeout(t.Context(), startLimit)
	defer cancel()
	c.nats = c.start(partNATS, func() *exec.Cmd {
		return helper(helperNATS, filepath.Join(c.dir, partNATS, "store"), c.listen(serviceNATS))
	})
	c.nats.awaitReady(ctx)
	c.engine = c.start(partEngine, func() *exec.Cmd {
		return c.server(partEngine, "engine,web", "--http", c.listen(serviceHTTP), "--s3-listen", c.listen(serviceS3), "--retention", "0")
	})
	c.engine.awaitReady(ctx)
	access, secret := c.keys()
	for i := range config.Executors {
		name := executorName(i)
		c.executors = append(c.executors, c.start(name, func() *exec.Cmd {
			return c.server(name, "executor", "--slots", strconv.Itoa(config.Slots), "--drain", config.Drain.String(),
				"--s3-endpoint", "http://"+c.network.reach(name, serviceS3), "--s3-access-key", access, "--s3-secret-key", secret)
		}))
	}
	for i := range config.Lockers {
		name := lockerName(i)
		c.lockers = append(c.lockers, c.start(name, func() *exec.Cmd {
			return helper(helperLocker, "nats://"+c.network.reach(name, serviceNATS), name, c.history())
		}))
	}
	for _, part := range c.executors {
		part.awaitReady(ctx)
	}
	return c
}

func executorName(i int) string { return "executor" + strconv.Itoa(i) }
func lockerName(i int) string   { return "locker" + strconv.Itoa(i) }

// connect makes the network, of namespaces if it may.
func (c *cluster) connect() {
	c.t.Helper()
	names := []string{partNATS, partEngine}
	for i := range c.config.Executors {
		names = append(names, executorName(i))
	}
	for i := range c.config.Lockers {
		names = append(names, lockerName(i))
	}
	services := map[string]service{serviceNATS: {part: partNATS}, serviceS3: {part: partEngine}, serviceHTTP: {part: partEngine}}
	for name, s := range services {
		s.address = freeAddress(c.t)
		services[name] = s
	}
	if c.config.Namespaces {
		made, err := newNamespaces(c.t, names, services)
		if err == nil {
			c.network = made
			return
		}
		c.skipped = append(c.skipped, "no network namespaces: "+err.Error())
	}
	c.network = newRoads(c.t, services)
}

// listen gives the address at which a service listens.
func (c *cluster) listen(name string) string {
	switch n := c.network.(type) {
	case *roads:
		return n.services[name].address
	default:
		return n.reach("", name)
	}
}

// start starts a part in its place.
func (c *cluster) start(name string, command func() *exec.Cmd) *part {
	return startPart(c.t, c.dir, name, func() *exec.Cmd {
		made := command()
		c.network.place(name, made)
		return made
	})
}

// server makes the command of a `tidewheel server`.
func (c *cluster) server(name, roles string, more ...string) *exec.Cmd {
	arguments := append([]string{
		"server", "--data", filepath.Join(c.dir, name), "--roles", roles, "--lock-ttl", cmp.Or(c.config.LockTTL, lockTTL).String(),
		"--nats-url", "nats://" + c.network.reach(name, serviceNATS), "--nats-credentials", natsToken,
	}, more...)
	// It outlives contexts: the part ends it.
	command := exec.CommandContext(context.WithoutCancel(c.t.Context()), c.program, arguments...)
	command.Env = append(os.Environ(), "XDG_STATE_HOME="+filepath.Join(c.dir, "state"))
	return command
}

// journal is where the programs write.
func (c *cluster) journal() string { return filepath.Join(c.dir, "journal") }

// history is where the lockers write.
func (c *cluster) history() string { return filepath.Join(c.dir, "locks") }

// keys reads what opens the embedded S3.
func (c *cluster) keys() (access, secret string) {
	c.t.Helper()
	text, err := os.ReadFile(filepath.Join(c.dir, partEngine, "s3.json"))
	if err != nil {
		c.t.Fatal(err)
	}
	var keys struct {
		AccessKey string `json:"access_key"`
		SecretKey string `json:"secret_key"`
	}
	if err := json.Unmarshal(text, &keys); err != nil {
		c.t.Fatal(err)
	}
	return keys.AccessKey, keys.SecretKey
}

// api speaks to the engine's API.
func (c *cluster) api() *client.Client {
	c.t.Helper()
	token, err := os.ReadFile(filepath.Join(c.dir, partEngine, "token"))
	if err != nil {
		c.t.Fatal(err)
	}
	made, err := client.New(client.Config{URL: "http://" + c.listen(serviceHTTP), Token: strings.TrimSpace(string(token))})
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(made.Close)
	return made
}

// folder gives a folder that jobs can pass through, as they may run as nobody. With keep it stays.
func folder(t *testing.T, keep string) string {
	t.Helper()
	dir := keep
	if dir == "" {
		dir = t.TempDir()
		if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
			t.Fatal(err)
		}
	} else if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"journal", "locks"} {
		file, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
		if err != nil {
			t.Fatal(err)
		}
		if err := file.Chmod(0o666); err != nil { // whatever the umask
			t.Fatal(err)
		}
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// freeAddress finds an address that nobody listens on.
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

// Words that begin the command lines of this test's own processes.
const (
	helperNATS   = "chaos-nats"
	helperLocker = "chaos-locker"
)

// helper makes the command of a process of this test's own program.
func helper(arguments ...string) *exec.Cmd {
	return exec.CommandContext(context.Background(), os.Args[0], arguments...)
}

// Helper lives the life of a NATS or a locker, if the command line says so. A test program calls it before all else.
func Helper(arguments []string, out io.Writer) (is bool, err error) {
	switch {
	case len(arguments) == 3 && arguments[0] == helperNATS:
		return true, serveNATS(arguments[1], arguments[2], out)
	case len(arguments) == 4 && arguments[0] == helperLocker:
		return true, takeLocks(arguments[1], arguments[2], arguments[3], out)
	}
	return false, nil
}
