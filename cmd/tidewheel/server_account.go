package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"time"

	"github.com/tidewheel/tidewheel/enrol"
	"github.com/tidewheel/tidewheel/queue/jetstream"
	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/web/service"
)

const (
	// accountKeyName is the name of the key of executors' credentials among the keys that all nodes with a store share.
	accountKeyName = "nats-account"
	// accountSeedSize is the length of what such a key is made of, in bytes.
	accountSeedSize = 32
	// throwOutEvery is how often an embedded NATS looks whether its executors are still enrolled.
	throwOutEvery = 3 * time.Second
	// enrolledLimit is how long the store may take to say whether an executor is.
	enrolledLimit = time.Second
)

// openEnrolment returns how executors get credentials of their own on this node: signed by the key of --nats-account-key-file, or, for an
// embedded NATS that listens, by one that is kept in the store.
func (s *Server) openEnrolment(ctx context.Context) (service.Enrolment, error) {
	enrolment := service.Enrolment{Config: enrol.Config{Life: s.config.CredentialsTTL}, Embedded: s.config.NATSURL == ""}
	if path := s.config.JoinTokensFile; path != "" {
		enrolment.JoinTokens = func() ([]enrol.JoinToken, error) { return readJoinTokens(path) }
		if _, err := enrolment.JoinTokens(); err != nil {
			return enrolment, usage("--join-tokens-file: %w", err)
		}
	}
	var seed []byte
	var err error
	switch {
	case s.config.NATSAccountKeyFile != "":
		if seed, err = os.ReadFile(s.config.NATSAccountKeyFile); err != nil {
			return enrolment, usage("--nats-account-key-file: %w", err)
		}
	case s.config.NATSURL != "":
		enrolment.Missing = "it has no signing key of the account at its NATS: start it with --nats-account-key-file"
		return enrolment, nil
	case s.config.NATSListen == "":
		enrolment.Missing = "its NATS is embedded and listens for no executors elsewhere: start it with --nats-listen"
		return enrolment, nil
	default:
		random := make([]byte, accountSeedSize)
		_, _ = rand.Read(random) // never fails
		if random, err = s.store.SharedKey(ctx, accountKeyName, random); err != nil {
			return enrolment, err
		}
		if seed, err = jetstream.AccountSeed(random); err != nil {
			return enrolment, err
		}
	}
	account, err := jetstream.NewAccount(seed, s.config.NATSAccount)
	if err != nil {
		return enrolment, usage("--nats-account-key-file: %w", err)
	}
	if enrolment.Embedded {
		account = account.ForServer()
	}
	enrolment.Issuer = issuer{s.queue, account}
	if path := s.config.NATSTLS.CAs; path != "" {
		enrolment.CA = func() string {
			text, err := os.ReadFile(path)
			if err != nil {
				s.log.Warn("executors do not learn which authorities to trust at the NATS", "error", err)
			}
			return string(text)
		}
	}
	if s.nats != nil {
		s.letExecutorsIn(account)
	}
	return enrolment, nil
}

// readJoinTokens reads a file again, so that a token ends when it is taken out.
func readJoinTokens(path string) ([]enrol.JoinToken, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	tokens, err := enrol.ParseJoinTokens(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return tokens, nil
}

// validateEnrolment refuses what cannot go together.
func (c *ServerConfig) validateEnrolment() error {
	switch {
	case c.NATSAccount != "" && c.NATSAccountKeyFile == "":
		return usage("--nats-account: it says whose signing key --nats-account-key-file has: give both, or none")
	case c.NATSAccountKeyFile != "" && c.NATSURL == "":
		return usage("--nats-account-key-file: for a NATS of yours, which --nats-url names; the embedded one has its own: give the URL, or leave it out")
	case c.CredentialsTTL < 0:
		return usage("--executor-credentials-ttl: %s is negative", c.CredentialsTTL)
	case c.Enrolment == "" && c.JoinTokenFile != "":
		return usage("--join-token-file: what the executor is given for it is kept in the folder --enrolment: name one, or leave the token out")
	case c.JoinTokenFile != "" && c.APIURL == "":
		return usage("--join-token-file: a server enrols the executor: name it by --api-url")
	case c.Enrolment == "":
		return nil
	case c.needsStore():
		return usage("--enrolment is for executors elsewhere: this node has the store, and may do everything: leave it out, or give --roles executor")
	case c.NATSCredentials != "":
		return usage("--enrolment and --nats-credentials both say who this executor is: give one of them")
	}
	return nil
}

// issuer makes credentials for executors by the queue's list of what they may do.
type issuer struct {
	queue   *jetstream.Queue
	account *jetstream.Account
}

var _ enrol.Issuer = issuer{}

// Issue makes credentials.
func (i issuer) Issue(ctx context.Context, to enrol.Executor, labels map[string]string, until time.Time) (string, error) {
	return i.queue.Issue(ctx, i.account, jetstream.Grant{
		Name: to.Name, PublicKey: to.PublicKey, Tiers: tiersOf(to.Tier), Labels: labels, Until: until,
	})
}

// Verify returns nil if a message was signed with a user's key.
func (i issuer) Verify(publicKey string, message, signature []byte) error {
	return jetstream.VerifyUser(publicKey, message, signature)
}

// letExecutorsIn lets executors that are enrolled connect to the embedded NATS, and ends the connections of those that are not any more.
// While the store does not answer, who has credentials is let in: they are short-lived.
func (s *Server) letExecutorsIn(account *jetstream.Account) {
	register := enrol.New(storeOfUsers{s.store}, enrol.Config{}, time.Now)
	allowed := func(name, publicKey string) bool {
		ctx, cancel := context.WithTimeout(context.Background(), enrolledLimit)
		defer cancel()
		enrolled, err := register.Enrolled(ctx, name, publicKey)
		if err != nil {
			s.log.Warn("whether an executor is enrolled could not be read; it may connect", "executor", name, "error", err)
		}
		return enrolled || err != nil
	}
	s.nats.LetExecutorsIn(account, allowed)
	s.parts.add("who may use the embedded NATS", func(ctx context.Context) error {
		ticker := time.NewTicker(throwOutEvery)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return nil
			case <-ticker.C:
			}
			for _, name := range s.nats.ThrowOut(allowed) {
				s.log.Info("an executor that is not enrolled any more was thrown out of the embedded NATS", "executor", name)
			}
		}
	})
}

// tiersOf returns the tiers that an executor of a tier serves, its own first: heavier ones help the lighter when idle.
func tiersOf(tier string) []spec.Tier {
	switch spec.Tier(tier) {
	case spec.TierLight:
		return []spec.Tier{spec.TierLight}
	case spec.TierMedium:
		return []spec.Tier{spec.TierMedium, spec.TierLight}
	case spec.TierHeavy:
		return []spec.Tier{spec.TierHeavy, spec.TierMedium, spec.TierLight}
	}
	return []spec.Tier{spec.TierLight, spec.TierMedium, spec.TierHeavy}
}

// explainIdentity reports what an executor with credentials of its own was refused for.
func explainIdentity(err error, path string) error {
	return fmt.Errorf("--enrolment %s: %w", path, err)
}
