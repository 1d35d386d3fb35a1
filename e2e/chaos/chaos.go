package chaos

import (
	"context"
	"math/rand/v2"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// Config defines how large the chaos is, and how long it lasts.
type Config struct {
	Seed      uint64
	Length    time.Duration // of the faults
	Pace      time.Duration // between two faults, on average
	Jobs      int
	Period    int // seconds between two slots of a job; divides 60
	DAGs      int
	Engines   int // that share Database; without one there is one engine, on SQLite
	Database  *Database
	Executors int
	Slots     int // of an executor
	Lockers   int
	LockTTL   time.Duration // of all but the lockers; 0 is lockTTL
	Drain     time.Duration // what an executor gives its programs when it is asked to end
	// Namespaces and Disks are used where they may be.
	Namespaces, Disks bool
	// Skewed is a server whose wall clock is off by minutes; the last executor runs it. "" leaves that out.
	Skewed string
	// Settle is how long everything may take to end once nothing is broken any more.
	Settle time.Duration
	// Keep is a new folder that is not removed; "" is a temporary one.
	Keep string
}

// Database is a server of MongoDB's protocol that keeps what it has acknowledged also when it is killed.
type Database struct {
	// Command makes the command of its process. It keeps its data in a folder that is there, listens at an address, and
	// says that it "is ready".
	Command func(folder, listen string) *exec.Cmd
	// URI reports how to reach it at an address, which may be that of a way through this test.
	URI func(address string) string
	// Faults are what it can be asked to do wrong for a while, by what the log calls it.
	Faults map[string]func(ctx context.Context, address string, lasts time.Duration) error
}

// Run breaks a whole Tidewheel for a while, lets it come to rest, and judges it. program is the server, witness the
// program of its jobs.
func Run(t *testing.T, program, witness string, config Config) {
	t.Helper()
	began := time.Now()
	// An interrupted test leaves no network namespace and no disk behind.
	ctx, stop := signal.NotifyContext(t.Context(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	random := rand.New(rand.NewPCG(config.Seed, 1))
	c := newCluster(t, program, config)
	t.Logf("seed %d: %d jobs, %d DAGs, %d engines, %d executors, %d lockers; parts are cut off by %s", config.Seed, config.Jobs, config.DAGs,
		len(c.engines), config.Executors, config.Lockers, c.network.name())
	for _, skipped := range c.skipped {
		t.Logf("left out: %s", skipped)
	}
	apis := c.apis()
	api := apis[0]
	work, text := define(config, c.journal(), random)
	work.load(ctx, t, api, witness, text)

	breaker := newBreaker(c, random, config.Pace)
	faults, end := context.WithTimeout(ctx, config.Length)
	var users sync.WaitGroup
	users.Go(func() { work.ask(faults, apis, config.Pace/2) })
	users.Go(func() { work.act(faults, apis, rand.New(rand.NewPCG(config.Seed, 2)), config.Pace) })
	breaker.run(faults)
	end()
	users.Wait()

	healed := time.Now()
	settling, cancel := context.WithTimeout(ctx, config.Settle)
	defer cancel()
	until := work.end(settling, t, api, c.journal())
	settle(settling, t, api)
	settled := time.Since(healed)
	if c.database != nil {
		spread(settling, t, api, len(c.engines))
	}
	for _, part := range append(c.lockers, c.executors...) {
		part.stop()
	}
	result := work.read(settling, t, api)
	result.troubles = breaker.troubles
	traces, lines, err := readJournal(c.journal())
	if err != nil {
		t.Fatal(err)
	}
	v := judge(t, work, traces, result, until)
	history, err := readHistory(c.history())
	if err != nil {
		t.Fatal(err)
	}
	locks := linearizable(t, porcupine.CheckOperationsVerbose, history, time.Minute, c.dir)
	text, count := breaker.report()
	t.Logf("%d faults in %s: %s", count, config.Length, text)
	t.Logf("%d lines of the journal; at rest %s after the last fault, judged after %s in all", lines, settled.Round(time.Second/10), time.Since(began).Round(time.Second))
	for _, checked := range append(v.checked, locks) {
		t.Logf("checked: %s", checked)
	}
}
