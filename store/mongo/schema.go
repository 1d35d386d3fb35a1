package mongo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

// schemaVersion is the form of the documents. A change that an older Tidewheel would misread makes it grow.
//
// Version 1 had no journal: its documents have no position, and are replaced by whatever is projected. What it left half done
// is finished by upgrade_commits.go.
const schemaVersion = 2

// oldestSchema is the first version from which a database is brought forward.
const oldestSchema = 1

const schemaID = "schema"

type schemaDocument struct {
	ID        string        `bson:"_id"`
	Version   int           `bson:"version"`
	CreatedAt bson.DateTime `bson:"created_at"`
}

// checkSchema refuses a database of a version that is not known; one without any is new.
func (s *Store) checkSchema(ctx context.Context) error {
	found, err := s.schema(ctx)
	switch {
	case errors.Is(err, mongo.ErrNoDocuments):
		return nil
	case err != nil:
		return s.failed("read the schema version", err)
	case found.Version < oldestSchema || found.Version > schemaVersion:
		return fmt.Errorf("mongo: %w", &SchemaError{Database: s.database.Name(), Found: found.Version, Known: schemaVersion})
	}
	return nil
}

func (s *Store) schema(ctx context.Context) (found schemaDocument, err error) {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	err = s.meta.FindOne(ctx, byID(schemaID)).Decode(&found)
	return found, err
}

// writeSchema says of a new database what it is, and of one of an earlier version that it is one of this now: earlier
// versions refuse it then. Several may do so at once: one insert wins, and all look at it.
func (s *Store) writeSchema(whole context.Context) error {
	ctx, cancel := s.bound(whole)
	defer cancel()
	document := schemaDocument{ID: schemaID, Version: schemaVersion, CreatedAt: bson.NewDateTimeFromTime(time.Now())}
	_, insertErr := s.meta.InsertOne(ctx, document)
	if insertErr == nil {
		return nil
	}
	if err := s.checkSchema(ctx); err != nil {
		return err
	}
	found, err := s.schema(ctx)
	if err != nil {
		return s.failed("write the schema version", insertErr)
	}
	if found.Version == schemaVersion {
		return nil
	}
	// Without a bound of our own: there may be many scheduled tasks.
	if err := s.upgradeCommits(whole, time.Now()); err != nil {
		return s.failed("bring the database forward", err)
	}
	err = s.repeat(whole, func() error {
		limit, cancel := s.command(whole)
		defer cancel()
		_, err := s.meta.UpdateOne(limit, append(byID(schemaID), bson.E{Key: "version", Value: found.Version}), set("version", schemaVersion))
		return err
	})
	if err == nil {
		s.config.Logger.Info("the database was brought forward", "from", found.Version, "to", schemaVersion)
	}
	return s.failed("write the schema version", err)
}
