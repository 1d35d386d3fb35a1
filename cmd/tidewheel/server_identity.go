package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tidewheel/tidewheel/blob"
	"github.com/tidewheel/tidewheel/queue/jetstream"
	"github.com/tidewheel/tidewheel/store/mongo"
)

const (
	// identityKey is the name under which a store keeps its identity.
	identityKey = "identity"
	// claimTTL is how long a claim that store and NATS belong to one cluster holds; claimEvery is how often nodes renew it.
	claimTTL   = 30 * time.Second
	claimEvery = 10 * time.Second
)

// checkSameCluster returns an error unless store, NATS and bucket belong to one cluster. Embedded parts that serve only
// this process are not checked.
func (s *Server) checkSameCluster(ctx context.Context) error {
	if s.store == nil {
		return s.checkExecutorCluster(ctx)
	}
	key, err := s.store.SharedKey(ctx, identityKey, []byte(strings.ToLower(rand.Text())))
	if err != nil {
		return fmt.Errorf("read the identity of the store: %w", err)
	}
	identity := string(key)
	if s.config.S3Endpoint != "" || s.config.S3Listen != "" {
		err := s.blobs.ClaimFor(ctx, identity)
		if errors.Is(err, blob.ErrOtherStore) {
			return usage("--s3-bucket: %w", err)
		}
		if err != nil {
			return fmt.Errorf("--s3-endpoint: %w", err)
		}
	}
	if s.config.NATSURL == "" && s.config.NATSListen == "" {
		return nil
	}
	err = s.claim(ctx, identity)
	var foreign *jetstream.ForeignError
	var other *mongo.OtherQueueError
	switch {
	case errors.As(err, &foreign):
		return usage("--nats-url: %w", foreign)
	case errors.As(err, &other):
		return usage("--nats-url: %w", other)
	case err != nil:
		return err
	}
	s.parts.add("the cluster claim", func(ctx context.Context) error { return s.keepClaim(ctx, identity) })
	return nil
}

// checkExecutorCluster returns an error unless NATS and bucket belong to one cluster, for a node without access to the store. It
// repeats the check while the node runs, because the nodes that claim NATS and bucket may start later.
func (s *Server) checkExecutorCluster(ctx context.Context) error {
	if err := s.compareOwners(ctx); err != nil {
		return err
	}
	s.parts.add("the cluster check of this executor", func(ctx context.Context) error {
		ticker := time.NewTicker(claimEvery)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return nil
			case <-ticker.C:
			}
			var refused *usageError
			switch err := s.compareOwners(ctx); {
			case errors.As(err, &refused):
				return err
			case err != nil && ctx.Err() == nil:
				s.log.Warn("could not check whether NATS and bucket belong to the same cluster; trying again", "error", err)
			}
		}
	})
	return nil
}

func (s *Server) compareOwners(ctx context.Context) error {
	served, err := s.queue.Serves(ctx)
	if err != nil {
		return err
	}
	owner, err := s.blobs.Owner(ctx)
	if err != nil {
		return fmt.Errorf("--s3-endpoint: %w", err)
	}
	if served != "" && owner != "" && served != owner {
		return usage("--s3-bucket: %w: its store is %s, and the NATS of --nats-url serves %s; give the addresses of one Tidewheel", blob.ErrOtherStore, owner, served)
	}
	return nil
}

// claim records in NATS which store it serves, and in the store which NATS serves it.
func (s *Server) claim(ctx context.Context, identity string) error {
	if err := s.queue.ClaimFor(ctx, identity, claimTTL); err != nil {
		return err
	}
	opened, ok := s.store.(*mongo.Store)
	if !ok {
		return nil // its data folder is locked
	}
	queue, err := s.queue.Identity(ctx)
	if err != nil {
		return err
	}
	return opened.ClaimQueue(ctx, queue, claimTTL)
}

// keepClaim renews the claim until ctx ends. A running node keeps running if that fails: nodes that start later are refused.
func (s *Server) keepClaim(ctx context.Context, identity string) error {
	ticker := time.NewTicker(claimEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		err := s.claim(ctx, identity)
		var foreign *jetstream.ForeignError
		var other *mongo.OtherQueueError
		switch {
		case errors.As(err, &foreign), errors.As(err, &other):
			s.log.Error("store and NATS no longer belong to the same cluster", "error", err)
		case err != nil && ctx.Err() == nil:
			s.log.Warn("could not renew the claim that store and NATS belong to the same cluster; trying again", "error", err)
		}
	}
}
