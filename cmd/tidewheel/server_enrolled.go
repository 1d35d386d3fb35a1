package main

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/tidewheel/tidewheel/client"
	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/enrol"
	"github.com/tidewheel/tidewheel/queue/jetstream"
	"github.com/tidewheel/tidewheel/signing"
)

// The files of an enrolled executor, in the folder of --enrolment.
const (
	enrolmentFile = "executor.json"
	natsCAFile    = "nats-ca.pem"
)

const (
	// renewEvery is how often an enrolled executor asks for new credentials and keys; more often where they live shorter.
	renewEvery = time.Minute
	// renewLimit is how long a server may take to answer.
	renewLimit = 10 * time.Second
)

// enrolledAs is what an executor keeps of its enrolment.
type enrolledAs struct {
	Server   string    `json:"server"`
	ServerCA string    `json:"server_ca,omitempty"` // certificates of the authorities to trust there, in PEM; "": the machine's
	Name     string    `json:"name"`
	Tier     string    `json:"tier"`
	Seed     string    `json:"seed"` // of the key that it has made
	JWT      string    `json:"jwt"`
	Expires  time.Time `json:"expires_at"`
	TaskKeys string    `json:"task_keys"`
	Embedded bool      `json:"embedded_nats,omitempty"`
}

// take keeps what a server gave.
func (e *enrolledAs) take(given *wire.ExecutorCredentials) {
	e.Name, e.Tier, e.JWT, e.Expires, e.Embedded = given.Name, given.Tier, given.JWT, given.ExpiresAt, given.Embedded
	if given.TaskKeys != "" { // no engine has been there yet
		e.TaskKeys = given.TaskKeys
	}
}

// write keeps it in a folder, for the executor's user only.
func (e *enrolledAs) write(folder string) error {
	text, err := json.MarshalIndent(e, "", "  ") //nolint:gosec // the file is where it is kept
	if err != nil {
		return err
	}
	return writeFile(filepath.Join(folder, enrolmentFile), append(text, '\n'), 0o600)
}

func (e *enrolledAs) client() (*client.Client, error) {
	config := client.Config{URL: e.Server, UserAgent: "tidewheel/" + version}
	if e.ServerCA != "" {
		config.RootCAs = x509.NewCertPool()
		config.RootCAs.AppendCertsFromPEM([]byte(e.ServerCA))
	}
	return client.New(config)
}

// prove signs who an executor is, for a purpose.
func prove(key *jetstream.UserKey, purpose, name string, labels map[string]string) (wire.ExecutorProof, error) {
	proof := enrol.Proof{Name: name, PublicKey: key.Public(), At: time.Now().UTC().Truncate(time.Second), Labels: labels}
	var err error
	proof.Signature, err = key.Sign(proof.Statement(purpose))
	return wire.ExecutorProof(proof), err
}

// ownCredentials are an executor's own: what it has, and how it renews it.
type ownCredentials struct {
	folder string
	labels map[string]string
	key    *jetstream.UserKey
	api    *client.Client
	log    *slog.Logger

	mu sync.Mutex
	as enrolledAs
}

// openIdentity reads the folder of --enrolment, and makes its tier this node's. With a join token an empty folder is filled.
func (s *Server) openIdentity(ctx context.Context) error {
	folder := s.config.Enrolment
	if folder == "" {
		return nil
	}
	refuse := func(err error) error { return &usageError{explainIdentity(err, folder)} }
	path := filepath.Join(folder, enrolmentFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) && s.config.JoinTokenFile != "" {
		if err := s.join(ctx); err != nil {
			return err
		}
		text, err = os.ReadFile(path)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return refuse(fmt.Errorf("there is no %s: make it with `tidewheel executor enrol --out %s`", enrolmentFile, folder))
	}
	if err != nil {
		return refuse(err)
	}
	host, _ := hostName()
	i := &ownCredentials{folder: folder, labels: executorLabels(host, s.config.Labels), log: s.log}
	if err := json.Unmarshal(text, &i.as); err != nil {
		return refuse(fmt.Errorf("%s is damaged: enrol this executor again", enrolmentFile)) // without the reason, which may quote it
	}
	if i.key, err = jetstream.ParseUserKey([]byte(i.as.Seed)); err != nil {
		return refuse(fmt.Errorf("%s: %w", enrolmentFile, err))
	}
	if i.api, err = i.as.client(); err != nil {
		return refuse(err)
	}
	if s.config.Tier != "all" && s.config.Tier != i.as.Tier {
		return usage("--tier %s: this executor is enrolled for %s: leave --tier out, or enrol it with a token for %s", s.config.Tier, i.as.Tier, s.config.Tier)
	}
	s.config.Tier = i.as.Tier
	if ca := filepath.Join(folder, natsCAFile); s.config.NATSTLS.CAs == "" {
		if _, err := os.Stat(ca); err == nil {
			s.config.NATSTLS.CAs = ca
		}
	}
	if strings.HasPrefix(i.as.Server, "http://") && !loopbackURL(i.as.Server) {
		s.log.Warn("what this executor trusts comes from its server without TLS: anyone on the way can change it; give the server a certificate and enrol again",
			"server", i.as.Server)
	}
	s.identity = i
	return nil
}

// id names this life of the executor.
func (i *ownCredentials) id() string { return lifeOf(i.as.Name) }

func loopbackURL(text string) bool {
	parsed, err := url.Parse(text)
	return err == nil && loopback(parsed.Hostname())
}

// jwt returns the latest credentials.
func (i *ownCredentials) jwt() (string, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.as.JWT, nil
}

// life is how long the credentials are good from now on.
func (i *ownCredentials) life() time.Duration {
	i.mu.Lock()
	defer i.mu.Unlock()
	return time.Until(i.as.Expires)
}

// refusedError says that the server gives this executor nothing any more.
type refusedByServer struct{ err error }

func (e *refusedByServer) Error() string {
	return "the server gives this executor no credentials any more: " + e.err.Error() + "; enrol it again with `tidewheel executor enrol`"
}
func (e *refusedByServer) Unwrap() error { return e.err }

// renew asks the server for new credentials and keys, and keeps them. *refusedByServer if it was revoked.
func (i *ownCredentials) renew(ctx context.Context) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, renewLimit)
	defer cancel()
	proof, err := prove(i.key, "renew", i.as.Name, i.labels)
	if err != nil {
		return err
	}
	given, err := i.api.RenewExecutor(ctx, &proof)
	var problem *client.APIError
	if errors.As(err, &problem) && problem.Code == "executor_revoked" {
		return &refusedByServer{err}
	}
	if err != nil {
		return fmt.Errorf("renew the credentials of this executor: %w", err)
	}
	i.as.take(&given)
	return i.as.write(i.folder)
}

// taskKeys is the source of the keys that this executor trusts: what the server says, which it was asked for at the start already.
func (i *ownCredentials) taskKeys() signing.Source {
	started := false
	return func(ctx context.Context) ([]byte, error) {
		if started {
			if err := i.renew(ctx); err != nil {
				return nil, err
			}
		}
		started = true
		i.mu.Lock()
		defer i.mu.Unlock()
		return []byte(i.as.TaskKeys), nil
	}
}

// enrolled returns the identity of this executor for the queue; nil without --enrolment. It starts with new credentials
// if the server answers: the old ones may have expired, or be for other labels.
func (s *Server) enrolled(ctx context.Context) (*jetstream.Enrolled, error) {
	i := s.identity
	if i == nil {
		return nil, nil
	}
	var refused *refusedByServer
	err := i.renew(ctx)
	if errors.As(err, &refused) && s.config.JoinTokenFile != "" { // it was away for a day, or revoked
		if err := errors.Join(os.Remove(filepath.Join(i.folder, enrolmentFile)), s.openIdentity(ctx)); err != nil {
			return nil, err
		}
		i, err = s.identity, nil
	}
	switch {
	case errors.As(err, &refused):
		return nil, &usageError{explainIdentity(err, i.folder)}
	case err != nil && i.life() <= 0:
		return nil, explainIdentity(fmt.Errorf("its credentials have expired, and: %w", err), i.folder)
	case err != nil:
		s.log.Warn("the credentials of this executor could not be renewed at its start; those of before are used", "error", err)
	}
	s.config.Tier = i.as.Tier // as the server says, whatever stood in the file
	return &jetstream.Enrolled{Name: i.as.Name, JWT: i.jwt, Key: i.key, Embedded: i.as.Embedded}, nil
}

// keepIdentity renews what this executor has until ctx ends. It ends the node when the executor was revoked.
func (s *Server) keepIdentity(ctx context.Context) error {
	renew := s.taskKeys.Reload // which renews all
	if source, _ := s.config.taskKeysSource(); source != nil {
		renew = s.identity.renew
	}
	for {
		timer := time.NewTimer(max(min(renewEvery, s.identity.life()/4), 100*time.Millisecond))
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C:
		}
		err := renew(ctx)
		var refused *refusedByServer
		if errors.As(err, &refused) {
			return err
		}
		if err == nil {
			err = s.queue.Renew()
		}
		if err != nil && ctx.Err() == nil {
			s.log.Error("the credentials of this executor could not be renewed; it is tried again", "expire_in", s.identity.life().Round(time.Second), "error", err)
		}
	}
}
