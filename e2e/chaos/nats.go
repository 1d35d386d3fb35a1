package chaos

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/tidewheel/tidewheel/queue/jetstream"
)

// serveNATS is the whole life of the NATS process.
func serveNATS(store, listen string, out io.Writer) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	server, err := jetstream.StartServer(ctx, jetstream.ServerConfig{
		StoreDir: store, Listen: listen, Credentials: jetstream.Credentials{Token: natsToken},
		Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)),
	})
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "NATS is ready")
	<-ctx.Done()
	return server.Shutdown()
}
