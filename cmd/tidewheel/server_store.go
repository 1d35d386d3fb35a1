package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/shard"
	"github.com/tidewheel/tidewheel/store/mongo"
	"github.com/tidewheel/tidewheel/store/sqlite"
	"github.com/tidewheel/tidewheel/web/service"
)

// store is what the roles together need of a store.
type store interface {
	shard.Store
	service.Store
	engine.Records
	expirer
	SharedKey(ctx context.Context, name string, fresh []byte) ([]byte, error)
	Close(ctx context.Context) error
}

// expirer removes old history in small batches.
type expirer interface {
	ExpireRuns(ctx context.Context, shards []int, what engine.Expiry, limit int) (engine.ExpiredRuns, error)
	ExpireRunsOf(ctx context.Context, uid string, what engine.OwnExpiry, limit int) (engine.ExpiredRuns, error)
	ExpireWaves(ctx context.Context, what engine.Expiry, limit int) (int, error)
	ExpireWavesOf(ctx context.Context, uid string, what engine.OwnExpiry, limit int) (engine.ExpiredWaves, error)
	ExpireSlots(ctx context.Context, what engine.Expiry, limit int) (int, error)
	ExpireEffects(ctx context.Context, before time.Time, limit int) (int, error)
	RunsByID(ctx context.Context, ids []string) ([]engine.Run, error)
	ExpireDeadLetters(ctx context.Context, what engine.Expiry, limit int) (int, error)
	ExpireRecords(ctx context.Context, before time.Time, limit int) (int, error)
	DeleteDeadLetter(ctx context.Context, runID string) error
	engine.Records
	definitionSweeper
}

var (
	_ store = (*sqlite.Store)(nil)
	_ store = (*mongo.Store)(nil)
)

func (s *Server) openStore(ctx context.Context) error {
	if s.config.MongoURI != "" {
		opened, err := mongo.Open(ctx, s.config.MongoURI, mongo.Config{Logger: s.log})
		var schema *mongo.SchemaError
		if errors.Is(err, mongo.ErrURI) || errors.As(err, &schema) {
			return usage("--mongodb-uri: %w", err)
		}
		if err != nil {
			return fmt.Errorf("--mongodb-uri: %w", err)
		}
		s.store, s.forEngine = opened, opened
		return refuseMoved(ctx, opened, s.data)
	}
	folder, err := s.data.folder(storeFolder)
	if err != nil {
		return err
	}
	if err := refuseMoved(ctx, nil, s.data); err != nil {
		return err
	}
	opened, err := sqlite.Open(ctx, filepath.Join(folder, storeFile), sqlite.Config{Logger: s.log})
	var newer *sqlite.NewerError
	if errors.As(err, &newer) {
		return usage("%w", err)
	}
	if err != nil {
		return err
	}
	s.store, s.forEngine = opened, opened.ForEngine()
	return nil
}
