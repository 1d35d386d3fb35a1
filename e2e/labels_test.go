package e2e

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/client"
	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/engine"
)

const labelJobs = `
kind: Job
name: near
binary: who
tier: light
overlap: allow
---
kind: Job
name: sonar
binary: who
tier: light
class: premium
overlap: allow
runs_on: {sonar: true}
---
kind: Job
name: deep
binary: who
tier: light
overlap: allow
runs_on: {sonar: true, boat: nereid}
`

// who is the executor's own name for a run, as the server returns it.
func who(run *wire.Run) (executors []string) {
	for i := range run.Attempts {
		executors = append(executors, run.Attempts[i].Executor)
	}
	return executors
}

// Two executors, two processes, other labels: each run goes to the executor with its labels,
// one that no executor has waits and says so, and
// an executor that comes later finds it, also after both have restarted.
func TestRunsGoWhereTheirLabelsAre(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	queue, bytes := freeAddress(t), freeAddress(t)
	server := NewServer(t, binary, "--label", "boat=argo", "--slots", "4", "--nats-listen", queue, "--s3-listen", bytes)
	server.Start()
	api := server.Client()
	root, err := Root(ctx)
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(filepath.Join(root, "examples/labels/hull-scan/hull-scan.sh"))
	if err != nil {
		t.Fatal(err)
	}
	definition, err := os.ReadFile(filepath.Join(root, "examples/labels/hull-scan/dag.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"hull-scan": string(program), "who": "#!/bin/sh\necho here\n"} {
		if _, err := api.UploadBinary(ctx, name, strings.NewReader(text), client.UploadOptions{Aliases: []string{"stable"}}); err != nil {
			t.Fatal(err)
		}
	}
	applied, err := api.Apply(ctx, []client.File{{Name: "dag.yaml", Data: definition}, {Name: "jobs.yaml", Data: []byte(labelJobs)}}, client.ApplyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	warnings := 0
	for _, item := range applied.Items {
		warnings += len(item.Warnings)
	}
	if warnings != 3 {
		t.Errorf("apply warned %d times, want of scan, sonar and deep: %+v", warnings, applied.Items)
	}
	start := func(key string) (ids map[string]string) {
		ids = map[string]string{}
		for _, job := range []string{"near", "sonar", "deep"} {
			run, err := api.RunJob(ctx, job, wire.RunRequest{}, key)
			if err != nil {
				t.Fatal(err)
			}
			ids[job] = run.ID
		}
		return ids
	}
	first := start("first")
	out, status := server.Command(ctx, "run", "hull-scan", "--key", "e2e")
	if status != 0 {
		t.Fatalf("exit %d: %s", status, out)
	}
	scan := strings.TrimSpace(out) + "-scan"
	unserved := watch(ctx, t, api, scan, func(run *wire.Run) bool { return run.Unserved != "" })
	if unserved.Unserved != "no executor has sonar=true" || unserved.Status != engine.StatusQueued {
		t.Errorf("the scan is %s and says %q", unserved.Status, unserved.Unserved)
	}
	if out, _ := server.Command(ctx, "doctor", "--data", filepath.Join(Folder(t), "data"), "--http", freeAddress(t)); !strings.Contains(out, "no executor has sonar=true") {
		t.Errorf("the doctor does not tell: %s", out)
	}

	executor := NewServer(t, binary, executorFlags(t, server, queue, bytes)...)
	executor.Start()
	ended := func(run *wire.Run) bool { return run.Status.Terminal() }
	here := map[string]bool{}
	check := func(ids map[string]string) {
		t.Helper()
		for job, id := range ids {
			run := watch(ctx, t, api, id, ended)
			if run.Status != engine.StatusSucceeded || len(run.Attempts) != 1 {
				t.Errorf("%s ended as %s after %d attempts: %s", job, run.Status, len(run.Attempts), run.Reason)
				continue
			}
			executors, err := api.Executors(ctx)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range executors {
				if e.ID == who(&run)[0] && job != "near" && e.Labels["sonar"] != "true" {
					t.Errorf("%s ran on %s with %v", job, e.ID, e.Labels)
				}
				here[e.ID] = true
			}
		}
	}
	check(first)
	if run := watch(ctx, t, api, scan, ended); run.Status != engine.StatusSucceeded || run.RunsOn["sonar"] != "true" {
		t.Errorf("the scan ended as %s: %s", run.Status, run.Reason)
	}
	if run := watch(ctx, t, api, strings.TrimSpace(out)+"-report", ended); run.Status != engine.StatusSucceeded {
		t.Errorf("the report ended as %s: %s", run.Status, run.Reason)
	}
	for i := range 20 {
		check(start("again-" + string(rune('a'+i))))
	}

	// What waits for labels is not lost when everything ends, and is found by who comes after.
	executor.Kill()
	gone := start("gone")
	watch(ctx, t, api, gone["near"], ended)
	server.Kill()
	server.Start()
	executor.Start()
	check(gone)
	if len(here) < 4 {
		t.Errorf("%d executors were seen, want four: two of each life", len(here))
	}
}

// executorFlags are those of a second executor, with labels of its own, which reaches a server's queue and programs.
func executorFlags(t *testing.T, server *Server, queue, bytes string) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(server.args[2], "s3.json"))
	if err != nil {
		t.Fatal(err)
	}
	var keys struct {
		AccessKey string `json:"access_key"`
		SecretKey string `json:"secret_key"`
	}
	if err := json.Unmarshal(data, &keys); err != nil {
		t.Fatal(err)
	}
	token, err := os.ReadFile(filepath.Join(server.args[2], "nats.token"))
	if err != nil {
		t.Fatal(err)
	}
	return []string{
		"--roles", "executor", "--tier", "heavy", "--label", "sonar=true", "--label", "boat=nereid", "--slots", "2",
		"--nats-url", "nats://" + queue, "--nats-credentials", strings.TrimSpace(string(token)),
		"--task-keys-file", filepath.Join(server.args[2], "task-keys.pem"),
		"--s3-endpoint", "http://" + bytes, "--s3-access-key", keys.AccessKey, "--s3-secret-key", keys.SecretKey,
	}
}

// watch waits until a run is as it should be, and returns it. It looks whenever something has changed.
func watch(ctx context.Context, t *testing.T, api *client.Client, id string, holds func(*wire.Run) bool) wire.Run {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, settleLimit)
	defer cancel()
	changed := make(chan struct{}, 1)
	watching := make(chan error, 1)
	go func() {
		watching <- api.Watch(ctx, func(wire.Event) error {
			select {
			case changed <- struct{}{}:
			default:
			}
			return nil
		})
	}()
	defer func() { cancel(); <-watching }()
	hint := time.NewTicker(time.Second) // for hints that get lost: they may
	defer hint.Stop()
	for {
		run, err := api.Run(ctx, id)
		if err == nil && holds(&run) {
			return run
		}
		select {
		case <-changed:
		case <-hint.C:
		case <-ctx.Done():
			t.Fatalf("run %s is %s: %s %s (%v)", id, run.Status, run.Reason, run.Unserved, err)
		}
	}
}
