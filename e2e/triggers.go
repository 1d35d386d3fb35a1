package e2e

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/blob"
	"github.com/tidewheel/tidewheel/client"
	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/queue/jetstream/natstest"
)

const (
	triggerRounds = 40
	triggerKills  = 6
	triggerSecret = "a secret of enough bytes"
	triggerUser   = "tide"
	triggerBucket = "incoming"
	// triggerPrefix begins the keys of objects; what it leaves out is how the client of S3 says whose bucket it is.
	triggerPrefix = "orders/artifacts/"
)

const triggerDefinitions = `kind: Job
name: etl
binary: ok
overlap: allow
---
kind: Job
name: next
binary: ok
overlap: allow
triggers: {after_success: [etl]}
---
kind: Job
name: last
binary: ok
overlap: allow
triggers: {after_success: [next]}
---
kind: Job
name: hooked
binary: ok
overlap: allow
triggers: {webhook: {secret: hook}}
---
kind: Job
name: paid
binary: ok
overlap: allow
triggers: {message: {subject: orders.*}}
---
kind: Job
name: loaded
binary: ok
overlap: allow
triggers: {objects: {bucket: incoming, prefix: orders/artifacts/}}
`

// triggered are servers of one installation, and where its events come from.
type triggered struct {
	t       *testing.T
	servers []*Server
	apis    []*client.Client
	nats    string
	bucket  *blob.Store
}

// Events kills a server again and again while requests, messages, objects and successes come. Each starts one run.
func Events(t *testing.T, binary string, args ...string) {
	queue, s3 := freeAddress(t), freeAddress(t)
	server := NewServer(t, binary, append(args, "--nats-listen", queue, "--nats-credentials", triggerUser+":"+triggerUser, "--s3-listen", s3,
		"--secrets-key-file", secretsKey(t, binary), "--trigger-bucket", "default="+triggerBucket)...)
	server.Start()
	w := &triggered{t: t, servers: []*Server{server}, nats: "nats://" + queue}
	w.openBucket(server, s3)
	w.events()
}

// EventsOfTwoNodes is Events with two nodes that share a store, which args name, a NATS and an S3; one of the nodes is killed at a time.
func EventsOfTwoNodes(t *testing.T, binary string, args ...string) {
	dir, s3 := t.TempDir(), freeAddress(t)
	supplier := NewServer(t, binary, "--roles", "engine,web", "--s3-listen", s3)
	supplier.Start()
	keys := supplier.s3Keys()
	secrets := secretsKey(t, binary)
	queue := filepath.Join(dir, "nats.conf")
	if err := os.WriteFile(queue, fmt.Appendf(nil, "authorization {user: %s, password: %s}\n", triggerUser, triggerUser), 0o600); err != nil {
		t.Fatal(err)
	}
	w := &triggered{t: t, nats: natstest.Configured(t, queue)}
	for range 2 {
		node := NewServer(t, binary, append(args, "--nats-url", w.nats, "--nats-credentials", triggerUser+":"+triggerUser,
			"--s3-endpoint", "http://"+s3, "--s3-bucket", "shared", "--s3-access-key", keys.AccessKey, "--s3-secret-key", keys.SecretKey,
			"--secrets-key-file", secrets, "--token-file", filepath.Join(supplier.Data(), "token"), "--trigger-bucket", "default="+triggerBucket)...)
		node.token = supplier.Token()
		node.Start()
		w.servers = append(w.servers, node)
	}
	w.openBucket(supplier, s3)
	w.events()
}

// secretsKey makes the file of a key of secrets.
func secretsKey(t *testing.T, binary string) (path string) {
	t.Helper()
	key, err := exec.CommandContext(t.Context(), binary, "secret", "new-key").Output()
	path = filepath.Join(t.TempDir(), "secrets.key")
	if err == nil {
		err = os.WriteFile(path, key, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// s3Credentials are those of the S3 of a server.
type s3Credentials struct {
	AccessKey string `json:"access_key"`
	SecretKey string `json:"secret_key"`
}

func (s *Server) s3Keys() (keys s3Credentials) {
	s.t.Helper()
	data, err := os.ReadFile(filepath.Join(s.Data(), "s3.json"))
	if err == nil {
		err = json.Unmarshal(data, &keys)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return keys
}

// openBucket makes the bucket that objects appear in, in the S3 of a server.
func (w *triggered) openBucket(of *Server, address string) {
	w.t.Helper()
	keys := of.s3Keys()
	bucket, err := blob.Open(w.t.Context(), blob.Config{
		Endpoint: "http://" + address, Region: "us-east-1", Bucket: triggerBucket, Prefix: "orders", AccessKey: keys.AccessKey, SecretKey: keys.SecretKey, PathStyle: true,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(bucket.Close)
	w.bucket = bucket
}

// events sends events while servers are killed, and judges what was started.
func (w *triggered) events() {
	t, ctx := w.t, w.t.Context()
	for _, server := range w.servers {
		w.apis = append(w.apis, server.Client())
	}
	api := w.apis[0]
	if _, err := api.UploadBinary(ctx, "ok", strings.NewReader("#!/bin/sh\nexit 0\n"), client.UploadOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := api.SetSecret(ctx, "hook", triggerSecret); err != nil {
		t.Fatal(err)
	}
	if _, err := api.Apply(ctx, []client.File{{Name: "triggers.yaml", Data: []byte(triggerDefinitions)}}, client.ApplyOptions{}); err != nil {
		t.Fatal(err)
	}
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		for i := range triggerRounds {
			w.send(ctx, i)
		}
	}()
	for i := range triggerKills {
		<-time.After(time.Duration(300+rand.IntN(700)) * time.Millisecond)
		server := w.servers[i%len(w.servers)]
		server.Kill()
		server.Start()
	}
	<-sent
	kinds := []string{"etl", "next", "last", "hooked", "paid", "loaded"}
	var runs map[string]wire.Run
	for deadline := time.Now().Add(settleLimit); ; {
		runs = settled(ctx, t, api)
		if len(runs) >= len(kinds)*triggerRounds || time.Now().After(deadline) {
			break
		}
		<-time.After(200 * time.Millisecond)
	}
	started := w.judge(ctx, api, runs)
	for _, job := range kinds {
		most := triggerRounds
		if job == "loaded" { // an object whose writer got no answer was written again, which is another event
			most += triggerKills
		}
		if started[job] < triggerRounds || started[job] > most {
			t.Errorf("%d runs of %s instead of %d", started[job], job, triggerRounds)
		}
	}
}

// send sends one event of each kind until it is taken, from servers in turn, and then once more what may arrive twice.
func (w *triggered) send(ctx context.Context, round int) {
	id := fmt.Sprintf("round-%d", round)
	turn := round
	w.untilDone(ctx, func() error {
		turn++
		_, err := w.apis[turn%len(w.apis)].RunJob(ctx, "etl", wire.RunRequest{}, id)
		return err
	})
	body := fmt.Sprintf(`{"id":%q}`, id)
	for range 2 {
		w.untilDone(ctx, func() error {
			turn++
			return callHook(ctx, w.servers[turn%len(w.servers)].URL(), id, body)
		})
		w.untilDone(ctx, func() error {
			return natstest.PublishID(w.nats, triggerUser, triggerUser, "triggers.default.orders.paid", id, body)
		})
	}
	w.untilDone(ctx, func() error {
		return w.bucket.PutObject(ctx, "artifacts/"+id+"/1/order", strings.NewReader(body), int64(len(body)))
	})
}

// judge demands that each run that an event has started is the only one of its event, and counts the runs of each job.
func (w *triggered) judge(ctx context.Context, api *client.Client, runs map[string]wire.Run) map[string]int {
	started, objects := map[string]int{}, map[string]bool{}
	for id := range runs {
		run := runs[id]
		started[run.Job]++
		if run.Job == "etl" {
			continue
		}
		var payload struct {
			Run, ID, Key string
			Modified     string `json:"modified_at"`
		}
		full, err := api.Run(ctx, run.ID)
		if err == nil {
			err = json.Unmarshal(full.Payload, &payload)
		}
		if err != nil || run.Trigger != "event" || run.Status.String() != "succeeded" {
			w.t.Errorf("%+v, %v", run, err)
		}
		event := run.Job + " " + payload.Run + payload.ID + payload.Key + payload.Modified
		if started[event]++; started[event] > 1 {
			w.t.Errorf("%s started twice", event)
		}
		if payload.Key != "" {
			objects[payload.Key] = true
		}
	}
	for i := range triggerRounds {
		if key := fmt.Sprintf("%sround-%d/1/order", triggerPrefix, i); !objects[key] {
			w.t.Errorf("%s has started nothing", key)
		}
	}
	return started
}

// untilDone does something again and again, as a sender whose receiver is unavailable.
func (w *triggered) untilDone(ctx context.Context, do func() error) {
	limit := time.Now().Add(settleLimit)
	for err := do(); err != nil && ctx.Err() == nil; err = do() {
		if time.Now().After(limit) {
			w.t.Errorf("an event is not taken: %v", err)
			return
		}
		<-time.After(20 * time.Millisecond)
	}
}

// callHook sends an event as GitHub does, and returns nil once it was taken.
func callHook(ctx context.Context, url, id, body string) error {
	mac := hmac.New(sha256.New, []byte(triggerSecret))
	mac.Write([]byte(body))
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/api/v1/hooks/default/hooked", strings.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("X-GitHub-Delivery", id)
	request.Header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusOK && response.StatusCode != http.StatusCreated {
		return errors.New(response.Status)
	}
	return nil
}
