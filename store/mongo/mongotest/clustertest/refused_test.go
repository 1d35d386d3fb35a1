package clustertest

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/client"
	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/e2e"
)

// A node of a version whose database has an earlier schema, and one of this version, refuse to work on one MongoDB and one NATS, in
// whichever order they start. What was there first continues; after an update in the order that the refusal names, nothing is lost.
func TestVersionsThatCannotBeMixedRefuseEachOther(t *testing.T) {
	c := &cluster{t: t, dir: folder(t), happens: &happenings{}, addresses: map[string]string{}, older: map[string]bool{}}
	var err error
	if c.program, err = e2e.Build(t.Context(), folder(t)); err != nil {
		t.Fatal(err)
	}
	c.earlier = buildEarlier(t, "REFUSED")
	c.makeTaskKeys()
	if err := os.WriteFile(filepath.Join(c.dir, "token"), []byte(token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	database, nats := freeAddress(t), freeAddress(t)
	c.mongo = c.node("mongodb", func() *exec.Cmd { return helper(helperMongo, database) })
	c.mongo.start()
	// The first node brings NATS and S3 for both.
	shared := []string{
		"--mongodb-uri", "mongodb://" + database + "/tidewheel?replicaSet=mongotest", "--task-keys-file", filepath.Join(c.dir, privateTaskKeys),
		"--token-file", filepath.Join(c.dir, "token"),
	}
	server := func(name, program string) *node {
		c.addresses[name] = freeAddress(t)
		return c.node(name, func() *exec.Cmd {
			return c.command(program, name, "engine,executor,web", append(shared, "--http", c.addresses[name], "--nats-listen", nats)...)
		})
	}
	beside := func(program string) *exec.Cmd {
		return c.command(program, "beside", "engine,web", append(shared, "--http", "127.0.0.1:0", "--nats-url", "nats://"+nats,
			"--nats-credentials", c.natsToken("earlier"))...)
	}
	earlier := server("earlier", c.earlier)
	earlier.start()
	api := c.api(earlier)
	c.succeeds(t, api, true)

	refused(t, beside(c.program), "schema version 2 and is in use by nodes of an earlier Tidewheel", "Stop all nodes with the role engine or web, then start one of this version")
	c.succeeds(t, api, false) // what is there continues
	earlier.stop()
	earlier.start() // and may be restarted
	earlier.stop()

	// The data folder is the same, so that NATS and S3 are.
	if err := os.Rename(filepath.Join(c.dir, "earlier"), filepath.Join(c.dir, "current")); err != nil {
		t.Fatal(err)
	}
	current := server("current", c.program)
	current.start()
	c.succeeds(t, c.api(current), false)
	runs, err := c.api(current).Runs(t.Context(), client.RunFilter{Job: "report"})
	if err != nil || len(runs.Items) != 3 {
		t.Errorf("after the update there are the runs %+v, %v", runs.Items, err)
	}
	refused(t, c.command(c.earlier, "late", "engine,web", append(shared, "--http", "127.0.0.1:0", "--nats-url", "nats://"+nats,
		"--nats-credentials", c.natsToken("current"))...), "schema version 3", "written by a newer Tidewheel")
	current.stop()
}

// natsToken is what opens the NATS of a node.
func (c *cluster) natsToken(name string) string {
	c.t.Helper()
	text, err := os.ReadFile(filepath.Join(c.dir, name, "nats.token"))
	if err != nil {
		c.t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

// refused runs what must not start, and wants its exit status and what it says.
func refused(t *testing.T, command *exec.Cmd, words ...string) {
	t.Helper()
	var text bytes.Buffer
	command.Stdout, command.Stderr = &text, &text
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(startLimit, func() { _ = command.Process.Kill() }) // it has started, and works
	err := command.Wait()
	late.Stop()
	var ended *exec.ExitError
	if !errors.As(err, &ended) || ended.ExitCode() != 2 {
		t.Fatalf("a node that cannot be mixed ends with %v:\n%s", err, text.String())
	}
	for _, part := range words {
		if !strings.Contains(text.String(), part) {
			t.Errorf("it does not say %q:\n%s", part, text.String())
		}
	}
}

// succeeds runs a job manually, and makes it before.
func (c *cluster) succeeds(t *testing.T, api *client.Client, made bool) {
	t.Helper()
	if made {
		if _, err := api.UploadBinary(t.Context(), "report", strings.NewReader("#!/bin/sh\necho done\n"), client.UploadOptions{}); err != nil {
			t.Fatal(err)
		}
		definition := "kind: Job\nname: report\nbinary: report\n"
		if _, err := api.Apply(t.Context(), []client.File{{Name: "report.yaml", Data: []byte(definition)}}, client.ApplyOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	run, err := api.RunJob(t.Context(), "report", wire.RunRequest{}, "")
	if err != nil {
		t.Fatal(err)
	}
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for until := time.Now().Add(startLimit); err == nil && !run.Status.Terminal() && time.Now().Before(until); <-ticker.C {
		run, err = api.Run(t.Context(), run.ID)
	}
	if err != nil || run.Status.String() != "succeeded" {
		t.Errorf("the run is %s: %s, %v", run.Status, run.Error, err)
	}
}
