package web_test

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/access"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/web"
)

// A role is revoked during a streaming response: the response ends, and no other begins.
func TestStreamEndsWhenItsReaderLosesTheRole(t *testing.T) {
	for name, path := range map[string]string{
		"events": "/api/v1/events?namespace=finance", "followed output": "/api/v1/runs/uid-s1/logs?follow=true&namespace=finance",
		"output on a page": "/runs/uid-s1/output?follow=0&offset=0&line=1&namespace=finance",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newRoleSite(t, nil)
			s.PutRun(t, engine.Run{
				ID: "uid-s1", Revision: 1, Namespace: "finance", JobUID: "uid", Job: "charge", Tier: "light", Class: "standard",
				Status: engine.StatusQueued, Attempt: 1, CreatedAt: s.Now, Attempts: []engine.Attempt{{N: 1, Status: engine.StatusQueued}},
			})
			var taken atomic.Bool
			s.server.IdentifyBy(func(*http.Request) (access.Identity, error) {
				if taken.Load() {
					return access.Identity{Kind: access.KindUser, Name: "mira"}, nil
				}
				return access.Identity{Kind: access.KindUser, Name: "mira", Grants: access.Grants{"finance": access.Viewer}}, nil
			})
			stream := s.open("GET", path, "", "Accept", "text/event-stream")
			defer stream.Body.Close()
			if stream.StatusCode != http.StatusOK {
				t.Fatalf("status %d", stream.StatusCode)
			}
			taken.Store(true)
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				_, _ = io.Copy(io.Discard, stream.Body) // a stream that is cut ends with an error
			}()
			select {
			case <-ended:
			case <-time.After(2*web.RecheckEvery + 5*time.Second):
				t.Error("it goes on")
				stream.Body.Close()
				<-ended
			}
			if answer := s.ask("GET", strings.Replace(path, "follow=", "f=", 1), ""); answer.status != http.StatusNotFound {
				t.Errorf("it begins again: %d", answer.status)
			}
		})
	}
}
