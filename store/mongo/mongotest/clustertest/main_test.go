package clustertest

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/tidewheel/tidewheel/store/mongo/mongotest"
)

var (
	rate   = flag.Int("rate", 60, "how many jobs are due each second")
	long   = flag.Bool("long", false, "let outages last for half a minute instead of a few seconds")
	only   = flag.String("only", "", "the numbers of scenarios in the order in which they are to come, such as 2,6,2; each of them once by default")
	logs   = flag.String("logs", "", "a folder for what the nodes say; by default it is shown if the test fails")
	old    = flag.String("old", "", "the program of an earlier version that works beside this one; by default it is built from what PREVIOUS names")
	racing = flag.Bool("racing", false, "build the program with the race detector; a race ends its node with an error")
	short  = flag.Bool("short-form", false, "only what matters most: an engine and a NATS server are killed, all is restarted, and an earlier version works beside this one")
	strict = flag.Bool("strict", false, "allow nothing for what the machine was measured to take for the same slots without a fault; -long does so, too")
)

// Words that begin the command lines of this test's own processes.
const (
	helperNATS  = "cluster-nats"
	helperMongo = "cluster-mongodb"
)

// natsUser and natsPassword open the NATS servers for the nodes, and for each other.
const natsUser, natsPassword = "tidewheel", "cluster"

func TestMain(m *testing.M) {
	if is, err := help(os.Args[1:], os.Stdout); is {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// help lives the life of a NATS server or of the database, if the command line says so.
func help(arguments []string, out io.Writer) (is bool, err error) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	switch {
	case len(arguments) == 6 && arguments[0] == helperNATS:
		return true, serveNATS(ctx, arguments[1:], out)
	case len(arguments) == 2 && arguments[0] == helperMongo:
		return true, serveMongo(ctx, arguments[1], out)
	}
	return false, nil
}

// serveNATS is the whole life of one of the NATS servers: its name, folder, addresses for clients and for the others,
// and the addresses of all. It is ready once it has the state of the others.
func serveNATS(ctx context.Context, arguments []string, out io.Writer) error {
	name, dir, client, route := arguments[0], arguments[1], arguments[2], arguments[3]
	options := &server.Options{
		ServerName: name, JetStream: true, StoreDir: dir, SyncInterval: time.Second, NoSigs: true, NoLog: true,
		Username: natsUser, Password: natsPassword, HTTPHost: "127.0.0.1", HTTPPort: -1,
		Cluster: server.ClusterOpts{Name: "tidewheel", Username: natsUser, Password: natsPassword},
	}
	if _, err := fmt.Sscanf(strings.Replace(client, ":", " ", 1), "%s %d", &options.Host, &options.Port); err != nil {
		return err
	}
	if _, err := fmt.Sscanf(strings.Replace(route, ":", " ", 1), "%s %d", &options.Cluster.Host, &options.Cluster.Port); err != nil {
		return err
	}
	for other := range strings.SplitSeq(arguments[4], ",") {
		options.Routes = append(options.Routes, &url.URL{Scheme: "nats", User: url.UserPassword(natsUser, natsPassword), Host: other})
	}
	made, err := server.NewServer(options)
	if err != nil {
		return err
	}
	made.SetLoggerV2(natsLog{slog.New(slog.NewTextHandler(os.Stderr, nil))}, false, false, false)
	made.Start()
	healthy := func() bool {
		answer, err := http.Get("http://" + made.MonitorAddr().String() + "/healthz")
		if err != nil {
			return false
		}
		_ = answer.Body.Close()
		return answer.StatusCode == http.StatusOK
	}
	looking := time.NewTicker(50 * time.Millisecond)
	defer looking.Stop()
	for ready := false; !ready; {
		select {
		case <-looking.C:
			ready = made.MonitorAddr() != nil && healthy()
		case <-ctx.Done():
			ready = true
		}
	}
	fmt.Fprintln(out, name+" is ready")
	<-ctx.Done()
	made.Shutdown()
	made.WaitForShutdown()
	return nil
}

// natsLog lets a NATS server say what happens.
type natsLog struct{ log *slog.Logger }

func (l natsLog) Noticef(format string, v ...any) { l.log.Info(fmt.Sprintf(format, v...)) }
func (l natsLog) Warnf(format string, v ...any)   { l.log.Warn(fmt.Sprintf(format, v...)) }
func (l natsLog) Fatalf(format string, v ...any)  { l.log.Error(fmt.Sprintf(format, v...)) }
func (l natsLog) Errorf(format string, v ...any)  { l.log.Error(fmt.Sprintf(format, v...)) }
func (l natsLog) Debugf(string, ...any)           {}
func (l natsLog) Tracef(string, ...any)           {}

// serveMongo is the whole life of the database.
func serveMongo(ctx context.Context, address string, out io.Writer) error {
	made, err := mongotest.Start(ctx, mongotest.Config{Address: address, Logger: slog.New(slog.NewTextHandler(os.Stderr, nil))})
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "MongoDB is ready at "+made.URI())
	<-ctx.Done()
	return made.Close()
}
