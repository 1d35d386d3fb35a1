package e2e

import (
	"bufio"
	"context"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/client"
	"github.com/tidewheel/tidewheel/client/wire"
)

// How many runs the test asks for.
const (
	trimmedJobs = 50
	trimmedEach = 1000
)

// The reports of 50,000 runs go from the queue once the engine has dealt with them: what stays, in the stream and on the disk, does
// not grow with the number of runs.
func TestReportsOfManyRunsDoNotStayInTheQueue(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	server := NewServer(t, binary, "--lock-ttl", "2s", "--slots", "32", "--log-level", "warn")
	server.Start()
	api := server.Client()
	path, err := exec.LookPath("true")
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := api.UploadBinary(ctx, "nothing", strings.NewReader(string(program)), client.UploadOptions{}); err != nil {
		t.Fatal(err)
	}
	var jobs strings.Builder
	for i := range trimmedJobs {
		fmt.Fprintf(&jobs, "---\nkind: Job\nname: nothing-%d\nbinary: nothing\nschedule: \"* * * * * *\"\noverlap: allow\ntimeout: 1m\ncatch_up: {policy: none}\n", i)
	}
	if _, err := api.Apply(ctx, []client.File{{Name: "jobs.yaml", Data: []byte(jobs.String())}}, client.ApplyOptions{}); err != nil {
		t.Fatal(err)
	}
	to := time.Now().Truncate(time.Minute).Add(-time.Minute)
	for i := range trimmedJobs { // nothing is to fire by itself
		name := fmt.Sprintf("nothing-%d", i)
		if _, err := api.PauseJob(ctx, name, ""); err != nil {
			t.Fatal(err)
		}
		if _, err := api.Backfill(ctx, name, wire.BackfillRequest{From: to.Add(-trimmedEach * time.Second), To: to}); err != nil {
			t.Fatal(err)
		}
	}
	const runs = trimmedJobs * trimmedEach
	read := func() (ended, messages, bytes float64) {
		values := scrape(ctx, t, server)
		for name, value := range values {
			if strings.HasPrefix(name, "tidewheel_runs_ended_total{") {
				ended += value
			}
		}
		for _, stream := range []string{"TASKS", "RESULTS", "LOCKS", "LEASES"} {
			for _, of := range []string{"messages", "bytes", "trim_age_seconds"} {
				if _, shown := values[fmt.Sprintf("tidewheel_stream_%s{stream=%q}", of, stream)]; !shown {
					t.Fatalf("there is no tidewheel_stream_%s of %s", of, stream)
				}
			}
		}
		return ended, values[`tidewheel_stream_messages{stream="RESULTS"}`], values[`tidewheel_stream_bytes{stream="RESULTS"}`]
	}
	began, most := time.Now(), 0.0
	poll(ctx, t, 10*time.Minute, fmt.Sprintf("%d runs have ended", runs), func() bool {
		ended, messages, _ := read()
		most = max(most, messages)
		return ended >= runs
	})
	_, atEnd, _ := read()
	t.Logf("%d runs in %s; RESULTS held %.0f messages at most, %.0f at the end", runs, time.Since(began).Round(time.Second), most, atEnd)
	// A report goes two claim windows of 24 s after it was read, at the latest; what was used by it is given back to the disk.
	poll(ctx, t, 3*time.Minute, "the reports have gone", func() bool {
		_, messages, bytes := read()
		return messages < runs/100 && bytes < 1<<20
	})
	if size := sizeOf(t, filepath.Join(server.args[2], "nats", "jetstream", "$G", "streams", "RESULTS")); size > 4<<20 {
		t.Errorf("RESULTS takes %d bytes on the disk", size)
	}
	if out, _ := server.Command(ctx, "doctor", "--data", server.args[2], "--http", server.address); !strings.Contains(out, "none grows") {
		t.Errorf("the doctor says of the streams:\n%s", out)
	}
}

// poll waits until something holds.
func poll(ctx context.Context, t *testing.T, patience time.Duration, what string, holds func() bool) {
	t.Helper()
	ticker := time.NewTicker(500 * time.Millisecond)
	defer ticker.Stop()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for !holds() {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			t.Fatalf("waited for %s in vain: %s", patience, what)
		}
	}
}

// scrape reads the metrics of a server.
func scrape(ctx context.Context, t *testing.T, server *Server) map[string]float64 {
	t.Helper()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL()+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	token, err := os.ReadFile(filepath.Join(server.args[2], "token"))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	values := make(map[string]float64)
	lines := bufio.NewScanner(answer.Body)
	for lines.Scan() {
		at := strings.LastIndexByte(lines.Text(), ' ')
		if at < 0 || strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		if value, err := strconv.ParseFloat(lines.Text()[at+1:], 64); err == nil {
			values[lines.Text()[:at]] = value
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return values
}

// sizeOf adds up the files of a folder.
func sizeOf(t *testing.T, folder string) (size int64) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(folder, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			size += info.Size()
			files++
		}
		return err
	})
	if err != nil || files == 0 {
		t.Fatalf("look at %s: %d files, %v", folder, files, err)
	}
	return size
}
