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
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/client"
)

// Names of the parts; engines, executors and lockers are numbered.
const (
	partNATS     = "nats"
	partDatabase = "database"
	partS3       = "s3"
)

// The services, by which parts find each other; that of the API has the engine's number.
const (
	serviceNATS     = "nats"
	serviceDatabase = "database"
	serviceS3       = "s3"
	serviceHTTP     = "http"
)

// lockTTL is how long locks last unless a test says otherwise: short, so that what dies is noticed soon.
const lockTTL = 2 * time.Second

// leaseTTL is how long the shards of an engine that died stay without one, where engines share them.
const leaseTTL = 5 * time.Second

// startLimit is how long all parts may take to be ready on a busy machine.
const startLimit = 2 * time.Minute

// natsToken is what clients show to NATS, which insists where others could reach it.
const natsToken = "chaos"

// apiToken opens the API of all engines.
const apiToken = "tw_chaos-test-0123456789abcdef0123456789"

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
	database  *part // nil where the engine has its own
	s3        *part // nil where it is the engine's
	engines   []*part
	executors []*part
	lockers   []*part
	skipped   []string // what could not be had here, and why
	keys      struct { // of the S3
		AccessKey string `json:"access_key"`
		SecretKey string `json:"secret_key"`
	}
}

// newCluster starts all parts and returns once each is ready.
func newCluster(t *testing.T, program string, config Config) *cluster {
	t.Helper()
	c := &cluster{t: t, program: program, dir: folder(t, config.Keep), config: config, disks: map[string]*disk{}}
	c.connect()
	c.mount()
	if err := os.WriteFile(c.tokenFile(), []byte(apiToken+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), startLimit)
	defer cancel()
	c.nats = c.start(partNATS, func() *exec.Cmd {
		return helper(helperNATS, filepath.Join(c.dir, partNATS, "store"), c.listen(serviceNATS))
	})
	if config.Database != nil {
		c.startStores(ctx)
	}
	c.nats.awaitReady(ctx)
	for i := range max(1, config.Engines) {
		name := engineName(i)
		c.engines = append(c.engines, c.start(name, func() *exec.Cmd { return c.engine(i) }))
		c.engines[i].awaitReady(ctx) // the first makes the streams and the bucket
	}
	if config.Database == nil {
		c.readKeys()
	}
	for i := range config.Executors {
		name := executorName(i)
		c.executors = append(c.executors, c.start(name, func() *exec.Cmd {
			return c.server(name, "executor", append(c.s3Flags(name), "--task-keys-file", filepath.Join(c.dir, engineName(0), "task-keys.pem"), "--slots", strconv.Itoa(config.Slots), "--drain", config.Drain.String())...)
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

// mount gives each part that stores data a disk that can get full, or slow.
func (c *cluster) mount() {
	if !c.config.Disks {
		return
	}
	keepers := []string{partNATS}
	if c.config.Database != nil {
		keepers = append(keepers, partDatabase, partS3)
	}
	for i := range max(1, c.config.Engines) {
		keepers = append(keepers, engineName(i))
	}
	for i := range c.config.Executors {
		keepers = append(keepers, executorName(i))
	}
	for _, part := range keepers {
		disk, err := newDisk(c.t, filepath.Join(c.dir, part), diskSize)
		if err != nil {
			c.skipped = append(c.skipped, "no disk gets full or slow: "+err.Error())
			return
		}
		c.disks[part] = disk
	}
}

// startStores starts what engines share: the database, and an S3, which is that of another server.
func (c *cluster) startStores(ctx context.Context) {
	folder := filepath.Join(c.dir, partDatabase)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		c.t.Fatal(err)
	}
	c.database = c.start(partDatabase, func() *exec.Cmd { return c.config.Database.Command(folder, c.listen(serviceDatabase)) })
	c.s3 = c.start(partS3, func() *exec.Cmd {
		return c.command(partS3, "engine,web", "--http", "127.0.0.1:0", "--s3-listen", c.listen(serviceS3))
	})
	c.database.awaitReady(ctx)
	c.s3.awaitReady(ctx)
	c.readKeys()
}

// engine makes the command of an engine, which serves the API, too.
func (c *cluster) engine(i int) *exec.Cmd {
	name := engineName(i)
	more := []string{"--http", c.listen(httpService(i)), "--retention", "0", "--token-file", c.tokenFile()}
	if c.config.Database == nil {
		more = append(more, "--s3-listen", c.listen(serviceS3))
	} else {
		more = append(more, "--mongodb-uri", c.config.Database.URI(c.network.reach(name, serviceDatabase)))
		more = append(more, c.s3Flags(name)...)
	}
	return c.server(name, "engine,web", more...)
}

func engineName(i int) string   { return "engine" + strconv.Itoa(i) }
func httpService(i int) string  { return serviceHTTP + strconv.Itoa(i) }
func executorName(i int) string { return "executor" + strconv.Itoa(i) }
func lockerName(i int) string   { return "locker" + strconv.Itoa(i) }

// connect makes the network, of namespaces if it may.
func (c *cluster) connect() {
	c.t.Helper()
	names := []string{partNATS}
	services := map[string]service{serviceNATS: {part: partNATS}, serviceS3: {part: engineName(0)}}
	if c.config.Database != nil {
		names = append(names, partDatabase, partS3)
		services[serviceDatabase], services[serviceS3] = service{part: partDatabase}, service{part: partS3}
	}
	for i := range max(1, c.config.Engines) {
		names = append(names, engineName(i))
		services[httpService(i)] = service{part: engineName(i)}
	}
	for i := range c.config.Executors {
		names = append(names, executorName(i))
	}
	for i := range c.config.Lockers {
		names = append(names, lockerName(i))
	}
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

// listen returns the address at which a service listens.
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

// server makes the command of a `tidewheel server` of the cluster.
func (c *cluster) server(name, roles string, more ...string) *exec.Cmd {
	return c.command(name, roles, append([]string{
		"--lock-ttl", cmp.Or(c.config.LockTTL, lockTTL).String(),
		"--nats-url", "nats://" + c.network.reach(name, serviceNATS), "--nats-credentials", natsToken,
	}, more...)...)
}

// command makes the command of any `tidewheel server`.
func (c *cluster) command(name, roles string, more ...string) *exec.Cmd {
	program := c.program
	if c.config.Skewed != "" && name == executorName(c.config.Executors-1) {
		program = c.config.Skewed
	}
	arguments := append([]string{"server", "--data", filepath.Join(c.dir, name), "--roles", roles}, more...)
	// It outlives contexts: the part ends it.
	command := exec.CommandContext(context.WithoutCancel(c.t.Context()), program, arguments...)
	command.Env = append(os.Environ(), "XDG_STATE_HOME="+filepath.Join(c.dir, "state"), "TIDEWHEEL_REQUESTS_PER_SECOND=0")
	return command
}

// s3Flags are the flags by which a part reaches the S3.
func (c *cluster) s3Flags(part string) []string {
	flags := []string{"--s3-endpoint", "http://" + c.network.reach(part, serviceS3), "--s3-access-key", c.keys.AccessKey, "--s3-secret-key", c.keys.SecretKey}
	if c.s3 != nil {
		flags = append(flags, "--s3-bucket", "chaos") // the S3's own server has another
	}
	return flags
}

// tokenFile is where the token of the API stands.
func (c *cluster) tokenFile() string { return filepath.Join(c.dir, "token") }

// journal is where the programs write.
func (c *cluster) journal() string { return filepath.Join(c.dir, "journal") }

// history is where the lockers write.
func (c *cluster) history() string { return filepath.Join(c.dir, "locks") }

// readKeys reads what opens the S3.
func (c *cluster) readKeys() {
	c.t.Helper()
	text, err := os.ReadFile(filepath.Join(c.dir, c.network.owner(serviceS3), "s3.json"))
	if err != nil {
		c.t.Fatal(err)
	}
	if err := json.Unmarshal(text, &c.keys); err != nil {
		c.t.Fatal(err)
	}
}

// apis speak to the engines, each to one.
func (c *cluster) apis() (all []*client.Client) {
	c.t.Helper()
	for i := range c.engines {
		made, err := client.New(client.Config{URL: "http://" + c.listen(httpService(i)), Token: apiToken})
		if err != nil {
			c.t.Fatal(err)
		}
		c.t.Cleanup(made.Close)
		all = append(all, made)
	}
	return all
}

// folder returns a folder that jobs can pass through, as they may run as nobody. With keep it stays.
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
