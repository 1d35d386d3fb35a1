package service

import (
	"context"
	"errors"
	"time"

	"github.com/tidewheel/tidewheel/audit"
	"github.com/tidewheel/tidewheel/enrol"
)

// Enrolment defines how executors get credentials of their own on this node.
type Enrolment struct {
	enrol.Config
	// Missing is why this node makes no credentials where it has no Issuer, and what to do.
	Missing string
	// Embedded means that the NATS is embedded in a node of Tidewheel; CA are certificates of the authorities to trust there, in PEM.
	Embedded bool
	CA       func() string
}

// explainEnrolment puts an error of the register into words; other errors pass unchanged.
func explainEnrolment(err error, name string) error {
	var invalid *enrol.InvalidError
	forbid := func(code string) error {
		return &Error{Kind: KindForbidden, Code: code, Detail: err.Error(), Err: err}
	}
	switch {
	case errors.As(err, &invalid):
		return field("invalid_"+invalid.Field, "body."+invalid.Field, "%s", invalid.Reason)
	case errors.Is(err, enrol.ErrToken):
		return forbid("unknown_token")
	case errors.Is(err, enrol.ErrExpired):
		return forbid("expired_token")
	case errors.Is(err, enrol.ErrRevoked):
		return forbid("executor_revoked")
	case errors.Is(err, enrol.ErrProof):
		return forbid("bad_signature")
	case errors.Is(err, enrol.ErrClock):
		return forbid("clock_differs")
	case errors.Is(err, enrol.ErrNameTaken):
		return &Error{Kind: KindExists, Code: "executor_exists", Detail: err.Error(), Err: err}
	}
	return explain(err, "executor", name)
}

func (s *Service) canEnrol() error {
	if s.enrolled.Issues() {
		return nil
	}
	return &Error{Kind: KindConflict, Code: "no_enrolment", Detail: "this server gives executors no credentials of their own: " + s.config.Enrolment.Missing}
}

// CreateExecutorToken makes a token that enrols one executor of a tier within ttl, and returns its secret, which is shown once.
func (s *Service) CreateExecutorToken(ctx context.Context, tier string, ttl time.Duration) (string, enrol.Token, error) {
	if err := errors.Join(requireAdmin(ctx), s.canEnrol()); err != nil {
		return "", enrol.Token{}, err
	}
	secret, token, err := s.enrolled.CreateToken(ctx, tier, Actor(ctx), ttl)
	if err != nil {
		return "", token, explainEnrolment(err, "")
	}
	audit.Describe(ctx, "", audit.Change{What: "enrolment token", After: "for one executor of tier " + tier + ", until " + token.ExpiresAt.Format(time.RFC3339)})
	s.log.Info("an enrolment token was created", "tier", tier, "expires", token.ExpiresAt, "by", Actor(ctx))
	return secret, token, nil
}

// EnrolExecutor uses a token up and gives an executor its first credentials.
func (s *Service) EnrolExecutor(ctx context.Context, token string, proof *enrol.Proof) (enrol.Credentials, error) {
	if err := s.canEnrol(); err != nil {
		return enrol.Credentials{}, err
	}
	given, err := s.enrolled.Enrol(ctx, token, proof)
	if err != nil {
		s.log.Warn("an executor was not enrolled", "executor", proof.Name, "error", err)
		return enrol.Credentials{}, explainEnrolment(err, proof.Name)
	}
	of := given.Executor
	audit.Describe(ctx, "", audit.Change{What: "executor " + of.Name, After: "enrolled for tier " + of.Tier + " by a token of " + of.InvitedBy + ", key " + of.PublicKey})
	s.log.Info("an executor was enrolled", "executor", of.Name, "tier", of.Tier, "invited_by", of.InvitedBy, "key", of.PublicKey)
	return given, nil
}

// RenewExecutor gives an enrolled executor new credentials.
func (s *Service) RenewExecutor(ctx context.Context, proof *enrol.Proof) (enrol.Credentials, error) {
	if err := s.canEnrol(); err != nil {
		return enrol.Credentials{}, err
	}
	given, err := s.enrolled.Renew(ctx, proof)
	return given, explainEnrolment(err, proof.Name)
}

// EnrolledExecutors lists executors with credentials of their own, by name.
func (s *Service) EnrolledExecutors(ctx context.Context) ([]enrol.Executor, error) {
	if err := requireAdmin(ctx); err != nil {
		return nil, err
	}
	return s.enrolled.Executors(ctx)
}

// RevokeExecutor ends the enrolment of an executor: it is given no credentials any more.
func (s *Service) RevokeExecutor(ctx context.Context, name string) error {
	if err := requireAdmin(ctx); err != nil {
		return err
	}
	executor, err := s.enrolled.Revoke(ctx, name)
	if err != nil {
		return explainEnrolment(err, name)
	}
	audit.Describe(ctx, "", audit.Change{What: "executor " + name, Before: "enrolled for tier " + executor.Tier + ", key " + executor.PublicKey, After: "revoked"})
	s.log.Info("an executor was revoked", "executor", name, "key", executor.PublicKey, "by", Actor(ctx))
	return nil
}

// Enrolled reports whether an executor is enrolled under a name with a key, for a NATS that asks.
func (s *Service) Enrolled(ctx context.Context, name, publicKey string) (bool, error) {
	return s.enrolled.Enrolled(ctx, name, publicKey)
}

// PublishTaskKeys keeps the public keys of engines, in PEM, for executors that are enrolled.
func (s *Service) PublishTaskKeys(ctx context.Context, text []byte) error {
	return s.enrolled.PublishTaskKeys(ctx, text)
}

// CredentialsEmbedded reports whether credentials are for an embedded NATS, and returns which authorities are to be trusted there.
func (s *Service) CredentialsEmbedded() (embedded bool, ca string) {
	if s.config.Enrolment.CA != nil {
		ca = s.config.Enrolment.CA()
	}
	return s.config.Enrolment.Embedded, ca
}
