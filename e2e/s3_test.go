package e2e

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/client"
	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/engine"
)

// s3Away is how long S3 stays away: long enough for an executor to give up fetching once.
const s3Away = 3 * time.Second

// road is the way from a server to its S3, which can be cut: connections break, and new ones are refused.
type road struct {
	t       *testing.T
	address string
	target  string

	mu       sync.Mutex
	listener net.Listener
	open     map[net.Conn]bool
	traffic  sync.WaitGroup
}

func newRoad(t *testing.T, target string) *road {
	t.Helper()
	r := &road{t: t, address: "127.0.0.1:0", target: target, open: map[net.Conn]bool{}}
	r.mend()
	t.Cleanup(func() { r.cut(); r.traffic.Wait() })
	return r
}

func (r *road) mend() {
	r.t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", r.address)
	if err != nil {
		r.t.Fatal(err)
	}
	r.address, r.listener = listener.Addr().String(), listener
	r.traffic.Go(func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return
			}
			r.traffic.Go(func() { r.carry(from) })
		}
	})
}

// carry passes bytes both ways until one end closes, or the road is cut.
func (r *road) carry(from net.Conn) {
	to, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", r.target)
	if err != nil {
		_ = from.Close()
		return
	}
	both := []net.Conn{from, to}
	r.mu.Lock()
	r.open[from], r.open[to] = true, true
	r.mu.Unlock()
	var ways sync.WaitGroup
	for i := range both {
		ways.Go(func() {
			_, _ = io.Copy(both[i], both[1-i]) // it ends with the connection
			_ = both[0].Close()
			_ = both[1].Close()
		})
	}
	ways.Wait()
	r.mu.Lock()
	delete(r.open, from)
	delete(r.open, to)
	r.mu.Unlock()
}

// cut ends all traffic. It may be called again.
func (r *road) cut() {
	_ = r.listener.Close()
	r.mu.Lock()
	for connection := range r.open {
		_ = connection.Close()
	}
	r.mu.Unlock()
}

// s3Talk prints in two parts: the second, of 14 MB, when it is let go.
const s3Talk = `#!/bin/sh
seq 1 20000
echo ready >"$TOLD"
read word <"$GATE"
seq 1 2000000
`

const s3Jobs = `
kind: Job
name: talk
binary: talk
retry: {max_attempts: 1}
env: {TOLD: "%s", GATE: "%s"}
---
kind: Job
name: cold
binary: cold
retry: {max_attempts: 1}
delivery: at_most_once
`

// S3 is unavailable while one run prints, and another waits for its program. Neither is blamed: the one loses no line, the
// other is handed back and retried, although it may be delivered at most once and has a single try.
func TestRunsOutliveAnOutageOfS3(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	address := freeAddress(t)
	store := NewServer(t, binary, "--s3-listen", address)
	store.Start()
	keys := store.s3Keys()
	way := newRoad(t, address)
	server := NewServer(t, binary, "--fetch-timeout", "1s", "--s3-endpoint", "http://"+way.address, "--s3-bucket", "other",
		"--s3-access-key", keys.AccessKey, "--s3-secret-key", keys.SecretKey)
	server.Start()
	api := server.Client()
	dir := Folder(t)
	started, gate := filepath.Join(dir, "started"), filepath.Join(dir, "gate")
	for _, path := range []string{started, gate} {
		if err := syscall.Mkfifo(path, 0o666); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, 0o666); err != nil { // jobs may run as nobody
			t.Fatal(err)
		}
	}
	for name, program := range map[string]string{"talk": s3Talk, "cold": "#!/bin/sh\necho cold\n"} {
		if _, err := api.UploadBinary(ctx, name, strings.NewReader(program), client.UploadOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := api.Apply(ctx, []client.File{{Name: "s3.yaml", Data: fmt.Appendf(nil, s3Jobs, started, gate)}}, client.ApplyOptions{}); err != nil {
		t.Fatal(err)
	}
	start := func(job string) string {
		run, err := api.RunJob(ctx, job, wire.RunRequest{}, "once")
		if err != nil {
			t.Fatal(err)
		}
		return run.ID
	}
	talk := start("talk")
	if _, err := os.ReadFile(started); err != nil { // returns when the program has come so far
		t.Fatal(err)
	}
	way.cut()
	cold := start("cold")
	if err := os.WriteFile(gate, []byte("go\n"), 0); err != nil {
		t.Fatal(err)
	}
	<-time.After(s3Away)
	if run, err := api.Run(ctx, cold); err != nil || !strings.Contains(run.Reason, "S3") {
		t.Errorf("while S3 is away the run says %q, %v", run.Reason, err)
	}
	way.mend()
	runs := settled(ctx, t, api)
	for _, id := range []string{talk, cold} {
		if run := runs[id]; run.Status != engine.StatusSucceeded {
			t.Errorf("run %s of %s ended as %s: %s %s", id, run.Job, run.Status, run.Reason, run.Error)
		}
	}
	waited, err := api.Run(ctx, cold)
	if err != nil {
		t.Fatal(err)
	}
	for i := range waited.Attempts {
		a := &waited.Attempts[i]
		if last := i == len(waited.Attempts)-1; last == a.StartedAt.IsZero() || !last && (a.Status != engine.StatusLost || !strings.Contains(a.Error, "could not fetch its program")) {
			t.Errorf("attempt %d ended as %s: %s", a.N, a.Status, a.Error)
		}
	}
	if len(waited.Attempts) < 2 || waited.Failures > 0 {
		t.Errorf("%d attempts, of which %d are failures", len(waited.Attempts), waited.Failures)
	}
	log, err := api.Logs(ctx, talk, client.LogOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	text, err := io.ReadAll(log)
	if err != nil {
		t.Fatal(err)
	}
	var want bytes.Buffer
	for _, most := range []int{20_000, 2_000_000} {
		for i := 1; i <= most; i++ {
			fmt.Fprintln(&want, i)
		}
	}
	if !bytes.Equal(text, want.Bytes()) {
		t.Errorf("%d bytes of output are there, %d were printed", len(text), want.Len())
	}
}
