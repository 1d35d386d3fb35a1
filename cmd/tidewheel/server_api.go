package main

import (
	"context"
	"crypto/rand"
	"net/url"
	"strings"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/shard"
	"github.com/tidewheel/tidewheel/internal/runtoken"
	"github.com/tidewheel/tidewheel/web/api"
)

// runTokenKey is the name of the key that run tokens go back to, among those that all nodes share.
const runTokenKey = "run-token"

// openRunKey reads the key of run tokens, which the first node that asks makes. It is kept in the store, because that is
// all that engines and web nodes share and executors do not reach.
func (s *Server) openRunKey(ctx context.Context) error {
	fresh := make([]byte, runtoken.KeySize)
	_, _ = rand.Read(fresh) // never fails
	key, err := s.store.SharedKey(ctx, runTokenKey, fresh)
	s.runKey = key
	return err
}

// programAPI is where programs reach the API, as this node knows; "" if it does not.
func (s *Server) programAPI() string {
	base := s.config.APIURL
	if base == "" {
		base = s.URL()
	}
	if base == "" {
		return ""
	}
	return strings.TrimSuffix(base, "/") + api.Prefix
}

// validateAPIURL takes the address with or without the path of the API.
func (c *ServerConfig) validateAPIURL() error {
	if c.APIURL == "" {
		return nil
	}
	parsed, err := url.Parse(c.APIURL)
	if err != nil || parsed.Host == "" || parsed.Scheme != "http" && parsed.Scheme != "https" || parsed.RawQuery != "" || parsed.Fragment != "" || parsed.User != nil {
		return usage("--api-url: %q is not where programs reach the API, such as http://tidewheel.example:8080", c.APIURL)
	}
	c.APIURL = strings.TrimSuffix(strings.TrimSuffix(c.APIURL, "/"), api.Prefix)
	return nil
}

// grantingQueue adds to each task the credentials of its program for the API, and how much it may store.
type grantingQueue struct {
	shard.Queue
	key     runtoken.Key
	api     string
	secrets *secretGiver
	stored  *storedBytes
	metrics *metrics
}

// Publish asks executors to run an attempt, with the key of its run token and the sealed values of its secrets.
func (q grantingQueue) Publish(task *engine.Task, done func(error)) {
	began, report := time.Now(), done
	done = func(err error) {
		if err == nil {
			q.metrics.publish.Observe(time.Since(began).Seconds())
		}
		report(err)
	}
	granted := *task // it is the core's
	granted.API, granted.RunKey = q.api, q.key.Attempt(task.Namespace, task.Run, task.Attempt)
	granted.ArtifactRoom = q.stored.room(task.Namespace)
	if len(task.Secrets) == 0 {
		q.Queue.Publish(&granted, done)
		return
	}
	q.secrets.give(&granted, q.Queue.Publish, done)
}
