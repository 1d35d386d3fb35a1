package chaos

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/tidewheel/tidewheel/queue/jetstream"
)

// serveNATS is the whole life of the NATS process.
func serveNATS(store, listen string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	server, err := jetstream.StartServer(ctx, jetstream.ServerConfig{
		StoreDir: store, Listen: listen, Credentials: jetstream.Credentials{Token: natsToken},
		Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)),
	})
	if err != nil {
		return err
	}
	fmt.Println("NATS is ready")
	<-ctx.Done()
	return server.Shutdown()
}
