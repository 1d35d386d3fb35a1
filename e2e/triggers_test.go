package e2e

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/client"
	"github.com/tidewheel/tidewheel/client/wire"
)

const (
	triggerRounds = 40
	triggerKills  = 5
	triggerSecret = "a secret of enough bytes"
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
`

// The server is killed again and again while events come. Each starts one run.
func TestEventsStartOneRunEachThoughTheServerIsKilled(t *testing.T) {
	ctx := t.Context()
	server := NewServer(t, binary)
	server.Start()
	api := server.Client()
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
			key := fmt.Sprintf("round-%d", i)
			untilDone(ctx, func() bool { _, err := api.RunJob(ctx, "etl", wire.RunRequest{}, key); return err == nil })
			for range 2 { // each event arrives twice
				untilDone(ctx, func() bool { return callHook(ctx, server.URL(), key) })
			}
		}
	}()
	for range triggerKills {
		<-time.After(time.Duration(300+rand.IntN(700)) * time.Millisecond)
		server.Kill()
		server.Start()
	}
	<-sent
	var runs map[string]wire.Run
	for deadline := time.Now().Add(settleLimit); ; {
		runs = settled(ctx, t, api)
		if len(runs) >= 4*triggerRounds || time.Now().After(deadline) {
			break
		}
		<-time.After(200 * time.Millisecond)
	}
	started := map[string]int{}
	for id := range runs {
		run := runs[id]
		started[run.Job]++
		if run.Job == "etl" {
			continue
		}
		var payload struct{ Run, ID string }
		full, err := api.Run(ctx, run.ID)
		if err == nil {
			err = json.Unmarshal(full.Payload, &payload)
		}
		if err != nil || run.Trigger != "event" || run.Status.String() != "succeeded" {
			t.Errorf("%+v, %v", run, err)
		}
		event := run.Job + " " + payload.Run + payload.ID
		if started[event]++; started[event] > 1 {
			t.Errorf("%s started twice", event)
		}
	}
	for _, job := range []string{"etl", "next", "last", "hooked"} {
		if started[job] != triggerRounds {
			t.Errorf("%d runs of %s instead of %d", started[job], job, triggerRounds)
		}
	}
}

// untilDone does something again and again, as a sender whose receiver is away.
func untilDone(ctx context.Context, do func() bool) {
	for ctx.Err() == nil && !do() {
		<-time.After(20 * time.Millisecond)
	}
}

// callHook sends an event as GitHub does, and reports whether it was taken.
func callHook(ctx context.Context, url, id string) bool {
	body := fmt.Sprintf(`{"id":%q}`, id)
	mac := hmac.New(sha256.New, []byte(triggerSecret))
	mac.Write([]byte(body))
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/api/v1/hooks/default/hooked", strings.NewReader(body))
	if err != nil {
		return false
	}
	request.Header.Set("X-GitHub-Delivery", id)
	request.Header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	_ = response.Body.Close()
	return response.StatusCode == http.StatusOK || response.StatusCode == http.StatusCreated
}
