package mongo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

// SchemaVersion is that of the databases that this version writes.
const SchemaVersion = schemaVersion

// schemaVersion is the form of the documents. A change that an older Tidewheel would misread makes it grow.
//
// Version 1 had no journal: its documents have no position, and are replaced by whatever is projected. What it left half done
// is finished by upgrade_commits.go. Engines of version 2 may know no incidents, and leave them out where they project the journal.
const schemaVersion = 3

// oldestSchema is the first version from which a database is brought forward.
const oldestSchema = 1

const schemaID = "schema"

type schemaDocument struct {
	ID        string        `bson:"_id"`
	Version   int           `bson:"version"`
	CreatedAt bson.DateTime `bson:"created_at"`
	From      int           `bson:"from,omitempty"` // the version that it is brought forward from, until that is done
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

// writeSchema says of a new database what it is, and brings one of an earlier version forward. Several may do so at once: one
// insert wins, and all look at it.
func (s *Store) writeSchema(whole context.Context) error {
	ctx, cancel := s.bound(whole)
	defer cancel()
	document := schemaDocument{ID: schemaID, Version: schemaVersion, CreatedAt: bson.NewDateTimeFromTime(time.Now())}
	_, insertErr := s.meta.InsertOne(ctx, document)
	if insertErr == nil {
		return nil
	}
	if _, err := s.schema(ctx); err != nil {
		return s.failed("write the schema version", insertErr)
	}
	// Without a bound of our own: there may be many scheduled tasks.
	return s.bringForward(whole)
}

// bringForward makes a database of an earlier version one of this version, unless nodes of the earlier one use it. The version is
// written first, together with the previous one, so that no node of before starts any more while it is asked which ones are there;
// then what has to be done is done; then the previous one is taken away. Where nodes of before are there it is put back. What a crash
// leaves behind is done by the next start.
func (s *Store) bringForward(ctx context.Context) error {
	for {
		if err := s.checkSchema(ctx); err != nil {
			return err
		}
		found, err := s.schema(ctx)
		switch {
		case err != nil:
			return s.failed("read the schema version", err)
		case found.Version < schemaVersion:
			err = s.changeSchema(ctx, found, schemaVersion, found.Version)
		case found.From == 0:
			return nil
		default:
			err = s.bringForwardFrom(ctx, found)
		}
		if err != nil {
			return err
		}
	}
}

func (s *Store) bringForwardFrom(ctx context.Context, found schemaDocument) error {
	here, err := s.ListActiveServers(ctx, s.config.ActiveServersWait)
	if err != nil {
		return err
	}
	if len(here) > 0 {
		if now, err := s.schema(ctx); err != nil || now.From == 0 {
			return s.failed("read the schema version", err) // another node has done it, and works by now
		}
		if err := s.changeSchema(ctx, found, found.From, 0); err != nil {
			return err
		}
		return fmt.Errorf("mongo: %w", &SchemaError{Database: s.database.Name(), Found: found.From, Known: schemaVersion, Here: here})
	}
	if found.From < 2 {
		if err := s.upgradeCommits(ctx, time.Now()); err != nil {
			return s.failed("bring the database forward", err)
		}
	}
	if err := s.changeSchema(ctx, found, schemaVersion, 0); err != nil {
		return err
	}
	s.config.Logger.Info("the database was brought forward; earlier versions refuse it from now on", "from", found.From, "to", schemaVersion)
	return nil
}

// changeSchema writes the version and the previous one (0: none), unless another node has changed them.
func (s *Store) changeSchema(ctx context.Context, found schemaDocument, version, from int) error {
	condition := append(byID(schemaID), bson.E{Key: "version", Value: found.Version}, bson.E{Key: "from", Value: nil})
	if found.From != 0 {
		condition[2].Value = found.From
	}
	change := bson.D{{Key: "$set", Value: bson.D{{Key: "version", Value: version}}}, {Key: "$unset", Value: bson.D{{Key: "from", Value: ""}}}}
	if from != 0 {
		change = bson.D{{Key: "$set", Value: bson.D{{Key: "version", Value: version}, {Key: "from", Value: from}}}}
	}
	return s.failed("write the schema version", s.repeat(ctx, func() error {
		limit, cancel := s.command(ctx)
		defer cancel()
		_, err := s.meta.UpdateOne(limit, condition, change)
		return err
	}))
}
