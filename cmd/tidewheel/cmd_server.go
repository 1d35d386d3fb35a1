package main

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/tidewheel/tidewheel/executor/process"
)

func (c *cli) serverCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "server",
		Short: "Start a server: all in one, or one role of a cluster",
		Long: `Start a server. By default it does everything in one process, and keeps all of it in one folder: jobs and history
in SQLite, the queue in an embedded NATS, programs and outputs in an embedded S3.

--mongodb-uri, --nats-url and --s3-endpoint each replace one of these by a real one. --roles spreads the work over
machines: executors need only NATS and S3 of the others.

Every flag may also be set by the environment (TIDEWHEEL_HTTP for --http) or in the file of --config. A flag wins
over the environment, the environment over the file.

The first start makes a token, keeps it in the file token of the data folder, and prints a link to log in with. One
signal ends the server in good order, a second one at once.`,
		Example: `  tidewheel server
  tidewheel server --data /var/lib/tidewheel --http 0.0.0.0:8080
  tidewheel server --nats-listen 0.0.0.0:4222 --s3-listen 0.0.0.0:9000
  tidewheel server --roles executor --nats-url nats://main:4222 --s3-endpoint http://main:9000 --task-keys-file task-keys.pem --tier heavy`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := c.noOutput(cmd, "a server writes a log, whose form --log-format says"); err != nil {
				return err
			}
			config, err := c.serverConfig(cmd)
			if err != nil {
				return err
			}
			return c.serve(cmd.Context(), config)
		},
	}
	serverFlags(cmd.Flags())
	cmd.Flags().SortFlags = false
	return cmd
}

// closeLimit is how long the end may take beyond what running jobs are given.
const closeLimit = time.Minute

// serve runs a server until ctx ends or a part of it fails.
func (c *cli) serve(ctx context.Context, config ServerConfig) error {
	tuneMemory()
	log := c.logger(&config)
	if err := process.Shield(); err != nil {
		log.Warn("programs that run as the server's user can read its memory", "error", err)
	}
	for {
		server, err := NewServer(config, log, c.out)
		if err != nil {
			return err
		}
		if err := server.Start(ctx); err != nil {
			return err
		}
		err = server.Wait(ctx)
		closing, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), server.config.Drain+closeLimit,
			errors.New("the server did not end in time"))
		closed := server.Close(closing)
		cancel()
		if !errors.Is(err, errBeginAnew) {
			return errors.Join(err, closed)
		}
		log.Warn("the server restarts", "why", err, "error", closed)
	}
}
