// Command mongotest runs a MongoDB-protocol server in memory for tests. It prints its connection string on one line
// and runs until SIGTERM or SIGINT; its data is gone then, unless it has a journal.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/tidewheel/tidewheel/store/mongo/mongotest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, arguments []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("mongotest", flag.ContinueOnError)
	flags.SetOutput(stderr)
	listen := flags.String("listen", "127.0.0.1:0", "address to listen on")
	expire := flags.Duration("expire", 0, "time between two removals of expired documents (default 1s)")
	journal := flags.String("journal", "", "file that keeps the data (default none)")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	server, err := mongotest.Start(ctx, mongotest.Config{
		Address:        *listen,
		ExpireInterval: *expire,
		Journal:        *journal,
		Logger:         slog.New(slog.NewTextHandler(stderr, nil)),
	})
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(stdout, server.URI()); err != nil {
		return errors.Join(err, server.Close())
	}
	<-ctx.Done()
	return server.Close()
}
