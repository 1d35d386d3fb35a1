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
		return nil
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
		if err := s.claim(ctx, identity); err != nil && ctx.Err() == nil {
			s.log.Error("store and NATS may not belong together any more", "error", err)
		}
	}
}
