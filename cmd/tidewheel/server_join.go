package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/tidewheel/tidewheel/client"
	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/queue/jetstream"
)

const (
	// joinAgain is how long an executor waits between two tries to reach its server.
	joinAgain = time.Second
	// joinName is how much of the machine's name is in that of an executor that joins; the rest is chance: the next pod may have the same.
	joinName = 31
)

// enrol makes a key, enrols it with a token, and keeps what it is given in a folder. After an error nothing is left there.
func (e *enrolledAs) enrol(ctx context.Context, token, folder string) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	key, seed, err := jetstream.NewUserKey()
	if err != nil {
		return err
	}
	e.Seed = string(seed)
	if err := e.write(folder); err != nil { // before the token is used up: the folder may be closed to this user
		return err
	}
	given, err := e.ask(ctx, key, token)
	if err != nil {
		_ = os.Remove(filepath.Join(folder, enrolmentFile)) // nothing was given that could be lost
		return err
	}
	e.take(&given)
	if given.NATSCA != "" {
		if err := writeFile(filepath.Join(folder, natsCAFile), []byte(given.NATSCA), 0o600); err != nil {
			return err
		}
	}
	return e.write(folder)
}

func (e *enrolledAs) ask(ctx context.Context, key *jetstream.UserKey, token string) (given wire.ExecutorCredentials, err error) {
	api, err := e.client()
	if err != nil {
		return given, err
	}
	proof, err := prove(key, "enrol", e.Name, nil)
	if err != nil {
		return given, err
	}
	return api.EnrolExecutor(ctx, &wire.ExecutorEnrolment{Token: token, Proof: proof})
}

// join enrols this executor with its join token. It waits until a server answers, or ctx ends.
func (s *Server) join(ctx context.Context) error {
	token, err := readSecret("--join-token-file", s.config.JoinTokenFile)
	if err != nil {
		return err
	}
	_, host := hostName()
	as := &enrolledAs{
		Server: strings.TrimRight(s.config.APIURL, "/"),
		Name:   host[:min(len(host), joinName)] + "-" + strings.ToLower(rand.Text()[:8]),
	}
	for waited := false; ; waited = true {
		limited, cancel := context.WithTimeout(ctx, renewLimit)
		err := as.enrol(limited, token, s.config.Enrolment)
		cancel()
		var problem *client.APIError
		if answered := errors.As(err, &problem); answered && problem.Status < http.StatusInternalServerError && problem.Status != http.StatusTooManyRequests {
			return usage("--join-token-file: %s: %w", s.config.APIURL, err)
		}
		if err == nil {
			s.log.Info("this executor has enrolled itself", "executor", as.Name, "tier", as.Tier, "server", as.Server)
			return nil
		}
		if !waited {
			s.log.Warn("this executor waits for a server that enrols it", "server", as.Server, "error", err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("enrol this executor at %s: %w", as.Server, err)
		case <-time.After(joinAgain):
		}
	}
}
