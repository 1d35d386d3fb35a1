package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strings"

	"github.com/tidewheel/tidewheel/queue/jetstream"
)

// natsTokenFile holds, inside the data folder, the token of an embedded NATS that listens.
const natsTokenFile = "nats.token"

func (s *Server) openQueue(ctx context.Context) error {
	credentials, err := natsCredentials(s.config.NATSCredentials)
	if err != nil {
		return err
	}
	// A copy of a task turns up again and again while its lock is held.
	window := 12 * s.config.LockTTL
	name := "tidewheel " + strings.Join(s.config.Roles, "+")
	if s.config.NATSURL != "" {
		enrolled, err := s.enrolled(ctx)
		if err != nil {
			return err
		}
		s.queue, err = jetstream.Connect(ctx, jetstream.Config{
			URL: s.config.NATSURL, Credentials: credentials, Enrolled: enrolled, TLS: s.config.NATSTLS, Name: name, Replicas: s.config.Replicas, ClaimWindow: window,
			ResultsLimit: int64(s.config.ResultsLimit), Keys: &s.taskKeys, Logger: s.log,
		})
		var newer *jetstream.NewerError
		switch {
		case errors.As(err, &newer):
			return usage("--nats-url: %w", newer)
		case err != nil:
			return fmt.Errorf("--nats-url: %w", err)
		}
		return nil
	}
	if s.config.NATSListen != "" && credentials == (jetstream.Credentials{}) {
		if credentials, err = s.natsToken(); err != nil {
			return err
		}
	}
	log, failed := newNATSFailure(s.log)
	s.nats, err = jetstream.StartServer(ctx, jetstream.ServerConfig{
		StoreDir: s.data.path("nats"), Listen: s.config.NATSListen, Credentials: credentials, TLS: s.listenTLS("--nats-listen", s.config.NATSListen), Logger: log,
	})
	var listening *net.OpError
	if errors.As(err, &listening) && listening.Op == "listen" {
		return explainListen("--nats-listen", s.config.NATSListen, err)
	}
	if err != nil {
		return err
	}
	s.parts.add("the queue", func(ctx context.Context) error { return s.watchNATS(ctx, failed) })
	s.queue, err = jetstream.Connect(ctx, jetstream.Config{
		Server: s.nats, Name: name, ClaimWindow: window, ResultsLimit: int64(s.config.ResultsLimit), Keys: &s.taskKeys, Logger: s.log,
	})
	return err
}

// natsToken guards a NATS that listens and was given no credentials: a token made once, and kept.
func (s *Server) natsToken() (jetstream.Credentials, error) {
	path := s.data.path(natsTokenFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		text = []byte(rand.Text() + "\n")
		err = writeFile(path, text, 0o600)
	}
	if err != nil {
		return jetstream.Credentials{}, fmt.Errorf("keep the token of NATS: %w", err)
	}
	return jetstream.Credentials{Token: strings.TrimSpace(string(text))}, nil
}

// natsCredentials reads user:password, the path of a .creds file, or a token.
func natsCredentials(text string) (jetstream.Credentials, error) {
	user, password, pair := strings.Cut(text, ":")
	switch {
	case text == "":
		return jetstream.Credentials{}, nil
	case strings.HasSuffix(text, credentialsSuffix):
		if _, err := os.Stat(text); err != nil {
			return jetstream.Credentials{}, usage("--nats-credentials: %w", err)
		}
		return jetstream.Credentials{File: text}, nil
	case pair && user != "" && password != "":
		return jetstream.Credentials{User: user, Password: password}, nil
	case pair:
		return jetstream.Credentials{}, usage("--nats-credentials: give user:password, a token, or the path of a .creds file")
	}
	return jetstream.Credentials{Token: text}, nil
}
