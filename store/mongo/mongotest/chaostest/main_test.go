package chaostest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/tidewheel/tidewheel/e2e"
	"github.com/tidewheel/tidewheel/e2e/chaos"
	"github.com/tidewheel/tidewheel/store/mongo/mongotest"
)

// Passed on by `make test-chaos`.
var (
	length = flag.Duration("chaos", 0, "how long the long chaos lasts; 0 leaves it out")
	seed   = flag.Uint64("seed", 0, "decides what goes wrong, and when, in the long and the short form; 0 draws one")
	keep   = flag.String("keep", "", "a new folder for all files of the long chaos, which stays")
)

// The programs under test, built once.
var program, witness string

// helperMongo begins the command line of the database.
const helperMongo = "chaos-mongodb"

func TestMain(m *testing.M) {
	is, err := help(os.Args[1:], os.Stdout)
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	case !is:
		os.Exit(run(m))
	}
}

// help lives the life of a part that is this test's own, if the command line says so.
func help(arguments []string, out io.Writer) (is bool, err error) {
	if len(arguments) == 3 && arguments[0] == helperMongo {
		return true, serveMongo(arguments[1], arguments[2], out)
	}
	return chaos.Helper(arguments, out)
}

// helper makes the command of a process of this test's own program.
func helper(arguments ...string) *exec.Cmd {
	return exec.CommandContext(context.Background(), os.Args[0], arguments...)
}

// serveMongo is the whole life of the database.
func serveMongo(folder, listen string, out io.Writer) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	server, err := mongotest.Start(ctx, mongotest.Config{
		Address: listen, Journal: filepath.Join(folder, "journal"), Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)),
	})
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "MongoDB is ready")
	<-ctx.Done()
	return server.Close()
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "tidewheel-chaos-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	err = os.Chmod(dir, 0o755) // jobs and guardians come from here
	if err == nil {
		var failed error
		program, err = e2e.Build(context.Background(), dir)
		witness, failed = e2e.BuildOf(context.Background(), dir, "e2e/chaos/witness")
		err = errors.Join(err, failed)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}
