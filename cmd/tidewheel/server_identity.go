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
	// identityKey is the name under which a store keeps who it is.
	identityKey = "identity"
	// claimTTL is how long store and NATS are believed to belong together after a node has said so, claimEvery how
	// often it does.
	claimTTL   = 30 * time.Second
	claimEvery = 10 * time.Second
)

// belongTogether makes sure that store, NATS and bucket are those of one Tidewheel. What is embedded and serves this
// process alone needs no saying.
func (s *Server) belongTogether(ctx context.Context) error {
	if s.store == nil {
		return s.executorBelongs(ctx)
	}
	key, err := s.store.SharedKey(ctx, identityKey, []byte(strings.ToLower(rand.Text())))
	if err != nil {
		return fmt.Errorf("read who the store is: %w", err)
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
	s.parts.add("the claim", func(ctx context.Context) error { return s.keepClaim(ctx, identity) })
	return nil
}

// executorBelongs makes sure that NATS and bucket are those of one Tidewheel, for a node that does not see its store: now,
// and again and again, as the nodes that say whose they are may start later.
func (s *Server) executorBelongs(ctx context.Context) error {
	if err := s.compareOwners(ctx); err != nil {
		return err
	}
	s.parts.add("whom this executor works for", func(ctx context.Context) error {
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
				s.log.Warn("whether NATS and bucket belong together could not be seen; it is tried again", "error", err)
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

// claim says that the NATS serves the store, and the store this NATS.
func (s *Server) claim(ctx context.Context, identity string) error {
	if err := s.queue.ClaimFor(ctx, identity, claimTTL); err != nil {
		return err
	}
	opened, ok := s.store.(*mongo.Store)
	if !ok {
		return nil // its folder is locked
	}
	queue, err := s.queue.Identity(ctx)
	if err != nil {
		return err
	}
	return opened.ClaimQueue(ctx, queue, claimTTL)
}

// keepClaim says it again until ctx ends. A node that is at work goes on if that fails: who comes later is refused.
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
			s.log.Error("store and NATS belong together no more", "error", err)
		case err != nil && ctx.Err() == nil:
			s.log.Warn("that store and NATS belong together could not be said; it is tried again", "error", err)
		}
	}
}
